//! `TOOL_SURFACE_KIND_UNKNOWN`.

use super::{Check, READ_NOTE_SURFACE};
use crate::diagnostic::{Rule, Severity};
use crate::nearest::suggest;
use crate::surface::{Findings, Subject};

pub(crate) const RULE: Rule<Check> = Rule {
    code: "TOOL_SURFACE_KIND_UNKNOWN",
    severity: Severity::Warning,
    why: "The harness finds result readers by kind, and clients show it. An unknown word says \
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
      "annotations": {"kind": "reader", "side_effect_level": "read_only"}
    }
  ]
}
"#,
    )],
    good: READ_NOTE_SURFACE,
    check,
};

/// The kinds of seed 004.
const KINDS: [&str; 9] = [
    "delete", "edit", "execute", "fetch", "move", "other", "read", "search", "think",
];

fn check(subject: &Subject<'_>, findings: &mut Findings) {
    for entry in subject.active_tools() {
        let Some(kind) = entry
            .annotations
            .kind
            .as_deref()
            .filter(|kind| !KINDS.contains(kind))
        else {
            continue;
        };
        let message = format!("`{kind}` is not a kind of tool");
        findings.add(
            entry
                .finding_at("annotations", &RULE, message)
                .field("annotations.kind")
                .help(suggest(kind, KINDS, "the kinds are")),
        );
    }
}
