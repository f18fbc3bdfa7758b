//! The outcome of a body.

use crate::refusal::{Code, Refusal};
use crate::tool::{ToolError, ToolOutput};

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
