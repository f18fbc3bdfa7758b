//! What each provider is sent, and that it always follows the provider's documented rules.

use super::{Exported, Format, export};
use crate::check::schema::edit_schemas;
use crate::diagnostic::Severity;
use crate::effect::Effects;
use crate::registry::Hints;
use crate::registry::OfferedTool;
use crate::span::{Place, Source, Span};
use crate::view::Offered;
use proptest::prelude::*;
use serde_json::{Map, Value, json};

fn tool(name: &str, input_schema: Value) -> OfferedTool {
    let source = Source::new("t.md", "");
    OfferedTool {
        name: name.into(),
        description: "Does it.".into(),
        input_schema,
        output_schema: None,
        effects: Effects::READ,
        idempotent: false,
        hints: Hints {
            read_only: true,
            destructive: false,
            idempotent: true,
            open_world: false,
        },
        aliases: Vec::new(),
        strict: false,
        tags: Vec::new(),
        path: "t.md".into(),
        place: Place::new(&source, Span::default()),
        has_body: true,
    }
}

fn write(tools: Vec<OfferedTool>, format: Format) -> Exported {
    export(
        &Offered {
            mode: "default".into(),
            tools,
        },
        format,
    )
}

fn codes(exported: &Exported) -> Vec<&'static str> {
    exported
        .diagnostics
        .iter()
        .map(|found| found.code)
        .collect()
}

/// The tools of a document, without each format's wrapping.
fn tools_of(document: &Value, format: Format) -> Vec<Value> {
    let list = match format {
        Format::Gemini => &document[0]["functionDeclarations"],
        Format::Mcp => &document["tools"],
        _ => document,
    };
    list.as_array()
        .expect("a list")
        .iter()
        .map(|tool| tool.get("function").unwrap_or(tool).clone())
        .collect()
}

fn schema_of(tool: &Value) -> &Value {
    [
        "parameters",
        "input_schema",
        "parametersJsonSchema",
        "inputSchema",
    ]
    .iter()
    .find_map(|key| tool.get(key))
    .expect("a schema")
}

/// Exports one tool with this schema: what is written for it, and the diagnostic codes.
fn check(
    format: Format,
    strict: bool,
    schema: Value,
    expected: Option<Value>,
    expected_codes: &[&str],
) {
    let mut one = tool("read_note", schema.clone());
    one.strict = strict;
    let exported = write(vec![one], format);
    let made = tools_of(&exported.document, format)
        .first()
        .map(|tool| schema_of(tool).clone());
    assert_eq!(
        (made, codes(&exported)),
        (expected, expected_codes.to_vec()),
        "{format:?} {schema} {:#?}",
        exported.diagnostics
    );
}

#[test]
fn schemas_become_what_the_provider_takes() {
    use Format::{Anthropic, Gemini, Mcp, Openai};
    let choice = json!({"type": "object", "properties": {"a": {"type": "array"}}, "anyOf": [{"required": ["a"]}]});
    let with_items = json!({"type": "object", "properties": {"a": {"type": "array", "items": {}}}});
    check(
        Openai,
        false,
        choice.clone(),
        Some(with_items),
        &["EXPORT_KEYWORD"],
    );
    check(
        Anthropic,
        false,
        choice.clone(),
        Some(json!({"type": "object", "properties": {"a": {"type": "array"}}})),
        &["EXPORT_KEYWORD"],
    );
    check(Mcp, false, choice.clone(), Some(choice), &[]);
    check(
        Openai,
        false,
        json!({"type": "object"}),
        Some(json!({"type": "object", "properties": {}})),
        &[],
    );
    let dashed = json!({"type": "object", "properties": {"dry-run": {"type": "boolean"}}});
    check(Anthropic, false, dashed.clone(), Some(dashed.clone()), &[]);
    check(Gemini, false, dashed, None, &["EXPORT_PARAMETER_NAME"]);
    let spaced = json!({"type": "object", "properties": {"a": {"type": "object", "properties": {"b c": {}}}}});
    check(
        Anthropic,
        false,
        spaced.clone(),
        None,
        &["EXPORT_PARAMETER_NAME"],
    );
    check(Openai, false, spaced.clone(), Some(spaced), &[]);
    check(
        Gemini,
        false,
        json!({"type": "object", "properties": {"a": {"const": "x"}, "b": {"$ref": "#/definitions/d"}, "c": true},
            "definitions": {"d": {"type": "integer", "exclusiveMinimum": 1}}}),
        Some(
            json!({"type": "object", "properties": {"a": {"enum": ["x"]}, "b": {"$ref": "#/$defs/d"}, "c": {}},
            "$defs": {"d": {"type": "integer"}}}),
        ),
        &["EXPORT_KEYWORD"],
    );
}

