//! OpenAI: the Responses API, and Chat Completions with its extra layer. Outside strict mode OpenAI
//! accepts any JSON Schema of an object that has no choice at its top and `items` for every array.

use super::{Dialect, Writer, is_plain_name, strict};
use crate::check::rule::{export_description_long, export_not_strict};
use crate::check::schema::edit_schemas;
use serde_json::{Map, Value, json};

pub(super) const RESPONSES: Dialect = Dialect {
    provider: "openai",
    title: "OpenAI",
    most_tools: 128,
    is_name: |name| is_plain_name(name, 64),
    names: "at most 64 of `A-Z a-z 0-9 _ -`",
    write: |writer, name| {
        let mut tool = function(writer, name);
        tool.insert("type".into(), json!("function"));
        Some(Value::Object(tool))
    },
    document: Value::Array,
};

pub(super) const CHAT: Dialect = Dialect {
    write: |writer, name| {
        let length = writer.tool.description.chars().count();
        if length > LONGEST_ON_AZURE {
            let message = format!(
                "the description has {length} characters; some servers take {LONGEST_ON_AZURE}"
            );
            writer.add(
                &export_description_long::RULE,
                message,
                "description",
                "say the most important part in fewer words",
            );
        }
        Some(json!({"type": "function", "function": function(writer, name)}))
    },
    ..RESPONSES
};

const LONGEST_ON_AZURE: usize = 1024;

const NOT_AT_THE_TOP: [&str; 5] = ["oneOf", "anyOf", "allOf", "enum", "not"];

fn function(writer: &mut Writer<'_>, name: &str) -> Map<String, Value> {
    let strict = strictly(writer);
    let is_strict = strict.is_some();
    let parameters = strict.unwrap_or_else(|| loosely(writer));
    let mut function = Map::new();
    function.insert("name".into(), json!(name));
    function.insert("description".into(), json!(writer.tool.description));
    function.insert("parameters".into(), parameters);
    // The Responses API treats a missing `strict` as true.
    function.insert("strict".into(), json!(is_strict));
    function
}

fn strictly(writer: &mut Writer<'_>) -> Option<Value> {
    if !writer.tool.strict {
        return None;
    }
    match strict::openai(&writer.tool.input_schema) {
        Ok(schema) => Some(schema),
        Err(why) => {
            let message = format!("strict mode of OpenAI does not take this schema: {why}");
            let help = "the tool is written without strict mode; require every argument and use plain types for it";
            writer.add(&export_not_strict::RULE, message, "strict", help);
            None
        }
    }
}

fn loosely(writer: &mut Writer<'_>) -> Value {
    let mut schema = writer.tool.input_schema.clone();
    if let Some(top) = schema.as_object_mut() {
        for keyword in NOT_AT_THE_TOP {
            if top.shift_remove(keyword).is_some() {
                writer.left_out("input_schema", &[], keyword);
            }
        }
        top.entry("properties").or_insert_with(|| json!({}));
    }
    edit_schemas(&mut schema, &mut Vec::new(), &mut |_, schema| {
        say_items(schema)
    });
    schema
}

/// Adds `items: {}`, which allows anything, because OpenAI refuses an array without `items`.
pub(super) fn say_items(schema: &mut Value) {
    let Some(object) = schema.as_object_mut() else {
        return;
    };
    let is_array = match object.get("type") {
        Some(Value::String(kind)) => kind == "array",
        Some(Value::Array(kinds)) => kinds.iter().any(|kind| kind == "array"),
        _ => false,
    };
    if is_array && !object.contains_key("items") {
        object.insert("items".into(), json!({}));
    }
}
