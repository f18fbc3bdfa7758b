//! Repair: undoes common mistakes of small models in arguments. Off unless the host turns it on.

use crate::registry::RegisteredTool;
use crate::schema::{CompiledSchema, escaped};
use serde_json::{Map, Value};

/// Keys that models wrap arguments in.
const WRAPPERS: [&str; 8] = [
    "arguments",
    "args",
    "input",
    "parameters",
    "params",
    "tool_input",
    "kwargs",
    "payload",
];

/// The JSON text inside a code fence, without the name of its language.
pub(in crate::run) fn unfenced(text: &str) -> Option<&str> {
    let inside = text.trim().strip_prefix("```")?.strip_suffix("```")?;
    Some(inside.trim_start_matches(char::is_alphanumeric).trim())
}

/// Repairs the arguments, and says what it changed.
pub(in crate::run) fn repair(
    schema: Option<&CompiledSchema>,
    mut value: Value,
    done: &mut Vec<&'static str>,
) -> Value {
    if let Some(inner) = value.as_str().and_then(held) {
        value = inner;
        done.push("text");
    }
    if let Some(inner) = value.as_object().and_then(|object| wrapped(schema, object)) {
        value = Value::Object(inner);
        done.push("wrapper");
    }
    let (Some(object), Some(schema)) = (value.as_object_mut(), schema) else {
        return value;
    };
    for (name, argument) in object {
        let wanted = schema
            .property(name)
            .and_then(|property| property.get("type"));
        let takes = |kind: &str| {
            wanted.is_some_and(|wanted| {
                wanted == kind
                    || wanted
                        .as_array()
                        .is_some_and(|all| all.contains(&kind.into()))
            })
        };
        // Coercion is narrow: a string never becomes a number, and stays as it is where the schema
        // accepts a string.
        let fits = |value: &Value| {
            !takes("string")
                && (takes("object") && value.is_object() || takes("array") && value.is_array())
        };
        if let Some(inner) = argument.as_str().and_then(held).filter(fits) {
            *argument = inner;
            done.push("argument");
        }
    }
    value
}

/// The JSON object or array that a text contains, with or without a code fence.
fn held(text: &str) -> Option<Value> {
    let text = unfenced(text).unwrap_or(text).trim();
    if !text.starts_with(['{', '[']) {
        return None;
    }
    serde_json::from_str(text).ok()
}

/// The arguments inside the one key that a model wrapped them in. A key of the schema is not a
/// wrapper.
fn wrapped(
    schema: Option<&CompiledSchema>,
    object: &Map<String, Value>,
) -> Option<Map<String, Value>> {
    let (key, inner) = object.iter().next().filter(|_| object.len() == 1)?;
    if !WRAPPERS.contains(&key.as_str())
        || schema.is_some_and(|schema| schema.property(key).is_some())
    {
        return None;
    }
    inside(inner)
}

fn inside(value: &Value) -> Option<Map<String, Value>> {
    match value {
        Value::Object(inner) => Some(inner.clone()),
        Value::String(text) => held(text).and_then(|inner| {
            if let Value::Object(inner) = inner {
                Some(inner)
            } else {
                None
            }
        }),
        _ => None,
    }
}

/// The injected name that the caller sent, as an argument or inside a wrapper. A wrapper key that
/// the schema declares is an ordinary argument.
pub(in crate::run) fn forged<'a>(
    tool: &'a RegisteredTool,
    arguments: &Map<String, Value>,
) -> Option<(&'a str, String)> {
    let injected = || tool.tool.inject.iter().map(|(name, _)| name.as_str());
    if let Some(name) = injected().find(|name| arguments.contains_key(*name)) {
        return Some((name, format!("/{}", escaped(name))));
    }
    let schema = tool.input().ok();
    let declared = |key: &str| schema.is_some_and(|schema| schema.property(key).is_some());
    let wrappers = arguments
        .iter()
        .filter(|(key, _)| WRAPPERS.contains(&key.as_str()) && !declared(key));
    for (key, value) in wrappers {
        if let Some(inner) = inside(value)
            && let Some(name) = injected().find(|name| inner.contains_key(*name))
        {
            return Some((name, format!("/{key}")));
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn what_small_models_do_is_undone_and_nothing_else() {
        let schema = CompiledSchema::new(json!({"type": "object", "properties": {
            "items": {"type": "array"}, "n": {"type": "integer"}, "text": {"type": "string"}, "input": {"type": "object"},
            "maybe": {"type": ["array", "null"]}, "either": {"type": ["array", "string"]}}}))
        .expect("a schema");
        for (sent, expected, done) in [
            (json!({"n": 1}), json!({"n": 1}), &[][..]),
            (json!("{\"n\": 1}"), json!({"n": 1}), &["text"]),
            (
                json!("```json\n{\"n\": 1}\n```"),
                json!({"n": 1}),
                &["text"],
            ),
            (json!("```json {\"n\": 1}```"), json!({"n": 1}), &["text"]),
            (
                json!({"arguments": {"n": 1}}),
                json!({"n": 1}),
                &["wrapper"],
            ),
            (
                json!({"arguments": "{\"n\": 1}"}),
                json!({"n": 1}),
                &["wrapper"],
            ),
            (
                json!("{\"args\": {\"n\": 1}}"),
                json!({"n": 1}),
                &["text", "wrapper"],
            ),
            (
                json!({"arguments": {"arguments": {"n": 1}}}),
                json!({"arguments": {"n": 1}}),
                &["wrapper"],
            ),
            (
                json!({"arguments": {"n": 1}, "n": 2}),
                json!({"arguments": {"n": 1}, "n": 2}),
                &[],
            ),
            (json!({"input": {"a": 1}}), json!({"input": {"a": 1}}), &[]),
            (
                json!({"items": "[1, 2]"}),
                json!({"items": [1, 2]}),
                &["argument"],
            ),
            (
                json!({"items": "{\"a\": 1}"}),
                json!({"items": "{\"a\": 1}"}),
                &[],
            ),
            (
                json!({"maybe": "[1]", "either": "[1]"}),
                json!({"maybe": [1], "either": "[1]"}),
                &["argument"],
            ),
            (
                json!({"text": "[1, 2]", "n": "1"}),
                json!({"text": "[1, 2]", "n": "1"}),
                &[],
            ),
            (json!("hello"), json!("hello"), &[]),
        ] {
            let mut undone = Vec::new();
            assert_eq!(
                (
                    repair(Some(&schema), sent.clone(), &mut undone),
                    undone.as_slice()
                ),
                (expected, done),
                "{sent}"
            );
        }
        assert_eq!(unfenced("```\n{}\n```"), Some("{}"));
        assert_eq!(unfenced("{}"), None);
    }
}
