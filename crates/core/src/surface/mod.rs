//! The surface: the tools active here, under this policy, with these prompts. Made from a project
//! or from JSON, and checked before a token is spent.

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

pub(crate) use crate::pattern::{Pattern, Separator};
pub use budget::Budget;
pub use entry::Entry;
pub(crate) use entry::stated;
pub(crate) use entry::{AnnotationSource, Executor, ToolStatus};
pub use judge::{Findings, Subject};
pub(crate) use mention::Fences;
pub use read::{read, read_text};
pub use report::Report;
pub use text::Text;
pub(crate) use text::{Role, TextOrigin};
pub(crate) use words::{SchemaText, words};

use crate::artifact::root::{Capabilities, Ceiling};
use crate::diagnostic::Diagnostic;
use crate::span::Place;

/// The tools active here, under this policy, with these prompts.
#[derive(Debug, Default)]
pub struct Surface<'a> {
    /// Every declared tool, active or not.
    pub tools: Vec<Entry<'a>>,
    /// The policies of the project and of the layers above it; the strictest counts.
    pub(crate) policies: Vec<Policy>,
    /// The patterns of the approval policy.
    pub approval: Vec<ApprovalPattern>,
    /// The tools that a policy annotates, by their names.
    pub(crate) annotated: Vec<(String, Option<Place>)>,
    /// The limit on paths that may be written.
    pub(crate) write_paths: Option<Located<Vec<String>>>,
    /// What a model reads.
    pub texts: Vec<Text<'a>>,
    /// Whether deferred tools can be found.
    pub tool_search: ToolSearch,
    /// Whether fenced code in texts is checked.
    pub fences: Fences,
    /// The context that a model has.
    pub budget: Budget,
    /// Whether scripts can call something of this name, as `emit` or `fs.read`, or anything of it,
    /// as `fs.*`; absent where nothing is known about scripts.
    pub(crate) is_builtin: Option<fn(&str) -> bool>,
    /// Problems found while it was read.
    pub problems: Vec<Diagnostic>,
}

/// A value with its place, if known.
#[derive(Clone, Debug)]
pub struct Located<T> {
    /// The value.
    pub value: T,
    /// Where.
    pub place: Option<Place>,
}

/// One policy.
#[derive(Debug, Default)]
pub struct Policy {
    /// Where it comes from.
    pub origin: PolicyOrigin,
    /// Patterns over names; only tools that match one are active. Absent: all are.
    pub tools: Option<Vec<Located<Pattern>>>,
    /// Patterns over names of tools that are not active.
    pub deny: Vec<Located<Pattern>>,
    /// The most a tool may do.
    pub ceiling: Option<Located<Ceiling>>,
    /// The capabilities tools may use; absent: all.
    pub capabilities: Option<Located<Capabilities>>,
    /// The values that arguments may have.
    pub(crate) constraints: Vec<Constraint>,
}

/// Whether a policy is about these tools, or about all tools of a person or a machine.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum PolicyOrigin {
    /// It is written beside the tools.
    #[default]
    Local,
    /// It comes from a layer above: a pattern that matches nothing here may match elsewhere.
    Inherited,
}

/// One entry of `tool_arg_constraints`.
#[derive(Clone, Debug)]
pub(crate) struct Constraint {
    /// The tools it is about.
    pub tool: Pattern,
    /// The argument; absent: every declared path.
    pub key: Option<String>,
    /// The values that the argument may have.
    pub accepted: Vec<String>,
    /// Where it was written.
    pub place: Option<Place>,
}

/// A pattern of the approval policy.
#[derive(Clone, Debug)]
pub struct ApprovalPattern {
    /// The field, as `approval_policy.auto_approve`.
    pub field: String,
    /// What it decides: `allow`, `ask` or `deny`. Absent if that depends on more than the name.
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

/// Checks a surface with every rule.
#[must_use]
pub fn check(surface: &Surface<'_>) -> Report {
    let subject = Subject::new(surface);
    let mut findings = Findings::default();
    for problem in &surface.problems {
        findings.add(problem.clone());
    }
    for rule in rule::JUDGING {
        (rule.check)(&subject, &mut findings);
    }
    Report::new(findings)
}
