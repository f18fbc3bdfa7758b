//! `TOOL_SURFACE_CONSTRAINT_NEVER_APPLIES`.

use super::{CONSTRAINED_SURFACE, Check};
use crate::diagnostic::{Rule, Severity};
use crate::surface::{Constraint, Entry, Findings, Pattern, Separator, Subject};
use serde_json::Value;

pub(crate) const RULE: Rule<Check> = Rule {
    code: "TOOL_SURFACE_CONSTRAINT_NEVER_APPLIES",
    severity: Severity::Warning,
    why: "A constraint that has nothing to compare, or whose argument is renamed before it is \
          judged, protects nothing. A constraint on an argument that is not text, or that accepts \
          none of the values in the schema, lets nothing through.",
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
    good: CONSTRAINED_SURFACE,
    check,
};

fn check(subject: &Subject<'_>, findings: &mut Findings) {
    for constraint in subject.constraints() {
        let tools = subject.matching(&constraint.tool);
        let Some(why) = why(constraint, &tools) else {
            continue;
        };
        let finding = RULE.finding(format!(
            "the constraint on `{}` {why}",
            constraint.tool.text()
        ));
        findings.add(
            finding
                .at_any(constraint.place.clone())
                .field("tool_arg_constraints")
                .help("name an argument of the schema and the values it may have"),
        );
    }
}

fn why(constraint: &Constraint, tools: &[&Entry<'_>]) -> Option<String> {
    if constraint.accepted.is_empty() {
        return Some("can never apply: `arg_patterns` is empty".to_owned());
    }
    if tools.is_empty() {
        return None;
    }
    let Some(key) = &constraint.key else {
        let no_paths = tools
            .iter()
            .all(|entry| entry.annotations.path_params.is_empty());
        return no_paths.then(|| "can never apply: it names no argument, and no tool it matches declares `path_params`".to_owned());
    };
    let canonical = |entry: &&Entry<'_>| {
        let alias = entry
            .annotations
            .arg_aliases
            .iter()
            .find(|(alias, _)| alias == key);
        alias
            .filter(|_| !entry.has_parameter(key))
            .map(|(_, canonical)| canonical.clone())
    };
    let renamed: Option<Vec<String>> = tools.iter().map(canonical).collect();
    if let Some(first) = renamed.as_ref().and_then(|names| names.first()) {
        return Some(format!(
            "can never apply: `{key}` is an alias of `{first}`, and is renamed before it is judged"
        ));
    }
    let schemas: Vec<&Value> = tools
        .iter()
        .filter_map(|entry| entry.parameter(key))
        .collect();
    let schema = schemas.first()?;
    if schemas.iter().all(|schema| is_no_text(schema)) {
        return Some(format!(
            "can never be met: `{key}` is {}, and only text is compared",
            schema["type"]
        ));
    }
    let unmet = schemas
        .iter()
        .all(|schema| accepts_none(&constraint.accepted, schema));
    unmet.then(|| format!("can never be met: none of the values of `{key}` is accepted"))
}

/// Whether an argument is said to be something else than text or a list.
fn is_no_text(schema: &Value) -> bool {
    schema
        .get("type")
        .and_then(Value::as_str)
        .is_some_and(|word| {
            let word = word.to_ascii_lowercase();
            ["integer", "number", "boolean", "object", "null"].contains(&word.as_str())
        })
}

/// Whether an argument may only have values that are not accepted.
fn accepts_none(accepted: &[String], schema: &Value) -> bool {
    let globs: Vec<Pattern> = accepted
        .iter()
        .filter_map(|glob| Pattern::new(glob, Separator::Ordinary).ok())
        .collect();
    let values = schema
        .get("enum")
        .and_then(Value::as_array)
        .filter(|values| !values.is_empty());
    values.is_some_and(|values| {
        values.iter().all(|value| {
            value
                .as_str()
                .is_some_and(|text| !globs.iter().any(|glob| glob.is_match(text)))
        })
    })
}
