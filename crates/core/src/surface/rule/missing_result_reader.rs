//! `TOOL_SURFACE_MISSING_RESULT_READER`.

use super::Check;
use crate::diagnostic::{Rule, Severity};
use crate::surface::{Entry, Findings, Subject};

pub(crate) const RULE: Rule<Check> = Rule {
    code: "TOOL_SURFACE_MISSING_RESULT_READER",
    severity: Severity::Error,
    why: "A tool that may answer with a handle is of no use if no active tool can open it: the \
          model gets a name for something it never sees. A reader that is deferred while tool \
          search is off, or whose calls are all denied, opens nothing.",
    bad: &[(
        "surface.json",
        r#"{
  "tools": [
    {
      "name": "run_command",
      "description": "Runs a command.",
      "parameters": {"type": "object", "properties": {"command": {"type": "string"}}, "required": ["command"]},
      "executor": "harn",
      "annotations": {"kind": "execute", "side_effect_level": "process_exec", "emits_artifacts": true}
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
      "annotations": {"kind": "execute", "side_effect_level": "process_exec", "emits_artifacts": true}
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
    let readers: Vec<&Entry<'_>> = subject
        .active_tools()
        .filter(|entry| reads_handles(entry) && subject.is_usable(entry))
        .collect();
    for entry in subject.active_tools() {
        let said = &entry.annotations;
        if !said.emits_artifacts || said.inline_result {
            continue;
        }
        // Two are enough to know whether there is one that is not the tool itself.
        let general = readers
            .iter()
            .take(2)
            .any(|reader| reader.name != entry.name);
        let named = said
            .result_readers
            .iter()
            .filter(|name| **name != *entry.name)
            .filter_map(|name| subject.active.get(name.as_str()));
        if general
            || named
                .into_iter()
                .any(|reader| can_read(reader) && subject.is_usable(reader))
        {
            continue;
        }
        let message = format!(
            "tool \"{}\" may answer with a handle, but no active tool can read it",
            entry.name
        );
        let finding = entry.finding_at("result_readers", &RULE, message);
        findings.add(finding.field("result_readers").help("name an active tool in `result_readers`, or write `inline_result: true` if results are always complete"));
    }
}

/// Whether a tool can open a handle that some other tool gave: it reads, and takes a handle or a
/// path.
fn reads_handles(entry: &Entry<'_>) -> bool {
    if matches!(&*entry.name, "read_command_output" | "read_artifact") {
        return can_read(entry);
    }
    let is_handle = |name: &str| {
        let words = ["handle", "path", "file", "uri", "artifact"];
        let ids = [
            "handle_id",
            "artifact_id",
            "command_id",
            "output_id",
            "result_id",
        ];
        words
            .iter()
            .any(|word| name == *word || name.ends_with(&format!("_{word}")))
            || ids.contains(&name)
    };
    let takes_one = || {
        !entry.annotations.path_params.is_empty()
            || entry.parameters().any(|(name, _)| is_handle(name))
    };
    matches!(entry.kind(), Some("read" | "search")) && takes_one()
}

/// Whether the tool may be one that only reads.
pub(super) fn can_read(entry: &Entry<'_>) -> bool {
    !matches!(entry.kind(), Some("edit" | "delete" | "move"))
}
