//! `redaction` and `secrets` of the root file.

use super::TEXTS;
use crate::artifact::node::Node;
use crate::artifact::problem::{Problems, quoted};
use crate::artifact::rule::field_wrong_type;
use crate::artifact::shape::{Field, Shape};
use crate::artifact::value::{texts, words};
use crate::redact::RedactionPatterns;
use crate::span::Spanned;

pub(in crate::artifact) const REDACTION_FIELD: Field = Field::new(
    "redaction",
    TEXTS,
    "none",
    "What is removed from results, events and kept output, besides secrets and tokens: the name of a field (`*` matches anything), or a pattern between slashes. The lists of all layers count.",
);

pub(in crate::artifact) const SECRETS_FIELD: Field = Field::new(
    "secrets",
    Shape::Map(&Shape::Either(&[
        Shape::Text,
        Shape::Record(SECRET_COMMAND),
    ])),
    "none",
    "Where the secrets of `inject` come from, by name: `env:VAR`, `file:PATH`, or a `command` that prints it. Their values never leave the harness. A project's own count once a person trusts it.",
);

const SECRET_COMMAND: &[Field] = &[Field::new(
    "command",
    TEXTS,
    "required",
    "A program and its arguments, run as the user and not in the sandbox.",
)];

/// Where a secret comes from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SecretSource {
    /// `env:VAR`.
    Variable(String),
    /// `file:PATH`: absolute, or from `~`.
    File(String),
    /// `command: [...]`.
    Command(Vec<String>),
}

/// `redaction` of the root file, `safety.redact` of a tool. An entry without meaning is reported,
/// because it would protect nothing.
pub(in crate::artifact) fn redaction(
    problems: &mut Problems<'_>,
    node: Option<&Node>,
    field: &str,
) -> Vec<Spanned<String>> {
    let entries = texts(node);
    for (index, entry) in entries.iter().enumerate() {
        if let Err(problem) = RedactionPatterns::new([entry.value.as_str()]) {
            let finding = field_wrong_type::RULE
                .finding(problem)
                .field(format!("{field}[{index}]"));
            problems
                .add(finding.help("write the name of a field, such as `password` or `*_token`, or a pattern, such as `/CUS-[0-9]+/`"), entry.span);
        }
    }
    entries
}

/// `secrets`.
pub(super) fn secrets(
    problems: &mut Problems<'_>,
    node: Option<&Node>,
) -> Vec<(String, Spanned<SecretSource>)> {
    let mut secrets = Vec::new();
    for (key, from) in node.map(Node::entries).unwrap_or_default() {
        let value = match (
            from.text().and_then(|text| text.split_once(':')),
            from.get("command"),
        ) {
            (Some(("env", name)), _) if !name.is_empty() => SecretSource::Variable(name.to_owned()),
            (Some(("file", path)), _) if path.starts_with('/') || path.starts_with("~/") => {
                SecretSource::File(path.to_owned())
            }
            (None, Some(command)) if !words(Some(command)).is_empty() => {
                SecretSource::Command(words(Some(command)))
            }
            _ => {
                let message = format!("{} does not say where it comes from", quoted(&key.name));
                let finding = field_wrong_type::RULE
                    .finding(message)
                    .field(format!("secrets.{}", key.name));
                problems.add(
                    finding.help("write `env:VAR`, `file:/absolute/path`, `file:~/path`, or `command: [program, argument]`"),
                    from.span,
                );
                continue;
            }
        };
        secrets.push((key.name.clone(), from.spanned(value)));
    }
    secrets
}
