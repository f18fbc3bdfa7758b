//! Reads the YAML of older files, and writes frontmatter.

use serde_json::{Map, Value};
use std::fmt::Write as _;
use tool_harness::artifact::yaml;
use tool_harness::span::{Source, Span};

/// The value of a YAML text, or why it cannot be read. `place` names it in the message.
pub(super) fn read(place: &str, text: &str) -> Result<Value, String> {
    let source = Source::new(place, text);
    let (node, problems) = yaml::parse(&source, Span::new(0, text.len()));
    match (node, problems.first()) {
        (Some(node), None) => Ok(node.to_json()),
        (_, Some(problem)) => Err(problem.message.clone()),
        (None, None) => Err("the yaml cannot be read".to_owned()),
    }
}

/// A file with this frontmatter and this text below it.
pub(super) fn file(fields: &Map<String, Value>, body: &str) -> String {
    let mut text = String::from("---\n");
    write_map(&mut text, fields, 0);
    let _ = write!(text, "---\n\n{}\n", body.trim());
    text
}

fn write_map(text: &mut String, map: &Map<String, Value>, depth: usize) {
    for (key, value) in map {
        let _ = write!(text, "{:depth$}{}:", "", scalar(key));
        write_value(text, value, depth);
    }
}

fn write_value(text: &mut String, value: &Value, depth: usize) {
    match value {
        Value::Object(map) if map.is_empty() => text.push_str(" {}\n"),
        Value::Array(items) if items.is_empty() => text.push_str(" []\n"),
        Value::Object(map) => {
            text.push('\n');
            write_map(text, map, depth + 2);
        }
        Value::Array(items)
            if items
                .iter()
                .all(|item| !item.is_object() && !item.is_array()) =>
        {
            let items: Vec<String> = items.iter().map(plain_value).collect();
            let _ = writeln!(text, " [{}]", items.join(", "));
        }
        Value::Array(items) => {
            text.push('\n');
            for item in items {
                write_item(text, item, depth + 2);
            }
        }
        Value::String(lines) if is_block(lines) => {
            let end = if lines.ends_with('\n') { "|" } else { "|-" };
            let _ = writeln!(text, " {end}");
            for line in lines.lines() {
                match line {
                    "" => text.push('\n'),
                    line => {
                        let _ = writeln!(text, "{:width$}{line}", "", width = depth + 2);
                    }
                }
            }
        }
        other => {
            let _ = writeln!(text, " {}", plain_value(other));
        }
    }
}

/// One item of a list whose items are maps or lists.
fn write_item(text: &mut String, item: &Value, depth: usize) {
    let start = text.len();
    match item {
        Value::Object(map) if !map.is_empty() => write_map(text, map, depth + 2),
        other => {
            let _ = writeln!(
                text,
                "{:width$}{}",
                "",
                plain_value(other),
                width = depth + 2
            );
        }
    }
    // The dash takes the place of the first line's last two spaces.
    text.replace_range(start + depth..start + depth + 1, "-");
}

/// Whether a text is best written as lines.
fn is_block(text: &str) -> bool {
    let body = text.strip_suffix('\n').unwrap_or(text);
    body.contains('\n')
        && !body.starts_with([' ', '\n'])
        && !body.ends_with('\n')
        && !text.contains(|c: char| c.is_control() && c != '\n')
}

fn plain_value(value: &Value) -> String {
    match value {
        Value::String(text) => scalar(text),
        // JSON is YAML.
        other => other.to_string(),
    }
}

/// A text as it is, where YAML reads it back so, otherwise in quotes.
fn scalar(text: &str) -> String {
    const WORDS: [&str; 9] = ["true", "false", "yes", "no", "on", "off", "null", "y", "n"];
    let inside = |c: char| c.is_ascii_alphanumeric() || "_ ./()-'*".contains(c);
    let is_plain = text.starts_with(|c: char| c.is_ascii_alphabetic())
        && text.chars().all(inside)
        && !text.ends_with(' ')
        && !WORDS.contains(&text.to_ascii_lowercase().as_str());
    if is_plain {
        text.to_owned()
    } else {
        Value::from(text).to_string()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use serde_json::json;

    fn again(fields: &Value) -> Value {
        let text = file(fields.as_object().expect("a map"), "text");
        let yaml = text
            .strip_prefix("---\n")
            .and_then(|text| text.split_once("---\n\n"))
            .expect("frontmatter")
            .0;
        read("x", yaml).unwrap_or_else(|problem| panic!("{problem} in\n{text}"))
    }

    #[test]
    fn what_is_written_is_read_back() {
        let fields = json!({
            "tools": [
                {"name": "a", "parameters": {"p": {"type": "string", "enum": ["x", "no"]}}, "script": "def run(args):\n    return 1\n"},
                {"name": "b: c", "timeout_ms": 10, "tags": []},
            ],
            "version": "1.0", "empty": "", "odd": " lead", "lines": "a\n\nb", "two": "a\n\n", "flag": true, "none": null, "map": {},
        });
        assert_eq!(again(&fields), fields);
    }

    proptest! {
        #[test]
        fn any_text_is_read_back(text in "[ -~\\n\\t]{0,30}|\\PC{0,20}") {
            let fields = json!({"key": text, "list": [{"item": text}, {"list": [text]}]});
            prop_assert_eq!(again(&fields), fields);
        }
    }
}
