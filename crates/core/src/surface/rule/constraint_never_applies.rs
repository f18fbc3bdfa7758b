//! `TOOL_SURFACE_CONSTRAINT_NEVER_APPLIES`.

use crate::check::{Check, Rule};
use crate::diagnostic::Severity;
use crate::surface::{Constraint, Entry, Findings, Subject};

pub(crate) const RULE: Rule = Rule {
    code: "TOOL_SURFACE_CONSTRAINT_NEVER_APPLIES",
    severity: Severity::Warning,
    why: "A constraint that has nothing to compare, or whose argument is renamed before it is judged, protects nothing.",
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
  "policy": {"tool_arg_constraints": [{"tool": "read_note", "arg_key": "path", "arg_patterns": []}]}
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
  ],
  "policy": {"tool_arg_constraints": [{"tool": "read_note", "arg_key": "path", "arg_patterns": ["notes/**"]}]}
}
"#,
    )],
    check: Check::Surface(check),
};

fn check(subject: &Subject<'_>, findings: &mut Findings) {
    for constraint in subject.constraints() {
        let tools = subject.matching(&constraint.tool);
        let Some(why) = why(constraint, &tools) else { continue };
        let finding = RULE.finding(format!("the constraint on `{}` can never apply: {why}", constraint.tool.text()));
        findings.add(
            finding
                .at_any(constraint.place.clone())
                .field("tool_arg_constraints")
                .help("name an argument of the schema, and what it may look like"),
        );
    }
}

fn why(constraint: &Constraint, tools: &[&Entry<'_>]) -> Option<String> {
    if constraint.accepted.is_empty() {
        return Some("`arg_patterns` is empty".to_owned());
    }
    if tools.is_empty() {
        return None;
    }
    let Some(key) = &constraint.key else {
        let no_paths = tools.iter().all(|entry| entry.annotations.path_params.is_empty());
        return no_paths.then(|| "it names no argument, and no tool it matches declares `path_params`".to_owned());
    };
    let canonical = |entry: &&Entry<'_>| {
        let alias = entry.annotations.arg_aliases.iter().find(|(alias, _)| alias == key);
        alias.filter(|_| !entry.has_parameter(key)).map(|(_, canonical)| canonical.clone())
    };
    let renamed: Option<Vec<String>> = tools.iter().map(canonical).collect();
    renamed.and_then(|names| Some(format!("`{key}` is another name of `{}`, and is renamed before it is judged", names.first()?)))
}
