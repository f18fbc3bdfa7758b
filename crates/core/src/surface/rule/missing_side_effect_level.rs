//! `TOOL_SURFACE_MISSING_SIDE_EFFECT_LEVEL`.

use crate::check::{Check, Rule};
use crate::diagnostic::Severity;
use crate::effect::Level;
use crate::surface::{Annotated, Entry, Findings, Subject};

pub(crate) const RULE: Rule = Rule {
    code: "TOOL_SURFACE_MISSING_SIDE_EFFECT_LEVEL",
    severity: Severity::Warning,
    why: "A ceiling compares levels, and passes over a tool that has none. A pure tool says `none`.",
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
  ]
}
"#,
    )],
    check: Check::Surface(check),
};

fn check(subject: &Subject<'_>, findings: &mut Findings) {
    let said = |entry: &&Entry<'_>| entry.annotated == Annotated::Written && entry.effects.is_none();
    for entry in subject.active_tools().filter(said) {
        let words = Level::LADDER.map(|level| format!("`{}`", level.word())).join(", ");
        findings.add(
            RULE.finding(format!("the annotations of tool \"{}\" have no `side_effect_level`", entry.name))
                .at_any(entry.place_of("annotations"))
                .tool(&*entry.name)
                .field("side_effect_level")
                .help(format!("write one of {words}")),
        );
    }
}
