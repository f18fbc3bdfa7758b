//! Surfaces, sentence by sentence.

mod cases;
mod more;
mod table;

use super::*;
use serde_json::{Value, json};

/// The codes that a surface gives, in order.
fn codes(surface: &Value) -> Vec<String> {
    let report = check(&read(surface, None));
    report
        .diagnostics
        .iter()
        .map(|found| found.code.trim_start_matches("TOOL_SURFACE_").to_owned())
        .collect()
}

fn expect(surface: &Value, expected: &[&str]) {
    assert_eq!(codes(surface), expected, "{surface:#}");
}

fn tool(name: &str, more: &Value) -> Value {
    let mut tool = json!({
        "name": name,
        "description": "Does one thing.",
        "parameters": {"type": "object", "properties": {"path": {"type": "string"}}},
        "executor": "harn",
        "annotations": {"kind": "other", "side_effect_level": "read_only"},
    });
    for (key, value) in more.as_object().expect("an object") {
        if value.is_null() {
            tool.as_object_mut().expect("an object").shift_remove(key);
        } else {
            tool[key] = value.clone();
        }
    }
    tool
}

fn annotated(name: &str, annotations: Value) -> Value {
    tool(name, &json!({ "annotations": annotations }))
}

fn executing(more: &Value) -> Value {
    let mut annotations =
        json!({"kind": "execute", "side_effect_level": "process_exec", "emits_artifacts": true});
    annotations
        .as_object_mut()
        .expect("an object")
        .extend(more.as_object().expect("an object").clone());
    tool(
        "run_command",
        &json!({"parameters": {"type": "object", "properties": {"command": {"type": "string"}}}, "annotations": annotations}),
    )
}

fn reader(name: &str, kind: &str, argument: &str) -> Value {
    let level = if kind == "delete" {
        "workspace_write"
    } else {
        "read_only"
    };
    tool(
        name,
        &json!({
            "parameters": {"type": "object", "properties": {argument: {"type": "string"}}},
            "annotations": {"kind": kind, "side_effect_level": level},
        }),
    )
}

#[test]
fn the_example_of_seed_004() {
    let run = json!({
        "name": "run_command",
        "description": "Runs a command.",
        "parameters": {"type": "object", "properties": {"command": {"type": "string"}}, "required": ["command"]},
        "executor": "host_bridge",
        "annotations": {"kind": "execute", "side_effect_level": "process_exec", "emits_artifacts": true},
    });
    let report = check(&read(&json!({"tools": [run]}), None));
    assert!(!report.is_valid());
    assert_eq!(
        report.diagnostics[0].code,
        "TOOL_SURFACE_MISSING_RESULT_READER"
    );

    let mut run = run;
    run["annotations"]["result_readers"] = json!(["read_command_output"]);
    let read_output = json!({
        "name": "read_command_output",
        "description": "Reads the output of a command.",
        "parameters": {"type": "object", "properties": {"handle_id": {"type": "string"}}},
        "executor": "host_bridge",
        "annotations": {"kind": "read", "side_effect_level": "read_only"},
    });
    let surface = json!({
        "tools": [run, read_output],
        "policy": {"tool_arg_constraints": [{"tool": "run_command", "arg_key": "missing", "arg_patterns": ["cargo *"]}]},
        "approval_policy": {"require_approval": ["missing_tool"]},
        "system": "Use delete_file({path: \"x\"}) to clean up.",
    });
    let report = check(&read(&surface, None));
    assert!(report.is_valid());
    let found: Vec<&str> = report.diagnostics.iter().map(|found| found.code).collect();
    let expected = [
        "UNKNOWN_ARG_CONSTRAINT_KEY",
        "APPROVAL_PATTERN_NO_MATCH",
        "UNKNOWN_PROMPT_TOOL",
    ];
    assert_eq!(found, expected.map(|code| format!("TOOL_SURFACE_{code}")));
}

#[test]
fn missing_schema_a_tool_without_one_and_only_that() {
    expect(
        &json!({"tools": [tool("read_note", &json!({"parameters": null}))]}),
        &["MISSING_SCHEMA"],
    );
    expect(
        &json!({"tools": [tool("read_note", &json!({"parameters": {}}))]}),
        &[],
    );
    let inactive = json!({"tools": [tool("read_note", &json!({"parameters": null})), tool("a_b", &json!({}))], "policy": {"tools": ["a_b"]}});
    expect(&inactive, &[]);
    for schema in [json!("banana"), json!(7), json!([1])] {
        expect(
            &json!({"tools": [tool("read_note", &json!({ "parameters": schema }))]}),
            &["MALFORMED"],
        );
    }
}

