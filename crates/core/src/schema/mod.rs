//! JSON Schemas: those of Rust types, and compiled ones.

mod flat;
mod mention;
mod numbers;

use crate::depth::deeper_than;
use flat::FlatSchema;
use jsonschema::error::ValidationErrorKind;
use jsonschema::{Draft, PatternOptions, ValidationError, Validator};
use schemars::JsonSchema;
use schemars::generate::SchemaSettings;
use serde_json::{Map, Value};
use std::marker::PhantomData;

use mention::decoded;
pub(crate) use mention::mentions;

/// Compiles a schema of draft 2020-12. Patterns run in linear time; references must stay within the
/// schema.
pub(crate) fn compile(schema: &Value) -> Result<Validator, ValidationError<'static>> {
    options().build(schema)
}

fn options() -> jsonschema::ValidationOptions<'static> {
    jsonschema::options()
        .with_draft(Draft::Draft202012)
        .with_pattern_options(PatternOptions::regex())
        .offline()
}

/// Something with a JSON Schema: JSON itself, or a Rust type by [`of`].
pub trait Schema {
    /// The schema.
    fn schema(&self) -> Value;
}

impl Schema for Value {
    fn schema(&self) -> Value {
        self.clone()
    }
}

/// The schema of a Rust type. Made by [`of`].
#[derive(Clone, Copy, Debug)]
pub struct TypeSchema<T>(PhantomData<fn() -> T>);

/// The schema of a Rust type.
#[must_use]
pub fn of<T: JsonSchema>() -> TypeSchema<T> {
    TypeSchema(PhantomData)
}

impl<T: JsonSchema> Schema for TypeSchema<T> {
    fn schema(&self) -> Value {
        of_type::<T>()
    }
}

/// The schema of a type, without keywords about the type itself.
pub(crate) fn of_type<T: JsonSchema>() -> Value {
    let settings = SchemaSettings::draft2020_12().with(|settings| {
        settings.meta_schema = None;
        settings.inline_subschemas = true;
    });
    let mut schema = settings
        .into_generator()
        .into_root_schema_for::<T>()
        .to_value();
    if let Some(object) = schema.as_object_mut() {
        object.shift_remove("title");
    }
    schema
}

/// Whether the values of a schema are objects.
pub(crate) fn is_of_objects(schema: &Value) -> bool {
    schema.get("type").and_then(Value::as_str) == Some("object")
}

/// A compiled JSON Schema of draft 2020-12. Patterns run in linear time; nothing is fetched.
#[derive(Debug)]
pub struct CompiledSchema {
    /// The schema itself.
    pub value: Value,
    validator: Validator,
    /// The same schema, if it is flat.
    flat: Option<FlatSchema>,
    /// Whether it declares defaults.
    has_defaults: bool,
    /// Whether it says `integer` anywhere, or a number `format` with a width.
    has_numbers: bool,
    /// How deep values may nest, if checking deeper ones could take exponential time.
    max_depth: Option<usize>,
}

/// A fault of a value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Violation {
    /// JSON Pointer into the value; empty for the value itself.
    pub path: String,
    /// What is wrong.
    pub message: String,
}

/// Violations that are reported. A model fixes a few at a time.
const MAX_VIOLATIONS: usize = 8;

impl CompiledSchema {
    /// Compiles a schema; the error says where it is invalid.
    pub fn new(value: Value) -> Result<Self, String> {
        let validator = compile(&value).map_err(|error| match error.instance_path().as_str() {
            "" => error.to_string(),
            path => format!("at {path}: {error}"),
        })?;
        let max_depth = recursive_depth(&value);
        let mut has_defaults = false;
        each_default(&value, "", &mut |_, _| has_defaults = true);
        let flat = FlatSchema::of(&value);
        let has_numbers = numbers::mentioned(&value);
        Ok(Self {
            value,
            validator,
            flat,
            has_defaults,
            has_numbers,
            max_depth,
        })
    }

    /// The faults of arguments. If there are none, integers are rewritten as such, however they
    /// were sent.
    pub(crate) fn normalize(&self, value: &mut Value) -> Vec<Violation> {
        if self.fits_flat(value) {
            return Vec::new();
        }
        let violations = self.violations(value);
        if violations.is_empty() && self.has_numbers {
            numbers::normalize(&self.value, value)
        } else {
            violations
        }
    }

    /// Whether it certainly fits, including its integers.
    fn fits_flat(&self, value: &Value) -> bool {
        self.flat.as_ref().is_some_and(|flat| flat.accepts(value))
    }

    /// The faults of `value`; empty if it fits.
    #[must_use]
    pub fn violations(&self, value: &Value) -> Vec<Violation> {
        if self.fits_flat(value) {
            return Vec::new();
        }
        if let Some(most) = self.max_depth.filter(|most| deeper_than(value, *most)) {
            let message = format!(
                "it nests deeper than {most} levels, the most this recursive schema is checked for"
            );
            return vec![Violation {
                path: String::new(),
                message,
            }];
        }
        if self.validator.is_valid(value) {
            return Vec::new();
        }
        self.validator
            .iter_errors(value)
            .take(MAX_VIOLATIONS)
            .map(|error| Violation {
                path: place(&error),
                message: message(&error),
            })
            .collect()
    }

