//! Codes whose meaning has several sentences, each with a case on either side.

use super::{annotated, expect, tool};
use crate::surface::{check, read, read_text};
use serde_json::{Value, json};

#[test]
fn a_required_argument_is_required_by_the_schema_as_well() {
    let with = |schema: Value, required: Value| {
        let annotations = json!({"kind": "read", "side_effect_level": "read_only", "arg_schema": {"required": required}});
        json!({"tools": [tool("read_note", &json!({"parameters": schema, "annotations": annotations}))]})
    };
    let schema = |required: Value| json!({"type": "object", "properties": {"path": {"type": "string"}}, "required": required});
    expect(
        &with(schema(json!([])), json!(["path"])),
        &["REQUIRED_UNSAID"],
    );
    expect(&with(schema(json!(["path"])), json!(["path"])), &[]);
    expect(&with(schema(json!([])), json!([])), &[]);
    // What the schema does not have at all is another mistake.
    expect(
        &with(schema(json!([])), json!(["why"])),
        &["REQUIRED_WITHOUT_PROPERTY"],
    );
}

#[test]
fn a_text_may_take_a_fiftieth_of_the_context() {
    let words = "one word ".repeat(30);
    let with = |part: Value, options: Value| json!({"tools": [tool("read_note", &part)], "options": options});
    let small = json!({"context_tokens": 1000});
    expect(
        &with(json!({"description": words}), small.clone()),
        &["TOO_LARGE"],
    );
    expect(
        &with(
            json!({"description": words}),
            json!({"context_tokens": 100_000}),
        ),
        &[],
    );
    expect(&with(json!({"description": words}), json!({})), &[]);
    let schema =
        json!({"type": "object", "properties": {"path": {"type": "string", "description": words}}});
    expect(
        &with(json!({"parameters": schema}), small.clone()),
        &["TOO_LARGE"],
    );
    expect(
        &with(json!({"parameters": {"type": "object"}}), small.clone()),
        &[],
    );
    let inactive = json!({
        "tools": [tool("read_note", &json!({"description": words})), tool("a_b", &json!({"parameters": {"type": "object"}}))],
        "policy": {"tools": ["a_b"]},
        "options": small,
    });
    expect(&inactive, &[]);
    for wrong in [
        json!("many"),
        json!(999),
        json!(-1),
        json!(1.5),
        json!(null),
    ] {
        expect(
            &with(json!({}), json!({ "context_tokens": wrong })),
            &["MALFORMED"],
        );
    }
    expect(
        &with(json!({}), json!({"context_token": 1000})),
        &["KEY_UNKNOWN"],
    );
}

#[test]
fn an_alias_must_stand_for_an_argument_and_not_be_one() {
    let with = |aliases: Value, schema: Value| {
        let annotations =
            json!({"side_effect_level": "read_only", "arg_schema": {"arg_aliases": aliases}});
        json!({"tools": [tool("read_note", &json!({"parameters": schema, "annotations": annotations}))]})
    };
    let two = json!({"type": "object", "properties": {"path": {"type": "string"}, "title": {"type": "string"}}});
    expect(
        &with(json!({"title": "path"}), two.clone()),
        &["ALIAS_COLLIDES"],
    );
    expect(
        &with(json!({"file": "pth"}), two.clone()),
        &["ALIAS_COLLIDES"],
    );
    expect(&with(json!({"file": "path", "name": "title"}), two), &[]);
    // A schema that names no arguments cannot be judged.
    expect(
        &with(json!({"file": "path"}), json!({"type": "object"})),
        &[],
    );
}

