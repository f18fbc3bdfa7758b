//! Compares a tree with its shape, and finds fields that are written but not enforced.

use super::ArtifactKind;
use super::kind::{fields_of, unsupported_name};
use super::node::{Kind, Node};
use super::problem::{Problems, Subject, did_you_mean, quoted};
use super::shape::{Field, FieldStatus, Shape};
use super::slip;
use crate::artifact::rule::{
    field_wrong_type, key_unknown, name_key_in_file, script_not_indented, timeout_negative,
};
use crate::diagnostic::Severity;
use crate::nearest::{backticked, nearest};
use crate::span::Spanned;
use std::collections::HashMap;

/// Reports unknown keys and wrong types in an artifact. Inline artifacts inside it are left to
/// their own check.
pub(super) fn fit(
    problems: &mut Problems<'_>,
    naming: &'static [Field],
    fields: &'static [Field],
    node: &Node,
) {
    if matches!(node.kind, Kind::Map(_) | Kind::Null) {
        record(problems, &[naming, fields], node, "");
    } else {
        problems.wrong_type(node, "frontmatter", "a map of fields");
    }
}

/// The fields the author wrote that the harness does not enforce yet, by the names of the tested
/// list.
pub(super) fn unsupported(kind: ArtifactKind, node: &Node) -> Vec<Spanned<&'static str>> {
    let mut found = Vec::new();
    restrictions(kind, fields_of(kind), node, "", &mut found);
    found
}

fn record(problems: &mut Problems<'_>, tables: &[&'static [Field]], node: &Node, path: &str) {
    let known = || tables.iter().copied().flatten();
    let meant = |name: &str| {
        if known().any(|field| field.name == name) {
            None
        } else {
            did_you_mean(name, known())
        }
    };
    let mut written: HashMap<&str, usize> = HashMap::new();
    for (key, _) in node.entries() {
        [Some(key.name.as_str()), meant(&key.name)]
            .into_iter()
            .flatten()
            .for_each(|name| *written.entry(name).or_default() += 1);
    }
    for (key, value) in node.entries() {
        let path = join(path, &key.name);
        match known().find(|field| field.name == key.name) {
            Some(field) => {
                let before = problems.found.len();
                shape(problems, &field.shape, value, &path);
                // What has no effect yet restricts nothing, so a mistake in it breaks nothing.
                if problems.subject == Subject::Root
                    && matches!(field.status, FieldStatus::Idle | FieldStatus::Unsupported)
                {
                    for found in &mut problems.found[before..] {
                        found.severity = found.severity.min(Severity::Warning);
                    }
                }
            }
            None => {
                let meant = meant(&key.name);
                // Suggest each key only once, and none that is already written.
                let fixable = meant.filter(|meant| written.get(meant) == Some(&1));
                unknown(
                    problems,
                    key,
                    &path,
                    meant,
                    fixable,
                    known().map(|field| field.name),
                );
            }
        }
    }
}

fn unknown(
    problems: &mut Problems<'_>,
    key: &super::node::Key,
    path: &str,
    meant: Option<&'static str>,
    fixable: Option<&'static str>,
    known: impl Iterator<Item = &'static str>,
) {
    let (severity, of) = match problems.subject {
        Subject::Tool(_) => (Severity::Warning, "a tool"),
        Subject::Hook(_) => (Severity::Error, "a hook"),
        Subject::Root => (Severity::Error, "a root file"),
        Subject::Bundle => (Severity::Error, "a bundle"),
        Subject::Client => (Severity::Error, "a client map"),
        Subject::Layer => (Severity::Error, "a file of the machine or user"),
        Subject::Agent => (Severity::Error, "an agent"),
        Subject::Skill => (Severity::Warning, "a skill"),
        Subject::Context => (Severity::Warning, "a context"),
    };
    if path == key.name && is_code(&key.name) && may_have_script(problems.subject) {
        // Every line of the script is such a key; the first says it for all.
        let code = script_not_indented::RULE.code;
        if !problems.found.iter().any(|found| found.code == code) {
            problems.add(slip::unindented().field("script"), key.span);
        }
        return;
    }
    if path == key.name
        && matches!(key.name.as_str(), "name" | "description")
        && !matches!(problems.subject, Subject::Root | Subject::Layer)
    {
        let from = if key.name == "name" {
            "the file's name"
        } else {
            "the text below the frontmatter"
        };
        let message = format!(
            "{} in the file of {of} has no effect: it comes from {from}",
            quoted(&key.name)
        );
        problems.add(
            name_key_in_file::RULE
                .finding(message)
                .field(path)
                .help("remove the key"),
            key.span,
        );
        return;
    }
    let message = format!("{} is not a field of {of}", quoted(path));
    let mut finding = key_unknown::RULE.finding(message).field(path);
    finding.severity = severity;
    finding = finding.help(match meant {
        Some(meant) => format!("did you mean `{meant}`?"),
        None => format!("fields here: {}", backticked(known)),
    });
    finding.fix = fixable.map(str::to_owned);
    problems.add(finding, key.span);
}

