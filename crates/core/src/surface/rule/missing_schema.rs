//! `TOOL_SURFACE_MISSING_SCHEMA`.

use super::{Check, READ_NOTE_SURFACE};
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
    good: READ_NOTE_SURFACE,
    check,
};

fn check(subject: &Subject<'_>, findings: &mut Findings) {
    for entry in subject
        .active_tools()
        .filter(|entry| entry.schema.is_none())
    {
        let message = format!("tool \"{}\" has no schema for its arguments", entry.name);
        let finding = entry.finding(&RULE, message).field("parameters");
        findings.add(finding.help("write `parameters`; `{}` when it takes none"));
    }
}
