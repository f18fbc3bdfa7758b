//! Gemini: function declarations with `parametersJsonSchema`, which accepts a fixed list of
//! keywords. The older `parameters` cannot express unions, references or `additionalProperties`.

use super::openai::say_items;
use super::{Dialect, Writer};
use crate::check::rule::export_parameter_name;
use crate::check::schema::edit_schemas;
use serde_json::{Map, Value, json};

pub(super) const GENERATE: Dialect = Dialect {
    provider: "gemini",
    title: "Gemini",
    most_tools: 512,
    is_name: |name| is_identifier(name, |byte| matches!(byte, b'_' | b'.' | b'-')),
    names: "at most 64 of `A-Z a-z 0-9 _ . -`, starting with a letter or `_`",
    write,
    document: |declarations| json!([{"functionDeclarations": declarations}]),
};

/// Sorted. `const` is written as an `enum` with one value.
const KEYWORDS: [&str; 26] = [
    "$anchor",
    "$defs",
    "$id",
    "$ref",
    "additionalProperties",
    "anyOf",
    "default",
    "description",
    "enum",
    "format",
    "items",
    "maxItems",
    "maxLength",
    "maxProperties",
    "maximum",
    "minItems",
    "minLength",
    "minProperties",
    "minimum",
    "oneOf",
    "pattern",
    "prefixItems",
    "properties",
    "required",
    "title",
    "type",
];

fn write(writer: &mut Writer<'_>, name: &str) -> Option<Value> {
    let tool = writer.tool;
    let parameters = tool
        .input_schema
        .get("properties")
        .and_then(Value::as_object)
        .into_iter()
        .flatten();
    let mut names = parameters.map(|(name, _)| name);
    if let Some(name) = names.find(|name| !is_identifier(name, |byte| byte == b'_')) {
        let message =
            format!("Gemini does not accept the argument's name `{name}`, so the tool is left out");
        let help = "use at most 64 of `A-Z a-z 0-9 _`, starting with a letter or `_`";
        writer.add(&export_parameter_name::RULE, message, "input_schema", help);
        return None;
    }
    let mut declaration = json!({"name": name, "description": tool.description});
    declaration["parametersJsonSchema"] = schema(writer, "input_schema", &tool.input_schema);
    if let Some(output) = &tool.output_schema {
        declaration["responseJsonSchema"] = schema(writer, "output_schema", output);
    }
    Some(declaration)
}

fn schema(writer: &mut Writer<'_>, field: &str, written: &Value) -> Value {
    let mut made = written.clone();
    let defined = definitions(&mut made);
    edit_schemas(&mut made, &mut Vec::new(), &mut |path, schema| {
        let is_extra = path
            .last()
            .is_some_and(|last| last == "additionalProperties");
        match schema {
            Value::Bool(everything) if !is_extra => {
                if !*everything {
                    writer.left_out(field, path, "false");
                }
                *schema = json!({});
            }
            Value::Object(object) => {
                for keyword in fit(object, path.is_empty(), &defined) {
                    writer.left_out(field, path, &keyword);
                }
                say_items(schema);
            }
            _ => {}
        }
    });
    made
}

/// The names that references may use. `definitions`, the older name of `$defs`, is renamed if there
/// is no `$defs`.
fn definitions(schema: &mut Value) -> Vec<String> {
    let Some(top) = schema.as_object_mut() else {
        return Vec::new();
    };
    if !top.contains_key("$defs")
        && let Some(older) = top.shift_remove("definitions")
    {
        top.insert("$defs".into(), older);
        edit_schemas(schema, &mut Vec::new(), &mut |_, schema| {
            let name = schema
                .get("$ref")
                .and_then(Value::as_str)
                .and_then(|to| to.strip_prefix("#/definitions/"));
            if let Some(name) = name.map(str::to_owned) {
                schema["$ref"] = json!(format!("#/$defs/{name}"));
            }
        });
    }
    schema
        .get("$defs")
        .and_then(Value::as_object)
        .map(|defs| defs.keys().cloned().collect())
        .unwrap_or_default()
}

/// Removes the keywords that Gemini does not accept, and returns them.
fn fit(object: &mut Map<String, Value>, is_top: bool, defined: &[String]) -> Vec<String> {
    let is_plain = |value: &Value| value.is_string() || value.is_number();
    if let Some(only) = object.get("const").filter(|only| is_plain(only)).cloned()
        && !object.contains_key("enum")
    {
        object.shift_remove("const");
        object.insert("enum".into(), json!([only]));
    }
    let refers = |to: &str| {
        to.strip_prefix("#/$defs/")
            .is_some_and(|name| defined.iter().any(|one| one == name))
    };
    let refers = object
        .get("$ref")
        .and_then(Value::as_str)
        .is_some_and(refers)
        && !is_top;
    let properties: Option<Vec<String>> = object
        .get("properties")
        .and_then(Value::as_object)
        .map(|properties| properties.keys().cloned().collect());
    let mut left_out = Vec::new();
    // Properties that a removed pattern allowed must not become forbidden.
    if object.contains_key("patternProperties") {
        object.shift_remove("additionalProperties");
    }
    object.retain(|keyword, value| {
        let taken = KEYWORDS.binary_search(&keyword.as_str()).is_ok();
        let fits = match keyword.as_str() {
            "$ref" => refers,
            // A reference allows no keywords beside it.
            _ if refers => keyword.starts_with('$') && taken,
            "$defs" => is_top,
            "enum" => value
                .as_array()
                .is_some_and(|values| values.iter().all(is_plain)),
            "required" => value.as_array().into_iter().flatten().all(|name| {
                name.as_str().is_some_and(|name| {
                    properties
                        .as_ref()
                        .is_some_and(|known| known.iter().any(|one| one == name))
                })
            }),
            _ => taken,
        };
        if !fits {
            left_out.push(keyword.clone());
        }
        fits
    });
    left_out
}

fn is_identifier(name: &str, is_mark: impl Fn(u8) -> bool) -> bool {
    name.bytes()
        .next()
        .is_some_and(|first| first.is_ascii_alphabetic() || first == b'_')
        && name.len() <= 64
        && name
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || is_mark(byte))
}
