//! The stages of a call, in order.

use std::fmt;

/// A stage of a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Stage {
    /// The tool exists and is offered; the arguments are JSON that fits its schema.
    Admit,
    /// The rules allow the call.
    Authorize,
    /// Hooks and middleware allow it, and may change its arguments.
    Before,
    /// A person agrees, where one must.
    Approve,
    /// The body runs.
    Execute,
    /// Hooks see the result; it is redacted and bounded.
    Finish,
}

impl Stage {
    /// Every stage, in order.
    pub const ALL: [Self; 6] = [
        Self::Admit,
        Self::Authorize,
        Self::Before,
        Self::Approve,
        Self::Execute,
        Self::Finish,
    ];

    /// The word that events, reports and people use.
    #[must_use]
    pub const fn word(self) -> &'static str {
        match self {
            Self::Admit => "admit",
            Self::Authorize => "authorize",
            Self::Before => "before",
            Self::Approve => "approve",
            Self::Execute => "execute",
            Self::Finish => "finish",
        }
    }
}

impl fmt::Display for Stage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.word())
    }
}
