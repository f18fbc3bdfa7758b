//! Collects the problems of one artifact while it is read.

use super::node::Node;
use super::shape::Field;
use crate::artifact::rule::{field_missing, field_wrong_type};
use crate::diagnostic::{Diagnostic, Severity};
use crate::span::{Place, Source, Span};
use std::sync::Arc;

/// The artifact with the problems; decides how severe an unknown key is and whether a tool is
/// named.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Subject<'a> {
    /// A tool of this name.
    Tool(&'a str),
    /// A hook of this name.
    Hook(&'a str),
    /// The root file.
    Root,
    /// A bundle.
    Bundle,
    /// A client map.
    Client,
    /// The file of a machine or user.
    Layer,
    /// An agent.
    Agent,
    /// A skill.
    Skill,
    /// A context.
    Context,
}

/// The problems of one artifact, with the file they are in.
pub(super) struct Problems<'a> {
    pub(super) source: &'a Arc<Source>,
    pub(super) subject: Subject<'a>,
    pub(super) found: Vec<Diagnostic>,
}

impl<'a> Problems<'a> {
    pub(super) fn new(
        source: &'a Arc<Source>,
        subject: Subject<'a>,
        found: Vec<Diagnostic>,
    ) -> Self {
        Self {
            source,
            subject,
            found,
        }
    }

    /// Adds a finding at a place of the file.
    pub(super) fn add(&mut self, finding: Diagnostic, span: Span) {
        let finding = finding.at(Place::new(self.source, span));
        self.found.push(if let Subject::Tool(name) = self.subject {
            finding.tool(name)
        } else {
            finding
        });
    }

    /// A value of the wrong kind.
    pub(super) fn wrong_type(&mut self, node: &Node, field: &str, accepted: &str) {
        self.wrong_type_or(node, field, accepted, None);
    }

    /// A value of the wrong kind, and what to write instead.
    pub(super) fn wrong_type_or(
        &mut self,
        node: &Node,
        field: &str,
        accepted: &str,
        instead: Option<String>,
    ) {
        let message = format!("{} must be {accepted}, not {}", quoted(field), shown(node));
        let mut finding = field_wrong_type::RULE.finding(message).field(field);
        finding.help = instead;
        self.add(finding, node.span);
    }

    /// A required value that is not there.
    pub(super) fn missing(&mut self, span: Span, field: &str, accepted: &str) {
        let finding = field_missing::RULE.finding(format!("{} is missing", quoted(field)));
        self.add(finding.field(field).help(format!("write {accepted}")), span);
    }

    /// The first error, which is what a refusal quotes.
    pub(super) fn first_error(&self) -> Option<&Diagnostic> {
        self.found
            .iter()
            .find(|problem| problem.severity == Severity::Error)
    }
}

/// The user's words for a message: in backticks, on one line, not too long.
pub(crate) fn quoted(words: &str) -> String {
    const LONGEST: usize = 80;
    let mut shown: String = words
        .chars()
        .take(LONGEST)
        .flat_map(|c| {
            if c.is_control() {
                c.escape_default().collect()
            } else {
                vec![c]
            }
        })
        .collect();
    if words.chars().nth(LONGEST).is_some() {
        shown.push('…');
    }
    format!("`{shown}`")
}

/// A value for a message: short text itself, anything else by its kind.
fn shown(node: &Node) -> String {
    match (node.text(), node.integer(), node.bool()) {
        (Some(text), ..) if text.len() <= 40 && !text.contains('\n') => quoted(text),
        (_, Some(number), _) => format!("`{number}`"),
        (.., Some(value)) => format!("`{value}`"),
        _ => node.kind_word().to_owned(),
    }
}

/// The key that was probably meant.
pub(super) fn did_you_mean<'f>(
    key: &str,
    fields: impl IntoIterator<Item = &'f Field>,
) -> Option<&'static str> {
    // Distances are quadratic, and a key longer than this is not a misspelled field.
    if key.len() > 64 {
        return None;
    }
    let plain = |name: &str| {
        name.chars()
            .filter(|c| c.is_alphanumeric())
            .flat_map(char::to_lowercase)
            .collect::<String>()
    };
    let wanted = plain(key);
    let distance = |name: &str| strsim::damerau_levenshtein(&wanted, &plain(name));
    let (best, distance) = fields
        .into_iter()
        .map(|field| (field.name, distance(field.name)))
        .min_by_key(|&(_, distance)| distance)?;
    (distance <= 2 && distance * 3 <= wanted.len()).then_some(best)
}
