//! What admit accepts is what the schema accepts, once defaults are filled in, and a refusal names a place that is there. What is refused beyond the
//! schema is known: values that nest too deep, numbers that no float can hold, integers wider than their `format`, and deep values for a schema
//! that refers to itself in several places.

use crate::support::bare;
use proptest::prelude::*;
use serde_json::{Map, Value, json};
use tool_harness::engine::Error;
use tool_harness::tool::RegisterError;
use tool_harness::{Arguments, Call, Tool, ToolError, ToolOutput, ToolRuntime, ToolSpec};

struct Takes(Value);

impl Tool for Takes {
    fn spec(&self) -> ToolSpec {
        ToolSpec::new("take", "Takes what fits.")
            .pure()
            .input(self.0.clone())
    }

    async fn call(
        &self,
        (): &(),
        _: ToolRuntime<'_>,
        arguments: Map<String, Value>,
    ) -> Result<ToolOutput, ToolError> {
        Ok(ToolOutput::value(Value::Object(arguments)))
    }
}

fn key() -> impl Strategy<Value = String> + Clone {
    prop_oneof!["[abc]", Just("a/b".to_owned()), Just("~".to_owned())]
}

/// Numbers in unusual notations.
const NUMBERS: &[&str] = &[
    "1.0",
    "1e0",
    "20e-1",
    "0.3E+1",
    "-0.0",
    "1e3",
    "1e20",
    "1.5e300",
    "1e400",
    "-1e999",
    "2147483648",
    "9223372036854775808",
    "123456789012345678901234567890",
];

fn value() -> impl Strategy<Value = Value> + Clone {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        (-3_i64..6).prop_map(Value::from),
        prop_oneof![Just(1.0), Just(0.5), Just(2.5)].prop_map(Value::from),
        proptest::sample::select(NUMBERS)
            .prop_map(|text| serde_json::from_str(text).expect("a number")),
        "[ab]{0,3}".prop_map(Value::from),
    ];
    leaf.prop_recursive(2, 10, 3, |inner| {
        prop_oneof![
            proptest::collection::vec(inner.clone(), 0..3).prop_map(Value::from),
            proptest::collection::btree_map(key(), inner, 0..3)
                .prop_map(|map| Value::Object(map.into_iter().collect())),
        ]
    })
}

/// A value, or one nested in lists or objects.
fn sent() -> impl Strategy<Value = Value> {
    let deep = (value(), 0_usize..70, any::<bool>()).prop_map(|(inner, levels, in_lists)| {
        (0..levels).fold(inner, |inner, _| {
            if in_lists {
                Value::Array(vec![inner])
            } else {
                Value::Object(Map::from_iter([("a".into(), inner)]))
            }
        })
    });
    prop_oneof![4 => value(), 1 => deep].prop_map(|value| {
        if value.is_object() {
            value
        } else {
            json!({ "a": value })
        }
    })
}

/// Targets of references besides `i`: schemas that refer to themselves, once or several times.
fn recursive() -> impl Strategy<Value = Value> {
    proptest::sample::select(vec![
        json!({"maximum": 2}),
        json!({"type": ["array", "integer"], "items": {"$ref": "#/$defs/r"}}),
        json!({"type": ["object", "null"], "properties": {"a": {"$ref": "#/$defs/r"}}}),
        json!({"anyOf": [{"type": "array", "items": {"$ref": "#/$defs/r"}}, {"type": "array", "items": {"$ref": "#/$defs/r"}}, {"type": "integer"}]}),
        json!({"allOf": [{"additionalProperties": {"$ref": "#/$defs/r"}}, {"properties": {"a": {"$ref": "#/$defs/r"}}}]}),
    ])
}