#[test]
fn strict_is_said_only_where_the_schema_fits() {
    let closed = json!({"type": "object", "properties": {"a": {"type": "string"}}, "required": ["a"], "additionalProperties": false});
    let optional = json!({"type": "object", "properties": {"a": {"type": "string"}}, "additionalProperties": false});
    let bounded = json!({"type": "object", "properties": {"a": {"type": "integer", "minimum": 1}}, "required": ["a"], "additionalProperties": false});
    let nullable = json!({"type": "object", "properties": {"a": {"type": ["string", "null"]}}, "additionalProperties": false});
    let mut required = nullable.clone();
    required["required"] = json!(["a"]);
    for (format, schema, made, fits) in [
        (Format::Openai, &closed, &closed, true),
        (Format::Openai, &optional, &optional, false),
        (Format::Openai, &bounded, &bounded, true),
        (Format::Openai, &nullable, &required, true),
        (Format::Anthropic, &closed, &closed, true),
        (Format::Anthropic, &optional, &optional, true),
        (Format::Anthropic, &bounded, &bounded, false),
    ] {
        let codes: &[&str] = if fits { &[] } else { &["EXPORT_NOT_STRICT"] };
        check(format, true, schema.clone(), Some(made.clone()), codes);
    }
    let many: Vec<_> = (0..21)
        .map(|n| OfferedTool {
            strict: true,
            ..tool(&format!("t{n:02}"), closed.clone())
        })
        .collect();
    let exported = write(many, Format::Anthropic);
    assert_eq!(
        codes(&exported),
        ["EXPORT_NOT_STRICT"],
        "a request takes twenty strict tools"
    );
    assert_eq!(
        tools_of(&exported.document, Format::Anthropic)
            .iter()
            .filter(|tool| tool["strict"] == json!(true))
            .count(),
        20
    );
}

#[test]
fn names_come_from_the_providers_alias() {
    let object = json!({"type": "object", "properties": {}});
    let with = |name: &str, aliases: &[(&str, &str)]| OfferedTool {
        aliases: aliases
            .iter()
            .map(|(provider, alias)| ((*provider).to_owned(), (*alias).to_owned()))
            .collect(),
        ..tool(name, object.clone())
    };
    let names = |tools: Vec<OfferedTool>, format| {
        let exported = write(tools, format);
        let names: Vec<String> = tools_of(&exported.document, format)
            .iter()
            .map(|tool| tool["name"].as_str().expect("a name").to_owned())
            .collect();
        (names.join(" "), codes(&exported).join(" "))
    };
    let pair = |left: &str, right: &str| (left.to_owned(), right.to_owned());
    let spaced = || vec![with("read note", &[("gemini", "read.note")])];
    assert_eq!(names(spaced(), Format::Gemini), pair("read.note", ""));
    assert_eq!(names(spaced(), Format::Openai), pair("", "EXPORT_NAME"));
    let both = || vec![with("a", &[]), with("b", &[("openai", "z")])];
    assert_eq!(names(both(), Format::Openai), pair("a z", ""));
    assert_eq!(names(both(), Format::Anthropic), pair("a b", ""));
}

#[test]
fn what_a_pattern_allows_is_not_forbidden_where_patterns_are_not_taken() {
    let schema = json!({"type": "object", "patternProperties": {"^x": {"type": "string"}}, "additionalProperties": false});
    let exported = write(vec![tool("t", schema)], Format::Gemini);
    let made = &tools_of(&exported.document, Format::Gemini)[0]["parametersJsonSchema"];
    assert_eq!(
        (
            made.get("patternProperties"),
            made.get("additionalProperties")
        ),
        (None, None),
        "{made}"
    );
    let closed = write(
        vec![tool(
            "t",
            json!({"type": "object", "properties": {}, "additionalProperties": false}),
        )],
        Format::Gemini,
    );
    assert_eq!(
        tools_of(&closed.document, Format::Gemini)[0]["parametersJsonSchema"]["additionalProperties"],
        false
    );
}

#[test]
fn a_request_never_has_more_tools_than_the_provider_takes() {
    for (format, most) in [
        (Format::Openai, 128),
        (Format::Gemini, 512),
        (Format::Mcp, 600),
        (Format::Anthropic, 600),
    ] {
        let tools = (0..600)
            .map(|n| {
                tool(
                    &format!("t{n:03}"),
                    json!({"type": "object", "properties": {}}),
                )
            })
            .collect();
        let exported = write(tools, format);
        assert_eq!(tools_of(&exported.document, format).len(), most);
        let expected: &[&str] = if most < 600 {
            &["EXPORT_TOO_MANY"]
        } else {
            &[]
        };
        assert_eq!(codes(&exported), expected);
    }
}

