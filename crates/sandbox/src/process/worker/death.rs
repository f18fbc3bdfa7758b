//! How a worker ended, and what that means.

/// The exit codes a worker chooses itself. Otherwise it only ends by a signal.
///
/// Those from [`Memory`](Self::Memory) on are the first of [`MAX_PARTS`] codes: the code also says
/// which part of a request the worker was working on, because a dead worker cannot be asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(i32)]
pub enum ExitCode {
    /// The harness closed the channel.
    Closed = 0,
    /// It could not confine itself, so it refused to serve.
    Unconfined = 80,
    /// The harness sent something it does not understand.
    Malformed = 81,
    /// An allocation failed.
    Memory = 100,
    /// The stack overflowed.
    Stack = 130,
    /// It panicked.
    Panic = 160,
    /// The harness told it to stop.
    Stopped = 190,
}

/// How many parts of one request a worker's death can tell apart.
pub const MAX_PARTS: usize = 30;

const FIRST_WITH_PART: i32 = ExitCode::Memory as i32;
const SPAN: i32 = MAX_PARTS as i32;

/// How a worker ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Death {
    /// It exited with this code.
    Exit(i32),
    /// This signal ended it.
    Signal(i32),
    /// Other code reaped it.
    Lost,
}

/// What a death means.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DeathCause {
    /// It exited normally after the channel was closed.
    Closed,
    /// It exceeded its memory limit.
    Memory,
    /// It nested too deeply.
    Stack,
    /// The evaluator has a bug.
    Panic,
    /// It used up the processor time of its whole life.
    Cpu,
    /// It made a forbidden system call.
    Filter,
    /// It was killed, most often by the harness at a deadline.
    Killed,
    /// It could not confine itself and refused to serve.
    Unconfined,
    /// Anything else.
    Other,
}

impl Death {
    /// What the death means.
    #[must_use]
    pub fn cause(self) -> DeathCause {
        match self {
            Self::Exit(code) => [
                (ExitCode::Closed, DeathCause::Closed),
                (ExitCode::Unconfined, DeathCause::Unconfined),
                (ExitCode::Memory, DeathCause::Memory),
                (ExitCode::Stack, DeathCause::Stack),
                (ExitCode::Panic, DeathCause::Panic),
                (ExitCode::Stopped, DeathCause::Killed),
            ]
            .into_iter()
            .find(|&(known, _)| known as i32 == first_of(code))
            .map_or(DeathCause::Other, |(_, cause)| cause),
            Self::Signal(libc::SIGSYS) => DeathCause::Filter,
            Self::Signal(libc::SIGXCPU) => DeathCause::Cpu,
            Self::Signal(libc::SIGKILL) => DeathCause::Killed,
            Self::Signal(_) | Self::Lost => DeathCause::Other,
        }
    }

    /// The part of the request the worker was working on, if it could still tell.
    #[must_use]
    pub fn part(self) -> Option<usize> {
        match self {
            Self::Exit(code)
                if (FIRST_WITH_PART..ExitCode::Stopped as i32 + SPAN).contains(&code) =>
            {
                usize::try_from(code - first_of(code)).ok()
            }
            _ => None,
        }
    }
}

/// The code without the part number.
const fn first_of(code: i32) -> i32 {
    if code < FIRST_WITH_PART || code > ExitCode::Stopped as i32 + SPAN - 1 {
        code
    } else {
        code - (code - FIRST_WITH_PART) % SPAN
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_death_has_a_cause() {
        for (death, cause) in [
            (Death::Exit(0), DeathCause::Closed),
            (Death::Exit(100), DeathCause::Memory),
            (Death::Exit(129), DeathCause::Memory),
            (Death::Exit(131), DeathCause::Stack),
            (Death::Exit(160), DeathCause::Panic),
            (Death::Exit(219), DeathCause::Killed),
            (Death::Exit(220), DeathCause::Other),
            (Death::Exit(1), DeathCause::Other),
            (Death::Signal(libc::SIGSYS), DeathCause::Filter),
            (Death::Signal(libc::SIGKILL), DeathCause::Killed),
            (Death::Signal(libc::SIGSEGV), DeathCause::Other),
            (Death::Lost, DeathCause::Other),
        ] {
            assert_eq!(death.cause(), cause, "{death:?}");
        }
    }

    #[test]
    fn a_death_says_which_part_it_was_at() {
        for (death, part) in [
            (Death::Exit(100), Some(0)),
            (Death::Exit(107), Some(7)),
            (Death::Exit(219), Some(29)),
            (Death::Exit(0), None),
            (Death::Exit(81), None),
            (Death::Exit(250), None),
            (Death::Signal(9), None),
        ] {
            assert_eq!(death.part(), part, "{death:?}");
        }
    }
}
