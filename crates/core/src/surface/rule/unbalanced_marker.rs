//! `TOOL_SURFACE_UNBALANCED_MARKER`.

use super::Check;
use crate::diagnostic::{Rule, Severity};
use crate::surface::{Findings, Subject};

pub(crate) const RULE: Rule<Check> = Rule {
    code: "TOOL_SURFACE_UNBALANCED_MARKER",
    severity: Severity::Warning,
    why: "A marker without its other half silences either nothing or everything after it; a \
          misspelled marker silences nothing.",
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
  "system": "<!-- harness: ignore-start -->\nOnce there was read_notes(path).\n"
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
  "system": "<!-- harness: ignore-start -->\nOnce there was read_notes(path).\n<!-- harness: ignore-end -->\n"
}
"#,
    )],
    check,
};

fn check(subject: &Subject<'_>, findings: &mut Findings) {
    for (place, why) in &subject.mentions.odd_markers {
        let finding = RULE
            .finding(format!("this marker does not work: {why}"))
            .at_any(place.clone());
        findings.add(finding.field("prompt").help(
            "write `ignore-start` and `ignore-end` in pairs, or `ignore-next-line` for one line",
        ));
    }
}