fn schema() -> impl Strategy<Value = Value> + Clone {
    let leaf = prop_oneof![
        Just(json!({"type": "integer"})),
        Just(json!({"type": "integer", "format": "int32"})),
        Just(json!({"$ref": "#/$defs/i"})),
        Just(json!({"$ref": "#/$defs/r"})),
        Just(json!({"$ref": "#/$defs/r", "minProperties": 1})),
        Just(json!({"type": "string"})),
        (0_u32..3, 0_u32..4).prop_map(
            |(least, most)| json!({"type": "string", "minLength": least, "maxLength": most})
        ),
        Just(json!({"type": "string", "pattern": "^a*$"})),
        (-2_i64..3, 0_i64..5).prop_map(
            |(least, most)| json!({"type": "integer", "minimum": least, "maximum": most})
        ),
        Just(json!({"type": "number", "exclusiveMinimum": 0, "multipleOf": 0.5})),
        Just(json!({"type": ["boolean", "null"]})),
        value().prop_map(|value| json!({"const": value})),
        proptest::collection::vec(value(), 1..4).prop_map(|values| json!({"enum": values})),
        any::<bool>().prop_map(Value::from),
        Just(json!({})),
    ];
    leaf.prop_recursive(4, 16, 3, |inner| {
        prop_oneof![
            (inner.clone(), 0_u32..2, any::<bool>())
                .prop_map(|(items, least, unique)| json!({"type": "array", "items": items, "minItems": least, "uniqueItems": unique})),
            object(inner.clone()),
            proptest::collection::vec(inner.clone(), 1..3).prop_map(|all| json!({"allOf": all})),
            proptest::collection::vec(inner.clone(), 1..3).prop_map(|any| json!({"anyOf": any})),
            proptest::collection::vec(inner.clone(), 1..3).prop_map(|one| json!({"oneOf": one})),
            inner.prop_map(|not| json!({"not": not})),
        ]
    })
}

fn object(inner: impl Strategy<Value = Value> + Clone) -> impl Strategy<Value = Value> {
    let default = prop_oneof![4 => Just(None), 1 => value().prop_map(Some)];
    let property = (inner.clone(), default).prop_map(|(mut schema, default)| {
        if let (Some(keywords), Some(default)) = (schema.as_object_mut(), default) {
            keywords.insert("default".into(), default);
        }
        schema
    });
    let properties = proptest::collection::btree_map(key(), property, 0..4);
    let required = proptest::collection::btree_set(key(), 0..2);
    let additional = prop_oneof![
        Just(None),
        any::<bool>().prop_map(|any| Some(Value::from(any))),
        inner.prop_map(Some)
    ];
    (properties, required, additional).prop_map(|(properties, required, additional)| {
        let mut schema = Map::new();
        schema.insert("type".into(), json!("object"));
        schema.insert(
            "properties".into(),
            Value::Object(properties.into_iter().collect()),
        );
        schema.insert("required".into(), required.into_iter().collect());
        schema.extend(additional.map(|additional| ("additionalProperties".to_owned(), additional)));
        Value::Object(schema)
    })
}

/// Whether a path leads to something in the arguments, or to something that the schema requires.
fn is_there(path: &str, arguments: &Value, schema: &Value) -> bool {
    let Some((parent, name)) = path.rsplit_once('/') else {
        return path.is_empty();
    };
    let name = name.replace("~1", "/").replace("~0", "~");
    arguments.pointer(path).is_some()
        || (arguments.pointer(parent).is_some() && requires(schema, &name))
}

fn requires(schema: &Value, name: &str) -> bool {
    let named = schema
        .get("required")
        .and_then(Value::as_array)
        .is_some_and(|names| names.iter().any(|one| one == name));
    named
        || match schema {
            Value::Object(map) => map.values().any(|inner| requires(inner, name)),
            Value::Array(items) => items.iter().any(|inner| requires(inner, name)),
            _ => false,
        }
}

/// The whole schema of a tool: an object with its definitions.
fn whole() -> impl Strategy<Value = Value> {
    (object(schema()), recursive()).prop_map(|(mut schema, recursive)| {
        schema["$defs"] = json!({"i": {"type": "integer", "minimum": 0}, "r": recursive});
        schema
    })
}

/// Fills in defaults as the guide says: at every level of declared objects.
fn fill_in(schema: &Value, arguments: &mut Value) {
    let (Some(properties), Some(object)) = (
        schema.get("properties").and_then(Value::as_object),
        arguments.as_object_mut(),
    ) else {
        return;
    };
    for (name, property) in properties {
        match (object.get_mut(name), property.get("default")) {
            (Some(inner), _) => fill_in(property, inner),
            (None, Some(default)) => drop(object.insert(name.clone(), default.clone())),
            (None, None) => {}
        }
    }
}

