//! `TOOL_SURFACE_APPROVAL_PATTERN_NO_MATCH`.

use super::Check;
use crate::diagnostic::{Rule, Severity};
use crate::nearest::did_you_mean;
use crate::surface::{Findings, Subject};

pub(crate) const RULE: Rule<Check> = Rule {
    code: "TOOL_SURFACE_APPROVAL_PATTERN_NO_MATCH",
    severity: Severity::Warning,
    why: "An approval rule that names no active tool decides nothing. A call that should need \
          approval runs without it.",
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
  "approval_policy": {"require_approval": ["read_notes"]}
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
  "approval_policy": {"require_approval": ["read_note"]}
}
"#,
    )],
    check,
};

fn check(subject: &Subject<'_>, findings: &mut Findings) {
    for approval in &subject.surface.approval {
        let name = approval.pattern.text();
        if !approval.pattern.is_exact() || subject.active.contains_key(name) {
            continue;
        }
        let otherwise = "name an active tool, or remove the pattern";
        let message = format!("`{name}` in `{}` matches no active tool", approval.field);
        findings.add(
            RULE.finding(message)
                .at_any(approval.place.clone())
                .field(&approval.field)
                .help(did_you_mean(subject.nearest(name), otherwise)),
        );
    }
}
