//! `TOOL_SURFACE_PATH_PARAM_UNKNOWN`.

use super::Check;
use crate::diagnostic::{Rule, Severity};
use crate::nearest::did_you_mean;
use crate::surface::judge::listed;
use crate::surface::{Findings, Subject};

pub(crate) const RULE: Rule<Check> = Rule {
    code: "TOOL_SURFACE_PATH_PARAM_UNKNOWN",
    severity: Severity::Warning,
    why: "Limits on paths apply to the arguments that `path_params` names. If a name is not in \
          the schema, the real path is not judged.",
    bad: &[(
        "surface.json",
        r#"{
  "tools": [
    {
      "name": "read_note",
      "description": "Reads one note.",
      "parameters": {"type": "object", "properties": {"path": {"type": "string"}}, "required": ["path"]},
      "executor": "harn",
      "annotations": {"kind": "read", "side_effect_level": "read_only", "arg_schema": {"path_params": ["file"]}}
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
      "annotations": {"kind": "read", "side_effect_level": "read_only", "arg_schema": {"path_params": ["path"]}}
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
        let missing: Vec<&str> = entry
            .annotations
            .path_params
            .iter()
            .map(String::as_str)
            .filter(|name| !entry.may_have(name))
            .collect();
        let Some(first) = missing.first() else {
            continue;
        };
        let close = subject.closest(first, entry.parameters().map(|(known, _)| known));
        let help = did_you_mean(close, "name arguments that the schema has");
        let message = format!(
            "`path_params` of tool \"{}\" names {}, which its schema does not have",
            entry.name,
            listed(&missing)
        );
        let finding = entry.finding_at("annotations", &RULE, message);
        findings.add(
            finding
                .field("annotations.arg_schema.path_params")
                .help(help),
        );
    }
}
