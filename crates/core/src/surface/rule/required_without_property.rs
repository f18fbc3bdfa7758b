//! `TOOL_SURFACE_REQUIRED_WITHOUT_PROPERTY`.

use crate::check::nearest::nearest;
use crate::check::{Check, Rule};
use crate::diagnostic::Severity;
use crate::surface::{Findings, Subject};

pub(crate) const RULE: Rule = Rule {
    code: "TOOL_SURFACE_REQUIRED_WITHOUT_PROPERTY",
    severity: Severity::Warning,
    why: "The schema demands an argument that it does not describe: a model has to guess what it is, and some providers refuse the schema.",
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
    good: &[(
        "surface.json",
        r#"{
  "tools": [
    {
      "name": "read_note",
      "description": "Reads one note.",
      "parameters": {"type": "object", "properties": {"path": {"type": "string"}}, "required": ["path"]},
      "executor": "harn",
      "annotations": {"kind": "read", "side_effect_level": "read_only"}
    }
  ]
}
"#,
    )],
    check: Check::Surface(check),
};

fn check(subject: &Subject<'_>, findings: &mut Findings) {
    for entry in subject.active_tools() {
        let elsewhere = ["$ref", "allOf", "anyOf", "oneOf", "patternProperties"];
        if entry.schema.as_deref().is_some_and(|schema| elsewhere.iter().any(|key| schema.get(key).is_some())) {
            continue;
        }
        for name in entry.required().filter(|name| !entry.has_parameter(name)) {
            let close = nearest(name, entry.parameters().map(|(known, _)| known));
            let help = close.map_or_else(
                || "describe it among the properties, or do not demand it".to_owned(),
                |close| format!("did you mean `{close}`?"),
            );
            let finding = RULE.finding(format!("tool \"{}\" demands `{name}`, which its schema does not have", entry.name));
            findings.add(finding.at_any(entry.place_of("parameters")).tool(&*entry.name).field("parameters.required").help(help));
        }
    }
}
