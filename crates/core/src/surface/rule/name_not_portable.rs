//! `TOOL_SURFACE_NAME_NOT_PORTABLE`.

use super::{Check, READ_NOTE_SURFACE};
use crate::artifact::tool::is_offerable;
use crate::diagnostic::{Rule, Severity};
use crate::surface::{Entry, Findings, Subject};

pub(crate) const RULE: Rule<Check> = Rule {
    code: "TOOL_SURFACE_NAME_NOT_PORTABLE",
    severity: Severity::Warning,
    why: "Model providers refuse a whole request when one tool name has a character they do not \
          accept. All of them accept a name that starts with a letter or `_` and has at most 64 \
          letters, digits, `_` and `-`.",
    bad: &[(
        "surface.json",
        r#"{
  "tools": [
    {
      "name": "notes::read",
      "description": "Reads one note.",
      "parameters": {"type": "object", "properties": {"path": {"type": "string"}}, "required": ["path"]},
      "executor": "harn",
      "annotations": {"kind": "read", "side_effect_level": "read_only"}
    }
  ]
}
"#,
    )],
    good: READ_NOTE_SURFACE,
    check,
};

fn check(subject: &Subject<'_>, findings: &mut Findings) {
    let portable = |entry: &&Entry<'_>| {
        is_offerable(&entry.name) || entry.other_names.iter().any(|name| is_offerable(name))
    };
    for entry in subject.active_tools().filter(|entry| !portable(entry)) {
        let message = format!(
            "the name `{}` is not accepted by every provider",
            entry.name
        );
        findings.add(
            entry
                .finding(&RULE, message)
                .field("name")
                .help("use at most 64 of `A-Z a-z 0-9 _ -`, not starting with a digit or `-`"),
        );
    }
}
