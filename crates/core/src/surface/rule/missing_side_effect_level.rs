//! `TOOL_SURFACE_MISSING_SIDE_EFFECT_LEVEL`.

use super::{Check, READ_NOTE_SURFACE};
use crate::diagnostic::{Rule, Severity};
use crate::effect::{Effects, Level};
use crate::nearest::backticked;
use crate::surface::{AnnotationSource, Entry, Findings, Subject};

pub(crate) const RULE: Rule<Check> = Rule {
    code: "TOOL_SURFACE_MISSING_SIDE_EFFECT_LEVEL",
    severity: Severity::Warning,
    why: "A ceiling compares levels, and skips a tool that has none. A pure tool says `none`.",
    bad: &[(
        "surface.json",
        r#"{
  "tools": [
    {
      "name": "read_note",
      "description": "Reads one note.",
      "parameters": {"type": "object", "properties": {"path": {"type": "string"}}, "required": ["path"]},
      "executor": "harn",
      "annotations": {"kind": "read"}
    }
  ]
}
"#,
    )],
    good: READ_NOTE_SURFACE,
    check,
};

fn check(subject: &Subject<'_>, findings: &mut Findings) {
    for entry in subject
        .active_tools()
        .filter(|entry| entry.annotated == AnnotationSource::Written && is_unsaid(entry))
    {
        let message = format!(
            "the annotations of tool \"{}\" have no `side_effect_level`",
            entry.name
        );
        let words = backticked(Level::LADDER.map(Level::word));
        findings.add(
            entry
                .finding_at("annotations", &RULE, message)
                .field("side_effect_level")
                .help(format!("write one of {words}")),
        );
    }
}

/// Whether the level of a tool is unknown. Being destructive does not imply a level.
fn is_unsaid(entry: &Entry<'_>) -> bool {
    let undone = Effects::READ | Effects::WRITE | Effects::DESTRUCTIVE;
    entry.effects.is_none() || (entry.kind() == Some("execute") && entry.effects == Some(undone))
}
