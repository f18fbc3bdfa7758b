//! Script workers as processes: starting, watching and ending one; and, on the other side, becoming
//! one.
//!
//! A worker is a program started again with only its ends of two pipes. Before its first read it
//! gives up everything a script could misuse: see [`become_worker`].

mod confine;
mod cpu_affinity;
mod death;
mod filter;
mod spawn;

pub use confine::{become_worker, enter_part, leave, own_cpu_time};
pub use death::{Death, DeathCause, ExitCode, MAX_PARTS};
pub use spawn::WorkerProcess;

use std::fs::File;
use std::io;
use std::path::PathBuf;

/// The descriptors of a worker: requests come in, answers go out.
const REQUESTS: i32 = 3;
const ANSWERS: i32 = 4;

/// One side of the channel between the harness and a worker. Two pipes rather than a socket: a
/// round trip takes half the time.
#[derive(Debug)]
pub struct Channel {
    /// What the other side writes.
    pub reader: File,
    /// What the other side reads.
    pub writer: File,
}

impl Channel {
    /// Makes this side fail instead of blocking.
    pub fn set_nonblocking(&self) -> io::Result<()> {
        Ok([&self.reader, &self.writer]
            .into_iter()
            .try_for_each(|end| rustix::io::ioctl_fionbio(end, true))?)
    }
}

/// The program to start as a worker, and the argument that makes it one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WorkerProgram {
    /// The executable.
    pub path: PathBuf,
    /// Its first argument.
    pub argument: &'static str,
}

impl WorkerProgram {
    /// This program, even if its file was replaced since it started.
    #[must_use]
    pub fn this_program(argument: &'static str) -> Self {
        Self {
            path: PathBuf::from("/proc/self/exe"),
            argument,
        }
    }
}

/// What a worker may use over its life, enforced by the kernel. Limits of a single request are part
/// of the request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WorkerLimits {
    /// Address space beyond that of the program and its stack.
    pub memory_bytes: u64,
    /// Stack of the evaluator.
    pub stack_bytes: u64,
    /// Processor time over its whole life: a backstop, so replace a busy worker well before.
    pub cpu_seconds: u64,
}

impl Default for WorkerLimits {
    fn default() -> Self {
        Self {
            memory_bytes: 256 << 20,
            stack_bytes: 4 << 20,
            cpu_seconds: 24 * 3600,
        }
    }
}

impl WorkerLimits {
    /// As an argument, because a worker's environment is empty.
    #[must_use]
    pub fn to_argument(&self) -> String {
        format!(
            "{},{},{}",
            self.memory_bytes, self.stack_bytes, self.cpu_seconds
        )
    }

    /// Parses [`to_argument`](Self::to_argument).
    #[must_use]
    pub fn from_argument(text: &str) -> Option<Self> {
        let mut numbers = text.split(',').map(str::parse);
        let mut next = || numbers.next()?.ok();
        let limits = Self {
            memory_bytes: next()?,
            stack_bytes: next()?,
            cpu_seconds: next()?,
        };
        numbers.next().is_none().then_some(limits)
    }
}

/// Why a worker could not be started or confined.
#[derive(Debug, thiserror::Error)]
pub enum ProcessError {
    /// The program cannot be started.
    #[error("cannot start `{path}` as a worker: {cause}", path = .path.display())]
    Start {
        /// The program.
        path: PathBuf,
        /// The system's error.
        cause: io::Error,
    },
    /// A step on the way failed.
    #[error("cannot set up a worker ({step}): {cause}")]
    SetUp {
        /// Which step.
        step: &'static str,
        /// The system's error.
        cause: io::Error,
    },
}

impl ProcessError {
    fn step<E: Into<io::Error>>(step: &'static str) -> impl FnOnce(E) -> Self {
        move |cause| Self::SetUp {
            step,
            cause: cause.into(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn limits_survive_being_an_argument() {
        let limits = WorkerLimits::default();
        assert_eq!(
            WorkerLimits::from_argument(&limits.to_argument()),
            Some(limits)
        );
        for text in ["", "1,2", "1,2,3,4", "1,2,x", "-1,2,3"] {
            assert_eq!(WorkerLimits::from_argument(text), None, "{text}");
        }
    }
}
