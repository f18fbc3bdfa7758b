//! Runs a script in a worker, and reads its result.

use super::crossing::ToolCrossing;
use super::describe;
use crate::content::ContentBlock;
use crate::content::joined;
use crate::effect::Effects;
use crate::refusal::{Class, Code, Refusal};
use crate::registry::RegisteredTool;
use crate::result::Enforced;
use crate::run::builtin::io::{Settling, SideOutcomes};
use crate::run::context::Context;
use crate::run::deadline::Deadline;
use crate::run::outcome::{BodyResult, Failure, help};
use crate::tool::ToolOutput as Success;
use crate::worker::protocol::Outcome;
use crate::worker::script::Script;
use crate::worker::{DEFAULT_MEMORY_MB, ScriptError, ToolLimits};
use serde_json::{Map, Value};
use std::sync::{Arc, PoisonError};
use tokio::sync::mpsc;

/// Processor time of a script unless the tool or the project sets a limit.
const DEFAULT_CPU_MS: u64 = 10_000;
/// The most bytes of a script's encoded result.
const MAX_RESULT_BYTES: u64 = 16 << 20;

/// Runs a script. Also returns what contained it and the processes it started.
pub(in crate::run) async fn run_script(
    ctx: &Context,
    tool: &RegisteredTool,
    script: &Script,
    arguments: Map<String, Value>,
    deadline: Deadline,
) -> (BodyResult, Enforced) {
    let traces = Arc::new(SideOutcomes::default());
    let settling = tool.effects.contains(Effects::EXEC).then(Settling::new);
    let outcome = run_traced(
        ctx,
        tool,
        script,
        arguments,
        deadline,
        &traces,
        settling.as_ref().map(Settling::token),
    )
    .await;
    if let Some(settling) = settling {
        settling.settle().await;
    }
    let enforced = traces
        .enforced
        .lock()
        .unwrap_or_else(PoisonError::into_inner)
        .take();
    (outcome, enforced.unwrap_or(Enforced::Worker))
}

async fn run_traced(
    ctx: &Context,
    tool: &RegisteredTool,
    script: &Script,
    arguments: Map<String, Value>,
    deadline: Deadline,
    traces: &Arc<SideOutcomes>,
    alive: Option<mpsc::Sender<()>>,
) -> BodyResult {
    let bounds = ToolLimits {
        deadline: deadline.at,
        cpu_ms: tool.limits.cpu_ms.unwrap_or(DEFAULT_CPU_MS),
        memory_mb: tool.limits.memory_mb.unwrap_or(DEFAULT_MEMORY_MB),
        result_bytes: MAX_RESULT_BYTES,
    };
    let crossing = ToolCrossing {
        ctx,
        tool,
        script,
        deadline: deadline.at,
        traces: Arc::clone(traces),
        alive,
    };
    let ran = ctx
        .shared()
        .workers
        .run_tool(
            &ctx.call().session_id,
            script,
            &arguments,
            bounds,
            &ctx.call().cancel,
            &crossing,
        )
        .await;
    if let (
        Err(ScriptError {
            code: Code::Failed, ..
        }),
        Some(refusal),
    ) = (
        &ran,
        traces
            .refused
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .take(),
    ) {
        return Err(refusal.into());
    }
    match ran {
        Ok(Outcome::Value(value)) => judged(tool, value),
        Ok(Outcome::Result(fields)) => explicit_result(tool, fields),
        Ok(Outcome::Error(fields)) => Err(explicit_error(tool, &fields)),
        Err(error) => {
            let mut refusal = match error.code {
                // The worker knows only its remaining time, not who set the limit.
                Code::Timeout => deadline.refusal(tool, "did not finish"),
                code => Refusal::new(code, describe(tool, code, &error.message)),
            };
            if let Some(help) = help(error.code) {
                refusal = refusal.help(help);
            }
            let place = error
                .position
                .and_then(|position| Some(tool.tool.script.as_ref()?.place_of(position)));
            let place = place.unwrap_or_else(|| tool.tool.place(tool.tool.name_span));
            if error.is_bug {
                refusal = refusal
                    .class(Class::Fatal)
                    .help(format!(
                        "the author of the tool must fix its script at {place}"
                    ))
                    .detail("fault", "script");
            }
            let refusal = refusal.at(place);
            // The script ended, and only its result is unusable.
            Err(if error.code == Code::ScriptResult {
                Failure::when_done(refusal)
            } else {
                refusal.into()
            })
        }
    }
}

/// A returned dict with a non-empty `error` is a failure; the dict stays the value.
pub(in crate::run) fn judged(tool: &RegisteredTool, value: Value) -> BodyResult {
    let message = match value.get("error") {
        Some(Value::String(text)) if !text.is_empty() => Some(text.clone()),
        Some(Value::Object(error)) => error
            .get("message")
            .and_then(Value::as_str)
            .map(str::to_owned),
        _ => None,
    };
    let rest = Success {
        value: Some(value),
        ..Success::default()
    };
    match message {
        None => Ok(Box::new(rest)),
        Some(message) => Err(Failure::with(
            Refusal::new(Code::Failed, describe(tool, Code::Failed, &message)),
            rest,
        )),
    }
}

/// `result(content=, data=, refs=, metadata=, is_error=)`.
fn explicit_result(tool: &RegisteredTool, fields: Value) -> BodyResult {
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
    let rest = Success {
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
        ..Success::default()
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
fn explicit_error(tool: &RegisteredTool, fields: &Value) -> Failure {
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
        Success {
            metadata,
            ..Success::default()
        },
    )
}

/// Evaluates an expression over `args` in a worker without built-ins.
pub(in crate::run) async fn value_of(
    ctx: &Context,
    tool: &RegisteredTool,
    script: &Script,
    arguments: Map<String, Value>,
    deadline: Deadline,
) -> Result<Value, Refusal> {
    match run_traced(
        ctx,
        tool,
        script,
        arguments,
        deadline,
        &Arc::default(),
        None,
    )
    .await
    {
        Ok(success) => Ok(success.value.unwrap_or_default()),
        Err(failure) => Err(failure.error),
    }
}