#[test]
fn a_long_description_is_only_mentioned_and_a_result_that_is_no_object_left_out_for_mcp() {
    let long = OfferedTool {
        description: "é".repeat(1025),
        ..tool("t", json!({"type": "object", "properties": {}}))
    };
    let exported = write(vec![long.clone()], Format::OpenaiChat);
    assert_eq!(
        (codes(&exported), exported.diagnostics[0].severity),
        (vec!["EXPORT_DESCRIPTION_LONG"], Severity::Note)
    );
    assert_eq!(codes(&write(vec![long], Format::Openai)), [""; 0]);
    let texts = OfferedTool {
        output_schema: Some(json!({"type": "string"})),
        ..tool("t", json!({"type": "object"}))
    };
    let exported = write(vec![texts.clone()], Format::Mcp);
    assert_eq!(
        (
            codes(&exported),
            exported.document["tools"][0].get("outputSchema")
        ),
        (vec!["EXPORT_OUTPUT_SCHEMA"], None)
    );
    let exported = write(vec![texts], Format::Gemini);
    assert_eq!(
        exported.document[0]["functionDeclarations"][0]["responseJsonSchema"],
        json!({"type": "string"})
    );
}

/// A schema with any keyword, known to a provider or not.
fn schemas() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(json!(true)),
        Just(json!(false)),
        Just(json!({})),
        Just(json!({"type": "array"})),
        Just(json!({"type": ["string", "null"], "format": "uri", "maxLength": 3})),
        Just(json!({"enum": ["a", 1]})),
        Just(json!({"enum": [null, {"a": 1}]})),
        Just(json!({"const": 1.5})),
        Just(json!({"const": null})),
        Just(json!({"$ref": "#/$defs/d", "description": "x"})),
        Just(json!({"$ref": "#/definitions/d"})),
        Just(json!({"$ref": "#"})),
        Just(json!({"type": "integer", "exclusiveMinimum": 1, "multipleOf": 2, "default": 4})),
        Just(
            json!({"type": "string", "pattern": "a", "examples": ["a"], "x-mine": 1, "$comment": "c"})
        ),
    ];
    let name = prop_oneof![
        Just("a"),
        Just("b_1"),
        Just("dry-run"),
        Just("a b"),
        Just("é"),
        Just("properties")
    ];
    leaf.prop_recursive(4, 24, 4, move |inner| {
        let one = inner.clone();
        let list = prop::collection::vec(inner.clone(), 1..3);
        prop_oneof![
            (
                prop::collection::btree_map(name.clone(), inner.clone(), 0..4),
                any::<bool>(),
                any::<bool>()
            )
                .prop_map(|(properties, all, closed)| {
                    let names: Vec<&str> = if all {
                        properties.keys().copied().collect()
                    } else {
                        vec!["missing"]
                    };
                    let mut made =
                        json!({"type": "object", "properties": properties, "required": names});
                    if closed {
                        made["additionalProperties"] = json!(false);
                    }
                    made
                }),
            one.prop_map(
                |items| json!({"type": "array", "items": items, "minItems": 2, "uniqueItems": true})
            ),
            (
                Just(["anyOf", "oneOf", "allOf", "prefixItems"]),
                0..4_usize,
                list
            )
                .prop_map(|(keywords, which, list)| Value::Object(Map::from_iter([(
                    keywords[which].to_owned(),
                    json!(list)
                )]))),
            (
                Just([
                    "not",
                    "if",
                    "contains",
                    "additionalProperties",
                    "propertyNames"
                ]),
                0..5_usize,
                inner
            )
                .prop_map(|(keywords, which, one)| Value::Object(Map::from_iter([(
                    keywords[which].to_owned(),
                    one
                )]))),
        ]
    })
}

/// The schema of a tool's arguments: an object with definitions.
fn inputs() -> impl Strategy<Value = Value> {
    (schemas(), schemas(), prop::option::of(schemas())).prop_map(|(top, older, newer)| {
        let mut top = top.as_object().cloned().unwrap_or_default();
        top.insert("type".into(), json!("object"));
        if let Some(newer) = newer {
            top.insert("$defs".into(), json!({"d": newer}));
        }
        top.insert("definitions".into(), json!({"d": older}));
        Value::Object(top)
    })
}

fn each(schema: &Value, mut look: impl FnMut(&[String], &Map<String, Value>)) {
    edit_schemas(&mut schema.clone(), &mut Vec::new(), &mut |path, schema| {
        if let Some(object) = schema.as_object() {
            look(path, object);
        }
    });
}

