//! The result of a client's tool: its text for hooks, and how to replace it.

use crate::artifact::client::ClientTool;
use serde_json::{Map, Value, json};

/// Fields of a client's result that lead back to the replaced text.
const LEADS_BACK: [&str; 4] = [
    "persistedOutputPath",
    "persistedOutputSize",
    "rawOutputPath",
    "structuredContent",
];

/// The text of a result that the model would read.
pub(crate) fn text(entry: &ClientTool, response: &Value) -> String {
    let found: Vec<String> = entry
        .result
        .iter()
        .filter_map(|path| at(response, path))
        .map(flat)
        .filter(|text| !text.is_empty())
        .collect();
    if found.is_empty() && !entry.result.iter().any(|path| at(response, path).is_some()) {
        flat(response)
    } else {
        found.join("\n")
    }
}

/// The same result with other text, in the client's own form; `None` if that form has no place for
/// it.
pub(crate) fn instead(entry: &ClientTool, response: &Value, text: &str) -> Option<Value> {
    match response {
        Value::String(_) => Some(text.into()),
        Value::Array(_) => Some(json!([{ "type": "text", "text": text }])),
        Value::Object(fields) => {
            let mut fields = fields.clone();
            fields.retain(|key, _| !LEADS_BACK.contains(&key.as_str()));
            let mut places: Vec<&str> = entry
                .result
                .iter()
                .map(String::as_str)
                .filter(|path| at(response, path).is_some())
                .collect();
            if places.is_empty()
                && entry.result.is_empty()
                && fields.get("content").is_some_and(Value::is_array)
            {
                places.push("content");
            }
            let (first, rest) = places.split_first()?;
            put(&mut fields, first, text);
            rest.iter().for_each(|path| put(&mut fields, path, ""));
            Some(Value::Object(fields))
        }
        _ => None,
    }
}

fn at<'a>(value: &'a Value, path: &str) -> Option<&'a Value> {
    path.split('.')
        .try_fold(value, |value, key| value.get(key))
        .filter(|value| value.is_string() || value.is_array())
}

/// Flattens a value: texts as they are, lists line by line, content blocks by their text, anything
/// else as JSON.
fn flat(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Array(items) => items.iter().map(flat).collect::<Vec<_>>().join("\n"),
        Value::Object(block) if block.get("type") == Some(&json!("text")) => {
            block.get("text").map(flat).unwrap_or_default()
        }
        other => other.to_string(),
    }
}

fn put(fields: &mut Map<String, Value>, path: &str, text: &str) {
    let (first, rest) = path
        .split_once('.')
        .map_or((path, None), |(first, rest)| (first, Some(rest)));
    match (fields.get_mut(first), rest) {
        (Some(Value::Object(inner)), Some(rest)) => put(inner, rest, text),
        (Some(place), None) => {
            *place = match place {
                Value::Array(_) if text.is_empty() => json!([]),
                Value::Array(items)
                    if items.first().is_some_and(Value::is_object) && first == "content" =>
                {
                    json!([{ "type": "text", "text": text }])
                }
                Value::Array(_) => json!([text]),
                _ => text.into(),
            }
        }
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::native::tools_of;

    #[test]
    fn text_is_found_and_replaced_where_the_client_keeps_it() {
        let check = |tool: &str, response: Value, expected_text: &str, expected: Option<Value>| {
            let native = tools_of("claude-code")
                .iter()
                .find(|native| native.pattern == tool)
                .expect("a tool");
            let entry = ClientTool::from(native);
            assert_eq!(text(&entry, &response), expected_text, "{tool}");
            assert_eq!(instead(&entry, &response, "new"), expected, "{tool}");
        };
        check(
            "Bash",
            json!({"stdout": "out", "stderr": "err", "interrupted": false, "persistedOutputPath": "/tmp/x"}),
            "out\nerr",
            Some(json!({"stdout": "new", "stderr": "", "interrupted": false})),
        );
        check(
            "Read",
            json!({"type": "text", "file": {"filePath": "/a", "content": "old", "numLines": 1}}),
            "old",
            Some(
                json!({"type": "text", "file": {"filePath": "/a", "content": "new", "numLines": 1}}),
            ),
        );
        check(
            "Glob",
            json!({"filenames": ["a", "b"], "numFiles": 2}),
            "a\nb",
            Some(json!({"filenames": ["new"], "numFiles": 2})),
        );
        check(
            "Agent",
            json!({"content": [{"type": "text", "text": "done"}], "agentId": "1"}),
            "done",
            Some(json!({"content": [{"type": "text", "text": "new"}], "agentId": "1"})),
        );
        check(
            "*",
            json!([{"type": "text", "text": "a"}, {"type": "text", "text": "b"}]),
            "a\nb",
            Some(json!([{"type": "text", "text": "new"}])),
        );
        check("*", json!("old"), "old", Some(json!("new")));
        check(
            "Write",
            json!({"filePath": "/a"}),
            "{\"filePath\":\"/a\"}",
            None,
        );
        check(
            "Read",
            json!({"type": "image", "file": {"base64": "xx"}}),
            "{\"type\":\"image\",\"file\":{\"base64\":\"xx\"}}",
            None,
        );
    }
}