#[test]
fn a_deferred_tool_is_spoken_of_once() {
    let deferred = tool("read_note", &json!({"defer_loading": true}));
    let other = tool("list_letters", &json!({}));
    let with = |tools: Value, more: Value| {
        let mut surface = more;
        surface["tools"] = tools;
        surface
    };
    expect(
        &with(json!([deferred, other]), json!({})),
        &["DEFERRED_UNREACHABLE"],
    );
    expect(
        &with(
            json!([deferred, other]),
            json!({"system": "read_note(x), `read_note`"}),
        ),
        &["DEFERRED_TOOL_PROMPT_REFERENCE"],
    );
    expect(
        &with(
            json!([deferred, other]),
            json!({"system": "read_note(x)", "policy": {"tools": ["list_*"]}}),
        ),
        &["PROMPT_TOOL_NOT_IN_POLICY"],
    );
    expect(
        &with(
            json!([deferred, other]),
            json!({"policy": {"tools": ["list_*"]}}),
        ),
        &[],
    );
    expect(
        &with(
            json!([deferred, other]),
            json!({"system": "read_note(x)", "tool_search": true}),
        ),
        &[],
    );
    expect(
        &with(
            json!([deferred, other, {"type": "tool_search_tool_bm25_20251119", "name": "tool_search_tool_bm25"}]),
            json!({}),
        ),
        &[],
    );
}

#[test]
fn schemas_that_no_provider_takes_are_errors() {
    let with =
        |schema: Value| json!({"tools": [tool("read_note", &json!({ "parameters": schema }))]});
    for schema in [
        json!({"type": "objct"}),
        json!({"type": "object", "properties": {"path": {"type": "strin"}}}),
        json!({"type": "object", "properties": {"path": {"type": "string", "required": true}}}),
        json!({"type": "object", "properties": {"path": {"enum": "a"}}}),
        json!({"type": "object", "properties": {"path": {"type": "array", "items": {"type": []}}}}),
        json!({"type": "object", "properties": {"path": {"anyOf": [{"type": "string"}, {"type": "text"}]}}}),
        json!({"type": "object", "required": "path"}),
        json!({"type": "array", "items": {"type": "string"}}),
        json!({"type": "object", "properties": {"path": {"$ref": "#/$defs/Nope"}}}),
        json!({"type": "object", "properties": {"path": {"$ref": "#/$defs/A"}}, "$defs": {"A": {"type": "string"}, "B": {"$ref": "#/$defs/B"}}}),
        json!({"type": "object", "properties": {"path": {"$ref": 7}}}),
    ] {
        expect(&with(schema), &["SCHEMA_INVALID"]);
    }
    for schema in [
        json!({"type": "OBJECT", "properties": {"path": {"type": "STRING", "nullable": true}}}),
        json!({"type": "object", "properties": {"path": {"type": ["string", "null"]}}}),
        json!({"type": "object", "properties": {"path": {"type": "string", "pattern": "^(?!a)"}}}),
        json!({"$schema": "http://json-schema.org/draft-07/schema#", "type": "object", "properties": {"path": {"items": [{"type": "string"}]}}}),
        json!({"type": "object", "properties": {"path": true}}),
        json!({"type": "object", "properties": {"path": {"$ref": "#/$defs/A"}}, "$defs": {"A": {"$ref": "#/$defs/B"}, "B": {"type": "string"}}}),
        json!({"type": "object", "properties": {"path": {"$ref": "#/properties/name"}, "name": {"type": "string"}}}),
        json!({"type": "object", "properties": {"path": {"items": {"$ref": "#"}}}}),
        json!({"type": "object", "properties": {"path": {"$ref": "https://example.com/a.json"}}}),
        json!({"type": "object", "properties": {"path": {"$ref": "#/$defs/A"}}, "$defs": {"A": {"type": "object", "properties": {"next": {"$ref": "#/$defs/A"}}}}}),
    ] {
        expect(&with(schema), &[]);
    }
}

#[test]
fn a_system_prompt_may_be_blocks_of_text() {
    let with = |system: Value| json!({"tools": [tool("read_note", &json!({}))], "system": system});
    expect(
        &with(
            json!([{"type": "text", "text": "Be brief."}, {"type": "text", "text": "find_it(x)"}]),
        ),
        &["UNKNOWN_PROMPT_TOOL"],
    );
    expect(
        &with(
            json!([{"type": "text", "text": "read_note(x)", "cache_control": {"type": "ephemeral"}}]),
        ),
        &[],
    );
    expect(&with(json!([])), &[]);
    for wrong in [
        json!([{"type": "image"}]),
        json!(["text"]),
        json!([{"type": "text", "text": 7}]),
    ] {
        expect(&with(wrong), &["MALFORMED"]);
    }
}