fn may_have_script(subject: Subject<'_>) -> bool {
    matches!(subject, Subject::Tool(_) | Subject::Hook(_))
}

/// Whether a key is a line of a script that is not indented.
fn is_code(key: &str) -> bool {
    ["def ", "if ", "for ", "return ", "else", "elif "]
        .iter()
        .any(|word| key.starts_with(word))
        || key.contains(['(', '='])
}

fn shape(problems: &mut Problems<'_>, shape: &'static Shape, node: &Node, path: &str) {
    if !shape.takes(node) {
        return misfit(problems, shape, node, path);
    }
    match shape {
        Shape::List(item) => {
            for (index, node) in node.items().iter().enumerate() {
                self::shape(problems, item, node, &format!("{path}[{index}]"));
            }
        }
        // Reported as a whole by the reader of `parameters`.
        Shape::Map(Shape::Parameter) if is_whole_schema(node) => {}
        Shape::Map(value) => {
            for (key, node) in node.entries() {
                self::shape(problems, value, node, &join(path, &key.name));
            }
        }
        Shape::Record(fields) => record(problems, &[fields], node, path),
        Shape::Either(shapes) => {
            if let Some(chosen) = shapes.iter().find(|shape| shape.takes(node)) {
                self::shape(problems, chosen, node, path);
            }
        }
        Shape::Any
        | Shape::Bool
        | Shape::Integer(_)
        | Shape::Number
        | Shape::Text
        | Shape::Word(_) => {}
        Shape::Inline(..) | Shape::JsonSchema | Shape::Parameter => {}
    }
}

fn misfit(problems: &mut Problems<'_>, shape: &Shape, node: &Node, path: &str) {
    if let Subject::Tool(name) = problems.subject
        && path == "timeout_ms"
        && matches!(&node.kind, Kind::Number(number) if is_negative_integer(&number.to_string()))
    {
        let message = format!("tool \"{name}\" timeout_ms must be >= 0");
        problems.add(
            timeout_negative::RULE
                .finding(message)
                .field(path)
                .help("0 means no cap of its own"),
            node.span,
        );
        return;
    }
    let is_script = path.rsplit('.').next() == Some("script") && may_have_script(problems.subject);
    if is_script && matches!(node.kind, Kind::Map(_) | Kind::List(_)) {
        let message = format!("{} must be text, not {}", quoted(path), node.kind_word());
        let finding = field_wrong_type::RULE.finding(message).field(path);
        problems.add(
            finding.help("write `script: |`, and the script below it, indented by two spaces"),
            node.span,
        );
        return;
    }
    let instead = instead(shape, node, path);
    problems.wrong_type_or(node, path, &shape.accepted(), instead);
}

