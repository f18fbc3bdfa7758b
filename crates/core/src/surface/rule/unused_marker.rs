//! `TOOL_SURFACE_UNUSED_MARKER`.

use super::Check;
use crate::diagnostic::{Rule, Severity};
use crate::surface::{Findings, Subject};

pub(crate) const RULE: Rule<Check> = Rule {
    code: "TOOL_SURFACE_UNUSED_MARKER",
    severity: Severity::Warning,
    why: "A marker that silences nothing will one day silence a finding by accident.",
    bad: &[(
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
  ],
  "system": "<!-- harness: ignore-next-line -->\nCall read_note(path).\n"
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
  ],
  "system": "<!-- harness: ignore-next-line -->\nOnce there was read_notes(path).\n"
}
"#,
    )],
    check,
};

fn check(subject: &Subject<'_>, findings: &mut Findings) {
    for place in &subject.mentions.unused_markers {
        let finding = RULE
            .finding("this marker silences nothing")
            .at_any(place.clone());
        findings.add(finding.field("prompt").help("remove it"));
    }
}
