//! `TOOL_SURFACE_DEFERRED_TOOL_PROMPT_REFERENCE`.

use super::Check;
use crate::diagnostic::{Rule, Severity};
use crate::surface::{Findings, Subject};

pub(crate) const RULE: Rule<Check> = Rule {
    code: "TOOL_SURFACE_DEFERRED_TOOL_PROMPT_REFERENCE",
    severity: Severity::Warning,
    why: "A deferred tool is not listed until a search finds it. Without tool search the text \
          mentions a tool that the model never sees.",
    bad: &[(
        "surface.json",
        r#"{
  "tools": [
    {
      "name": "read_note",
      "description": "Reads one note.",
      "parameters": {"type": "object", "properties": {"path": {"type": "string"}}, "required": ["path"]},
      "executor": "harn",
      "annotations": {"kind": "read", "side_effect_level": "read_only"},
      "defer_loading": true
    },
    {
      "name": "list_notes",
      "description": "Lists the notes.",
      "parameters": {"type": "object", "properties": {}},
      "executor": "harn",
      "annotations": {"kind": "read", "side_effect_level": "read_only"}
    }
  ],
  "system": "Call read_note(path) before you answer."
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
      "annotations": {"kind": "read", "side_effect_level": "read_only"},
      "defer_loading": true
    },
    {
      "name": "list_notes",
      "description": "Lists the notes.",
      "parameters": {"type": "object", "properties": {}},
      "executor": "harn",
      "annotations": {"kind": "read", "side_effect_level": "read_only"}
    }
  ],
  "system": "Call read_note(path) before you answer.",
  "tool_search": true
}
"#,
    )],
    check,
};

fn check(subject: &Subject<'_>, findings: &mut Findings) {
    for said in &subject.mentions.deferred {
        let finding = said.finding(&RULE, "is deferred while tool search is off");
        findings.add(finding.help("do not defer the tool, or turn `tool_search` on where a harness has it; this version has none"));
    }
}
