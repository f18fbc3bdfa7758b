//! Builds the payloads that hooks see, and limits what a `modify` may change. Each field has one
//! name here; the worker adds the aliases.

use crate::call::Call;
use crate::effect::Effects;
use crate::registry::RegisteredTool;
use crate::worker::spelling::{self, part};
use serde_json::{Map, Value, json};

/// The payload of `tool.pre`.
pub(crate) fn tool_pre(
    call: &Call,
    tool: &RegisteredTool,
    arguments: &Map<String, Value>,
    raw: &str,
) -> Map<String, Value> {
    let mut payload = named_pre(
        call,
        tool.name(),
        arguments,
        raw,
        tool.effects,
        &tool.tool.tags,
    );
    if let Some(foreign) = &tool.client_call {
        payload.insert("client".into(), foreign.client().into());
        payload.insert("native".into(), foreign.native().into());
    }
    payload
}

fn named_pre(
    call: &Call,
    name: &str,
    arguments: &Map<String, Value>,
    raw: &str,
    effects: Effects,
    tags: &[String],
) -> Map<String, Value> {
    let mut payload = Map::with_capacity(MOST_KEYS);
    let mut set = |key: &str, value: Value| drop(payload.insert(key.to_owned(), value));
    set("name", name.into());
    set("raw_arguments", raw.into());
    set("call_id", call.id.as_str().into());
    set("session_id", call.session_id.as_str().into());
    set("mode", (*call.mode).into());
    set("effects", effects.names().collect());
    set("tags", tags.iter().map(String::as_str).collect());
    set("args", Value::Object(arguments.clone()));
    payload
}

/// Capacity for a payload with a result.
const MOST_KEYS: usize = 20;

/// The payload of a hook's example, with missing fields filled in as a call would.
pub(crate) fn filled_in(
    event: &str,
    call: &Call,
    given: &Map<String, Value>,
) -> Map<String, Value> {
    let first = |keys: [&str; 2]| keys.iter().find_map(|key| given.get(*key)).cloned();
    let mut payload = match event {
        "tool.pre" | "tool.post" => {
            let name = first(["name", "tool_name"])
                .and_then(|name| name.as_str().map(str::to_owned))
                .unwrap_or_default();
            let arguments = first(["args", "arguments"])
                .and_then(|args| args.as_object().cloned())
                .unwrap_or_default();
            let raw = Value::Object(arguments.clone()).to_string();
            named_pre(call, &name, &arguments, &raw, Effects::NONE, &[])
        }
        "builtin.pre" | "builtin.post" => Map::from_iter([
            ("args".to_owned(), json!({})),
            ("tool".to_owned(), json!(call.tool)),
            ("call_id".to_owned(), json!(call.id.as_str())),
        ]),
        _ => Map::new(),
    };
    if event == "tool.post" {
        // A call without a value has its text as `result`.
        let result = ["result", "content", "error"]
            .iter()
            .find_map(|key| given.get(*key).filter(|value| !value.is_null()))
            .cloned()
            .unwrap_or_default();
        let text = result
            .as_str()
            .map_or_else(|| result.to_string(), str::to_owned);
        let is_error = given
            .get("error")
            .is_some_and(|error| !error.is_null() && error != "");
        payload.extend(
            [
                ("content", json!(text)),
                ("result", result),
                ("is_error", json!(is_error)),
                ("error", json!("")),
                (
                    "error_code",
                    json!(if is_error { "tool.failed" } else { "" }),
                ),
                ("error_details", json!({})),
            ]
            .map(|(key, value)| (key.to_owned(), value)),
        );
    }
    let respelled = |key: &str| {
        spelling::applies_to(event) && spelling::SPELLINGS.iter().any(|(other, _)| *other == key)
    };
    payload.extend(
        given
            .iter()
            .filter(|(key, _)| !respelled(key))
            .map(|(key, value)| (key.clone(), value.clone())),
    );
    payload
}

/// Merges the return value of a `tool.pre` hook; returns the new arguments if they changed.
pub(crate) fn merge_pre(
    before: &Map<String, Value>,
    returned: &Value,
) -> Result<Option<Map<String, Value>>, String> {
    let mut changed: Option<(&str, &Value)> = None;
    let mut tool = None;
    for (key, value) in fields(returned) {
        if part(before, key).as_deref() == Some(value) {
            continue;
        }
        match (key.as_str(), changed) {
            // It repeats the arguments; whether it agrees with them is seen below.
            (spelling::TOOL, _) => tool = Some(value),
            ("args" | "arguments", None) => changed = Some((key, value)),
            ("args" | "arguments", Some((_, other))) if other == value => {}
            ("args" | "arguments", Some(_)) => {
                return Err("changed `args` and `arguments` to different values".into());
            }
            _ => {
                return Err(format!(
                    "changed `{key}`; only `args` (or `arguments`) can be changed here"
                ));
            }
        }
    }
    let arguments = match changed {
        None => None,
        Some((_, Value::Object(arguments))) => Some(arguments.clone()),
        Some((key, _)) => {
            return Err(format!("changed `{key}` to something that is not a dict"));
        }
    };
    if let Some(tool) = tool {
        let mut after = before.clone();
        if let Some(arguments) = &arguments {
            after.insert("args".into(), Value::Object(arguments.clone()));
        }
        if part(&after, spelling::TOOL).as_deref() != Some(tool) {
            return Err("changed `tool`; only `args` (or `arguments`) can be changed here".into());
        }
    }
    Ok(arguments)
}

