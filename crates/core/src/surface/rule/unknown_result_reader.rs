//! `TOOL_SURFACE_UNKNOWN_RESULT_READER`.

use super::Check;
use super::missing_result_reader::can_read;
use crate::diagnostic::{Rule, Severity};
use crate::nearest::did_you_mean;
use crate::surface::judge::listed;
use crate::surface::{Entry, Findings, Subject};

pub(crate) const RULE: Rule<Check> = Rule {
    code: "TOOL_SURFACE_UNKNOWN_RESULT_READER",
    severity: Severity::Warning,
    why: "A reader that is not active, or that does not read, cannot open a handle. Most often it \
          was renamed, or the policy leaves it out.",
    bad: &[(
        "surface.json",
        r#"{
  "tools": [
    {
      "name": "run_command",
      "description": "Runs a command.",
      "parameters": {"type": "object", "properties": {"command": {"type": "string"}}, "required": ["command"]},
      "executor": "harn",
      "annotations": {
        "kind": "execute",
        "side_effect_level": "process_exec",
        "emits_artifacts": true,
        "result_readers": ["read_command_output", "read_log"]
      }
    },
    {
      "name": "read_command_output",
      "description": "Reads the output of a command.",
      "parameters": {"type": "object", "properties": {"handle": {"type": "string"}}, "required": ["handle"]},
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
      "name": "run_command",
      "description": "Runs a command.",
      "parameters": {"type": "object", "properties": {"command": {"type": "string"}}, "required": ["command"]},
      "executor": "harn",
      "annotations": {
        "kind": "execute",
        "side_effect_level": "process_exec",
        "emits_artifacts": true,
        "result_readers": ["read_command_output"]
      }
    },
    {
      "name": "read_command_output",
      "description": "Reads the output of a command.",
      "parameters": {"type": "object", "properties": {"handle": {"type": "string"}}, "required": ["handle"]},
      "executor": "harn",
      "annotations": {"kind": "read", "side_effect_level": "read_only"}
    }
  ]
}
"#,
    )],
    check,
};

fn check(subject: &Subject<'_>, findings: &mut Findings) {
    for entry in subject.active_tools() {
        let mut absent = Vec::new();
        for name in &entry.annotations.result_readers {
            let message = match subject.active.get(name.as_str()) {
                Some(_) if **name == *entry.name => format!(
                    "tool \"{}\" names itself as the reader of its results",
                    entry.name
                ),
                Some(reader) if !can_read(reader) => {
                    format!(
                        "tool \"{name}\", which should read the results of \"{}\", does not read",
                        entry.name
                    )
                }
                Some(reader) if !subject.is_usable(reader) => {
                    format!(
                        "tool \"{name}\", which should read the results of \"{}\", can never be called",
                        entry.name
                    )
                }
                Some(_) => continue,
                None => {
                    absent.push(name.as_str());
                    continue;
                }
            };
            add(entry, message, None, findings);
        }
        let message = match &absent[..] {
            [] => continue,
            [name] => format!(
                "tool \"{name}\", which should read the results of \"{}\", is not active",
                entry.name
            ),
            names => format!(
                "none of {}, which should read the results of \"{}\", is active",
                listed(names),
                entry.name
            ),
        };
        let close = subject
            .nearest(absent[0])
            .filter(|known| **known != *entry.name);
        add(entry, message, close, findings);
    }
}

fn add(entry: &Entry<'_>, message: String, close: Option<&str>, findings: &mut Findings) {
    let help = did_you_mean(close, "name an active tool that reads");
    let finding = entry.finding_at("result_readers", &RULE, message);
    findings.add(finding.field("result_readers").help(help));
}