#[test]
fn every_shape_of_a_tool_is_read() {
    let schema = json!({"type": "object", "properties": {"path": {"type": "string"}}});
    let said = json!({"readOnlyHint": true});
    let shapes = [
        json!({"type": "function", "function": {"name": "read_note", "description": "d", "parameters": schema, "annotations": said}}),
        json!({"type": "function", "name": "read_note", "description": "d", "parameters": schema, "annotations": said}),
        json!({"name": "read_note", "description": "d", "input_schema": schema, "annotations": said}),
        json!({"functionDeclarations": [{"name": "read_note", "description": "d", "parametersJsonSchema": schema, "annotations": said}]}),
        json!({"name": "read_note", "description": "d", "inputSchema": schema, "annotations": said}),
        json!({"name": "read_note", "description": "d", "parameters": {"path": {"type": "string", "required": true}}, "handler": "f", "annotations": said}),
    ];
    let constraint = |key: &str| json!({"tool_arg_constraints": [{"tool": "read_note", "arg_key": key, "arg_patterns": ["*"]}]});
    for shape in shapes {
        for surface in [
            json!({"tools": [shape], "policy": constraint("path")}),
            json!({"native_tools": [shape], "policy": constraint("path")}),
            json!({"tools": {"_type": "tool_registry", "tools": [shape]}, "policy": constraint("path")}),
            json!([shape]),
            json!({"jsonrpc": "2.0", "id": 1, "result": {"tools": [shape]}}),
        ] {
            expect(&surface, &[]);
        }
        expect(
            &json!({"tools": shape, "policy": constraint("absent")}),
            &["UNKNOWN_ARG_CONSTRAINT_KEY"],
        );
        expect(&shape, &[]);
    }
    expect(
        &json!({"tools": [{"type": "web_search"}, {"googleSearch": {}}, {"type": "web_search_20250305", "name": "search_web"}]}),
        &[],
    );
}

#[test]
fn missing_annotations_a_tool_that_says_nothing_and_only_that() {
    expect(
        &json!({"tools": [tool("read_note", &json!({"annotations": null}))]}),
        &["MISSING_ANNOTATIONS"],
    );
    expect(
        &json!({"tools": [tool("read_note", &json!({"annotations": null, "risk": "read"}))]}),
        &[],
    );
    let policy = json!({"tool_annotations": {"read_note": {"side_effect_level": "read_only"}}});
    expect(
        &json!({"tools": [tool("read_note", &json!({"annotations": null}))], "policy": policy}),
        &[],
    );
    expect(
        &json!({"tools": [{"name": "read_note", "description": "d", "inputSchema": {"type": "object"}}]}),
        &["MISSING_ANNOTATIONS"],
    );
}

#[test]
fn missing_side_effect_level_only_its_absence() {
    expect(
        &json!({"tools": [annotated("read_note", json!({"kind": "read"}))]}),
        &["MISSING_SIDE_EFFECT_LEVEL"],
    );
    expect(
        &json!({"tools": [annotated("read_note", json!({"side_effect_level": "none"}))]}),
        &[],
    );
    expect(
        &json!({"tools": [annotated("read_note", json!({"readOnlyHint": true}))]}),
        &[],
    );
    // An unknown word is wrong, but it is a word.
    expect(
        &json!({"tools": [annotated("read_note", json!({"side_effect_level": "readonly"}))]}),
        &["MALFORMED"],
    );
}

#[test]
fn one_bad_field_of_annotations_is_reported_and_the_others_count() {
    let bad = annotated(
        "read_note",
        json!({"kind": 7, "side_effect_level": "network", "emits_artifacts": "yes"}),
    );
    let surface = json!({"tools": [bad], "policy": {"side_effect_level": "read_only"}});
    expect(
        &surface,
        &["MALFORMED", "MALFORMED", "SIDE_EFFECT_CEILING_EXCEEDED"],
    );
    expect(
        &json!({"tools": [annotated("read_note", json!({"kind": "reader", "side_effect_level": "none"}))]}),
        &["KIND_UNKNOWN"],
    );
    expect(
        &json!({"tools": [tool("read_note", &json!({"annotations": []}))]}),
        &["MALFORMED", "MISSING_SIDE_EFFECT_LEVEL"],
    );
}