/// Whether every default that may be filled in matches its own schema.
fn defaults_fit(root: &Value, schema: &Value) -> bool {
    schema
        .get("properties")
        .and_then(Value::as_object)
        .into_iter()
        .flatten()
        .all(|(_, property)| {
            let fits = property.get("default").is_none_or(|default| {
                let mut own = property.clone();
                own["$defs"] = root["$defs"].clone();
                jsonschema::draft202012::new(&own)
                    .expect("a schema")
                    .is_valid(default)
            });
            fits && defaults_fit(root, property)
        })
}

fn any_part(value: &Value, depth: usize, is_it: &impl Fn(&Value, usize) -> bool) -> bool {
    is_it(value, depth)
        || match value {
            Value::Array(items) => items.iter().any(|item| any_part(item, depth + 1, is_it)),
            Value::Object(map) => map.values().any(|item| any_part(item, depth + 1, is_it)),
            _ => false,
        }
}

/// Whether it is refused under any schema: a number that no float can hold, or more than 64 levels.
fn is_unrepresentable(value: &Value) -> bool {
    any_part(value, 0, &|part, depth| {
        let text = part
            .as_number()
            .map(ToString::to_string)
            .unwrap_or_default();
        depth > 64 || (text.contains('e') && text.parse::<f64>().is_ok_and(f64::is_infinite))
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, ..ProptestConfig::default() })]

    #[test]
    fn admit_accepts_exactly_what_the_schema_does(schema in whole(), sent in proptest::collection::vec(sent(), 6)) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
        let validator = jsonschema::draft202012::new(&schema).expect("a schema");
        let engine = match runtime.block_on(bare().tool(Takes(schema.clone())).load()) {
            Err(Error::Register(RegisterError::Default { path, .. })) => {
                prop_assert!(!defaults_fit(&schema, &schema) && schema.pointer(&path).is_some(), "{} in {}", path, schema);
                return Ok(());
            }
            loaded => loaded.expect("an engine"),
        };
        prop_assert!(defaults_fit(&schema, &schema), "{}", schema);
        for sent in sent {
            let mut arguments = sent.clone();
            fill_in(&schema, &mut arguments);
            let result = runtime.block_on(engine.call(Call::new("take", Arguments::Value(sent.clone()))));
            let Some(error) = result.error else {
                prop_assert!(!is_unrepresentable(&sent) && validator.is_valid(&arguments), "{} for {}", arguments, schema);
                let given = result.value.expect("a value");
                // JSON Schema compares numbers by value.
                let same = jsonschema::draft202012::new(&json!({"const": arguments})).expect("a schema");
                prop_assert!(same.is_valid(&given), "{} became {}", arguments, given);
                continue;
            };
            if error.code.text() == "tool.args.malformed_json" {
                let path = error.details["path"].as_str().expect("a path");
                prop_assert!(is_unrepresentable(&sent) && sent.pointer(path).is_some(), "{} of {}", path, sent);
                continue;
            }
            prop_assert_eq!(error.code.text(), "tool.args.invalid_schema");
            let errors = error.details["errors"].as_array().expect("errors");
            let paths: Vec<&str> = errors.iter().filter_map(|one| one["path"].as_str()).collect();
            prop_assert!(!paths.is_empty() && paths.iter().all(|path| is_there(path, &arguments, &schema)), "{:?} in {} for {}", paths, arguments, schema);
            let message = errors[0]["message"].as_str().expect("a message");
            if message.contains("the most this recursive schema is checked for") {
                prop_assert!(any_part(&arguments, 0, &|_, depth| depth > 4), "{} for {}", arguments, schema);
            } else if message.contains("does not fit int32") {
                // Numbers of any size, even those beyond the largest float.
                let text = arguments.pointer(paths[0]).and_then(Value::as_number).map(ToString::to_string).expect("a number");
                let number: f64 = text.parse().expect("a number");
                prop_assert!(number.abs() > f64::from(i32::MAX), "{} of {}", paths[0], arguments);
            } else {
                prop_assert!(!validator.is_valid(&arguments), "{} for {}: {}", arguments, schema, message);
            }
        }
    }
}
