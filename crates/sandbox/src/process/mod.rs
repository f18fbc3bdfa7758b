//! Processes: the workers that evaluate scripts, and the commands that tools run.

mod abort;
mod child;
mod clone_vm;
mod command;
mod streams;
#[path = "../../helper/sys.rs"]
#[expect(dead_code, reason = "some calls are the helper's only")]
mod sys;
mod worker;

pub use abort::refuse_on_abort;
pub use command::{
    CapturedOutput, Command, CommandOutcome, Denial, DenialLayer, End, Output, RunningRelay,
    Sandbox, SandboxError, StartRelay, Stdin, Stream, announce_last_call, printable,
    wait_for_cleanup,
};
pub use streams::was_closed;
pub use worker::{
    Channel, Death, DeathCause, ExitCode, MAX_PARTS, ProcessError, WorkerLimits, WorkerProcess,
    WorkerProgram, become_worker, enter_part, leave, own_cpu_time,
};
