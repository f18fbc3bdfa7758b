//! A hook as its author wrote it.

use super::Origin;
use super::permission::Permission;
use super::tool::Script;
use crate::span::Spanned;
use crate::span::{Place, Span};
use serde_json::Value;

/// A hook artifact after parsing.
#[derive(Clone, Debug)]
pub struct Hook {
    /// The file's stem, or `name` (or `handler`) where a hook is written inline.
    pub name: String,
    /// Where the hook is defined.
    pub origin: Origin,
    /// The event, when it could be read. A hook without one blocks every gating event.
    pub event: Option<Spanned<String>>,
    /// `script`.
    pub script: Option<Script>,
    /// `when`.
    pub when: Option<Script>,
    /// `priority`; lower runs first.
    pub priority: i64,
    /// `on_error`, when written.
    pub on_error: Option<OnError>,
    /// `timeout_ms`.
    pub timeout_ms: u64,
    /// `permissions`.
    pub permissions: Vec<Permission>,
    /// `examples`.
    pub examples: Vec<Spanned<HookExample>>,
    /// The whole frontmatter as JSON.
    pub frontmatter: Value,
    /// The body, for reviewers.
    pub body: String,
    /// `tags`.
    pub tags: Vec<String>,
    /// Fields the author wrote that the harness does not enforce yet; the hook then blocks like one
    /// that cannot be loaded.
    pub unsupported: Vec<Spanned<&'static str>>,
}

/// What a hook's failure means.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OnError {
    /// The call is blocked.
    Block,
    /// The failure is logged and the chain goes on.
    Allow,
}

/// One example: a payload and the decision it must get.
#[derive(Clone, Debug)]
pub struct HookExample {
    /// Overrides the hook's event, for hooks on `custom.*` or `meta.*`.
    pub event: Option<String>,
    /// The payload; what is left out is filled in as the runtime would.
    pub payload: Value,
    /// `allow`, `block`, `ask`, `modify` or `delegate`.
    pub decision: String,
    /// Text the reason must contain.
    pub reason: Option<String>,
    /// The payload part that `modify` must give.
    pub modified: Option<Value>,
}

impl Hook {
    /// The place of a span of this hook's file.
    #[must_use]
    pub fn place(&self, span: Span) -> Place {
        Place::new(&self.origin.source, span)
    }

    /// Whether a failure of this hook blocks, given whether its event gates.
    #[must_use]
    pub fn blocks_on_error(&self, gating: bool) -> bool {
        self.on_error
            .map_or(gating, |choice| choice == OnError::Block)
    }
}
