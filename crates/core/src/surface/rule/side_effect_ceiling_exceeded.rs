//! `TOOL_SURFACE_SIDE_EFFECT_CEILING_EXCEEDED`.

use super::Check;
use crate::diagnostic::{Rule, Severity};
use crate::surface::{Findings, Subject};

pub(crate) const RULE: Rule<Check> = Rule {
    code: "TOOL_SURFACE_SIDE_EFFECT_CEILING_EXCEEDED",
    severity: Severity::Error,
    why: "The model is offered a tool, and the policy refuses every call of it.",
    bad: &[(
        "surface.json",
        r#"{
  "tools": [
    {
      "name": "write_note",
      "description": "Writes one note.",
      "parameters": {"type": "object", "properties": {"path": {"type": "string"}}, "required": ["path"]},
      "executor": "harn",
      "annotations": {"kind": "edit", "side_effect_level": "workspace_write"}
    }
  ],
  "policy": {"side_effect_level": "read_only"}
}
"#,
    )],
    good: &[(
        "surface.json",
        r#"{
  "tools": [
    {
      "name": "write_note",
      "description": "Writes one note.",
      "parameters": {"type": "object", "properties": {"path": {"type": "string"}}, "required": ["path"]},
      "executor": "harn",
      "annotations": {"kind": "edit", "side_effect_level": "workspace_write"}
    }
  ],
  "policy": {"side_effect_level": "workspace_write"}
}
"#,
    )],
    check,
};

fn check(subject: &Subject<'_>, findings: &mut Findings) {
    for policy in &subject.surface.policies {
        let Some(ceiling) = &policy.ceiling else {
            continue;
        };
        for entry in subject.active_tools() {
            let Some(because) = entry
                .effects
                .and_then(|effects| ceiling.value.exceeded_by(effects))
            else {
                continue;
            };
            let message = format!("tool \"{}\" exceeds the policy: {because}", entry.name);
            let places = entry.place_of("side_effect_level").into_iter();
            findings.add(
                entry
                    .finding(&RULE, message)
                    .at_any(places.chain(ceiling.place.clone()))
                    .field("side_effect_level")
                    .help("raise the ceiling, or leave the tool out"),
            );
        }
    }
}
