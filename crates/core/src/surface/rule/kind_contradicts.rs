//! `TOOL_SURFACE_KIND_CONTRADICTS`.

use super::{Check, READ_NOTE_SURFACE};
use crate::diagnostic::{Rule, Severity};
use crate::effect::Effects;
use crate::surface::{Findings, Subject};

pub(crate) const RULE: Rule<Check> = Rule {
    code: "TOOL_SURFACE_KIND_CONTRADICTS",
    severity: Severity::Error,
    why: "A tool that is labelled as reading but writes, or as editing but only reads, misleads \
          everyone who trusts either label.",
    bad: &[(
        "surface.json",
        r#"{
  "tools": [
    {
      "name": "read_note",
      "description": "Reads one note.",
      "parameters": {"type": "object", "properties": {"path": {"type": "string"}}, "required": ["path"]},
      "executor": "harn",
      "annotations": {"kind": "read", "side_effect_level": "workspace_write"}
    }
  ]
}
"#,
    )],
    good: READ_NOTE_SURFACE,
    check,
};

fn check(subject: &Subject<'_>, findings: &mut Findings) {
    for entry in subject.active_tools() {
        let (Some(kind), Some(effects)) = (entry.annotations.kind.as_deref(), entry.effects) else {
            continue;
        };
        let writes = [Effects::WRITE, Effects::EXEC, Effects::DESKTOP]
            .into_iter()
            .any(|one| effects.contains(one));
        let changes = effects.changes();
        let contradicts = match kind {
            "read" | "search" | "think" => changes,
            // Seed 004's ladder has one step for the network, whichever way the data goes.
            "fetch" => writes,
            "edit" | "delete" | "move" => !changes,
            _ => false,
        };
        if contradicts {
            let message = format!(
                "kind `{kind}` contradicts what tool \"{}\" does: {effects}",
                entry.name
            );
            let finding = entry.finding_at("annotations", &RULE, message);
            findings.add(
                finding
                    .field("annotations.kind")
                    .help("keep the one that is true and change the other"),
            );
        }
    }
}