#[test]
fn missing_executor_only_where_one_could_be_said() {
    expect(
        &json!({"tools": [tool("read_note", &json!({"executor": null}))]}),
        &["MISSING_EXECUTOR"],
    );
    expect(
        &json!({"native_tools": [tool("read_note", &json!({"executor": null}))]}),
        &[],
    );
    expect(
        &json!({"tools": [tool("read_note", &json!({"executor": "banana"}))]}),
        &["MALFORMED"],
    );
    for key in ["handler", "host_capability", "_mcp_server"] {
        expect(
            &json!({"tools": [tool("read_note", &json!({"executor": null, key: "x"}))]}),
            &[],
        );
    }
}

#[test]
fn missing_result_reader_any_kind_that_emits_needs_a_tool_that_reads() {
    let none = &["MISSING_RESULT_READER"];
    expect(&json!({"tools": [executing(&json!({}))]}), none);
    expect(
        &json!({"tools": [executing(&json!({"kind": "other"}))]}),
        none,
    );
    expect(
        &json!({"tools": [executing(&json!({"inline_result": true}))]}),
        &[],
    );
    expect(
        &json!({"tools": [executing(&json!({"emits_artifacts": false}))]}),
        &[],
    );
    // A reader takes a handle or a path, and reads.
    for (name, kind, argument, expected) in [
        ("read_command_output", "read", "handle", &[][..]),
        ("read_file", "read", "path", &[]),
        ("search_log", "search", "output_path", &[]),
        ("search_web", "search", "query", none),
        ("read_clock", "read", "title", none),
        ("delete_file", "delete", "path", none),
        ("read_command_output", "delete", "handle", none),
    ] {
        expect(
            &json!({"tools": [executing(&json!({})), reader(name, kind, argument)]}),
            expected,
        );
    }
    // A named reader reads, unless it is the tool itself or does something else.
    let named = |reader: &str| executing(&json!({ "result_readers": [reader] }));
    expect(
        &json!({"tools": [named("open_log"), reader("open_log", "other", "name")]}),
        &[],
    );
    expect(
        &json!({"tools": [named("run_command")]}),
        &["MISSING_RESULT_READER", "UNKNOWN_RESULT_READER"],
    );
    expect(
        &json!({"tools": [named("delete_file"), reader("delete_file", "delete", "path")]}),
        &["MISSING_RESULT_READER", "UNKNOWN_RESULT_READER"],
    );
    // A tool that reads handles and emits them is not its own reader.
    let own = json!({"kind": "read", "side_effect_level": "read_only", "emits_artifacts": true});
    expect(
        &json!({"tools": [annotated("read_file", own.clone())]}),
        none,
    );
    expect(
        &json!({"tools": [annotated("read_file", own), reader("read_part", "read", "handle")]}),
        &[],
    );
    // What the policy leaves out does not count.
    let surface = json!({"tools": [executing(&json!({})), reader("read_file", "read", "path")], "policy": {"tools": ["run_command"]}});
    expect(&surface, none);
}

#[test]
fn unknown_result_reader_for_every_kind() {
    let surface = |kind: &str| {
        let level = if kind == "execute" {
            "process_exec"
        } else {
            "read_only"
        };
        let annotations = json!({"kind": kind, "side_effect_level": level, "result_readers": ["read_file", "ghost"]});
        json!({"tools": [annotated("get_log", annotations), reader("read_file", "read", "path")]})
    };
    for kind in ["execute", "read", "other"] {
        expect(&surface(kind), &["UNKNOWN_RESULT_READER"]);
    }
}

