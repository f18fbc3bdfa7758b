//! `TOOL_SURFACE_REQUIRED_WITHOUT_PROPERTY`.

use super::{Check, READ_NOTE_SURFACE};
use crate::diagnostic::{Rule, Severity};
use crate::nearest::did_you_mean;
use crate::surface::judge::listed;
use crate::surface::{Entry, Findings, Subject};
use std::collections::HashSet;

pub(crate) const RULE: Rule<Check> = Rule {
    code: "TOOL_SURFACE_REQUIRED_WITHOUT_PROPERTY",
    severity: Severity::Warning,
    why: "The schema, or `arg_schema.required` beside it, requires an argument that the schema \
          does not describe: a model has to guess what it is, and some providers refuse the \
          schema.",
    bad: &[(
        "surface.json",
        r#"{
  "tools": [
    {
      "name": "read_note",
      "description": "Reads one note.",
      "parameters": {"type": "object", "properties": {"path": {"type": "string"}}, "required": ["path", "line"]},
      "executor": "harn",
      "annotations": {"kind": "read", "side_effect_level": "read_only"}
    }
  ]
}
"#,
    )],
    good: READ_NOTE_SURFACE,
    check,
};

fn check(subject: &Subject<'_>, findings: &mut Findings) {
    for entry in subject.active_tools() {
        let elsewhere = ["$ref", "allOf", "anyOf", "oneOf", "patternProperties"];
        if entry
            .schema
            .as_deref()
            .is_some_and(|schema| elsewhere.iter().any(|key| schema.get(key).is_some()))
        {
            continue;
        }
        let demanded: [(Vec<&str>, _, _); 2] = [
            (
                entry.required().collect(),
                "parameters",
                "parameters.required",
            ),
            (
                said_elsewhere(entry),
                "annotations",
                "annotations.arg_schema.required",
            ),
        ];
        for (names, part, field) in demanded {
            let mut seen = HashSet::new();
            let missing: Vec<&str> = names
                .into_iter()
                .filter(|name| !entry.has_parameter(name) && seen.insert(*name))
                .collect();
            let Some(first) = missing.first() else {
                continue;
            };
            let close = subject.closest(first, entry.parameters().map(|(known, _)| known));
            let help = did_you_mean(close, "describe it in `properties`, or do not require it");
            let message = format!(
                "tool \"{}\" requires {}, which its schema does not have",
                entry.name,
                listed(&missing)
            );
            findings.add(
                entry
                    .finding_at(part, &RULE, message)
                    .field(field)
                    .help(help),
            );
        }
    }
}

/// What the annotations require, if the schema names arguments and accepts no others.
fn said_elsewhere<'e>(entry: &'e Entry<'_>) -> Vec<&'e str> {
    if entry.parameters().next().is_none() || entry.takes_others() {
        return Vec::new();
    }
    let demanded: HashSet<&str> = entry.required().collect();
    // An alias is renamed before required arguments are checked.
    let aliases: HashSet<&str> = entry
        .annotations
        .arg_aliases
        .iter()
        .map(|(alias, _)| alias.as_str())
        .collect();
    let said = entry.annotations.required.iter().map(String::as_str);
    said.filter(|name| !demanded.contains(name) && !aliases.contains(name))
        .collect()
}
