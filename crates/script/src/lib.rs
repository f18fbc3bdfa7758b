//! Starlark for tool scripts: evaluation, and the worker process that does it. The only place that names Starlark.

mod evaluate;
mod worker;

pub use evaluate::Table;
pub use worker::Check;

use tool_harness::worker::protocol::WORKER_ARGUMENT;
use tool_harness_sandbox::process::{ExitCode, WorkerLimits, WorkerProgram, leave};

/// Call this first in `main`: a process that was started as a script worker becomes one here and never returns; any other becomes
/// known as a program that can be started as one.
pub fn run_if_worker_with(table: Table, check: Check) {
    let mut arguments = std::env::args().skip(1);
    if arguments.next().as_deref() == Some(WORKER_ARGUMENT) {
        match arguments.next().as_deref().and_then(WorkerLimits::from_argument) {
            Some(limits) => worker::work(&limits, table, check),
            None => leave(ExitCode::Unconfined),
        }
    }
    tool_harness::worker::announce(WorkerProgram::this_program(WORKER_ARGUMENT));
}
