//! The surface: the tools active here, under this policy, with these prompts. Made from a project or from JSON, and checked before a token
//! is spent.

mod budget;
mod entry;
mod json;
mod judge;
pub mod mention;
mod read;
mod report;
pub(crate) mod rule;
mod text;
mod words;

#[cfg(test)]
mod tests;

pub use crate::pattern::{Pattern, Separator};
pub use budget::Budget;
pub(crate) use entry::stated;
pub use entry::{Annotated, Entry, Executor, Standing};
pub use judge::{Findings, Subject};
pub use mention::Fences;
pub use read::{read, read_text};
pub use report::Report;
pub use text::{Home, Role, Text};
pub(crate) use words::{What, words};

use crate::artifact::root::{Capabilities, Ceiling};
use crate::check::{Check, RULES};
use crate::diagnostic::Diagnostic;
use crate::span::Place;

/// The tools active here, under this policy, with these prompts.
#[derive(Debug, Default)]
pub struct Surface<'a> {
    /// Every declared tool, active or not.
    pub tools: Vec<Entry<'a>>,
    /// The policies, the strictest of which counts: of the project and of what stands above it.
    pub policies: Vec<Policy>,
    /// The patterns of the approval policy.
    pub approval: Vec<ApprovalPattern>,
    /// The tools that a policy annotates, by their names.
    pub annotated: Vec<(String, Option<Place>)>,
    /// Where the paths that may be written are limited.
    pub write_paths: Option<Written<Vec<String>>>,
    /// What a model reads.
    pub texts: Vec<Text<'a>>,
    /// Whether deferred tools can be found.
    pub tool_search: ToolSearch,
    /// Whether fenced code in texts is looked at.
    pub fences: Fences,
    /// The context that a model has.
    pub budget: Budget,
    /// What was wrong with it when it was read.
    pub problems: Vec<Diagnostic>,
}

/// Something with the place it was written at, where that is known.
#[derive(Clone, Debug)]
pub struct Written<T> {
    /// What was written.
    pub value: T,
    /// Where.
    pub place: Option<Place>,
}

/// One policy.
#[derive(Debug, Default)]
pub struct Policy {
    /// Who wrote it.
    pub from: From,
    /// Patterns over names; only tools that match one are active. Absent: all are.
    pub tools: Option<Vec<Written<Pattern>>>,
    /// Patterns over names of tools that are not active.
    pub deny: Vec<Written<Pattern>>,
    /// The most a tool may do.
    pub ceiling: Option<Written<Ceiling>>,
    /// The capabilities tools may use; absent: all.
    pub capabilities: Option<Written<Capabilities>>,
    /// What arguments may look like.
    pub constraints: Vec<Constraint>,
}

/// Whether a policy is about these tools, or about all that a person or a machine will ever have.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum From {
    /// It stands beside the tools.
    #[default]
    Here,
    /// It stands above: what of it matches nothing here may match elsewhere.
    Above,
}

/// One entry of `tool_arg_constraints`.
#[derive(Clone, Debug)]
pub struct Constraint {
    /// The tools it is about.
    pub tool: Pattern,
    /// The argument; absent: every declared path.
    pub key: Option<String>,
    /// What the argument may look like.
    pub accepted: Vec<String>,
    /// Where it was written.
    pub place: Option<Place>,
}

/// A pattern of the approval policy.
#[derive(Clone, Debug)]
pub struct ApprovalPattern {
    /// The field, as `approval_policy.auto_approve`.
    pub field: String,
    /// What it decides: `allow`, `ask` or `deny`. Absent where that hangs on more than the name.
    pub decision: Option<&'static str>,
    /// The pattern.
    pub pattern: Pattern,
    /// Where it was written.
    pub place: Option<Place>,
}

/// Whether a model can search for tools that are not listed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ToolSearch {
    /// It cannot.
    #[default]
    Off,
    /// It can.
    On,
}

/// Looks at a surface with every rule.
#[must_use]
pub fn check(surface: &Surface<'_>) -> Report {
    let subject = Subject::new(surface);
    let mut findings = Findings::default();
    for problem in &surface.problems {
        findings.add(problem.clone());
    }
    for rule in RULES {
        if let Check::Surface(look) = rule.check {
            look(&subject, &mut findings);
        }
    }
    Report::new(findings)
}