#[test]
fn arg_constraints_name_tools_and_keys_that_are_there() {
    let surface = |tool_pattern: &str, key: &str| {
        let constraint = json!({"tool": tool_pattern, "arg_key": key, "arg_patterns": ["src/**"]});
        let aliased = annotated(
            "edit_x",
            json!({"kind": "edit", "side_effect_level": "workspace_write", "arg_schema": {"path_params": ["target"], "required": ["why"]}}),
        );
        json!({"tools": [aliased, tool("read_note", &json!({}))], "policy": {"tool_arg_constraints": [constraint]}})
    };
    // What the annotations name and the schema does not have was reported there.
    let found = |surface: &Value, expected: &[&str]| {
        let mut found = codes(surface);
        found.retain(|code| {
            !matches!(
                code.as_str(),
                "REQUIRED_WITHOUT_PROPERTY" | "PATH_PARAM_UNKNOWN"
            )
        });
        assert_eq!(found, expected, "{surface:#}");
    };
    found(&surface("edit_x", "path"), &[]);
    found(&surface("edit_x", "target"), &[]);
    found(&surface("edit_x", "why"), &[]);
    found(
        &surface("edit_x", "absent"),
        &["UNKNOWN_ARG_CONSTRAINT_KEY"],
    );
    found(&surface("edi?_x", "path"), &[]);
    found(&surface("*", "target"), &[]);
    found(&surface("*", "absent"), &["UNKNOWN_ARG_CONSTRAINT_KEY"]);
    found(&surface("ghost", "path"), &["UNKNOWN_ARG_CONSTRAINT_TOOL"]);
}

#[test]
fn approval_patterns_that_are_names_name_active_tools() {
    let surface = |list: &str, pattern: &str| json!({"tools": [tool("read_note", &json!({}))], "approval_policy": {list: [pattern]}});
    for list in ["auto_approve", "auto_deny", "require_approval"] {
        expect(&surface(list, "read_note"), &[]);
        expect(&surface(list, "rea?_note"), &[]);
        expect(&surface(list, "read_notes"), &["APPROVAL_PATTERN_NO_MATCH"]);
    }
    let rules = json!([{"ask": {"tool": "ghost"}, "reason": "r"}, {"deny": {"tool": "read_note"}}]);
    expect(
        &json!({"tools": [tool("read_note", &json!({}))], "approval_policy": {"rules": rules}}),
        &["APPROVAL_PATTERN_NO_MATCH"],
    );
}

#[test]
fn prompts_name_tools_that_are_declared_active_and_listed() {
    let tools = json!([
        tool("read_note", &json!({})),
        tool("list_notes", &json!({"defer_loading": true})),
        tool("drop_note", &json!({}))
    ]);
    let surface = |text: &str| json!({"tools": tools, "policy": {"tools": ["read_*", "list_*"]}, "system": text});
    expect(&surface("Use read_note(path)."), &["DEFERRED_UNREACHABLE"]);
    expect(
        &surface("Use find_note(path) or `list_notes`."),
        &["UNKNOWN_PROMPT_TOOL", "DEFERRED_TOOL_PROMPT_REFERENCE"],
    );
    expect(
        &surface("Use `drop_note` or `list_notes`."),
        &[
            "PROMPT_TOOL_NOT_IN_POLICY",
            "DEFERRED_TOOL_PROMPT_REFERENCE",
        ],
    );
    expect(
        &surface("Use `list_notes`."),
        &["DEFERRED_TOOL_PROMPT_REFERENCE"],
    );
    let mut searching = surface("Use `list_notes`.");
    searching["tool_search"] = json!("bm25");
    expect(&searching, &[]);
    searching["tool_search"] = json!("off");
    expect(&searching, &["DEFERRED_TOOL_PROMPT_REFERENCE"]);
}

#[test]
fn repeated_uses_are_one_finding_with_every_place() {
    let surface = json!({
        "tools": [tool("read_note", &json!({}))],
        "system": "find_note(1)\nthen find_note(2)",
        "prompt": "find_note(3)",
        "prompts": ["a", "b find_note(4)"],
    });
    let report = check(&read(&surface, None));
    let [found] = &report.diagnostics[..] else {
        panic!("{:?}", report.diagnostics)
    };
    let places: Vec<String> = found
        .place
        .iter()
        .chain(&found.also)
        .map(ToString::to_string)
        .collect();
    assert_eq!(
        places,
        ["system:1:1", "system:2:6", "prompt:1:1", "prompts[1]:1:3"]
    );
}