    /// Fills in the defaults of absent properties, at every level of declared objects.
    pub fn apply_defaults(&self, arguments: &mut Map<String, Value>) {
        if self.has_defaults {
            defaults(&self.value, arguments);
        }
    }

    /// The schema of a property at the top level.
    #[must_use]
    pub fn property(&self, name: &str) -> Option<&Value> {
        self.value.get("properties")?.get(name)
    }

    /// The properties at the top level, in order.
    pub fn properties(&self) -> impl Iterator<Item = &str> {
        self.value
            .get("properties")
            .and_then(Value::as_object)
            .into_iter()
            .flat_map(|map| map.keys().map(String::as_str))
    }
}

/// Where the fault is; for something missing, where it should be.
fn place(error: &ValidationError<'_>) -> String {
    let path = error.instance_path().to_string();
    match error.kind() {
        ValidationErrorKind::Required {
            property: Value::String(name),
        } => format!("{path}/{}", escaped(name)),
        _ => path,
    }
}

/// The target of a reference by path within the schema.
fn within<'a>(schema: &'a Value, reference: &str) -> Option<&'a Value> {
    schema.pointer(&decoded(reference.strip_prefix('#')?))
}

/// Steps for checking one value against a recursive schema.
const MAX_STEPS: f64 = 100_000.0;

/// A schema that refers to itself may apply itself several times to the same part of a value, so
/// that each level multiplies the work. Such a schema is limited to a depth at which even the worst
/// case ends soon.
fn recursive_depth(schema: &Value) -> Option<usize> {
    let mut targets = Vec::new();
    references(schema, &mut targets);
    let recursive = targets
        .iter()
        .any(|target| reaches(schema, target, target, &mut Vec::new()));
    let branches = targets.len().max(2);
    #[expect(
        clippy::cast_precision_loss,
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "a small whole number"
    )]
    let depth = (MAX_STEPS.ln() / (branches as f64).ln()) as usize;
    (recursive && targets.len() > 1).then_some(depth.max(2))
}

/// Every reference in a schema.
fn references<'a>(schema: &'a Value, found: &mut Vec<&'a str>) {
    match schema {
        Value::Object(map) => map.iter().for_each(|(key, value)| match value.as_str() {
            Some(target) if key == "$ref" || key == "$dynamicRef" => found.push(target),
            _ => references(value, found),
        }),
        Value::Array(items) => items.iter().for_each(|item| references(item, found)),
        _ => {}
    }
}

/// Whether `from` leads, through further references, to `goal`. A reference that cannot be followed
/// counts as leading anywhere.
fn reaches<'a>(schema: &'a Value, from: &'a str, goal: &str, seen: &mut Vec<&'a str>) -> bool {
    if seen.contains(&from) {
        return false;
    }
    seen.push(from);
    let Some(target) = within(schema, from) else {
        return true;
    };
    let mut next = Vec::new();
    references(target, &mut next);
    next.into_iter()
        .any(|reference| reference == goal || reaches(schema, reference, goal, seen))
}

/// Calls `each` with every schema whose default [`defaults`] could fill in, and with its path.
fn each_default<'a>(schema: &'a Value, path: &str, each: &mut impl FnMut(&str, &'a Value)) {
    for (name, property) in schema
        .get("properties")
        .and_then(Value::as_object)
        .into_iter()
        .flatten()
    {
        let path = format!("{path}/properties/{}", escaped(name));
        if property.get("default").is_some() {
            each(&path, property);
        }
        each_default(property, &path, each);
    }
}

/// A name as part of a JSON Pointer.
pub(crate) fn escaped(name: &str) -> String {
    name.replace('~', "~0").replace('/', "~1")
}

/// The first default that would be filled in and does not fit.
pub(crate) fn unfit_default(schema: &Value) -> Option<Violation> {
    let mut found = Vec::new();
    each_default(schema, "", &mut |path, property| {
        found.push((path.to_owned(), property))
    });
    let mut whole = None;
    found.into_iter().find_map(|(path, property)| {
        let mut targets = Vec::new();
        references(property, &mut targets);
        let error = if targets.is_empty() {
            compile(property)
                .ok()?
                .validate(&property["default"])
                .err()
                .map(|error| message(&error))
        } else {
            // References resolve against the whole schema.
            let parts = whole
                .get_or_insert_with(|| options().build_map(schema).ok())
                .as_ref()?;
            parts
                .get(&format!("#{path}"))?
                .validate(&property["default"])
                .err()
                .map(|error| message(&error))
        };
        error.map(|message| Violation {
            path: format!("{path}/default"),
            message,
        })
    })
}

