//! Codes whose meaning has several sentences, each with a case on either side.

use super::{annotated, expect, tool};
use serde_json::{Value, json};

#[test]
fn a_required_argument_is_required_by_the_schema_as_well() {
    let with = |schema: Value, required: Value| {
        let annotations = json!({"kind": "read", "side_effect_level": "read_only", "arg_schema": {"required": required}});
        json!({"tools": [tool("read_note", &json!({"parameters": schema, "annotations": annotations}))]})
    };
    let schema = |required: Value| json!({"type": "object", "properties": {"path": {"type": "string"}}, "required": required});
    expect(&with(schema(json!([])), json!(["path"])), &["REQUIRED_UNSAID"]);
    expect(&with(schema(json!(["path"])), json!(["path"])), &[]);
    expect(&with(schema(json!([])), json!([])), &[]);
    // What the schema does not have at all is no part of it.
    expect(&with(schema(json!([])), json!(["why"])), &[]);
}

#[test]
fn a_text_may_take_a_fiftieth_of_the_context() {
    let words = "one word ".repeat(30);
    let with = |part: Value, options: Value| json!({"tools": [tool("read_note", &part)], "options": options});
    let small = json!({"context_tokens": 1000});
    expect(&with(json!({"description": words}), small.clone()), &["TOO_LARGE"]);
    expect(&with(json!({"description": words}), json!({"context_tokens": 100_000})), &[]);
    expect(&with(json!({"description": words}), json!({})), &[]);
    let schema = json!({"type": "object", "properties": {"path": {"type": "string", "description": words}}});
    expect(&with(json!({"parameters": schema}), small.clone()), &["TOO_LARGE"]);
    expect(&with(json!({"parameters": {"type": "object"}}), small.clone()), &[]);
    let inactive = json!({
        "tools": [tool("read_note", &json!({"description": words})), tool("a_b", &json!({"parameters": {"type": "object"}}))],
        "policy": {"tools": ["a_b"]},
        "options": small,
    });
    expect(&inactive, &[]);
    for wrong in [json!("many"), json!(999), json!(-1), json!(1.5), json!(null)] {
        expect(&with(json!({}), json!({ "context_tokens": wrong })), &["MALFORMED"]);
    }
    expect(&with(json!({}), json!({"context_token": 1000})), &["KEY_UNKNOWN"]);
}

#[test]
fn an_alias_stands_for_an_argument_under_a_name_that_is_none() {
    let with = |aliases: Value, schema: Value| {
        let annotations = json!({"side_effect_level": "read_only", "arg_schema": {"arg_aliases": aliases}});
        json!({"tools": [tool("read_note", &json!({"parameters": schema, "annotations": annotations}))]})
    };
    let two = json!({"type": "object", "properties": {"path": {"type": "string"}, "title": {"type": "string"}}});
    expect(&with(json!({"title": "path"}), two.clone()), &["ALIAS_COLLIDES"]);
    expect(&with(json!({"file": "pth"}), two.clone()), &["ALIAS_COLLIDES"]);
    expect(&with(json!({"file": "path", "name": "title"}), two), &[]);
    // Of a schema that names no arguments nothing can be said.
    expect(&with(json!({"file": "path"}), json!({"type": "object"})), &[]);
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
    expect(&with(json!([deferred, other]), json!({})), &["DEFERRED_UNREACHABLE"]);
    expect(&with(json!([deferred, other]), json!({"system": "read_note(x), `read_note`"})), &["DEFERRED_TOOL_PROMPT_REFERENCE"]);
    expect(
        &with(json!([deferred, other]), json!({"system": "read_note(x)", "policy": {"tools": ["list_*"]}})),
        &["PROMPT_TOOL_NOT_IN_POLICY"],
    );
    expect(&with(json!([deferred, other]), json!({"policy": {"tools": ["list_*"]}})), &[]);
    expect(&with(json!([deferred, other]), json!({"system": "read_note(x)", "tool_search": true})), &[]);
    expect(&with(json!([deferred, other, {"type": "tool_search_tool_bm25_20251119", "name": "tool_search_tool_bm25"}]), json!({})), &[]);
}

#[test]
fn schemas_that_no_provider_takes_are_errors() {
    let with = |schema: Value| json!({"tools": [tool("read_note", &json!({ "parameters": schema }))]});
    for schema in [
        json!({"type": "objct"}),
        json!({"type": "object", "properties": {"path": {"type": "strin"}}}),
        json!({"type": "object", "properties": {"path": {"type": "string", "required": true}}}),
        json!({"type": "object", "properties": {"path": {"enum": "a"}}}),
        json!({"type": "object", "properties": {"path": {"type": "array", "items": {"type": []}}}}),
        json!({"type": "object", "properties": {"path": {"anyOf": [{"type": "string"}, {"type": "text"}]}}}),
        json!({"type": "object", "required": "path"}),
    ] {
        expect(&with(schema), &["SCHEMA_INVALID"]);
    }
    for schema in [
        json!({"type": "OBJECT", "properties": {"path": {"type": "STRING", "nullable": true}}}),
        json!({"type": "object", "properties": {"path": {"type": ["string", "null"]}}}),
        json!({"type": "object", "properties": {"path": {"type": "string", "pattern": "^(?!a)"}}}),
        json!({"$schema": "http://json-schema.org/draft-07/schema#", "type": "object", "properties": {"path": {"items": [{"type": "string"}]}}}),
        json!({"type": "object", "properties": {"path": true}}),
    ] {
        expect(&with(schema), &[]);
    }
}

#[test]
fn a_system_prompt_may_be_blocks_of_text() {
    let with = |system: Value| json!({"tools": [tool("read_note", &json!({}))], "system": system});
    expect(&with(json!([{"type": "text", "text": "Be brief."}, {"type": "text", "text": "find_it(x)"}])), &["UNKNOWN_PROMPT_TOOL"]);
    expect(&with(json!([{"type": "text", "text": "read_note(x)", "cache_control": {"type": "ephemeral"}}])), &[]);
    expect(&with(json!([])), &[]);
    for wrong in [json!([{"type": "image"}]), json!(["text"]), json!([{"type": "text", "text": 7}])] {
        expect(&with(wrong), &["MALFORMED"]);
    }
}

#[test]
fn hints_and_kinds_that_disagree_are_reported_in_every_pair() {
    let one = |annotations: Value| json!({"tools": [annotated("do_it", annotations)]});
    expect(&one(json!({"readOnlyHint": true, "destructiveHint": true})), &["EFFECTS_CONTRADICT"]);
    expect(&one(json!({"readOnlyHint": true, "destructiveHint": false})), &[]);
    expect(&one(json!({"kind": "edit", "readOnlyHint": true})), &["KIND_CONTRADICTS"]);
    expect(&one(json!({"kind": "fetch", "side_effect_level": "network_read"})), &[]);
}

#[test]
fn parameters_that_are_written_as_null_are_no_schema() {
    let mut entry = tool("read_note", &json!({}));
    entry["parameters"] = Value::Null;
    expect(&json!({"tools": [entry]}), &["MISSING_SCHEMA"]);
}
