//! The outcome of a body, and what its answer means.

use crate::content::{ContentBlock, joined};
use crate::refusal::{Code, Refusal};
use crate::registry::RegisteredTool;
use crate::result::Enforced;
use crate::tool::{ToolError, ToolOutput};
use serde_json::Value;
use std::sync::{Mutex, PoisonError};

/// The result of a body. Boxed, because every layer passes it on.
pub(super) type BodyResult = Result<Box<ToolOutput>, Failure>;

/// A body's failure, with the value it left behind.
#[derive(Clone, Debug)]
pub(super) struct Failure {
    pub(super) error: Refusal,
    pub(super) rest: Box<ToolOutput>,
    /// Whether the body did its work and only its result is unusable.
    pub(super) is_done: bool,
}

impl Failure {
    pub(super) fn with(error: Refusal, rest: ToolOutput) -> Self {
        Self {
            rest: Box::new(rest),
            ..error.into()
        }
    }

    /// A failure of a body that had done its work.
    pub(super) fn when_done(error: Refusal) -> Self {
        Self {
            is_done: true,
            ..error.into()
        }
    }

    /// The failure that a layer returned.
    pub(super) fn of(mut error: ToolError, tool: &str) -> Self {
        let rest = error.take_rest();
        Self::with(error.into_refusal(tool), rest)
    }

    /// The error that layers see.
    pub(super) fn into_error(self) -> ToolError {
        ToolError::from(self.error).with_rest(*self.rest)
    }
}

impl From<Refusal> for Failure {
    fn from(error: Refusal) -> Self {
        Self {
            error,
            rest: Box::default(),
            is_done: false,
        }
    }
}

/// A returned dict with a non-empty `error` is a failure; the dict stays the value.
pub(super) fn judged(tool: &RegisteredTool, value: Value) -> BodyResult {
    let message = error_in(&value);
    let rest = ToolOutput {
        value: Some(value),
        ..ToolOutput::default()
    };
    match message {
        None => Ok(Box::new(rest)),
        Some(message) => Err(Failure::with(
            Refusal::new(Code::Failed, describe(tool, Code::Failed, &message)),
            rest,
        )),
    }
}

/// The message in the `error` of a returned dict, if it says that the call failed.
pub(super) fn error_in(value: &Value) -> Option<String> {
    match value.get("error")? {
        Value::String(text) if !text.is_empty() => Some(text.clone()),
        Value::Object(error) => error
            .get("message")
            .and_then(Value::as_str)
            .map(str::to_owned),
        _ => None,
    }
}

/// `result(content=, data=, refs=, metadata=, is_error=)`.
pub(super) fn explicit_result(tool: &RegisteredTool, fields: Value) -> BodyResult {
    let Value::Object(mut fields) = fields else {
        return Err(Refusal::new(Code::Internal, "a result without fields").into());
    };
    let content = match fields.remove("content") {
        None | Some(Value::Null) => None,
        Some(Value::String(text)) => Some(vec![ContentBlock::Text(text)]),
        Some(other) => Some(
            ContentBlock::list_from_json(&other)
                .unwrap_or_else(|| vec![ContentBlock::Text(other.to_string())]),
        ),
    };
    let failed = fields.get("is_error") == Some(&Value::Bool(true));
    let rest = ToolOutput {
        value: fields.remove("data").filter(|data| !data.is_null()),
        refs: fields
            .remove("refs")
            .and_then(|refs| refs.as_array().cloned())
            .unwrap_or_default(),
        metadata: fields
            .remove("metadata")
            .and_then(|metadata| metadata.as_object().cloned())
            .unwrap_or_default(),
        content,
        ..ToolOutput::default()
    };
    if failed {
        let message = rest
            .content
            .as_deref()
            .map_or_else(|| "the tool says so".to_owned(), joined);
        return Err(Failure::with(
            Refusal::new(Code::Failed, describe(tool, Code::Failed, &message)),
            rest,
        ));
    }
    Ok(Box::new(rest))
}

/// `error(code, message, metadata=)`: the tool's own code is a detail of `tool.failed`.
pub(super) fn explicit_error(tool: &RegisteredTool, fields: &Value) -> Failure {
    let text = |key: &str| fields.get(key).and_then(Value::as_str).unwrap_or_default();
    let error = Refusal::new(Code::Failed, describe(tool, Code::Failed, text("message")))
        .detail("code", text("code"));
    let metadata = fields
        .get("metadata")
        .and_then(Value::as_object)
        .cloned()
        .unwrap_or_default();
    Failure::with(
        error,
        ToolOutput {
            metadata,
            ..ToolOutput::default()
        },
    )
}

/// The message of a failure, with the tool's name.
pub(super) fn describe(tool: &RegisteredTool, code: Code, message: &str) -> String {
    match code {
        Code::Failed => format!("`{}` failed: {message}", tool.name()),
        _ => format!("`{}`: {message}", tool.name()),
    }
}

/// What may help against a failure of a script.
pub(super) fn help(code: Code) -> Option<&'static str> {
    Some(match code {
        Code::ScriptMemory => "ask for less at once, or have a person raise `limits.memory_mb`",
        Code::ScriptSteps => "ask for less work, or have a person raise `limits.cpu_ms`",
        Code::ScriptRecursion => "a person must rewrite the script as a loop",
        Code::ScriptNoWorker => {
            "the program must call `tool_harness_script::run_if_worker()` first in `main`"
        }
        Code::ScriptResult => {
            "a result is at most 16 MiB of JSON, nested at most 64 deep, without functions"
        }
        _ => return None,
    })
}

/// What built-ins leave behind for the result of the whole call.
#[derive(Debug, Default)]
pub(super) struct SideOutcomes {
    /// Why the call must fail. A script cannot catch this, so it is the reason for the whole call.
    pub(super) refused: Mutex<Option<Refusal>>,
    /// What contained the processes it started.
    pub(super) enforced: Mutex<Option<Enforced>>,
}

impl SideOutcomes {
    /// Keeps a refusal as the reason for the call, and returns its message for the script to fail
    /// with.
    pub(super) fn refuse(&self, refusal: Refusal) -> String {
        let message = refusal.message.clone();
        self.refused
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .get_or_insert(refusal);
        message
    }

    /// Keeps the weakest containment.
    pub(super) fn held(&self, enforced: Enforced) {
        let mut kept = self.enforced.lock().unwrap_or_else(PoisonError::into_inner);
        *kept = Some(match kept.take() {
            Some(before) => before.weaker(enforced),
            None => enforced,
        });
    }
}
