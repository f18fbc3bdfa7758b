//! `parameters` or `input_schema` to the schema of the arguments.

use crate::artifact::fit::is_whole_schema;
use crate::artifact::node::{Kind, Node};
use crate::artifact::problem::{Problems, quoted};
use crate::artifact::rule::{
    parameter_type_missing, parameter_type_unknown, parameters_as_schema, schema_and_parameters,
};
use crate::span::Spanned;
use serde_json::{Map, Value, json};

/// The types a parameter may have.
const TYPES: [&str; 6] = ["string", "number", "integer", "boolean", "object", "array"];

/// Keywords that imply the type of a value, so that `type` may be left out.
const STAND_FOR_A_TYPE: [&str; 6] = ["enum", "const", "$ref", "anyOf", "oneOf", "allOf"];

/// The arguments' schema, always an object schema, with the key it came from.
pub(super) fn input_schema(
    problems: &mut Problems<'_>,
    node: &Node,
    required: &[String],
    strict: bool,
) -> (Value, Option<Spanned<&'static str>>) {
    let (parameters, full) = (node.get("parameters"), node.get("input_schema"));
    if let (Some(_), Some(full)) = (parameters, full) {
        let finding =
            schema_and_parameters::RULE.finding("`input_schema` and `parameters` are both written");
        problems.add(
            finding.field("input_schema").help("keep one of the two"),
            full.span,
        );
    }
    let (mut schema, source) = match (parameters, full) {
        (Some(parameters), None) if is_whole_schema(parameters) => {
            as_schema(problems, node, parameters);
            (
                from_schema(problems, parameters),
                Some(parameters.spanned("input_schema")),
            )
        }
        (Some(parameters), _) => (
            from_parameters(problems, parameters),
            Some(parameters.spanned("parameters")),
        ),
        (None, Some(full)) => (
            from_schema(problems, full),
            Some(full.spanned("input_schema")),
        ),
        (None, None) => (object_schema(Map::new()), None),
    };
    add_required(&mut schema, required);
    if strict
        && schema
            .get("additionalProperties")
            .is_none_or(|extra| *extra == json!(true))
    {
        schema.insert("additionalProperties".into(), json!(false));
    }
    (Value::Object(schema), source)
}

/// Reports a whole schema under `parameters`. Renaming the key is all there is to do.
fn as_schema(problems: &mut Problems<'_>, node: &Node, parameters: &Node) {
    let key = node
        .entries()
        .iter()
        .find(|(key, _)| key.name == "parameters")
        .map_or(parameters.span, |(key, _)| key.span);
    let finding = parameters_as_schema::RULE
        .finding("`parameters` holds a whole JSON Schema: it maps each argument's name to its type")
        .field("parameters");
    problems.add(
        finding
            .help("write `input_schema:` instead of `parameters:`, and leave the rest as it is")
            .fix("input_schema"),
        key,
    );
}

fn object_schema(properties: Map<String, Value>) -> Map<String, Value> {
    let mut schema = Map::new();
    schema.insert("type".into(), json!("object"));
    schema.insert("properties".into(), Value::Object(properties));
    schema
}

fn from_schema(problems: &mut Problems<'_>, node: &Node) -> Map<String, Value> {
    let Value::Object(mut written) = node.to_json() else {
        if matches!(node.kind, Kind::Bool(_)) {
            problems.wrong_type(node, "input_schema", "a json schema of an object");
        }
        return object_schema(Map::new());
    };
    if let Some(kind) = node.get("type")
        && kind.text() != Some("object")
    {
        problems.wrong_type(kind, "input_schema.type", "`object`");
    }
    written.insert("type".into(), json!("object"));
    written
}

fn from_parameters(problems: &mut Problems<'_>, node: &Node) -> Map<String, Value> {
    let mut properties = Map::new();
    let mut required = Vec::new();
    for (key, parameter) in node.entries() {
        let path = format!("parameters.{}", key.name);
        let Value::Object(mut property) = parameter.to_json() else {
            continue;
        };
        check_type(problems, parameter, &path, key.span);
        match parameter.get("required").map(|node| (node, &node.kind)) {
            Some((_, Kind::Bool(wanted))) => {
                if *wanted {
                    required.push(key.name.clone());
                }
                property.shift_remove("required");
            }
            // A list is JSON Schema's keyword for a nested object, not ours.
            Some((_, Kind::List(_))) | None => {}
            Some((node, _)) => {
                problems.wrong_type(node, &format!("{path}.required"), "`true` or `false`");
                property.shift_remove("required");
            }
        }
        gather_required(&mut property);
        properties.insert(key.name.clone(), Value::Object(property));
    }
    let mut schema = object_schema(properties);
    add_required(&mut schema, &required);
    schema
}

/// Moves `required: true` of nested properties to the list that JSON Schema has beside them.
fn gather_required(schema: &mut Map<String, Value>) {
    let mut required = Vec::new();
    if let Some(Value::Object(properties)) = schema.get_mut("properties") {
        for (name, property) in properties {
            let Value::Object(property) = property else {
                continue;
            };
            if let Some(Value::Bool(wanted)) = property.get("required") {
                if *wanted {
                    required.push(name.clone());
                }
                property.shift_remove("required");
            }
            gather_required(property);
        }
    }
    for keyword in ["items", "additionalProperties"] {
        if let Some(Value::Object(inner)) = schema.get_mut(keyword) {
            gather_required(inner);
        }
    }
    for keyword in ["anyOf", "oneOf", "allOf", "prefixItems"] {
        for inner in schema
            .get_mut(keyword)
            .and_then(Value::as_array_mut)
            .into_iter()
            .flatten()
            .filter_map(Value::as_object_mut)
        {
            gather_required(inner);
        }
    }
    add_required(schema, &required);
}

fn check_type(problems: &mut Problems<'_>, parameter: &Node, path: &str, span: crate::span::Span) {
    let accepted = format!(
        "expected one of {}",
        TYPES.map(|name| format!("`{name}`")).join(", ")
    );
    let Some(kind) = parameter.get("type") else {
        if !STAND_FOR_A_TYPE
            .iter()
            .any(|keyword| parameter.get(keyword).is_some())
        {
            let finding =
                parameter_type_missing::RULE.finding(format!("{} has no `type`", quoted(path)));
            problems.add(finding.field(path).help(accepted), span);
        }
        return;
    };
    let known = match &kind.kind {
        Kind::Text { value, .. } => TYPES.contains(&value.as_str()),
        Kind::List(items) => {
            !items.is_empty()
                && items.iter().all(|item| {
                    item.text()
                        .is_some_and(|text| text == "null" || TYPES.contains(&text))
                })
        }
        _ => false,
    };
    if !known {
        let written = kind
            .text()
            .map_or_else(|| kind.kind_word().to_owned(), quoted);
        let finding = parameter_type_unknown::RULE
            .finding(format!("{} has the unknown type {written}", quoted(path)));
        problems.add(
            finding.field(format!("{path}.type")).help(accepted),
            kind.span,
        );
    }
}

fn add_required(schema: &mut Map<String, Value>, names: &[String]) {
    if names.is_empty() {
        return;
    }
    let required = schema.entry("required").or_insert_with(|| json!([]));
    if let Value::Array(required) = required {
        for name in names {
            if !required.iter().any(|known| known == name) {
                required.push(json!(name));
            }
        }
    }
}
