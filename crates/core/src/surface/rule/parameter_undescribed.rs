//! `TOOL_SURFACE_PARAMETER_UNDESCRIBED`.

use super::Check;
use crate::diagnostic::{Rule, Severity};
use crate::nearest::backticked;
use crate::surface::{Findings, Subject};
use serde_json::Value;

pub(crate) const RULE: Rule<Check> = Rule {
    code: "TOOL_SURFACE_PARAMETER_UNDESCRIBED",
    severity: Severity::Note,
    why: "A model knows an argument by its name, type and description. If the name, such as \
          `path` or `command`, does not say enough, a sentence saves a wrong call.",
    bad: &[(
        "surface.json",
        r#"{
  "tools": [
    {
      "name": "read_note",
      "description": "Reads one note.",
      "parameters": {"type": "object", "properties": {"flavour": {"type": "string"}}},
      "executor": "harn",
      "annotations": {"kind": "read", "side_effect_level": "read_only"}
    }
  ]
}
"#,
    )],
    good: &[(
        "surface.json",
        r#"{
  "tools": [
    {
      "name": "read_note",
      "description": "Reads one note.",
      "parameters": {
        "type": "object",
        "properties": {
          "flavour": {"type": "string", "description": "Which of the two texts a note has: `draft` or `final`"}
        }
      },
      "executor": "harn",
      "annotations": {"kind": "read", "side_effect_level": "read_only"}
    }
  ]
}
"#,
    )],
    check,
};

/// Names that need no description.
const PLAIN: &str = "\
    args body branch city command content count cwd date day directory email encoding file \
    files handle headers host id input key language length limit line lines message method \
    name number offset order output path paths pattern port prompt query regex repository \
    tag tags text timeout title topic url user value";

/// Suffixes of names that need no description.
const PLAIN_ENDS: &[&str] = &[
    "_bytes", "_id", "_line", "_lines", "_ms", "_name", "_path", "_seconds", "_url",
];

fn check(subject: &Subject<'_>, findings: &mut Findings) {
    for entry in subject.active_tools() {
        let plain = |name: &str| {
            PLAIN.split(' ').any(|word| word == name)
                || PLAIN_ENDS.iter().any(|end| name.ends_with(end))
        };
        let says = |value: &Value| value.as_str().is_none_or(|words| !words.trim().is_empty());
        let said = |schema: &Value| {
            ["description", "title", "enum", "const", "$ref"]
                .iter()
                .any(|key| schema.get(key).is_some_and(says))
        };
        let silent = entry
            .parameters()
            .filter(|(name, schema)| !plain(name) && !said(schema));
        let silent = backticked(silent.map(|(name, _)| name));
        if silent.is_empty() {
            continue;
        }
        let message = format!(
            "nothing says what {silent} of tool \"{}\" may be",
            entry.name
        );
        let finding = entry.finding_at("parameters", &RULE, message);
        findings.add(
            finding
                .field("parameters")
                .help("write a `description` with units, form and bounds"),
        );
    }
}
