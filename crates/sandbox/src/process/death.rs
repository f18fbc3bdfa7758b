//! How a worker ended, and what that means.

/// The exit codes a worker chooses itself. Apart from these it only ends by a signal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(i32)]
pub enum ExitCode {
    /// The harness closed the channel.
    Closed = 0,
    /// It could not be confined, so it refused to serve.
    Unconfined = 80,
    /// Memory was refused.
    Memory = 81,
    /// The stack overflowed.
    Stack = 82,
    /// It panicked.
    Panic = 83,
    /// The harness sent something it does not understand.
    Malformed = 84,
}

/// How a worker ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Death {
    /// It exited with this code.
    Exit(i32),
    /// This signal ended it.
    Signal(i32),
    /// It is gone and somebody else collected its status.
    Lost,
}

/// What a death means.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cause {
    /// It ended in good order after the channel was closed.
    Closed,
    /// It asked for more memory than it may have.
    Memory,
    /// It nested too deeply.
    Stack,
    /// The evaluator is broken.
    Panic,
    /// The processor time of its whole life is used up.
    Cpu,
    /// It made a system call it may not make.
    Filter,
    /// Somebody killed it; most often the harness, at a deadline.
    Killed,
    /// It could not be confined and refused to serve.
    Unconfined,
    /// Anything else.
    Other,
}

impl Death {
    /// What the death means.
    #[must_use]
    pub fn cause(self) -> Cause {
        match self {
            Self::Exit(code) => [
                (ExitCode::Closed, Cause::Closed),
                (ExitCode::Unconfined, Cause::Unconfined),
                (ExitCode::Memory, Cause::Memory),
                (ExitCode::Stack, Cause::Stack),
                (ExitCode::Panic, Cause::Panic),
            ]
            .into_iter()
            .find(|&(known, _)| known as i32 == code)
            .map_or(Cause::Other, |(_, cause)| cause),
            Self::Signal(libc::SIGSYS) => Cause::Filter,
            Self::Signal(libc::SIGXCPU) => Cause::Cpu,
            Self::Signal(libc::SIGKILL) => Cause::Killed,
            Self::Signal(_) | Self::Lost => Cause::Other,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_death_has_a_cause() {
        for (death, cause) in [
            (Death::Exit(0), Cause::Closed),
            (Death::Exit(81), Cause::Memory),
            (Death::Exit(82), Cause::Stack),
            (Death::Exit(83), Cause::Panic),
            (Death::Exit(101), Cause::Other),
            (Death::Signal(libc::SIGSYS), Cause::Filter),
            (Death::Signal(libc::SIGKILL), Cause::Killed),
            (Death::Signal(libc::SIGSEGV), Cause::Other),
            (Death::Lost, Cause::Other),
        ] {
            assert_eq!(death.cause(), cause, "{death:?}");
        }
    }
}
