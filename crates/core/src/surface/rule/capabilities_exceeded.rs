//! `TOOL_SURFACE_CAPABILITIES_EXCEEDED`.

use super::Check;
use crate::artifact::root::missing_capability;
use crate::diagnostic::{Rule, Severity};
use crate::surface::{Findings, Subject};

pub(crate) const RULE: Rule<Check> = Rule {
    code: "TOOL_SURFACE_CAPABILITIES_EXCEEDED",
    severity: Severity::Error,
    why: "The model is offered a tool, and the policy refuses every call of it because the tool \
          wants a capability that is not granted.",
    bad: &[(
        "surface.json",
        r#"{
  "tools": [
    {
      "name": "read_note",
      "description": "Reads one note.",
      "parameters": {"type": "object", "properties": {"path": {"type": "string"}}, "required": ["path"]},
      "executor": "harn",
      "annotations": {
        "kind": "read",
        "side_effect_level": "read_only",
        "capabilities": {"workspace": ["read_text", "list"]}
      }
    }
  ],
  "policy": {"capabilities": {"workspace": ["read_text"]}}
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
      "annotations": {
        "kind": "read",
        "side_effect_level": "read_only",
        "capabilities": {"workspace": ["read_text", "list"]}
      }
    }
  ],
  "policy": {"capabilities": {"workspace": ["read_text", "list"]}}
}
"#,
    )],
    check,
};

fn check(subject: &Subject<'_>, findings: &mut Findings) {
    for policy in &subject.surface.policies {
        let Some(granted) = &policy.capabilities else {
            continue;
        };
        for entry in subject.active_tools() {
            let Some(because) = missing_capability(&granted.value, &entry.annotations.capabilities)
            else {
                continue;
            };
            let message = format!("tool \"{}\" exceeds the policy: {because}", entry.name);
            let places = entry.place_of("annotations").into_iter();
            findings.add(
                entry
                    .finding(&RULE, message)
                    .at_any(places.chain(granted.place.clone()))
                    .field("annotations.capabilities")
                    .help("grant the capability, or leave the tool out"),
            );
        }
    }
}