#[test]
fn hints_and_kinds_that_disagree_are_reported_in_every_pair() {
    let one = |annotations: Value| json!({"tools": [annotated("do_it", annotations)]});
    expect(
        &one(json!({"readOnlyHint": true, "destructiveHint": true})),
        &["EFFECTS_CONTRADICT"],
    );
    expect(
        &one(json!({"readOnlyHint": true, "destructiveHint": false})),
        &[],
    );
    expect(
        &one(json!({"kind": "edit", "readOnlyHint": true})),
        &["KIND_CONTRADICTS"],
    );
    expect(
        &one(json!({"kind": "fetch", "side_effect_level": "network_read"})),
        &[],
    );
}

#[test]
fn parameters_that_are_written_as_null_are_no_schema() {
    let mut entry = tool("read_note", &json!({}));
    entry["parameters"] = Value::Null;
    expect(&json!({"tools": [entry]}), &["MISSING_SCHEMA"]);
}

#[test]
fn a_field_of_a_tool_that_is_wrong_is_reported_by_itself() {
    let with =
        |key: &str, value: Value| json!({"tools": [tool("read_note", &json!({ key: value }))]});
    for (key, value) in [
        ("timeout_ms", json!(-1)),
        ("timeout_ms", json!("long")),
        ("aliases", json!("other_name")),
        ("aliases", json!([7])),
        ("strict", json!("yes")),
        ("type", json!(7)),
        ("handler", json!(7)),
        ("handler", json!([])),
        ("title", json!(7)),
        ("input_schema", json!("banana")),
        ("inputSchema", json!([])),
    ] {
        expect(&with(key, value), &["MALFORMED"]);
    }
    for (key, value) in [
        ("timeout_ms", json!(0)),
        ("aliases", json!(["other_name"])),
        ("strict", json!(true)),
        ("type", json!("function")),
        ("handler", json!("run")),
        ("title", json!("Read")),
        ("input_schema", json!({"type": "object"})),
    ] {
        expect(&with(key, value), &[]);
    }
}

#[test]
fn a_typo_in_a_tool_is_reported_with_the_closest_key() {
    expect(
        &json!({"tools": [tool("read_note", &json!({"description": null, "descripton": "d"}))]}),
        &["KEY_UNKNOWN", "BODY_EMPTY"],
    );
    expect(
        &json!({"tools": [tool("read_note", &json!({"parameters": null, "paramters": {}}))]}),
        &["KEY_UNKNOWN", "MISSING_SCHEMA"],
    );
    expect(
        &json!({"tools": [annotated("run_it", json!({"side_effect_level": "none", "emits_artifact": true}))]}),
        &["KEY_UNKNOWN"],
    );
    expect(
        &json!({"tools": [annotated("run_it", json!({"side_effect_level": "none", "arg_schema": {"path_param": []}}))]}),
        &["KEY_UNKNOWN"],
    );
    for key in [
        "category", "x-note", "owner", "returns", "examples", "enabled", "cost",
    ] {
        expect(
            &json!({"tools": [tool("read_note", &json!({ key: "x" }))]}),
            &[],
        );
    }
}

