//! `TOOL_SURFACE_MISSING_ANNOTATIONS`.

use super::{Check, READ_NOTE_SURFACE};
use crate::diagnostic::{Rule, Severity};
use crate::surface::{AnnotationSource, Findings, Subject};

pub(crate) const RULE: Rule<Check> = Rule {
    code: "TOOL_SURFACE_MISSING_ANNOTATIONS",
    severity: Severity::Warning,
    why: "Policy is about what a tool does. A tool without annotations and without a script gives \
          it nothing to judge by.",
    bad: &[(
        "surface.json",
        r#"{
  "tools": [
    {
      "name": "read_note",
      "description": "Reads one note.",
      "parameters": {"type": "object", "properties": {"path": {"type": "string"}}, "required": ["path"]},
      "executor": "harn"
    }
  ]
}
"#,
    )],
    good: READ_NOTE_SURFACE,
    check,
};

fn check(subject: &Subject<'_>, findings: &mut Findings) {
    for entry in subject
        .active_tools()
        .filter(|entry| entry.annotated == AnnotationSource::Missing)
    {
        let message = format!("tool \"{}\" does not say what it does", entry.name);
        let finding = entry.finding(&RULE, message).field("annotations");
        findings.add(finding.help("write `annotations` with `kind` and `side_effect_level`"));
    }
}
