//! `TOOL_SURFACE_APPROVAL_CONTRADICTS`.

use crate::check::{Check, Rule};
use crate::diagnostic::Severity;
use crate::surface::{ApprovalPattern, Findings, Subject};
use std::collections::HashMap;

pub(crate) const RULE: Rule = Rule {
    code: "TOOL_SURFACE_APPROVAL_CONTRADICTS",
    severity: Severity::Warning,
    why: "One tool in two lists that decide differently: the stricter list counts, and whoever reads the other is wrong.",
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
  "approval_policy": {"auto_approve": ["read_note"], "auto_deny": ["read_note"]}
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
  "approval_policy": {"auto_approve": ["read_note"]}
}
"#,
    )],
    check: Check::Surface(check),
};

fn check(subject: &Subject<'_>, findings: &mut Findings) {
    let mut first: HashMap<&str, &ApprovalPattern> = HashMap::new();
    for approval in subject.surface.approval.iter().filter(|approval| approval.decision.is_some()) {
        let text = approval.pattern.text();
        // A wide pattern in one list and a narrow one in another is how exceptions are written.
        let Some(other) = first.get(text) else {
            first.insert(text, approval);
            continue;
        };
        if other.decision == approval.decision {
            continue;
        }
        let places = approval.place.clone().into_iter().chain(other.place.clone());
        let finding = RULE.finding(format!("`{text}` is in `{}` and in `{}`", other.field, approval.field)).at_any(places);
        findings.add(finding.field(&approval.field).help("keep it in the list that is meant"));
    }
}
