//! `TOOL_SURFACE_PATTERN_NO_MATCH`.

use super::Check;
use crate::diagnostic::{Diagnostic, Rule, Severity};
use crate::span::Place;
use crate::surface::{Constraint, Findings, Located, Pattern, PolicyOrigin, Subject};
use std::collections::HashSet;

pub(crate) const RULE: Rule<Check> = Rule {
    code: "TOOL_SURFACE_PATTERN_NO_MATCH",
    severity: Severity::Warning,
    why: "A pattern that matches no tool allows, denies or constrains nothing. Most often a tool \
          was renamed.",
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
  "policy": {"tools": ["read_*", "wirte_*"]}
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
    },
    {
      "name": "write_note",
      "description": "Writes one note.",
      "parameters": {"type": "object", "properties": {"path": {"type": "string"}}, "required": ["path"]},
      "executor": "harn",
      "annotations": {"kind": "edit", "side_effect_level": "workspace_write"}
    }
  ],
  "policy": {"tools": ["read_*", "write_*"]}
}
"#,
    )],
    check,
};

fn check(subject: &Subject<'_>, findings: &mut Findings) {
    let names: HashSet<&str> = subject
        .surface
        .tools
        .iter()
        .map(|entry| &*entry.name)
        .collect();
    let declared = |pattern: &Pattern| {
        if pattern.is_exact() {
            names.contains(pattern.text())
        } else {
            names.iter().any(|name| pattern.is_match(name))
        }
    };
    let none_active = subject.active.is_empty();
    for policy in subject
        .surface
        .policies
        .iter()
        .filter(|policy| policy.origin == PolicyOrigin::Local)
    {
        for Located { value, place } in policy.tools.iter().flatten() {
            if !none_active && !declared(value) {
                let list = "the list of tools that are allowed";
                findings.add(unmatched(value, list, place.as_ref()));
            }
        }
        for Located { value, place } in &policy.deny {
            if !declared(value) {
                let list = "the list of tools that are denied";
                let finding = unmatched(value, list, place.as_ref());
                // Denying a tool that does not exist yet is reasonable caution.
                let severity = Severity::Note;
                findings.add(Diagnostic {
                    severity,
                    ..finding
                });
            }
        }
        for Constraint { tool, place, .. } in &policy.constraints {
            if !tool.is_exact() && !subject.matches_any(tool) {
                let list = "a constraint on arguments";
                findings.add(unmatched(tool, list, place.as_ref()));
            }
        }
    }
    for (name, place) in subject
        .surface
        .annotated
        .iter()
        .filter(|(name, _)| !names.contains(name.as_str()))
    {
        let finding = RULE
            .finding(format!(
                "`{name}` in `policy.tool_annotations` is not a tool"
            ))
            .at_any(place.clone());
        findings.add(
            finding
                .field("policy.tool_annotations")
                .help("fix or remove it: it says nothing about any tool"),
        );
    }
    for approval in &subject.surface.approval {
        let (pattern, place) = (&approval.pattern, approval.place.as_ref());
        if !pattern.is_exact() && !subject.matches_any(pattern) {
            findings.add(unmatched(pattern, &approval.field, place));
        }
    }
}

fn unmatched(pattern: &Pattern, list: &str, place: Option<&Place>) -> Diagnostic {
    RULE.finding(format!("`{}` in {list} matches no tool", pattern.text()))
        .at_any(place.cloned())
        .help("fix or remove it")
}
