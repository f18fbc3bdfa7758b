//! `TOOL_SURFACE_UNCLOSED_FENCE`.

use super::Check;
use crate::diagnostic::{Rule, Severity};
use crate::surface::{Findings, Subject};

pub(crate) const RULE: Rule<Check> = Rule {
    code: "TOOL_SURFACE_UNCLOSED_FENCE",
    severity: Severity::Warning,
    why: "Everything after an unclosed fence counts as an example, for this check and for \
          programs that render the text.",
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
  "system": "Check first:\n```\nread_note(path)\n"
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
  ],
  "system": "Check first:\n```\nread_note(path)\n```\n"
}
"#,
    )],
    check,
};

fn check(subject: &Subject<'_>, findings: &mut Findings) {
    for place in &subject.mentions.fences {
        let finding = RULE
            .finding("this fence is never closed, so the rest of the text counts as code")
            .at_any(place.clone());
        findings.add(
            finding
                .field("prompt")
                .help("close it with a line of at least as many of the same marks"),
        );
    }
}
