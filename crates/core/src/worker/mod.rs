//! Script workers as the harness sees them.

pub mod protocol;
pub mod wire;

use std::sync::OnceLock;
use tool_harness_sandbox::process::WorkerProgram;

static ANNOUNCED: OnceLock<WorkerProgram> = OnceLock::new();

/// Says which program can be started as a worker; the first to say so is heard. Without it scripts are refused.
pub fn announce(program: WorkerProgram) {
    // A second announcement is not an error: a program may well ask twice whether it is a worker.
    let _ = ANNOUNCED.set(program);
}

/// The program that can be started as a worker, when one was announced.
#[must_use]
pub fn announced() -> Option<&'static WorkerProgram> {
    ANNOUNCED.get()
}
