//! `TOOL_SURFACE_ALIAS_COLLIDES`.

use super::Check;
use crate::diagnostic::{Rule, Severity};
use crate::surface::{Findings, Subject};

pub(crate) const RULE: Rule<Check> = Rule {
    code: "TOOL_SURFACE_ALIAS_COLLIDES",
    severity: Severity::Warning,
    why: "The harness renames an alias to its argument before it judges a call. An alias that is \
          itself an argument takes that argument away; an alias for an argument that does not \
          exist makes a name that no schema has.",
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
        "arg_schema": {"arg_aliases": {"path": "file"}}
      }
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
      "annotations": {
        "kind": "read",
        "side_effect_level": "read_only",
        "arg_schema": {"arg_aliases": {"file": "path"}}
      }
    }
  ]
}
"#,
    )],
    check,
};

fn check(subject: &Subject<'_>, findings: &mut Findings) {
    for entry in subject
        .active_tools()
        .filter(|entry| entry.schema.is_some())
    {
        for (alias, canonical) in &entry.annotations.arg_aliases {
            let message = if entry.has_parameter(alias) {
                format!(
                    "the alias `{alias}` of tool \"{}\" is also an argument",
                    entry.name
                )
            } else if !entry.has_parameter(canonical)
                && entry.parameters().next().is_some()
                && !entry.takes_others()
            {
                format!(
                    "the alias `{alias}` of tool \"{}\" stands for `{canonical}`, which its schema does not have",
                    entry.name
                )
            } else {
                continue;
            };
            let finding = entry.finding_at("annotations", &RULE, message);
            findings.add(
                finding
                    .field(format!("arg_schema.arg_aliases.{alias}"))
                    .help("give an argument of the schema another name that is not an argument"),
            );
        }
    }
}