#[test]
fn deprecated_aliases_only_in_calls_of_their_tool() {
    let aliased = annotated(
        "read_note",
        json!({"side_effect_level": "read_only", "arg_schema": {"arg_aliases": {"file": "path"}}}),
    );
    let surface =
        |text: &str| json!({"tools": [aliased, tool("drop_it", &json!({}))], "system": text});
    expect(&surface("read_note(file=1)"), &["DEPRECATED_ARG_ALIAS"]);
    expect(&surface("Every file is a file. drop_it(file=1)"), &[]);
    expect(&surface("```\nread_note(file=1)\n```"), &[]);
}

#[test]
fn ceilings_are_compared_and_an_unknown_one_is_an_error_of_its_own() {
    let surface = |level: &str, ceiling: Value| json!({"tools": [annotated("do_it", json!({"side_effect_level": level}))], "policy": ceiling});
    let ceiling = |word: &str| json!({ "side_effect_level": word });
    expect(
        &surface("network", ceiling("read_only")),
        &["SIDE_EFFECT_CEILING_EXCEEDED"],
    );
    expect(&surface("process_exec", ceiling("network")), &[]);
    expect(&surface("none", ceiling("none")), &[]);
    expect(&surface("read_only", ceiling("readonly")), &["MALFORMED"]);
    expect(
        &surface("process_exec", json!({"effects": ["read", "net_read"]})),
        &["SIDE_EFFECT_CEILING_EXCEEDED"],
    );
}

#[test]
fn spellings_that_disagree_are_an_error() {
    let contradicting = |annotations: Value| json!({"tools": [annotated("do_it", annotations)]});
    expect(
        &contradicting(json!({"side_effect_level": "workspace_write", "readOnlyHint": true})),
        &["EFFECTS_CONTRADICT"],
    );
    expect(
        &contradicting(json!({"side_effect_level": "workspace_write", "kind": "read"})),
        &["KIND_CONTRADICTS"],
    );
    expect(
        &contradicting(json!({"side_effect_level": "read_only", "kind": "delete"})),
        &["KIND_CONTRADICTS"],
    );
    expect(
        &contradicting(json!({"side_effect_level": "process_exec", "kind": "execute"})),
        &[],
    );
}

#[test]
fn a_malformed_part_is_an_error_and_never_skipped() {
    let tools = json!([tool("read_note", &json!({}))]);
    for part in [
        json!({"policy": "none"}),
        json!({"policy": {"tools": "read_note"}}),
        json!({"policy": {"tools": ["[oops"]}}),
        json!({"policy": {"tools": [7]}}),
        json!({"policy": {"capabilities": []}}),
        json!({"policy": {"tool_arg_constraints": {}}}),
        json!({"policy": {"tool_arg_constraints": [{"arg_key": "path"}]}}),
        json!({"policy": {"tool_arg_constraints": [{"tool": "read_note", "arg_key": "path", "arg_patterns": ["src/**", "{a"]}]}}),
        json!({"approval_policy": {"write_path_allowlist": ["src/**", "a}"]}}),
        json!({"approval_policy": []}),
        json!({"approval_policy": {"auto_deny": "read_note"}}),
        json!({"approval_policy": {"rules": [7]}}),
        json!({"system": 7}),
        json!({"prompts": "text"}),
        json!({"prompts": ["text", 7]}),
        json!({"tool_search": "perhaps"}),
        json!({"options": 7}),
        json!({"native_tools": 7}),
        json!({"native_tools": [7]}),
        json!({"native_tools": [{"name": 5, "parameters": {}}]}),
        json!({"native_tools": [{"name": "", "parameters": {}}]}),
        json!({"approval_policy": {"rules": [{"foo": 1}]}}),
        json!({"approval_policy": {"rules": [{"tool": "read_note"}]}}),
        json!({"approval_policy": {"rules": [{"tool": "read_note", "action": "maybe"}]}}),
        json!({"approval_policy": {"rules": [{"deny": "read_note"}]}}),
        json!({"approval_policy": {"rules": [{"deny": {"tool": "read_note"}, "ask": {"tool": "read_note"}}]}}),
        json!({"approval_policy": {"default": "perhaps"}}),
        json!({"approval_policy": {"default": 7}}),
        json!({"tool_search": {"enabled": "yes"}}),
        json!({"tool_search": {"mode": "banana"}}),
    ] {
        let mut surface = part;
        surface["tools"] = tools.clone();
        expect(&surface, &["MALFORMED"]);
    }
    for surface in [json!(7), json!({"anything": 1}), json!("text")] {
        expect(&surface, &["MALFORMED"]);
    }
    expect(
        &json!({"tools": tools, "policy": {"side_effect_levl": "none"}}),
        &["KEY_UNKNOWN"],
    );
    expect(&json!({"tools": tools, "polcy": {}}), &["KEY_UNKNOWN"]);
    for part in [
        json!({"policy": {"tool_arg_constraints": [{"tool": "read_note", "arg_key": "path", "arg_patterns": ["*"], "zz": 1}]}}),
        json!({"approval_policy": {"rules": [{"ask": {"tol": "read_note"}}]}}),
        json!({"approval_policy": {"rules": [{"ask": {"tool": "read_note"}, "resaon": "r"}]}}),
        json!({"tool_search": {"mod": "bm25"}}),
    ] {
        let mut surface = part;
        surface["tools"] = tools.clone();
        expect(&surface, &["KEY_UNKNOWN"]);
    }
    for part in [
        json!({"approval_policy": {"rules": [{"tool": "read_note", "action": "deny", "reason": "r"}], "default": "ask"}}),
        json!({"tool_search": {"enabled": true, "mode": "client", "strategy": "bm25", "always_loaded": []}}),
    ] {
        let mut surface = part;
        surface["tools"] = tools.clone();
        expect(&surface, &[]);
    }
    expect(
        &json!({"tools": [tools[0], tools[0], tools[0]]}),
        &["TOOL_DUPLICATE"],
    );
    expect(
        &json!({"tools": tools, "policy": null, "system": null, "approval_policy": null}),
        &[],
    );
}

