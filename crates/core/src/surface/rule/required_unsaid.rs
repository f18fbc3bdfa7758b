//! `TOOL_SURFACE_REQUIRED_UNSAID`.

use super::Check;
use crate::artifact::node::{Kind, Node};
use crate::diagnostic::{Rule, Severity};
use crate::nearest::backticked;
use crate::span::{Place, Span};
use crate::surface::json;
use crate::surface::{Entry, Findings, Subject};
use serde_json::Value;
use std::collections::HashSet;

pub(crate) const RULE: Rule<Check> = Rule {
    code: "TOOL_SURFACE_REQUIRED_UNSAID",
    severity: Severity::Warning,
    why: "The annotations require an argument, but the schema, which is all a model reads, does \
          not. The model leaves it out and the call is refused.",
    bad: &[(
        "surface.json",
        r#"{
  "tools": {
    "name": "read_note",
    "description": "Reads one note.",
    "parameters": {"type": "object", "properties": {"path": {"type": "string"}}},
    "executor": "harn",
    "annotations": {"kind": "read", "side_effect_level": "read_only", "arg_schema": {"required": ["path"]}}
  }
}
"#,
    )],
    good: &[(
        "surface.json",
        r#"{
  "tools": {
    "name": "read_note",
    "description": "Reads one note.",
    "parameters": {"required": ["path"], "type": "object", "properties": {"path": {"type": "string"}}},
    "executor": "harn",
    "annotations": {"kind": "read", "side_effect_level": "read_only", "arg_schema": {"required": ["path"]}}
  }
}
"#,
    )],
    check,
};

fn check(subject: &Subject<'_>, findings: &mut Findings) {
    for entry in subject.active_tools() {
        let required: HashSet<&str> = entry.required().collect();
        let said = |key: &&String| entry.has_parameter(key) && !required.contains(key.as_str());
        let missing: Vec<&str> = entry
            .annotations
            .required
            .iter()
            .filter(said)
            .map(String::as_str)
            .collect();
        if missing.is_empty() {
            continue;
        }
        let names = backticked(missing.iter().copied());
        let message = format!(
            "the annotations of tool \"{}\" require {names}, but its schema does not",
            entry.name
        );
        let finding = RULE
            .finding(message)
            .tool(&*entry.name)
            .field("parameters.required");
        let finding = finding.help("add what is missing to `required` of the schema");
        findings.add(match fixed(entry, &missing) {
            Some((place, words)) => finding.at(place).fix(words),
            None => finding.at_any(entry.place_of("parameters")),
        });
    }
}

/// The fix that makes the schema require them too.
fn fixed(entry: &Entry<'_>, missing: &[&str]) -> Option<(Place, String)> {
    let (_, place) = entry
        .fields
        .iter()
        .find(|(field, _)| *field == "parameters")?;
    let Place { source, span, .. } = place;
    let document = json::parse(source.text.get(span.start..span.end)?).ok()?;
    // A map from name to schema has no list.
    document.root.get("properties")?;
    let names = missing
        .iter()
        .map(|name| Value::from(*name).to_string())
        .collect::<Vec<_>>()
        .join(", ");
    let at = |start: usize, end: usize| {
        Place::new(source, Span::new(span.start + start, span.start + end))
    };
    match document.root.get("required") {
        None => Some((at(1, 1), format!("\"required\": [{names}], "))),
        Some(Node {
            kind: Kind::List(items),
            span: list,
        }) => match items.last() {
            Some(last) => Some((at(last.span.end, last.span.end), format!(", {names}"))),
            None => Some((at(list.start, list.end), format!("[{names}]"))),
        },
        Some(_) => None,
    }
}
