//! `ARGUMENT_UNDECLARED`.

use super::Check;
use crate::artifact::Tool;
use crate::check::subject::{Findings, ToolSubject};
use crate::diagnostic::{Rule, Severity};
use crate::facts::Named;
use crate::nearest::nearest;
use serde_json::{Value, json};

pub(super) const RULE: Rule<Check> = Rule {
    code: "ARGUMENT_UNDECLARED",
    severity: Severity::Warning,
    why: "A model sends the arguments that the schema names. One that the script reads and the \
          schema does not name never comes: `args[\"...\"]` then fails, and `args.get` always \
          gives its default.",
    bad: &[(
        ".harness/tools/read_note.md",
        "---\nparameters:\n  path: {required: true, type: string, description: The note}\nscript: |\n  def run(args):\n      return fs.read(args[\"file\"])\n---\nReads one note.\n",
    )],
    good: &[(
        ".harness/tools/read_note.md",
        "---\nparameters:\n  path: {required: true, type: string, description: The note}\nscript: |\n  def run(args):\n      return fs.read(args[\"path\"])\n---\nReads one note.\n",
    )],
    check: Check::Tool(check),
};

/// Keywords whose schemas may name further arguments.
const NAME_ELSEWHERE: [&str; 11] = [
    "$ref",
    "$dynamicRef",
    "allOf",
    "anyOf",
    "oneOf",
    "if",
    "then",
    "else",
    "patternProperties",
    "dependentSchemas",
    "unevaluatedProperties",
];

fn check(subject: &ToolSubject<'_>, findings: &mut Findings<'_>) {
    let (tool, Some(facts), Some(script)) = (subject.tool, subject.facts, &subject.tool.script)
    else {
        return;
    };
    let Some(extra) = ExtraArguments::of(tool) else {
        return;
    };
    let indexed = facts.indexed_arguments.iter().map(|key| (key, true));
    let tested = facts.tested_arguments.iter().map(|key| (key, false));
    for (key, fails) in indexed.chain(tested) {
        if is_declared(tool, &key.name) {
            continue;
        }
        let always = facts
            .required_arguments
            .iter()
            .any(|required| required.name == key.name);
        let consequence = match (fails, always, extra) {
            (false, ..) => "no model sends it",
            (true, true, ExtraArguments::Refused) => "every call fails",
            (true, true, ExtraArguments::PassedOn) => {
                "no model sends it, and a call without it fails"
            }
            (true, false, _) => "no model sends it, and a call that reads it fails",
        };
        let mut finding = RULE.finding(format!(
            "the script reads the argument `{}`, which `{}` does not name: {consequence}",
            key.name,
            tool.schema_source
                .as_ref()
                .map_or("parameters", |source| source.value),
        ));
        if always && extra == ExtraArguments::Refused {
            finding.severity = Severity::Error;
        }
        findings.add(
            finding
                .at(script.place_of(key.position()))
                .field("script")
                .help(help_for(tool, key)),
        );
    }
}

/// What happens to arguments that the schema does not name.
#[derive(Clone, Copy, PartialEq, Eq)]
enum ExtraArguments {
    PassedOn,
    Refused,
}

impl ExtraArguments {
    /// `None` for a schema that says what they may be, or that may name arguments in other places.
    fn of(tool: &Tool) -> Option<Self> {
        let schema = tool.input_schema.as_object()?;
        if NAME_ELSEWHERE
            .iter()
            .any(|keyword| schema.contains_key(*keyword))
        {
            return None;
        }
        match schema.get("additionalProperties") {
            None => Some(Self::PassedOn),
            Some(Value::Bool(false)) => Some(Self::Refused),
            Some(_) => None,
        }
    }
}

fn names(tool: &Tool) -> impl Iterator<Item = &str> {
    let properties = tool.input_schema.get("properties");
    properties
        .and_then(Value::as_object)
        .into_iter()
        .flat_map(|properties| properties.keys().map(String::as_str))
}

fn is_declared(tool: &Tool, key: &str) -> bool {
    let required = tool.input_schema.get("required").and_then(Value::as_array);
    names(tool).any(|name| name == key)
        || tool.inject.iter().any(|(name, _)| name == key)
        || required.is_some_and(|required| required.contains(&json!(key)))
}

fn help_for(tool: &Tool, key: &Named) -> String {
    let name = &key.name;
    let alias = tool
        .annotations
        .arg_aliases
        .iter()
        .find(|(alias, _)| alias == name);
    if let Some((_, canonical)) = alias {
        return format!(
            "`{name}` is an alias, and arrives as `{canonical}`: read `args[\"{canonical}\"]`"
        );
    }
    match (nearest(name, names(tool)), &tool.schema_source) {
        (Some(close), _) => format!("did you mean `{close}`?"),
        (None, Some(source)) if source.value == "input_schema" => {
            format!("add `{name}` to `properties` of `input_schema`")
        }
        _ => format!(
            "add `{name}: {{type: string}}`, or another type, below `parameters:` in the frontmatter"
        ),
    }
}