/// What the author of a value that does not fit probably meant to write.
fn instead(shape: &Shape, node: &Node, path: &str) -> Option<String> {
    let key = path.rsplit('.').next().filter(|key| !key.contains('['))?;
    let text = node.text();
    match shape {
        Shape::Bool => match text?.to_ascii_lowercase().as_str() {
            "yes" | "on" | "true" => Some(format!("write `{key}: true`")),
            "no" | "off" | "false" => Some(format!("write `{key}: false`")),
            _ => None,
        },
        Shape::Integer(_) | Shape::Number => {
            let text = text?;
            let digits = text.trim_end_matches(|c: char| !c.is_ascii_digit());
            let is_number = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
            match is_number && digits.len() == text.len() {
                true => Some(format!("write `{key}: {digits}`, without quotes")),
                false if is_number => Some("write the number alone, without a unit".to_owned()),
                false => None,
            }
        }
        Shape::Word(words) => {
            nearest(text?, words.iter().copied()).map(|word| format!("did you mean `{word}`?"))
        }
        Shape::List(Shape::Text | Shape::Word(_) | Shape::Either(_)) => {
            let text = text.filter(|text| text.len() <= 40 && !text.contains(['\n', ',', '"']))?;
            Some(format!("write `{key}: [{text}]`"))
        }
        Shape::Record(fields) => {
            let names: Vec<&str> = fields.iter().take(8).map(|field| field.name).collect();
            Some(format!(
                "write its fields below it, indented: {}",
                backticked(names)
            ))
        }
        Shape::Map(_) => Some("write `name: value` below it, indented".to_owned()),
        // Where a word is accepted, a word was meant.
        Shape::Either(shapes) => {
            let word = shapes.iter().find(|shape| matches!(shape, Shape::Word(_)));
            match word {
                Some(word) => instead(word, node, path),
                None => shapes.iter().find_map(|shape| instead(shape, node, path)),
            }
        }
        _ => None,
    }
}

/// Whether `parameters` holds what belongs into `input_schema`: a schema of an object.
pub(super) fn is_whole_schema(node: &Node) -> bool {
    let Some(properties) = node.get("properties").filter(|node| node.is_map()) else {
        return false;
    };
    // A parameter called `properties` has a type of its own.
    let is_parameter = properties.get("type").is_some_and(|kind| !kind.is_map());
    let is_of_object = node.get("type").and_then(Node::text) == Some("object");
    is_of_object
        || !is_parameter
            && !properties.entries().is_empty()
            && properties.entries().iter().all(|(_, node)| node.is_map())
}

fn is_negative_integer(text: &str) -> bool {
    text.strip_prefix('-')
        .is_some_and(|digits| digits.bytes().all(|byte| byte.is_ascii_digit()))
}

fn restrictions(
    kind: ArtifactKind,
    fields: &'static [Field],
    node: &Node,
    path: &str,
    found: &mut Vec<Spanned<&'static str>>,
) {
    for (key, value) in node.entries() {
        let Some(field) = fields.iter().find(|field| field.name == key.name) else {
            continue;
        };
        let path = join(path, field.name);
        match field.status {
            // A feature that is switched off needs no support.
            FieldStatus::Unsupported if value.bool() != Some(false) => {
                found.extend(unsupported_name(kind, &path).map(|name| Spanned {
                    value: name,
                    span: key.span,
                }));
            }
            FieldStatus::Partly(forms) => {
                for form in forms {
                    let name = unsupported_name(kind, &format!("{path}{}", form.name));
                    found.extend(
                        (form.find)(value)
                            .zip(name)
                            .map(|(span, name)| Spanned { value: name, span }),
                    );
                }
            }
            FieldStatus::Unsupported | FieldStatus::Enforced | FieldStatus::Idle => {}
        }
        if let Some(inner) = inner_record(&field.shape, value) {
            restrictions(kind, inner, value, &path, found);
        }
    }
}

/// The record of a shape, if it has one.
fn inner_record(shape: &'static Shape, node: &Node) -> Option<&'static [Field]> {
    match shape {
        Shape::Record(fields) => Some(fields),
        Shape::Either(shapes) => inner_record(shapes.iter().find(|shape| shape.takes(node))?, node),
        _ => None,
    }
}

pub(super) fn join(path: &str, key: &str) -> String {
    if path.is_empty() {
        key.to_owned()
    } else {
        format!("{path}.{key}")
    }
}
