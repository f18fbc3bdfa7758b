//! Strict mode: the subset of JSON Schema that a provider can enforce on a model. A schema that
//! fits is only narrowed, by forbidding extra properties; for one that does not fit, the first
//! reason is reported.

use crate::check::schema::{edit_schemas, pointer};
use serde_json::{Map, Value, json};

/// Anthropic's limits, shared by the strict tools of one request.
#[derive(Default)]
pub(super) struct Budget {
    tools: usize,
    optional: usize,
    unions: usize,
}

/// How much of those limits one schema uses.
#[derive(Default)]
struct Cost {
    properties: usize,
    optional: usize,
    unions: usize,
    choices: usize,
    text: usize,
    depth: usize,
}

/// Sorted.
const OPENAI: [&str; 20] = [
    "$defs",
    "$ref",
    "additionalProperties",
    "anyOf",
    "const",
    "description",
    "enum",
    "exclusiveMaximum",
    "exclusiveMinimum",
    "format",
    "items",
    "maxItems",
    "maximum",
    "minItems",
    "minimum",
    "multipleOf",
    "pattern",
    "properties",
    "required",
    "type",
];
/// Sorted. Anthropic also accepts references that are not recursive, but this code does not follow
/// references.
const ANTHROPIC: [&str; 13] = [
    "additionalProperties",
    "anyOf",
    "const",
    "default",
    "description",
    "enum",
    "format",
    "items",
    "minItems",
    "properties",
    "required",
    "title",
    "type",
];
const FORMATS: [&str; 9] = [
    "date-time",
    "time",
    "date",
    "duration",
    "email",
    "hostname",
    "ipv4",
    "ipv6",
    "uuid",
];

pub(super) fn openai(schema: &Value) -> Result<Value, String> {
    let (mut made, cost) = fit(schema, &OPENAI)?;
    let mut reason = None;
    edit_schemas(&mut made, &mut Vec::new(), &mut |_, schema| {
        if let Err(why) = require_all(schema) {
            reason.get_or_insert(why);
        }
    });
    if let Some(reason) = reason {
        return Err(reason);
    }
    for (count, most, what) in [
        (cost.properties, 5000, "properties"),
        (cost.depth, 10, "levels of nesting"),
        (cost.choices, 1000, "values of `enum`"),
        (cost.text, 120_000, "characters of names and choices"),
    ] {
        if count > most {
            return Err(format!("it has {count} {what} and {most} are taken"));
        }
    }
    Ok(made)
}

pub(super) fn anthropic(schema: &Value, budget: &mut Budget) -> Result<Value, String> {
    let (made, cost) = fit(schema, &ANTHROPIC)?;
    let sum = Budget {
        tools: budget.tools + 1,
        optional: budget.optional + cost.optional,
        unions: budget.unions + cost.unions,
    };
    for (count, most, what) in [
        (sum.tools, 20, "strict tools"),
        (sum.optional, 24, "optional arguments"),
        (sum.unions, 16, "arguments of several types"),
    ] {
        if count > most {
            return Err(format!("a request takes {most} {what}"));
        }
    }
    *budget = sum;
    Ok(made)
}

fn fit(schema: &Value, keywords: &[&str]) -> Result<(Value, Cost), String> {
    let mut made = schema.clone();
    let (mut cost, mut reason) = (Cost::default(), None);
    edit_schemas(&mut made, &mut Vec::new(), &mut |path, schema| {
        if let Err(why) = fit_one(path, schema, keywords, &mut cost) {
            reason.get_or_insert(why);
        }
    });
    reason.map_or(Ok((made, cost)), Err)
}