#[test]
fn a_misspelled_key_is_mended_only_where_it_is_then_written_once() {
    let fixes = |text: &str| -> Vec<Option<String>> {
        let problems = read_text("surface.json", text).problems;
        problems
            .into_iter()
            .filter(|problem| problem.code == "KEY_UNKNOWN")
            .map(|problem| problem.fix)
            .collect()
    };
    assert_eq!(
        fixes(r#"{"tools": [], "polcy": {}}"#),
        [Some("\"policy\"".to_owned())]
    );
    assert_eq!(
        fixes(r#"{"tools": [], "polcy": {}, "policyy": {}}"#),
        [None, None]
    );
    assert_eq!(fixes(r#"{"tools": [], "polcy": {}, "policy": {}}"#), [None]);
    assert_eq!(
        fixes(r#"{"tools": [], "polcy": {}, "sistem": "x"}"#),
        [Some("\"policy\"".to_owned()), Some("\"system\"".to_owned())]
    );
}

#[test]
fn a_tool_in_the_words_of_a_provider_says_the_same_or_is_another() {
    let native = |more: &Value| {
        let mut native = json!({"type": "function", "function": {
            "name": "read_note",
            "description": "Does one thing.",
            "parameters": {"type": "OBJECT", "properties": {"path": {"type": "STRING"}}, "additionalProperties": false},
        }});
        native["function"]
            .as_object_mut()
            .expect("a map")
            .extend(more.as_object().expect("a map").clone());
        json!({"tools": [tool("read_note", &json!({}))], "native_tools": [native]})
    };
    expect(&native(&json!({})), &[]);
    expect(
        &native(&json!({"description": "Does another thing."})),
        &["TOOL_DUPLICATE"],
    );
    expect(
        &native(
            &json!({"parameters": {"type": "object", "properties": {"path": {"type": "integer"}}}}),
        ),
        &["TOOL_DUPLICATE"],
    );
    expect(
        &native(
            &json!({"parameters": {"type": "object", "properties": {"file": {"type": "string"}}}}),
        ),
        &["TOOL_DUPLICATE"],
    );
    expect(
        &native(&json!({"parameters": "banana"})),
        &["MALFORMED", "TOOL_DUPLICATE"],
    );
    expect(
        &native(&json!({"annotations": {"side_effect_level": "network"}})),
        &["TOOL_DUPLICATE"],
    );
}

#[test]
fn a_policy_that_says_otherwise_about_a_tool_is_reported() {
    let with = |annotations: Value| json!({"tools": [tool("read_note", &json!({}))], "policy": {"tool_annotations": {"read_note": annotations}}});
    expect(
        &with(json!({"side_effect_level": "network"})),
        &["EFFECTS_CONTRADICT"],
    );
    expect(
        &with(json!({"destructiveHint": true})),
        &["EFFECTS_CONTRADICT"],
    );
    expect(&with(json!({"kind": "read"})), &["EFFECTS_CONTRADICT"]);
    expect(
        &with(json!({"kind": "other", "side_effect_level": "read_only", "readOnlyHint": true})),
        &[],
    );
}

#[test]
fn an_argument_that_a_call_gives_twice_is_left_to_its_author() {
    let aliased = annotated(
        "read_note",
        json!({"side_effect_level": "none", "arg_schema": {"arg_aliases": {"file": "path", "name": "path"}}}),
    );
    let fixes = |text: &str| -> Vec<Option<String>> {
        let report = check(&read(&json!({"tools": [aliased], "system": text}), None));
        report
            .diagnostics
            .into_iter()
            .map(|found| found.fix)
            .collect()
    };
    let path = || Some("path".to_owned());
    assert_eq!(fixes("read_note(file=1)"), [path()]);
    assert_eq!(fixes("read_note(file=1, path=2)"), [None]);
    assert_eq!(
        fixes("read_note(path=2, file=1) and read_note(file=1)"),
        [None, path()]
    );
    assert_eq!(fixes("read_note(file=1, name=2)"), [None, None]);
    assert_eq!(fixes("read_note(\n  file=1,\n  path=2)"), [None]);
    assert_eq!(
        fixes(r#"{"name": "read_note", "arguments": {"file": 1, "path": 2}}"#),
        [None]
    );
    assert_eq!(
        fixes(r#"{"name": "read_note", "arguments": {"f\u0069le": 1}}"#),
        [path()]
    );
    assert_eq!(fixes("read_note(path=1)"), []);
}

#[test]
fn words_deep_in_a_schema_have_their_place() {
    let text = "{\"name\": \"read_note\", \"description\": \"d\", \"annotations\": {\"readOnlyHint\": true},\n\"inputSchema\": {\"type\": \"object\", \"properties\": {\"a\": {\"description\": \"x\", \"properties\": {\n\"b\": {\"description\": \"\\u00e9\\u200b and\\u200b\"}}}}}}";
    let report = check(&read_text("surface.json", text));
    let [found] = &report.diagnostics[..] else {
        panic!("{:?}", report.diagnostics)
    };
    let places: Vec<String> = found
        .place
        .iter()
        .chain(&found.also)
        .map(ToString::to_string)
        .collect();
    assert_eq!(places, ["surface.json:3:29", "surface.json:3:39"]);
}
