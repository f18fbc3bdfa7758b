//! `TOOL_SURFACE_DEPRECATED_ARG_ALIAS`.

use super::Check;
use crate::diagnostic::{Rule, Severity};
use crate::surface::{Findings, Subject};

pub(crate) const RULE: Rule<Check> = Rule {
    code: "TOOL_SURFACE_DEPRECATED_ARG_ALIAS",
    severity: Severity::Warning,
    why: "An alias exists for models that guess. A text that teaches it keeps it alive, and shows \
          a name that the schema does not have.",
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
        "arg_schema": {"arg_aliases": {"file": "path"}}
      }
    }
  ],
  "system": "Call read_note(file=\"today.md\") first."
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
  ],
  "system": "Call read_note(path=\"today.md\") first."
}
"#,
    )],
    check,
};

fn check(subject: &Subject<'_>, findings: &mut Findings) {
    for (entry, said, twice) in &subject.mentions.aliases {
        let alias = &*said.name;
        let canonical = entry
            .annotations
            .arg_aliases
            .iter()
            .find(|(known, _)| known == alias)
            .map_or("", |(_, canonical)| canonical.as_str());
        let message = format!(
            "the text calls tool \"{}\" with `{alias}`, an alias of `{canonical}`",
            entry.name
        );
        let finding = RULE.finding(if *twice {
            format!("{message}, which the call gives twice")
        } else {
            message
        });
        let finding = finding
            .at_any(said.places.iter().cloned())
            .tool(&*entry.name)
            .field(format!("arg_schema.arg_aliases.{alias}"));
        findings.add(match twice {
            // Only the author knows which of the two is meant.
            true => finding.help(format!("write `{canonical}`, once")),
            false => finding.help(format!("write `{canonical}`")).fix(canonical),
        });
    }
}