/// Checks the provider's documented rules for every tool, independently of the code that wrote it.
fn keeps_the_rules(tool: &Value, format: Format) {
    let schema = schema_of(tool);
    assert_eq!(schema["type"], "object");
    let top = schema.as_object().expect("a schema");
    let strict = tool["strict"] == json!(true);
    let name = regex::Regex::new("^[a-zA-Z0-9_-]{1,64}$").expect("a pattern");
    assert!(name.is_match(tool["name"].as_str().expect("a name")));
    match format {
        Format::Openai | Format::OpenaiChat => {
            assert!(
                ["oneOf", "anyOf", "allOf", "enum", "not"]
                    .iter()
                    .all(|keyword| !top.contains_key(*keyword)),
                "{schema}"
            );
            each(schema, |_, object| {
                assert!(
                    object.get("type") != Some(&json!("array")) || object.contains_key("items"),
                    "{schema}"
                );
                if strict && object.contains_key("properties") {
                    let names: Vec<&String> = object["properties"]
                        .as_object()
                        .expect("properties")
                        .keys()
                        .collect();
                    assert_eq!(object["required"], json!(names), "{schema}");
                    assert_eq!(object["additionalProperties"], json!(false), "{schema}");
                }
                for keyword in [
                    "allOf",
                    "not",
                    "if",
                    "oneOf",
                    "uniqueItems",
                    "contains",
                    "propertyNames",
                    "default",
                    "prefixItems",
                ] {
                    assert!(
                        !strict || !object.contains_key(keyword),
                        "{keyword} in {schema}"
                    );
                }
            });
        }
        Format::Anthropic => {
            assert!(
                ["oneOf", "anyOf", "allOf"]
                    .iter()
                    .all(|keyword| !top.contains_key(*keyword)),
                "{schema}"
            );
            let property = regex::Regex::new("^[a-zA-Z0-9_.-]{1,64}$").expect("a pattern");
            each(schema, |_, object| {
                let properties = object.get("properties").and_then(Value::as_object);
                assert!(
                    properties
                        .into_iter()
                        .flatten()
                        .all(|(name, _)| property.is_match(name)),
                    "{schema}"
                );
                for keyword in [
                    "$ref",
                    "minimum",
                    "exclusiveMinimum",
                    "multipleOf",
                    "maxLength",
                    "uniqueItems",
                    "pattern",
                ] {
                    assert!(
                        !strict || !object.contains_key(keyword),
                        "{keyword} in {schema}"
                    );
                }
            });
        }
        Format::Gemini => {
            let taken = "$id $defs $ref $anchor type format title description enum items prefixItems minItems maxItems minimum maximum anyOf \
                oneOf properties additionalProperties required default pattern minLength maxLength minProperties maxProperties";
            each(schema, |path, object| {
                for (keyword, value) in object {
                    assert!(
                        taken.split_whitespace().any(|one| one == keyword),
                        "{keyword} in {schema}"
                    );
                    assert!(keyword != "$defs" || path.is_empty(), "{schema}");
                    assert!(
                        keyword != "enum"
                            || value.as_array().is_some_and(|all| all
                                .iter()
                                .all(|one| one.is_string() || one.is_number()))
                    );
                }
                assert!(
                    object.get("type") != Some(&json!("array")) || object.contains_key("items"),
                    "{schema}"
                );
                if let Some(to) = object.get("$ref") {
                    assert!(
                        object.keys().all(|keyword| keyword.starts_with('$')),
                        "{schema}"
                    );
                    assert!(
                        schema
                            .pointer(
                                to.as_str()
                                    .and_then(|to| to.strip_prefix('#'))
                                    .expect("inside")
                            )
                            .is_some(),
                        "{schema}"
                    );
                }
            });
        }
        Format::Mcp => assert_eq!(tool["annotations"].as_object().map(Map::len), Some(4)),
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]
    #[test]
    fn whatever_the_schema_is_the_provider_gets_what_it_documents(schema in inputs(), strict in any::<bool>(), which in 0..5_usize) {
        let format = Format::ALL[which];
        let exported = write(vec![OfferedTool { strict, ..tool("read_note", schema.clone()) }], format);
        let tools = tools_of(&exported.document, format);
        let refused = exported.diagnostics.iter().any(|found| found.severity == Severity::Error);
        prop_assert_eq!(tools.is_empty(), refused, "a tool is missing exactly when an error says so");
        for tool in &tools {
            keeps_the_rules(tool, format);
            if exported.diagnostics.is_empty() && format == Format::Mcp {
                prop_assert_eq!(schema_of(tool), &schema);
            }
        }
        for found in &exported.diagnostics {
            prop_assert!(found.tool.is_some() && found.field.is_some() && found.help.is_some() && found.place.is_some());
        }
    }
}