fn defaults(schema: &Value, arguments: &mut Map<String, Value>) {
    let Some(properties) = schema.get("properties").and_then(Value::as_object) else {
        return;
    };
    for (name, property) in properties {
        match (arguments.get_mut(name), property.get("default")) {
            (Some(Value::Object(inner)), _) => defaults(property, inner),
            (None, Some(default)) => drop(arguments.insert(name.clone(), default.clone())),
            _ => {}
        }
    }
}

/// The message of the validator. It quotes the value and its names, so that huge ones would flood
/// the answer; they are not quoted in part either, because redaction needs the whole of a secret.
fn message(error: &ValidationError<'_>) -> String {
    const MAX: usize = 400;
    let fits = |message: &String| message.len() <= MAX;
    let whole = Some(error.to_string()).filter(fits);
    let masked = || Some(error.masked_with("this value").to_string()).filter(fits);
    whole.or_else(masked).unwrap_or_else(|| {
        format!(
            "this value does not fit what the schema says at {}",
            error.schema_path()
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn violations_name_the_path_and_defaults_fill_in() {
        let schema = CompiledSchema::new(json!({
            "type": "object",
            "properties": {"n": {"type": "integer", "default": 3}, "o": {"type": "object", "properties": {"x": {"default": true}}}},
            "required": ["path"],
        }))
        .expect("compiles");
        let violations = schema.violations(&json!({"n": "3", "path": "a"}));
        assert_eq!(
            violations,
            [Violation {
                path: "/n".into(),
                message: "\"3\" is not of type \"integer\"".into()
            }]
        );
        let missing = schema.violations(&json!({"n": 3}));
        assert_eq!(
            missing,
            [Violation {
                path: "/path".into(),
                message: "\"path\" is a required property".into()
            }]
        );
        let mut arguments = json!({"o": {}}).as_object().cloned().expect("object");
        schema.apply_defaults(&mut arguments);
        assert_eq!(Value::Object(arguments), json!({"o": {"x": true}, "n": 3}));
    }

    #[test]
    fn what_is_too_long_to_be_quoted_is_not_quoted_in_part() {
        let schema = CompiledSchema::new(
            json!({"type": "object", "properties": {"n": {"type": "integer"}}, "additionalProperties": false}),
        );
        let schema = schema.expect("compiles");
        let said = |value: &Value| schema.violations(value).remove(0).message;
        assert!(said(&json!({"key": 1})).contains("'key'"));
        assert_eq!(
            said(&json!({"n": "x".repeat(500)})),
            "this value is not of type \"integer\""
        );
        let names: serde_json::Map<String, Value> =
            ["a".repeat(150), "secret".into(), "z".repeat(400)]
                .map(|name| (name, json!(1)))
                .into_iter()
                .collect();
        assert_eq!(
            said(&Value::Object(names)),
            "this value does not fit what the schema says at /additionalProperties"
        );
    }

    #[test]
    fn a_pattern_that_backtracks_is_linear_and_remote_references_are_refused() {
        let schema =
            CompiledSchema::new(json!({"type": "string", "pattern": "^(a+)+$"})).expect("compiles");
        let started = std::time::Instant::now();
        assert_eq!(schema.violations(&json!("a".repeat(50_000) + "b")).len(), 1);
        assert!(started.elapsed().as_secs() < 30);
        assert!(CompiledSchema::new(json!({"$ref": "http://169.254.169.254/x"})).is_err());
        assert!(CompiledSchema::new(json!({"$ref": "file:///etc/passwd"})).is_err());
    }

    #[test]
    fn a_recursive_schema_that_branches_ends_soon_and_a_plain_one_is_not_limited() {
        let branching = CompiledSchema::new(json!({
            "$defs": {"n": {"anyOf": [
                {"allOf": [{"type": "array", "items": {"$ref": "#/$defs/n"}}]},
                {"allOf": [{"type": "array", "items": {"$ref": "#/$defs/n"}}]},
            ]}},
            "$ref": "#/$defs/n",
        }))
        .expect("compiles");
        let nested = |levels: usize| (0..levels).fold(json!([1]), |inner, _| json!([inner]));
        let started = std::time::Instant::now();
        for levels in [5, 40, 60] {
            assert!(
                !branching.violations(&nested(levels)).is_empty(),
                "{levels}"
            );
        }
        assert!(started.elapsed().as_secs() < 30);
        let list = CompiledSchema::new(
            json!({"$defs": {"n": {"type": "array", "items": {"$ref": "#/$defs/n"}}}, "type": "object", "properties": {"a": {"type": "array"}}}),
        );
        assert!(
            list.expect("compiles")
                .violations(&json!({"a": nested(60)}))
                .is_empty()
        );
    }

    #[test]
    fn integers_beyond_64_bits_are_compared_exactly() {
        let schema = CompiledSchema::new(
            serde_json::from_str(r#"{"maximum": 123456789012345678901234567890}"#).expect("JSON"),
        )
        .expect("compiles");
        let at: Value = serde_json::from_str("123456789012345678901234567890").expect("JSON");
        let above: Value = serde_json::from_str("123456789012345678901234567891").expect("JSON");
        assert!(schema.violations(&at).is_empty());
        assert_eq!(schema.violations(&above).len(), 1);
    }
}
