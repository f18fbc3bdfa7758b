//! `TOOL_SURFACE_UNKNOWN_ARG_CONSTRAINT_KEY`.

use super::{CONSTRAINED_SURFACE, Check};
use crate::diagnostic::{Rule, Severity};
use crate::nearest::did_you_mean;
use crate::surface::{Findings, Subject};

pub(crate) const RULE: Rule<Check> = Rule {
    code: "TOOL_SURFACE_UNKNOWN_ARG_CONSTRAINT_KEY",
    severity: Severity::Warning,
    why: "A constraint on an argument that no call has can never be violated, so it protects \
          nothing.",
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
  "policy": {"tool_arg_constraints": [{"tool": "read_note", "arg_key": "file", "arg_patterns": ["notes/**"]}]}
}
"#,
    )],
    good: CONSTRAINED_SURFACE,
    check,
};

fn check(subject: &Subject<'_>, findings: &mut Findings) {
    for constraint in subject.constraints() {
        let Some(key) = &constraint.key else { continue };
        let tools = subject.matching(&constraint.tool);
        // A glob may match tools without the argument, as long as one tool has it.
        if tools.is_empty()
            || tools
                .iter()
                .any(|entry| entry.knows_argument(key) || entry.takes_others())
        {
            continue;
        }
        let of = if constraint.tool.is_exact() {
            "tool"
        } else {
            "any tool that matches"
        };
        let known = tools
            .iter()
            .flat_map(|entry| entry.parameters().map(|(name, _)| name));
        let close = subject.closest(key, known);
        let mut finding = RULE
            .finding(format!(
                "`{key}` is not an argument of {of} \"{}\"",
                constraint.tool.text()
            ))
            .at_any(constraint.place.clone())
            .field(format!("tool_arg_constraints.{key}"))
            .help(did_you_mean(close, "name an argument that the schema has"));
        finding.tool = constraint
            .tool
            .is_exact()
            .then(|| constraint.tool.text().to_owned());
        findings.add(finding);
    }
}
