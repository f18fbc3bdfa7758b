//! What rules and hooks decide.

/// What a rule does with a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Action {
    /// The call needs no approval: it answers asks of the same layer and of lower ones.
    Allow,
    /// A person decides.
    Ask,
    /// The call is refused.
    Deny,
}

impl Action {
    /// The action's word in events.
    #[must_use]
    pub const fn word(self) -> &'static str {
        match self {
            Self::Allow => "allow",
            Self::Ask => "ask",
            Self::Deny => "deny",
        }
    }
}

/// What a hook or a middleware did with an event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HookAction {
    /// Its `when` did not match, so it was not asked.
    Skip,
    /// It let the event pass.
    Allow,
    /// It stopped the call.
    Block,
    /// It changed the payload.
    Modify,
    /// It wants a person to decide.
    Ask,
    /// A middleware asked to be asked again later.
    Defer,
    /// It wants another agent to do the work.
    Delegate,
    /// It failed, and decided nothing.
    Failed,
}

impl HookAction {
    /// The action's word in events and reports.
    #[must_use]
    pub const fn word(self) -> &'static str {
        match self {
            Self::Skip => "skip",
            Self::Allow => "allow",
            Self::Block => "block",
            Self::Modify => "modify",
            Self::Ask => "ask",
            Self::Defer => "defer",
            Self::Delegate => "delegate",
            Self::Failed => "failed",
        }
    }
}
