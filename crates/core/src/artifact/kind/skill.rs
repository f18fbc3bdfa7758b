//! A skill: its fields. Nothing offers skills to a model yet.

use super::{ArtifactKind, TEXTS, fields_of};
use crate::artifact::fit::fit;
use crate::artifact::node::Node;
use crate::artifact::problem::{Problems, quoted};
use crate::artifact::rule::{field_missing, name_key_in_file};
use crate::artifact::shape::{Field, Shape};
use crate::diagnostic::Severity;
use crate::nearest::nearest;
use crate::span::Span;

pub(in crate::artifact) const FIELDS: &[Field] = &[
    Field::new(
        "name",
        Shape::Text,
        "the folder's or file's name",
        "The skill's name; it must be that of its folder or file.",
    )
    .idle(),
    Field::new(
        "description",
        Shape::Text,
        "required",
        "What the skill is for, and when to use it.",
    )
    .idle(),
    Field::new(
        "allowed-tools",
        Shape::Either(&[TEXTS, Shape::Text]),
        "none",
        "Tools that the skill asks for; a request, never a grant.",
    )
    .idle(),
    Field::new("license", Shape::Text, "none", "Its licence.").idle(),
    Field::new(
        "compatibility",
        Shape::Text,
        "none",
        "What the skill needs from its surroundings.",
    )
    .idle(),
    Field::new(
        "metadata",
        Shape::Map(&Shape::Any),
        "none",
        "Anything else about it, for other programs.",
    )
    .idle(),
];

/// Reports what is wrong with the fields of the skill of this name. `first_line` is where a reader
/// expects what is missing.
pub(in crate::artifact) fn check_skill(
    problems: &mut Problems<'_>,
    name: &str,
    node: &Node,
    first_line: Span,
) {
    fit(problems, &[], fields_of(ArtifactKind::Skill), node);
    let written = node.get("name").and_then(|node| Some((node, node.text()?)));
    if let Some((node, written)) = written
        && written != name
    {
        let finding = name_key_in_file::RULE
            .finding(format!(
                "the skill is called {}, and its folder or file {}",
                quoted(written),
                quoted(name)
            ))
            .field("name");
        problems.add(
            finding.help(format!(
                "write `name: {name}`, or rename the folder or file"
            )),
            node.span,
        );
    }
    // A misspelled key is reported as such.
    let is_misspelled = node
        .entries()
        .iter()
        .any(|(key, _)| nearest(&key.name, ["description"]).is_some());
    if node.get("description").is_none() && !is_misspelled {
        let mut finding = field_missing::RULE
            .finding("`description` is missing: nothing says when to use the skill")
            .field("description");
        finding.severity = Severity::Warning;
        problems.add(
            finding
                .help("write `description:` and one sentence: what it is for, and when to use it"),
            first_line,
        );
    }
}