/// Merges a hook's return value into a payload in which only the `free` keys may change.
pub(crate) fn merge(
    before: &Map<String, Value>,
    returned: &Value,
    free: &[&str],
) -> Result<Map<String, Value>, String> {
    let mut after = before.clone();
    for (key, value) in fields(returned) {
        if part(before, key).as_deref() == Some(value) {
            continue;
        }
        if !free.contains(&key.as_str()) {
            let accepted = if free.is_empty() {
                "nothing can be changed here".to_owned()
            } else {
                format!("only `{}` can be changed here", free.join("`, `"))
            };
            return Err(format!("changed `{key}`; {accepted}"));
        }
        after.insert(key.clone(), value.clone());
    }
    Ok(after)
}

fn fields(returned: &Value) -> impl Iterator<Item = (&String, &Value)> {
    returned.as_object().into_iter().flatten()
}

/// The entries of a `json!` object.
pub(in crate::run) fn object(value: Value) -> Map<String, Value> {
    match value {
        Value::Object(map) => map,
        other => Map::from_iter([("value".to_owned(), other)]),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pre() -> Map<String, Value> {
        let arguments = json!({"a": 1}).as_object().cloned().expect("object");
        named_pre(
            &Call::new("t", crate::call::Arguments::Value(json!({}))),
            "t",
            &arguments,
            "{\"a\":1}",
            Effects::NONE,
            &[],
        )
    }

    #[test]
    fn a_modify_replaces_the_whole_argument_dict_by_either_spelling() {
        let changed = json!({"a": 2}).as_object().cloned();
        let before = pre();
        let mut both = before.clone();
        both.insert("args".into(), json!({"a": 2}));
        for (returned, expected) in [
            (json!({"args": {"a": 2}}), Ok(changed.clone())),
            (json!({"arguments": {"a": 2}}), Ok(changed.clone())),
            (
                json!({"args": {"a": 2}, "arguments": {"a": 2}}),
                Ok(changed.clone()),
            ),
            (
                json!({"args": {"a": 2}, "arguments": {"a": 1}}),
                Ok(changed.clone()),
            ),
            (Value::Object(both), Ok(changed.clone())),
            (
                json!({"args": {"a": 2}, "arguments": {"a": 2}, "tool": {"name": "t", "args": {"a": 2}, "arguments": {"a": 2}}}),
                Ok(changed),
            ),
            (
                json!({"args": {"a": 2}, "tool": {"name": "u", "args": {"a": 2}, "arguments": {"a": 2}}}),
                Err(()),
            ),
            (Value::Object(before.clone()), Ok(None)),
            (json!({}), Ok(None)),
            (json!({"args": {"a": 2}, "arguments": {"a": 3}}), Err(())),
            (json!({"name": "other"}), Err(())),
            (json!({"extra": 1}), Err(())),
            (
                json!({"tool": {"name": "t", "args": {"a": 2}, "arguments": {"a": 1}}}),
                Err(()),
            ),
            (json!({"args": 5}), Err(())),
        ] {
            assert_eq!(
                merge_pre(&before, &returned).map_err(|_| ()),
                expected,
                "{returned}"
            );
        }
    }

    #[test]
    fn the_payload_of_an_example_has_what_a_call_would_give() {
        let call = Call::new("example", crate::call::Arguments::Value(json!({})));
        let given = |value: Value| value.as_object().cloned().expect("object");
        let pre = filled_in(
            "tool.pre",
            &call,
            &given(json!({"tool_name": "t", "arguments": {"a": 1}})),
        );
        assert_eq!(
            (&pre["name"], &pre["args"]),
            (&json!("t"), &json!({"a": 1}))
        );
        assert_eq!(
            part(&pre, "tool").as_deref(),
            Some(&json!({"name": "t", "args": {"a": 1}, "arguments": {"a": 1}}))
        );
        assert_eq!(pre["raw_arguments"], json!("{\"a\":1}"));
        let post = filled_in(
            "tool.post",
            &call,
            &given(json!({"name": "t", "result": {"b": 2}, "mode": "careful"})),
        );
        assert_eq!(
            (
                &post["content"],
                &post["is_error"],
                &post["error"],
                &post["mode"]
            ),
            (
                &json!("{\"b\":2}"),
                &json!(false),
                &json!(""),
                &json!("careful")
            )
        );
        let failed = filled_in("tool.post", &call, &given(json!({"error": "no host"})));
        assert_eq!(
            (
                &failed["content"],
                &failed["result"],
                &failed["is_error"],
                &failed["error_code"]
            ),
            (
                &json!("no host"),
                &json!("no host"),
                &json!(true),
                &json!("tool.failed")
            )
        );
        let builtin = filled_in("builtin.pre", &call, &given(json!({"name": "fs.read"})));
        assert_eq!(
            (&builtin["tool"], &builtin["args"]),
            (&json!("example"), &json!({}))
        );
        assert_eq!(
            filled_in("custom.done", &call, &given(json!({"x": 1}))),
            given(json!({"x": 1}))
        );
    }

    #[test]
    fn a_merge_changes_only_what_is_free() {
        let before = json!({"result": 1, "name": "t"})
            .as_object()
            .cloned()
            .expect("object");
        assert_eq!(
            Value::Object(merge(&before, &json!({"result": 2}), &["result"]).expect("fine")),
            json!({"result": 2, "name": "t"})
        );
        assert!(merge(&before, &json!({"name": "u"}), &["result"]).is_err());
        assert!(merge(&before, &json!({"name": "u"}), &[]).is_err());
    }
}
