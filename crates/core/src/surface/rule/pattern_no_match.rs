//! `TOOL_SURFACE_PATTERN_NO_MATCH`.

use super::Check;
use crate::diagnostic::{Rule, Severity};
use crate::span::Place;
use crate::surface::{Findings, Pattern, PolicyOrigin, Subject};
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
        for pattern in policy
            .tools
            .iter()
            .flatten()
            .filter(|pattern| !none_active && !declared(&pattern.value))
        {
            report(
                &pattern.value,
                "the list of tools that are allowed",
                pattern.place.as_ref(),
                Severity::Warning,
                findings,
            );
        }
        // Denying a tool that does not exist yet is reasonable caution.
        for pattern in policy
            .deny
            .iter()
            .filter(|pattern| !declared(&pattern.value))
        {
            report(
                &pattern.value,
                "the list of tools that are denied",
                pattern.place.as_ref(),
                Severity::Note,
                findings,
            );
        }
        for constraint in policy
            .constraints
            .iter()
            .filter(|constraint| !constraint.tool.is_exact())
        {
            if !subject.matches_any(&constraint.tool) {
                report(
                    &constraint.tool,
                    "a constraint on arguments",
                    constraint.place.as_ref(),
                    Severity::Warning,
                    findings,
                );
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
    for approval in subject
        .surface
        .approval
        .iter()
        .filter(|approval| !approval.pattern.is_exact())
    {
        if !subject.matches_any(&approval.pattern) {
            report(
                &approval.pattern,
                &approval.field,
                approval.place.as_ref(),
                Severity::Warning,
                findings,
            );
        }
    }
}

fn report(
    pattern: &Pattern,
    list: &str,
    place: Option<&Place>,
    severity: Severity,
    findings: &mut Findings,
) {
    let mut finding = RULE
        .finding(format!("`{}` in {list} matches no tool", pattern.text()))
        .at_any(place.cloned());
    finding.severity = severity;
    findings.add(finding.help("fix or remove it"));
}
