//! The JSON Schema of each frontmatter, generated from the tables, for editors and for other
//! programs.

use super::ArtifactKind;
use super::kind::fields_of;
use super::shape::{Field, FieldStatus, Shape};
use serde_json::{Map, Value, json};

/// The JSON Schema (draft 2020-12) of an artifact's frontmatter. It refuses an unknown key only
/// where the reader does.
#[must_use]
pub fn json_schema(kind: ArtifactKind) -> Value {
    let mut schema = record(&[fields_of(kind)], unknown_keys(kind));
    let mut whole = Map::new();
    whole.insert(
        "$schema".into(),
        json!("https://json-schema.org/draft/2020-12/schema"),
    );
    whole.insert(
        "title".into(),
        json!(format!("Frontmatter of a harness {}", kind.word())),
    );
    if let Some(object) = schema.as_object_mut() {
        whole.append(object);
    }
    if kind == ArtifactKind::Hook {
        whole.insert("required".into(), json!(["event"]));
    }
    Value::Object(whole)
}

/// Whether a key that no table knows is an error.
#[derive(Clone, Copy)]
enum UnknownKeys {
    Warned,
    Refused,
}

fn unknown_keys(kind: ArtifactKind) -> UnknownKeys {
    match kind {
        ArtifactKind::Tool | ArtifactKind::Skill | ArtifactKind::Context => UnknownKeys::Warned,
        _ => UnknownKeys::Refused,
    }
}

fn record(tables: &[&'static [Field]], unknown: UnknownKeys) -> Value {
    let properties: Map<_, _> = tables
        .iter()
        .copied()
        .flatten()
        .map(|field| (field.name.to_owned(), documented(field, unknown)))
        .collect();
    let mut schema = json!({ "type": "object", "properties": properties });
    if let UnknownKeys::Refused = unknown {
        schema["additionalProperties"] = json!(false);
    }
    schema
}

fn documented(field: &'static Field, unknown: UnknownKeys) -> Value {
    let mut schema = value(&field.shape, unknown);
    let missing = match field.status {
        FieldStatus::Enforced => "",
        FieldStatus::Unsupported => " Not enforced yet: a call under it is refused.",
        FieldStatus::Partly(_) => " Some forms are not enforced yet: a call under one is refused.",
        FieldStatus::Idle => " Without effect yet.",
    };
    schema["description"] = json!(format!(
        "{}{missing} Default: {}.",
        field.doc, field.default
    ));
    schema
}

fn value(shape: &'static Shape, unknown: UnknownKeys) -> Value {
    match shape {
        Shape::Any => json!({}),
        Shape::Bool => json!({ "type": "boolean" }),
        Shape::Integer(i64::MIN) => json!({ "type": "integer" }),
        Shape::Integer(least) => json!({ "type": "integer", "minimum": least }),
        Shape::Number => json!({ "type": "number" }),
        Shape::Text => json!({ "type": "string" }),
        Shape::Word(words) => json!({ "enum": words }),
        Shape::List(item) => json!({ "type": ["array", "null"], "items": value(item, unknown) }),
        Shape::Map(item) => {
            json!({ "type": ["object", "null"], "additionalProperties": value(item, unknown) })
        }
        Shape::Record(fields) => {
            let mut schema = record(&[fields], unknown);
            schema["type"] = json!(["object", "null"]);
            schema
        }
        Shape::Inline(naming, fields) => {
            let hook = naming.iter().any(|field| field.name == "handler");
            let mut schema = record(
                &[naming, fields],
                if hook {
                    UnknownKeys::Refused
                } else {
                    UnknownKeys::Warned
                },
            );
            schema["required"] = if hook {
                json!(["event"])
            } else {
                json!(["name"])
            };
            schema
        }
        Shape::Either(shapes) => {
            json!({ "anyOf": shapes.iter().map(|shape| value(shape, unknown)).collect::<Vec<_>>() })
        }
        Shape::JsonSchema => json!({ "type": ["object", "boolean"] }),
        Shape::Parameter => json!({
            "type": "object",
            "properties": {
                "type": { "description": "The JSON type of the argument." },
                "description": { "type": "string", "description": "What the model reads about the argument." },
                "required": { "description": "Whether the argument must be given." },
            },
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn accepts(kind: ArtifactKind, frontmatter: &Value) -> bool {
        jsonschema::draft202012::new(&json_schema(kind))
            .expect("the generated schema is one")
            .is_valid(frontmatter)
    }

    #[test]
    fn the_generated_schemas_are_valid_draft_2020_12() {
        for kind in ArtifactKind::ALL {
            assert!(
                jsonschema::meta::is_valid(&json_schema(kind)),
                "{}",
                kind.word()
            );
            assert!(json_schema(kind).get("$schema").is_some());
        }
    }

    #[test]
    fn the_schemas_accept_and_refuse_what_the_reader_does() {
        let tool =
            json!({ "parameters": { "path": { "type": "string" } }, "risk": "read", "colour": 1 });
        assert!(
            accepts(ArtifactKind::Tool, &tool),
            "an unknown key of a tool is only a warning"
        );
        assert!(!accepts(ArtifactKind::Tool, &json!({ "timeout_ms": -1 })));
        assert!(!accepts(
            ArtifactKind::Tool,
            &json!({ "annotations": { "side_effect_level": "reads" } })
        ));
        assert!(accepts(ArtifactKind::Hook, &json!({ "event": "tool.pre" })));
        assert!(!accepts(ArtifactKind::Hook, &json!({})));
        assert!(!accepts(
            ArtifactKind::Hook,
            &json!({ "event": "tool.pre", "wen": "True" })
        ));
        assert!(accepts(
            ArtifactKind::Root,
            &json!({ "tools": [{ "name": "a" }], "tools_policy": { "deny": ["x"] } })
        ));
        assert!(!accepts(
            ArtifactKind::Root,
            &json!({ "tools_policy": { "denied": ["x"] } })
        ));
        assert!(!accepts(
            ArtifactKind::Bundle,
            &json!({ "hooks": [{ "name": "a" }] })
        ));
    }
}
