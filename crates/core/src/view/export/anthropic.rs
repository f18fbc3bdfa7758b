//! Anthropic's Messages API accepts any JSON Schema of an object that has no choice at its top and
//! plain property names.

use super::{Dialect, Writer, is_plain_name, strict};
use crate::check::rule::{export_not_strict, export_parameter_name};
use crate::check::schema::{edit_schemas, pointer};
use serde_json::{Value, json};

pub(super) const MESSAGES: Dialect = Dialect {
    provider: "anthropic",
    title: "Anthropic",
    // No limit is documented; some hundred tools already make the request too large for the model.
    most_tools: usize::MAX,
    is_name: |name| is_plain_name(name, 64),
    names: "at most 64 of `A-Z a-z 0-9 _ -`",
    write,
    document: Value::Array,
};

const NOT_AT_THE_TOP: [&str; 3] = ["oneOf", "anyOf", "allOf"];

fn write(writer: &mut Writer<'_>, name: &str) -> Option<Value> {
    if let Some(path) = strange_property(&writer.tool.input_schema) {
        let message = format!(
            "Anthropic does not accept the name of `{}`, so the tool is left out",
            pointer(&path)
        );
        writer.add(
            &export_parameter_name::RULE,
            message,
            "input_schema",
            "use at most 64 of `A-Z a-z 0-9 _ . -`",
        );
        return None;
    }
    let tool = writer.tool;
    if let Some(schema) = strictly(writer) {
        return Some(
            json!({"name": name, "description": tool.description, "input_schema": schema, "strict": true}),
        );
    }
    let mut schema = tool.input_schema.clone();
    for keyword in NOT_AT_THE_TOP {
        if schema
            .as_object_mut()
            .is_some_and(|top| top.shift_remove(keyword).is_some())
        {
            writer.left_out("input_schema", &[], keyword);
        }
    }
    Some(json!({"name": name, "description": tool.description, "input_schema": schema}))
}

fn strictly(writer: &mut Writer<'_>) -> Option<Value> {
    if !writer.tool.strict {
        return None;
    }
    match strict::anthropic(&writer.tool.input_schema, writer.budget) {
        Ok(schema) => Some(schema),
        Err(why) => {
            let message = format!("strict mode of Anthropic does not take this schema: {why}");
            writer.add(
                &export_not_strict::RULE,
                message,
                "strict",
                "the tool is written without strict mode; use plain types for it",
            );
            None
        }
    }
}

/// The path of the first property whose name Anthropic refuses.
fn strange_property(schema: &Value) -> Option<Vec<String>> {
    let is_name = |name: &str| is_plain_name(&name.replace('.', "_"), 64);
    let mut found = None;
    edit_schemas(&mut schema.clone(), &mut Vec::new(), &mut |path, schema| {
        let properties = schema
            .get("properties")
            .and_then(Value::as_object)
            .into_iter()
            .flatten();
        for (name, _) in properties.filter(|(name, _)| !is_name(name)) {
            found.get_or_insert_with(|| [path, &["properties".to_owned(), name.clone()]].concat());
        }
    });
    found
}
