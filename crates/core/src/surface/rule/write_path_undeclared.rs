//! `TOOL_SURFACE_WRITE_PATH_UNDECLARED`.

use super::Check;
use crate::diagnostic::{Rule, Severity};
use crate::effect::Effects;
use crate::surface::{Findings, Subject};

pub(crate) const RULE: Rule<Check> = Rule {
    code: "TOOL_SURFACE_WRITE_PATH_UNDECLARED",
    severity: Severity::Warning,
    why: "The policy limits the paths that may be written, and this tool writes without saying \
          which of its arguments is a path, so the limit does not apply to it.",
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
  "approval_policy": {"write_path_allowlist": ["notes/**"]}
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
      "annotations": {"kind": "edit", "side_effect_level": "workspace_write", "arg_schema": {"path_params": ["path"]}}
    }
  ],
  "approval_policy": {"write_path_allowlist": ["notes/**"]}
}
"#,
    )],
    check,
};

fn check(subject: &Subject<'_>, findings: &mut Findings) {
    let Some(limit) = &subject.surface.write_paths else {
        return;
    };
    for entry in subject.active_tools() {
        let writes = entry.effects.is_some_and(|effects| {
            effects.contains(Effects::WRITE) && !effects.contains(Effects::EXEC)
        });
        let writes = writes || matches!(entry.kind(), Some("edit" | "delete" | "move"));
        // A path argument that no call can have does not count.
        if !writes
            || entry
                .annotations
                .path_params
                .iter()
                .any(|name| entry.may_have(name))
        {
            continue;
        }
        let message = format!(
            "tool \"{}\" writes, but declares no path argument that `write_path_allowlist` could judge",
            entry.name
        );
        findings.add(
            entry
                .finding(&RULE, message)
                .at_any(entry.place.clone().into_iter().chain(limit.place.clone()))
                .field("annotations.arg_schema.path_params")
                .help("name the arguments that are paths in `path_params`"),
        );
    }
}
