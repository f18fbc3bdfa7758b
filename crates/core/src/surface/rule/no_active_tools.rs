//! `TOOL_SURFACE_NO_ACTIVE_TOOLS`.

use super::{Check, READ_NOTE_SURFACE};
use crate::diagnostic::{Rule, Severity};
use crate::surface::{Entry, Findings, Subject, ToolStatus};

pub(crate) const RULE: Rule<Check> = Rule {
    code: "TOOL_SURFACE_NO_ACTIVE_TOOLS",
    severity: Severity::Warning,
    why: "A model without tools can only talk. Most often a pattern of the policy is misspelled.",
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
  "policy": {"tools": ["write_*"]}
}
"#,
    )],
    good: READ_NOTE_SURFACE,
    check,
};

fn check(subject: &Subject<'_>, findings: &mut Findings) {
    let surface = subject.surface;
    // A project may have only hooks, and the errors of broken tools were reported.
    let denied = |entry: &Entry<'_>| matches!(entry.status, ToolStatus::Denied(_));
    if surface.tools.is_empty() || !surface.tools.iter().all(denied) {
        return;
    }
    // A list of invalid patterns allows nothing, and each pattern was reported.
    if surface
        .problems
        .iter()
        .any(|problem| problem.field.as_deref() == Some("policy.tools"))
    {
        return;
    }
    let patterns = surface
        .policies
        .iter()
        .filter_map(|policy| policy.tools.as_ref())
        .flatten()
        .find_map(|pattern| pattern.place.clone());
    let place = patterns.or_else(|| surface.tools.iter().find_map(|entry| entry.place.clone()));
    let finding = RULE
        .finding(format!(
            "no tool is active: {} declared and none is offered",
            surface.tools.len()
        ))
        .at_any(place);
    findings.add(finding.field("tools").help("let the policy offer a tool"));
}
