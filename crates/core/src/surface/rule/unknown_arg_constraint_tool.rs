//! `TOOL_SURFACE_UNKNOWN_ARG_CONSTRAINT_TOOL`.

use super::{CONSTRAINED_SURFACE, Check};
use crate::diagnostic::{Rule, Severity};
use crate::nearest::did_you_mean;
use crate::surface::{Findings, Subject};

pub(crate) const RULE: Rule<Check> = Rule {
    code: "TOOL_SURFACE_UNKNOWN_ARG_CONSTRAINT_TOOL",
    severity: Severity::Warning,
    why: "A constraint on a tool that is not active constrains nothing. Most often the tool was \
          renamed and its constraint was forgotten.",
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
  "policy": {"tool_arg_constraints": [{"tool": "read_notes", "arg_key": "path", "arg_patterns": ["notes/**"]}]}
}
"#,
    )],
    good: CONSTRAINED_SURFACE,
    check,
};

fn check(subject: &Subject<'_>, findings: &mut Findings) {
    for constraint in subject.constraints() {
        let name = constraint.tool.text();
        if !constraint.tool.is_exact() || subject.active.contains_key(name) {
            continue;
        }
        let otherwise = "name an active tool, or remove the constraint";
        findings.add(
            RULE.finding(format!(
                "the constraint is about tool \"{name}\", which is not active"
            ))
            .at_any(constraint.place.clone())
            .tool(name)
            .field("tool_arg_constraints.tool")
            .help(did_you_mean(subject.nearest(name), otherwise)),
        );
    }
}
