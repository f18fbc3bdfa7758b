//! Processes: the workers that evaluate scripts, and the commands that tools run.

mod child;
mod clone_vm;
mod command;
mod streams;
#[path = "../../helper/sys.rs"]
#[expect(dead_code, reason = "some calls are the helper's only")]
mod sys;
mod worker;

pub use command::{
    Captured, Command, Denial, DenialLayer, End, Finished, Guard, Output, Sandbox, SandboxError,
    Serve, Stdin, Stream, last_call, settle, shown,
};
pub use streams::{Standard, was_closed};
pub use worker::{
    Cause, Channel, Death, ExitCode, MAX_PARTS, ProcessError, WorkerLimits, WorkerProcess,
    WorkerProgram, become_worker, enter_part, leave, own_cpu_time,
};
