//! `ARGUMENT_NOT_REQUIRED`.

use super::Check;
use crate::artifact::Tool;
use crate::artifact::locate::{EntryPart, locate, schemas};
use crate::check::subject::{Findings, ToolSubject};
use crate::diagnostic::{Rule, Severity};
use crate::span::{Place, Span};
use serde_json::Value;

pub(super) const RULE: Rule<Check> = Rule {
    code: "ARGUMENT_NOT_REQUIRED",
    severity: Severity::Note,
    why: "Every run of the script reads the argument with `args[\"...\"]`, which fails without \
          it. A model that follows the schema may leave it out and learns only from the failure.",
    bad: &[(
        ".harness/tools/read_note.md",
        "---\nparameters:\n  path: {type: string, description: The note}\nscript: |\n  def run(args):\n      return fs.read(args[\"path\"])\n---\nReads one note.\n",
    )],
    good: &[(
        ".harness/tools/read_note.md",
        "---\nparameters:\n  path: {required: true, type: string, description: The note}\nscript: |\n  def run(args):\n      return fs.read(args[\"path\"])\n---\nReads one note.\n",
    )],
    check: Check::Tool(check),
};

fn check(subject: &ToolSubject<'_>, findings: &mut Findings<'_>) {
    let (tool, Some(facts)) = (subject.tool, subject.facts) else {
        return;
    };
    let required = tool.input_schema.get("required").and_then(Value::as_array);
    for key in &facts.required_arguments {
        let property = tool
            .input_schema
            .get("properties")
            .and_then(|properties| properties.get(&key.name));
        let has_default = |property: &Value| property.get("default").is_some();
        let injected = tool.inject.iter().any(|(name, _)| *name == key.name);
        if injected
            || property.is_none_or(has_default)
            || required.is_some_and(|names| names.iter().any(|name| *name == key.name))
        {
            continue;
        }
        let finding = RULE.finding(format!(
            "`{}` is not required, but every run of the script reads it",
            key.name
        ));
        let finding = finding
            .field(format!("parameters.{}", key.name))
            .help("write `required: true`, give it a `default`, or use `args.get`");
        let Some((written, _)) = schemas(tool).next() else {
            continue;
        };
        let place = locate(tool, written, &["properties", &key.name], EntryPart::Value);
        findings.add(match fixed(tool, written.field, &key.name, &place) {
            Some((place, words)) => finding.at(place).fix(words),
            None => finding.at(place),
        });
    }
}

/// The fix that makes the argument required. There is none for an explicit `required: false`, which
/// was meant.
fn fixed(tool: &Tool, field: &str, name: &str, parameter: &Place) -> Option<(Place, String)> {
    let written = tool.frontmatter.get("parameters")?.get(name)?;
    if field != "parameters" || written.get("required").is_some() {
        return None;
    }
    let (text, start) = (&parameter.source.text, parameter.span.start);
    let here = text.get(start..parameter.span.end)?;
    let at =
        |offset: usize| Place::new(&parameter.source, Span::new(start + offset, start + offset));
    if let Some(inside) = here.strip_prefix('{') {
        return Some((
            at(1 + inside.len() - inside.trim_start().len()),
            "required: true, ".to_owned(),
        ));
    }
    let line = text.get(..start)?.rfind('\n').map_or(0, |end| end + 1);
    let indent = text.get(line..start)?;
    // Only a block on a line of its own gets a fix; other forms are not guessed at.
    indent
        .bytes()
        .all(|byte| byte == b' ')
        .then(|| (at(0), format!("required: true\n{indent}")))
}