#[test]
fn an_invalid_pattern_only_ever_closes() {
    let surface = json!({"tools": [tool("read_note", &json!({"description": null}))], "policy": {"tools": ["[oops"]}});
    let surface = read(&surface, None);
    assert!(
        !surface.tools[0].is_active(),
        "a list of which nothing can be read allows nothing"
    );
    expect(
        &json!({"tools": [tool("read_note", &json!({}))], "policy": {"tools": ["[oops", "read_*"]}}),
        &["MALFORMED"],
    );
}

#[test]
fn options_say_what_the_surface_does_not() {
    let surface =
        json!({"tools": [tool("read_note", &json!({}))], "system": "```\nfind_note(x)\n```"});
    let with = |options: Value| check(&read(&surface, Some(&options))).diagnostics.len();
    assert_eq!(with(json!({})), 0);
    assert_eq!(with(json!({"scan_fences": true})), 1);
    assert_eq!(with(json!({"prompt": "find_note(x)"})), 1);
    let nothing = json!({"tools": [tool("read_note", &json!({}))], "prompt": null});
    let report = check(&read(&nothing, Some(&json!({"prompt": "find_note(x)"}))));
    assert_eq!(
        report.diagnostics.len(),
        1,
        "a part that is null keeps no option away"
    );
    assert_eq!(with(json!({"system": "the surface's own counts"})), 0);
    assert_eq!(with(json!(7)), 1);
}

#[test]
fn findings_in_a_file_have_its_lines() {
    let text = "{\n  \"tools\": [\n    {\"name\": \"read_note\"}\n  ]\n}\n";
    let report = check(&read_text("surface.json", text));
    let places: Vec<String> = report
        .diagnostics
        .iter()
        .filter_map(|found| Some(found.place.as_ref()?.to_string()))
        .collect();
    assert_eq!(places, vec!["surface.json:3:14"; report.diagnostics.len()]);
    let escaped = "{\"name\": \"read_note\", \"inputSchema\": {\"type\": \"object\"},\n \"annotations\": {\"readOnlyHint\": true},\n \"description\": \"R\\u00e9ads.\\nNot find_it.\\nfind_it(x)\"}";
    let report = check(&read_text("surface.json", escaped));
    assert_eq!(
        report.diagnostics[0]
            .place
            .as_ref()
            .map(ToString::to_string)
            .as_deref(),
        Some("surface.json:3:45")
    );
    let broken = check(&read_text("surface.json", "{\n  \"tools\": [,]\n}"));
    assert_eq!(
        broken.diagnostics[0]
            .place
            .as_ref()
            .map(ToString::to_string)
            .as_deref(),
        Some("surface.json:2:13")
    );
}
