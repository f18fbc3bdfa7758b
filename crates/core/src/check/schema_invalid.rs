//! `SCHEMA_INVALID`.

use super::schema::compile;
use super::subject::{Findings, ToolSubject};
use super::{Check, Rule};
use crate::diagnostic::Severity;
use crate::span::Span;
use jsonschema::ValidationError;
use serde_json::Value;

pub(super) const RULE: Rule = Rule {
    code: "SCHEMA_INVALID",
    severity: Severity::Error,
    why: "Arguments are checked against the schema before a call, and some providers refuse every request that carries a broken one.",
    bad: &[(
        ".harness/tools/read_note.md",
        "---\ninput_schema:\n  type: object\n  properties:\n    name: {type: strng}\nscript: |\n  def run(args):\n      return fs.read(args[\"name\"])\n---\nReads one note.\n",
    )],
    good: &[(
        ".harness/tools/read_note.md",
        "---\ninput_schema:\n  type: object\n  properties:\n    name: {type: string}\nscript: |\n  def run(args):\n      return fs.read(args[\"name\"])\n---\nReads one note.\n",
    )],
    check: Check::Tool(check),
};

fn check(subject: &ToolSubject<'_>, findings: &mut Findings<'_>) {
    let tool = subject.tool;
    let mut judge = |field: &'static str, schema: &Value, span: Span| {
        if let Err(error) = compile(schema) {
            let (message, help) = explain(field, &error);
            findings.add(RULE.finding(message).at(tool.place(span)).field(field).help(help));
        }
    };
    if let Some(source) = &tool.schema_source {
        judge(source.value, &tool.input_schema, source.span);
    }
    if let Some(schema) = &tool.output_schema {
        judge("output_schema", &schema.value, schema.span);
    }
}

fn explain(field: &str, error: &ValidationError<'_>) -> (String, String) {
    let pointer = error.instance_path().as_str();
    let at = if pointer.is_empty() { String::new() } else { format!(" at `{pointer}`") };
    let keyword = pointer.rsplit('/').next().unwrap_or_default();
    let written = shorten(&error.instance().to_string());
    let (reason, help) = match keyword {
        "type" => (
            format!("{written} is not a type"),
            "use `string`, `number`, `integer`, `boolean`, `object`, `array`, `null`, or a list of these".to_owned(),
        ),
        "required" => (format!("{written} is not a list of names"), "write `required: [name, ...]` beside `properties`".to_owned()),
        "pattern" => (
            format!("{written} is not a pattern that can be matched in linear time"),
            "use a regular expression without look-around and back-references".to_owned(),
        ),
        _ => (shorten(&error.to_string()), "write a JSON Schema of draft 2020-12 that refers to nothing outside itself".to_owned()),
    };
    (format!("`{field}` is not a valid JSON Schema{at}: {reason}"), help)
}

/// One line of bounded length; schemas may hold whole documents.
fn shorten(text: &str) -> String {
    const MOST: usize = 160;
    let line = text.replace(['\n', '\r'], " ");
    match line.char_indices().nth(MOST) {
        Some((end, _)) => format!("{}...", &line[..end]),
        None => line,
    }
}
