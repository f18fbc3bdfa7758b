//! `TOOL_SURFACE_MISSING_SCHEMA`.

use super::Check;
use crate::diagnostic::{Rule, Severity};
use crate::surface::{Findings, Subject};

pub(crate) const RULE: Rule<Check> = Rule {
    code: "TOOL_SURFACE_MISSING_SCHEMA",
    severity: Severity::Warning,
    why: "Without a schema a model guesses the arguments, and nothing can check them. A tool \
          without arguments says so with an empty schema.",
    bad: &[(
        "surface.json",
        r#"{
  "tools": [
    {
      "name": "read_note",
      "description": "Reads one note.",
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
    check,
};

fn check(subject: &Subject<'_>, findings: &mut Findings) {
    for entry in subject
        .active_tools()
        .filter(|entry| entry.schema.is_none())
    {
        findings.add(
            RULE.finding(format!(
                "tool \"{}\" has no schema for its arguments",
                entry.name
            ))
            .at_any(entry.place.clone())
            .tool(&*entry.name)
            .field("parameters")
            .help("write `parameters`; `{}` when it takes none"),
        );
    }
}
