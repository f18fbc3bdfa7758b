//! `SCHEMA_INVALID`.

use super::Check;
use crate::artifact::locate::{EntryPart, locate, schemas};
use crate::artifact::rule::schema_invalid;
use crate::check::schema::parts;
use crate::check::subject::{Findings, ToolSubject};
use crate::diagnostic::Rule;
use crate::schema::compile;
use jsonschema::ValidationError;

pub(super) const RULE: Rule<Check> = schema_invalid::RULE.with(Check::Tool(check));

fn check(subject: &ToolSubject<'_>, findings: &mut Findings<'_>) {
    for (written, schema) in schemas(subject.tool) {
        let Err(error) = compile(schema) else {
            continue;
        };
        let path = parts(error.instance_path().as_str());
        let path: Vec<&str> = path.iter().map(String::as_str).collect();
        // The reader has judged the type of each parameter, in the words of parameters.
        if matches!(
            (written.field, &path[..]),
            ("parameters", ["properties", _, "type", ..])
        ) {
            continue;
        }
        let (message, help) = explain(written.field, &error);
        findings.add(
            RULE.finding(message)
                .at(locate(subject.tool, written, &path, EntryPart::Value))
                .field(written.field)
                .help(help),
        );
    }
}

fn explain(field: &str, error: &ValidationError<'_>) -> (String, String) {
    let pointer = error.instance_path().as_str();
    let at = if pointer.is_empty() {
        String::new()
    } else {
        format!(" at `{pointer}`")
    };
    let keyword = pointer.rsplit('/').next().unwrap_or_default();
    let written = shorten(&error.instance().to_string());
    let (reason, help) = match keyword {
        "type" => (
            format!("{written} is not a type"),
            "use `string`, `number`, `integer`, `boolean`, `object`, `array`, `null`, or a list of these".to_owned(),
        ),
        "required" => (
            format!("{written} is not a list of names"),
            if field == "parameters" {
                "write `required: true` at each of the `properties` that must be given".to_owned()
            } else {
                "write `required: [name, ...]` beside `properties`".to_owned()
            },
        ),
        "pattern" => (
            format!("{written} is not a pattern that can be matched in linear time"),
            "use a regular expression without look-around and back-references".to_owned(),
        ),
        _ => (shorten(&error.to_string()), "write a JSON Schema of draft 2020-12 that refers to nothing outside itself".to_owned()),
    };
    (
        format!("`{field}` is not a valid JSON Schema{at}: {reason}"),
        help,
    )
}

/// A bounded part; schemas may hold whole documents.
fn shorten(text: &str) -> String {
    const MOST: usize = 160;
    text.char_indices()
        .nth(MOST)
        .map_or_else(|| text.to_owned(), |(end, _)| format!("{}…", &text[..end]))
}
