//! What admit accepts is what the schema accepts, and a refusal names a place that is there.

use crate::support::bare;
use proptest::prelude::*;
use serde_json::{Map, Value, json};
use tool_harness::{Arguments, Call, Tool, ToolError, ToolOutput, ToolRuntime, ToolSpec};

struct Takes(Value);

impl Tool for Takes {
    fn spec(&self) -> ToolSpec {
        ToolSpec::new("take", "Takes what fits.").pure().input(self.0.clone())
    }

    async fn call(&self, (): &(), _: ToolRuntime<'_>, _: Map<String, Value>) -> Result<ToolOutput, ToolError> {
        Ok(ToolOutput::default())
    }
}

fn key() -> impl Strategy<Value = String> + Clone {
    prop_oneof!["[abc]", Just("a/b".to_owned()), Just("~".to_owned())]
}

fn value() -> impl Strategy<Value = Value> + Clone {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        (-3_i64..6).prop_map(Value::from),
        prop_oneof![Just(1.0), Just(0.5), Just(2.5)].prop_map(Value::from),
        "[ab]{0,3}".prop_map(Value::from),
    ];
    leaf.prop_recursive(2, 10, 3, |inner| {
        prop_oneof![
            proptest::collection::vec(inner.clone(), 0..3).prop_map(Value::from),
            proptest::collection::btree_map(key(), inner, 0..3).prop_map(|map| Value::Object(map.into_iter().collect())),
        ]
    })
}

fn schema() -> impl Strategy<Value = Value> + Clone {
    let leaf = prop_oneof![
        Just(json!({"type": "string"})),
        (0_u32..3, 0_u32..4).prop_map(|(least, most)| json!({"type": "string", "minLength": least, "maxLength": most})),
        Just(json!({"type": "string", "pattern": "^a*$"})),
        (-2_i64..3, 0_i64..5).prop_map(|(least, most)| json!({"type": "integer", "minimum": least, "maximum": most})),
        Just(json!({"type": "number", "exclusiveMinimum": 0, "multipleOf": 0.5})),
        Just(json!({"type": ["boolean", "null"]})),
        value().prop_map(|value| json!({"const": value})),
        proptest::collection::vec(value(), 1..4).prop_map(|values| json!({"enum": values})),
        any::<bool>().prop_map(Value::from),
        Just(json!({})),
    ];
    leaf.prop_recursive(2, 12, 3, |inner| {
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
    let properties = proptest::collection::btree_map(key(), inner.clone(), 0..4);
    let required = proptest::collection::btree_set(key(), 0..2);
    let additional = prop_oneof![Just(None), any::<bool>().prop_map(|any| Some(Value::from(any))), inner.prop_map(Some)];
    (properties, required, additional).prop_map(|(properties, required, additional)| {
        let mut schema = Map::new();
        schema.insert("type".into(), json!("object"));
        schema.insert("properties".into(), Value::Object(properties.into_iter().collect()));
        schema.insert("required".into(), required.into_iter().collect());
        schema.extend(additional.map(|additional| ("additionalProperties".to_owned(), additional)));
        Value::Object(schema)
    })
}

/// Whether a path leads to something in the arguments, or to something that the schema wants there.
fn is_there(path: &str, arguments: &Value, schema: &Value) -> bool {
    let Some((parent, name)) = path.rsplit_once('/') else { return path.is_empty() };
    let name = name.replace("~1", "/").replace("~0", "~");
    arguments.pointer(path).is_some() || (arguments.pointer(parent).is_some() && requires(schema, &name))
}

fn requires(schema: &Value, name: &str) -> bool {
    let named = schema.get("required").and_then(Value::as_array).is_some_and(|names| names.iter().any(|one| one == name));
    named
        || match schema {
            Value::Object(map) => map.values().any(|inner| requires(inner, name)),
            Value::Array(items) => items.iter().any(|inner| requires(inner, name)),
            _ => false,
        }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, ..ProptestConfig::default() })]

    #[test]
    fn admit_accepts_exactly_what_the_schema_does(schema in object(schema()), sent in proptest::collection::vec(value(), 6)) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
        let validator = jsonschema::draft202012::new(&schema).expect("a schema");
        let engine = runtime.block_on(bare().tool(Takes(schema.clone())).load()).expect("an engine");
        let wrapped = sent.into_iter().map(|value| if value.is_object() { value } else { json!({"a": value}) });
        for arguments in wrapped {
            let result = runtime.block_on(engine.call(Call::new("take", Arguments::Value(arguments.clone()))));
            prop_assert_eq!(!result.is_error, validator.is_valid(&arguments), "{} for {}: {}", arguments, schema, result.text());
            let Some(error) = result.error else { continue };
            prop_assert_eq!(error.code.text(), "tool.args.invalid_schema");
            let paths: Vec<&str> = error.details["errors"].as_array().expect("errors").iter().filter_map(|one| one["path"].as_str()).collect();
            prop_assert!(!paths.is_empty() && paths.iter().all(|path| is_there(path, &arguments, &schema)), "{:?} in {} for {}", paths, arguments, schema);
        }
    }
}
