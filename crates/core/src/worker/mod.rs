//! Script workers: a pool of confined processes, and the requests they answer.

pub mod protocol;
pub mod script;
pub mod spelling;
pub mod wire;

mod channel;
mod check;
mod condition;
mod drive;
mod pool;

pub(crate) use drive::{ChainLink, Crossing, ToolLimits};
pub(crate) use pool::DEFAULT_MEMORY_MB;

use crate::refusal::Code;
use crate::span::Position;
use channel::{Worker, WorkerLoss};
use drive::EndCause;
use pool::{LeaseError, Pool};
use protocol::{Failure, FailureKind};
use script::Scripts;
use std::sync::OnceLock;
use std::time::Duration;
use tool_harness_sandbox::process::{
    DeathCause, MAX_PARTS, WorkerLimits, WorkerProcess, WorkerProgram,
};

static ANNOUNCED: OnceLock<WorkerProgram> = OnceLock::new();

/// Registers the program that is its own script worker. The first call wins.
pub fn announce(program: WorkerProgram) {
    let _ = ANNOUNCED.set(program);
}

/// The registered program.
#[must_use]
pub fn announced() -> Option<WorkerProgram> {
    ANNOUNCED.get().cloned()
}

/// Starts a worker and waits until it is confined, to see whether this machine supports it.
pub async fn try_start() -> Result<(), String> {
    let program = announced().ok_or("this program starts no workers")?;
    Worker::start(&program, &WorkerLimits::default())
        .await
        .map(drop)
}

/// How long checking one script may take.
const CHECK_TIME: Duration = Duration::from_secs(5);

/// The workers of one engine.
#[derive(Debug)]
pub(crate) struct Workers {
    pool: Pool,
    places: usize,
    /// Numbers of scripts.
    pub(crate) scripts: Scripts,
}

/// Why a script gave no answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ScriptError {
    pub(crate) code: Code,
    pub(crate) message: String,
    /// Where in the script, if the worker could tell.
    pub(crate) position: Option<Position>,
    /// Whether the script is wrong, whatever its arguments were.
    pub(crate) is_bug: bool,
}

impl Workers {
    pub(crate) fn new(
        program: Option<WorkerProgram>,
        first: Option<WorkerProcess>,
        places: usize,
    ) -> Self {
        Self {
            pool: Pool::new(program, first, places),
            places: places.max(1),
            scripts: Scripts::default(),
        }
    }

    /// Workers in use, and idle ones.
    pub(crate) fn census(&self) -> (usize, usize) {
        (self.pool.busy(), self.pool.idle())
    }
}

/// Hooks per round trip: as many as the report of a dying worker can tell apart.
pub(crate) const MAX_LINKS: usize = MAX_PARTS;

/// Bytes of the answer of a hook or a check.
const MAX_DECISION_BYTES: u64 = 8 << 20;

impl ScriptError {
    fn new(code: Code, message: impl Into<String>) -> Self {
        Self {
            code,
            message: message.into(),
            position: None,
            is_bug: false,
        }
    }
}

impl From<Failure> for ScriptError {
    fn from(failure: Failure) -> Self {
        let code = match failure.kind {
            FailureKind::Raised | FailureKind::Bug => Code::Failed,
            FailureKind::Recursion => Code::ScriptRecursion,
            FailureKind::Wall => Code::Timeout,
            FailureKind::Steps => Code::ScriptSteps,
            FailureKind::Memory => Code::ScriptMemory,
            FailureKind::Result => Code::ScriptResult,
        };
        let position = (failure.line > 0).then_some(Position {
            line: failure.line,
            column: failure.column.max(1),
        });
        Self {
            code,
            message: failure.message,
            position,
            is_bug: failure.kind == FailureKind::Bug,
        }
    }
}

impl From<ScriptError> for Failure {
    fn from(error: ScriptError) -> Self {
        let Position { line, column } = error.position.unwrap_or(Position { line: 0, column: 0 });
        Self {
            kind: FailureKind::Raised,
            message: error.message,
            line,
            column,
        }
    }
}

impl From<EndCause> for ScriptError {
    fn from(ended: EndCause) -> Self {
        match ended {
            EndCause::Deadline => Self::new(
                Code::Timeout,
                "did not finish before its deadline and was killed",
            ),
            EndCause::Cpu => Self::new(
                Code::ScriptSteps,
                "used up its processor time and was killed",
            ),
            EndCause::Cancelled => Self::new(Code::Cancelled, "cancelled"),
            EndCause::WorkerLost(WorkerLoss::Oversized) => {
                Self::new(Code::ScriptResult, "the result is larger than it may be")
            }
            EndCause::WorkerLost(WorkerLoss::Unsendable) => Self::new(
                Code::ScriptResult,
                "a value is too large or too deep to be passed on",
            ),
            EndCause::WorkerLost(WorkerLoss::Died { cause, .. }) => match cause {
                DeathCause::Memory => {
                    Self::new(Code::ScriptMemory, "wanted more memory than it may have")
                }
                DeathCause::Stack => Self::new(
                    Code::ScriptCrashed,
                    "nested too deeply and overflowed its stack",
                ),
                DeathCause::Cpu => Self::new(Code::ScriptSteps, "used up its processor time"),
                DeathCause::Filter => Self::new(
                    Code::ScriptCrashed,
                    "tried something that workers may not do and was stopped by the system",
                ),
                _ => Self::new(Code::ScriptCrashed, "the worker died"),
            },
        }
    }
}

impl From<LeaseError> for ScriptError {
    fn from(none: LeaseError) -> Self {
        match none {
            LeaseError::NoProgram => Self::new(
                Code::ScriptNoWorker,
                "this program cannot start script workers",
            ),
            LeaseError::Failed(message) => Self::new(Code::SandboxUnavailable, message),
        }
    }
}