fn fit_one(
    path: &[String],
    schema: &mut Value,
    keywords: &[&str],
    cost: &mut Cost,
) -> Result<(), String> {
    let at = if path.is_empty() {
        "the top".to_owned()
    } else {
        format!("`{}`", pointer(path))
    };
    let no_extra = path
        .last()
        .is_some_and(|last| last == "additionalProperties");
    let Some(object) = schema.as_object_mut() else {
        return if no_extra && *schema == json!(false) {
            Ok(())
        } else {
            Err(format!("{at} is not a schema with a type"))
        };
    };
    if let Some(keyword) = object
        .keys()
        .find(|keyword| keywords.binary_search(&keyword.as_str()).is_err())
    {
        return Err(format!("`{keyword}` at {at}"));
    }
    if path.is_empty() && object.contains_key("anyOf") {
        return Err("`anyOf` at the top".into());
    }
    if !["type", "anyOf", "$ref"]
        .iter()
        .any(|keyword| object.contains_key(*keyword))
    {
        return Err(format!("{at} has no `type`"));
    }
    if let Some(format) = object
        .get("format")
        .filter(|format| !FORMATS.iter().any(|known| *format == known))
    {
        return Err(format!(
            "`format: {}` at {at}",
            format.as_str().unwrap_or_default()
        ));
    }
    if object.get("minItems").is_some_and(|least| {
        !keywords.contains(&"maxItems") && !matches!(least.as_u64(), Some(0 | 1))
    }) {
        return Err(format!("`minItems` above 1 at {at}"));
    }
    if object
        .get("enum")
        .and_then(Value::as_array)
        .into_iter()
        .flatten()
        .any(|one| one.is_object() || one.is_array())
    {
        return Err(format!("a choice at {at} that is not a plain value"));
    }
    if is_object(object) {
        if object
            .get("additionalProperties")
            .is_some_and(|extra| *extra != json!(false) && *extra != json!(true))
        {
            return Err(format!("further properties at {at}"));
        }
        object.insert("additionalProperties".into(), json!(false));
        object.entry("properties").or_insert_with(|| json!({}));
    }
    count(path, object, cost);
    Ok(())
}

/// Every property must be in `required`. An optional property fits if it may be `null`, because the
/// model then sends `null`.
fn require_all(schema: &mut Value) -> Result<(), String> {
    let Some(object) = schema.as_object_mut().filter(|object| is_object(object)) else {
        return Ok(());
    };
    let properties = object
        .get("properties")
        .and_then(Value::as_object)
        .cloned()
        .unwrap_or_default();
    let required = names(object.get("required"));
    if let Some(unknown) = required
        .iter()
        .find(|name| !properties.contains_key(**name))
    {
        return Err(format!("`{unknown}` is required and not described"));
    }
    let is_optional =
        |name: &str, schema: &Value| !required.contains(&name) && !accepts_null(schema);
    if let Some((name, _)) = properties
        .iter()
        .find(|(name, schema)| is_optional(name, schema))
    {
        return Err(format!(
            "`{name}` is optional, and strict mode sends every argument"
        ));
    }
    object.insert(
        "required".into(),
        json!(properties.keys().collect::<Vec<_>>()),
    );
    Ok(())
}

fn count(path: &[String], object: &Map<String, Value>, cost: &mut Cost) {
    let properties: Vec<&String> = object
        .get("properties")
        .and_then(Value::as_object)
        .into_iter()
        .flatten()
        .map(|(name, _)| name)
        .collect();
    let required = names(object.get("required"));
    let definitions = object
        .get("$defs")
        .and_then(Value::as_object)
        .into_iter()
        .flatten()
        .map(|(name, _)| name);
    let choices: Vec<&Value> = object
        .get("enum")
        .and_then(Value::as_array)
        .into_iter()
        .flatten()
        .chain(object.get("const"))
        .collect();
    let length = |choice: &&Value| choice.as_str().map_or(0, |text| text.chars().count());
    cost.properties += properties.len();
    cost.optional += properties
        .iter()
        .filter(|name| !required.contains(&name.as_str()))
        .count();
    cost.unions += usize::from(
        object.get("type").is_some_and(Value::is_array) || object.contains_key("anyOf"),
    );
    cost.choices += choices.len();
    cost.text += properties
        .iter()
        .copied()
        .chain(definitions)
        .map(|name| name.chars().count())
        .sum::<usize>();
    cost.text += choices.iter().map(length).sum::<usize>();
    cost.depth = cost.depth.max(
        1 + path
            .iter()
            .filter(|step| *step == "properties" || *step == "items")
            .count(),
    );
}

fn names(required: Option<&Value>) -> Vec<&str> {
    required
        .and_then(Value::as_array)
        .into_iter()
        .flatten()
        .filter_map(Value::as_str)
        .collect()
}

fn is_object(object: &Map<String, Value>) -> bool {
    let is_one = |kind: &Value| kind == "object";
    object.contains_key("properties")
        || object
            .get("type")
            .is_some_and(|kind| is_one(kind) || kind.as_array().into_iter().flatten().any(is_one))
}

fn accepts_null(schema: &Value) -> bool {
    let is_null = |kind: &Value| kind == "null";
    let kind = schema
        .get("type")
        .is_some_and(|kind| is_null(kind) || kind.as_array().into_iter().flatten().any(is_null));
    kind && schema
        .get("enum")
        .is_none_or(|choices| choices.as_array().into_iter().flatten().any(Value::is_null))
}
