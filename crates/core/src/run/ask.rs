//! The reasons to ask a person, and the only answer so far: a refusal, because there is no
//! approver.

use super::context::Context;
use crate::digest;
use crate::refusal::{Code, Refusal};
use crate::registry::RegisteredTool;
use crate::span::Place;
use serde_json::{Map, Value, json};

/// One reason to ask a person.
#[derive(Clone, Debug)]
pub(super) struct Ask {
    pub(super) asker: Asker,
    pub(super) reason: String,
    /// The line that asks.
    pub(super) place: Option<Place>,
}

/// Who asks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Asker {
    /// A rule, quoted.
    Rule(String),
    /// The hook of this name.
    Hook(String),
    /// The middleware of this name.
    Middleware(String),
    /// The tool itself, by `requires_approval`.
    Tool,
}

impl Ask {
    /// Who asks and why, for the model and the record.
    pub(super) fn words(&self) -> String {
        match &self.asker {
            Asker::Rule(words) => format!("{} ({words})", self.reason),
            Asker::Hook(name) => format!("hook `{name}`: {}", self.reason),
            Asker::Middleware(name) => format!("middleware `{name}`: {}", self.reason),
            Asker::Tool => self.reason.clone(),
        }
    }
}

/// All questions about one call, bound to exactly what would run: an answer is void if the tool's
/// definition, the arguments or the policy have changed since.
#[derive(Clone, Debug)]
pub(super) struct Request {
    pub(super) asks: Vec<Ask>,
    /// The digest of definition, arguments and policy.
    pub(super) digest: String,
}

impl Request {
    pub(super) fn new(
        ctx: &Context,
        tool: &RegisteredTool,
        arguments: &Map<String, Value>,
        asks: Vec<Ask>,
    ) -> Self {
        let bound = json!({
            "definition": tool.definition(),
            "arguments": arguments,
            "policy": ctx.view().revision(),
        });
        Self {
            asks,
            digest: digest::of_worth(&bound),
        }
    }
}

/// Asks a person. Every question about a call, a built-in or an artifact is answered here; without
/// approvers the answer is a refusal.
pub(super) async fn answer(
    ctx: &Context,
    subject: Option<&str>,
    asks: &[Ask],
) -> Result<(), Refusal> {
    // The time a person takes does not count.
    let _waiting = ctx.pause();
    Err(no_approver(subject, asks))
}

/// The refusal for a question that no approver can answer.
fn no_approver(subject: Option<&str>, asks: &[Ask]) -> Refusal {
    let reasons: Vec<String> = asks.iter().map(Ask::words).collect();
    let subject = subject.map_or_else(String::new, |name| format!("`{name}` "));
    let message = format!(
        "{subject}needs a person's approval, and no approver is available here: {}",
        reasons.join("; ")
    );
    let refusal = Refusal::new(Code::ApprovalDenied, message)
        .help("approvals are not available in this version; a person can change what asks for one")
        .detail("reasons", reasons);
    match asks.iter().find_map(|ask| ask.place.clone()) {
        Some(place) => refusal.at(place),
        None => refusal,
    }
}
