//! Exit codes, and errors in how the program was used.

use std::fmt;
use std::process::ExitCode;
use tool_harness::Code;
use tool_harness::ToolResult;
use tool_harness::redact::Redactor;

/// The exit codes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Exit {
    /// Done.
    Done,
    /// The tool failed, or a report is not valid.
    Failed,
    /// Wrong usage or configuration.
    Usage,
    /// Refused by policy, hook or approval.
    Refused,
    /// Timed out or cancelled.
    Stopped,
    /// The exit code of the command that `harness exec` ran.
    As(u8),
}

impl Exit {
    /// The exit code as a number.
    pub(crate) fn code(self) -> u8 {
        match self {
            Self::Done => 0,
            Self::Failed => 1,
            Self::Usage => 2,
            Self::Refused => 3,
            Self::Stopped => 4,
            Self::As(code) => code,
        }
    }

    /// [`Exit::Failed`] if `failed`, otherwise [`Exit::Done`].
    pub(crate) fn failed_if(failed: bool) -> Self {
        if failed { Self::Failed } else { Self::Done }
    }

    /// Ends the program at once.
    pub(crate) fn at_once(self) -> ! {
        std::process::exit(self.code().into())
    }
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        Self::from(exit.code())
    }
}

impl From<Code> for Exit {
    fn from(code: Code) -> Self {
        match code {
            Code::Denied
            | Code::HookBlocked
            | Code::HookFailed
            | Code::ApprovalDenied
            | Code::ApprovalTimeout
            | Code::Unsupported
            | Code::SandboxDenied => Self::Refused,
            Code::Timeout | Code::Cancelled => Self::Stopped,
            _ => Self::Failed,
        }
    }
}

impl From<&ToolResult> for Exit {
    fn from(result: &ToolResult) -> Self {
        match &result.error {
            Some(refusal) => refusal.code.into(),
            None => Self::failed_if(result.is_error),
        }
    }
}

/// The user asked for something that the program cannot do. Ends it with [`Exit::Usage`].
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct UsageError {
    /// One line.
    pub(crate) message: String,
    /// What would be accepted, or the next command.
    pub(crate) help: Option<String>,
}

/// A [`UsageError`] with a formatted message.
macro_rules! usage {
    ($($message:tt)*) => { $crate::exit::UsageError::new(format!($($message)*)) };
}
pub(crate) use usage;

impl UsageError {
    pub(crate) fn new(message: impl Into<String>) -> Self {
        Self {
            message: message.into(),
            help: None,
        }
    }

    /// Replaces secrets that the user typed.
    pub(crate) fn redacted(self, redactor: &Redactor) -> Self {
        let clean = |text: String| redactor.text(&text).into_owned();
        Self {
            message: clean(self.message),
            help: self.help.map(clean),
        }
    }

    pub(crate) fn help(mut self, help: impl Into<String>) -> Self {
        self.help = Some(help.into());
        self
    }
}

impl fmt::Display for UsageError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for UsageError {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_code_has_its_documented_exit_code() {
        for &code in Code::ALL {
            let text = code.text();
            let expected = if text == "tool.denied"
                || text.starts_with("tool.hook.")
                || text.starts_with("tool.approval.")
            {
                Exit::Refused
            } else if text == "tool.timeout" || text == "tool.cancelled" {
                Exit::Stopped
            } else if text == "tool.unsupported" || text == "sandbox.denied" {
                Exit::Refused
            } else {
                Exit::Failed
            };
            assert_eq!(Exit::from(code), expected, "{text}");
        }
    }
}
