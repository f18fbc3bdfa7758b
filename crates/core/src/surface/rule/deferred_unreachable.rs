//! `TOOL_SURFACE_DEFERRED_UNREACHABLE`.

use super::Check;
use crate::diagnostic::{Rule, Severity};
use crate::surface::judge::tool_names;
use crate::surface::{Findings, Subject, ToolSearch};

pub(crate) const RULE: Rule<Check> = Rule {
    code: "TOOL_SURFACE_DEFERRED_UNREACHABLE",
    severity: Severity::Warning,
    why: "A deferred tool is listed only after a search finds it. While tool search is off, none \
          ever does.",
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
      "name": "list_letters",
      "description": "Lists the letters.",
      "parameters": {"type": "object", "properties": {}},
      "executor": "harn",
      "annotations": {"kind": "read", "side_effect_level": "read_only"}
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
      "annotations": {"kind": "read", "side_effect_level": "read_only"},
      "defer_loading": true
    },
    {
      "name": "list_letters",
      "description": "Lists the letters.",
      "parameters": {"type": "object", "properties": {}},
      "executor": "harn",
      "annotations": {"kind": "read", "side_effect_level": "read_only"}
    }
  ],
  "tool_search": true
}
"#,
    )],
    check,
};

fn check(subject: &Subject<'_>, findings: &mut Findings) {
    if subject.surface.tool_search == ToolSearch::On {
        return;
    }
    let said = tool_names(&subject.mentions.deferred);
    for entry in subject
        .active_tools()
        .filter(|entry| entry.deferred && !said.contains(&*entry.name))
    {
        let message = format!(
            "tool \"{}\" is deferred while tool search is off, so no model ever sees it",
            entry.name
        );
        let finding = entry.finding(&RULE, message).field("deferred");
        findings.add(finding.help("do not defer the tool, or turn `tool_search` on where a harness has it; this version has none"));
    }
}
