//! Most schemas of arguments are flat: a few properties of plain types. A value that certainly fits
//! one is accepted without the validator, which judges everything else.

use super::numbers::width;
use serde_json::{Map, Value};

/// A flat schema.
#[derive(Debug)]
pub(super) struct FlatSchema {
    properties: Vec<Property>,
    required: usize,
    /// Whether other properties are accepted.
    open: bool,
}

#[derive(Debug)]
struct Property {
    name: String,
    kind: Kind,
    required: bool,
}

#[derive(Debug)]
enum Kind {
    Text,
    Bool,
    /// An integer in this range.
    Integer(i64, i64),
}

/// Keywords that do not restrict values.
const SILENT: [&str; 5] = ["description", "title", "default", "format", "examples"];

impl FlatSchema {
    /// Reads a schema; `None` if it is not flat.
    pub(super) fn of(schema: &Value) -> Option<Self> {
        let schema = schema.as_object()?;
        let known = ["type", "properties", "required", "additionalProperties"];
        let plain = |key: &String| known.contains(&key.as_str()) || SILENT.contains(&key.as_str());
        if schema.get("type")? != "object" || !schema.keys().all(plain) {
            return None;
        }
        let open = match schema.get("additionalProperties") {
            None => true,
            Some(value) => value.as_bool()?,
        };
        let required: Vec<&str> = match schema.get("required") {
            None => Vec::new(),
            Some(names) => names
                .as_array()?
                .iter()
                .map(Value::as_str)
                .collect::<Option<_>>()?,
        };
        let none = Map::new();
        let declared = schema
            .get("properties")
            .map_or(Some(&none), Value::as_object)?;
        let read = |(name, property): (&String, &Value)| {
            Some(Property {
                name: name.clone(),
                kind: Kind::of(property)?,
                required: required.contains(&name.as_str()),
            })
        };
        let properties: Vec<Property> = declared.iter().map(read).collect::<Option<_>>()?;
        // A required property that is not declared is left to the validator.
        let found = properties
            .iter()
            .filter(|property| property.required)
            .count();
        (found == required.len()).then_some(Self {
            properties,
            required: found,
            open,
        })
    }

    /// Whether the value certainly fits.
    pub(super) fn accepts(&self, value: &Value) -> bool {
        let Some(object) = value.as_object() else {
            return false;
        };
        let mut required = 0;
        for (name, value) in object {
            match self
                .properties
                .iter()
                .find(|property| property.name == *name)
            {
                Some(property) if property.kind.accepts(value) => {
                    required += usize::from(property.required)
                }
                Some(_) => return false,
                None if self.open => {}
                None => return false,
            }
        }
        required == self.required
    }
}

impl Kind {
    fn of(property: &Value) -> Option<Self> {
        let property = property.as_object()?;
        let kind = property.get("type")?.as_str()?;
        let only = |known: &[&str]| {
            property.keys().all(|key| {
                key == "type" || known.contains(&key.as_str()) || SILENT.contains(&key.as_str())
            })
        };
        match kind {
            "string" if only(&[]) => Some(Self::Text),
            "boolean" if only(&[]) => Some(Self::Bool),
            "integer" if only(&["minimum"]) => {
                let (least, most) = property
                    .get("format")
                    .and_then(Value::as_str)
                    .and_then(width)
                    .unwrap_or((i128::MIN, i128::MAX));
                let [least, most] = [least, most].map(|bound| {
                    i64::try_from(bound).unwrap_or(if bound < 0 { i64::MIN } else { i64::MAX })
                });
                let minimum = property
                    .get("minimum")
                    .map_or(Some(i64::MIN), Value::as_i64)?;
                Some(Self::Integer(least.max(minimum), most))
            }
            _ => None,
        }
    }

    fn accepts(&self, value: &Value) -> bool {
        match self {
            Self::Text => value.is_string(),
            Self::Bool => value.is_boolean(),
            Self::Integer(least, most) => value
                .as_i64()
                .is_some_and(|value| (least..=most).contains(&&value)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn what_a_flat_schema_accepts_fits_and_what_is_more_than_flat_is_left_alone() {
        let schema = json!({"type": "object", "properties": {"s": {"type": "string", "description": "x"}, "n": {"type": "integer", "minimum": 0}, "b": {"type": "boolean"}}, "required": ["s"], "additionalProperties": false});
        let flat = FlatSchema::of(&schema).expect("a flat schema");
        let whole = super::super::compile(&schema).expect("a schema");
        for value in [
            json!({"s": "a"}),
            json!({"s": "a", "n": 3, "b": true}),
            json!({"s": 1}),
            json!({"n": 1}),
            json!({"s": "a", "n": -1}),
            json!({"s": "a", "x": 1}),
            json!({"s": "a", "n": 1.5}),
            json!([]),
            json!({"s": "a", "n": 1.0}),
        ] {
            assert!(!flat.accepts(&value) || whole.is_valid(&value), "{value}");
        }
        assert!(
            flat.accepts(&json!({"s": "a", "n": 3, "b": true})) && !flat.accepts(&json!({"n": 3}))
        );
        for more in [
            json!({"type": "object", "properties": {"s": {"type": "string", "pattern": "a"}}}),
            json!({"type": "object", "properties": {"s": {"enum": [1]}}}),
            json!({"type": "object", "properties": {}, "minProperties": 1}),
            json!({"type": "object", "required": ["x"]}),
            json!({"type": "object", "additionalProperties": {"type": "string"}}),
            json!(true),
        ] {
            assert!(FlatSchema::of(&more).is_none(), "{more}");
        }
    }
}
