//! `TOOL_SURFACE_MISSING_ANNOTATIONS`.

use super::Check;
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
  ]
}
"#,
    )],
    check,
};

fn check(subject: &Subject<'_>, findings: &mut Findings) {
    for entry in subject
        .active_tools()
        .filter(|entry| entry.annotated == AnnotationSource::Missing)
    {
        findings.add(
            RULE.finding(format!("tool \"{}\" does not say what it does", entry.name))
                .at_any(entry.place.clone())
                .tool(&*entry.name)
                .field("annotations")
                .help("write `annotations` with `kind` and `side_effect_level`"),
        );
    }
}
