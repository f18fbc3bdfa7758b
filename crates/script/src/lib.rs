//! Starlark for tool scripts: checking, evaluation, and the worker process that does both.
//!
//! No other crate names Starlark.

pub mod check;
mod evaluate;
mod worker;

pub use evaluate::BuiltinTable;
pub use worker::CheckFn;

use tool_harness::builtin::MODULES;
use tool_harness::facts::ScriptKind;
use tool_harness::worker::protocol::WORKER_ARGUMENT;
use tool_harness_sandbox::process::{
    ExitCode, ProcessError, WorkerLimits, WorkerProcess, WorkerProgram, leave,
};

/// Call this first in `main`. In a process started as a script worker it never returns. In any
/// other it registers the program, so that the engine can start it as a worker.
///
/// "First" means before there is a second thread: a worker that finds one refuses to serve.
/// `#[tokio::main]` starts its threads before the body of `main` runs, so write a plain `main` that
/// calls this and then starts the runtime.
pub fn run_if_worker() {
    run_if_worker_with(WORKER_ARGUMENT, MODULES, facts);
}

/// [`run_if_worker`] with another worker argument and other built-ins, for tests of the worker itself.
pub fn run_if_worker_with(argument: &'static str, table: BuiltinTable, check: CheckFn) {
    let mut arguments = std::env::args().skip(1);
    if arguments.next().as_deref() == Some(argument) {
        match arguments
            .next()
            .as_deref()
            .and_then(WorkerLimits::from_argument)
        {
            Some(limits) => worker::work(&limits, table, check),
            None => leave(ExitCode::Unconfined),
        }
    }
    tool_harness::worker::announce(WorkerProgram::this_program(argument));
}

/// Forks a worker from this process, for a program that makes one decision and exits.
///
/// Call it before there is a second thread, and give the worker to the engine with `first_worker`.
pub fn fork_worker() -> Result<WorkerProcess, ProcessError> {
    WorkerProcess::fork(|| worker::work(&WorkerLimits::default(), MODULES, facts))
}

fn facts(kind: ScriptKind, source: &str, table: BuiltinTable) -> String {
    serde_json::to_string(&check::facts(kind, source, table)).unwrap_or_default()
}
