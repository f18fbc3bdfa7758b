//! What seed 004's validator says where it is wrong or silent, and what this one says: a page made by running it.

use serde_json::{Value, json};
use std::fmt::Write as _;
use tool_harness::surface::{check, read};

/// What the original does.
enum Original {
    /// It reports what is right.
    FalseAlarm(&'static str),
    /// It says nothing, or calls the surface valid.
    Silent(&'static str),
}

use Original::{FalseAlarm, Silent};

/// The page. Facts about the original are of its version 0.10.185, where nothing else is said.
pub(crate) fn page() -> String {
    let mut text = String::from(
        "# Compared with the original\n\nSeed 004 describes a validator that exists. Each row is a surface on which it raises a false alarm or sees nothing, as observed by \
         running it, and what `harness surface check` says about the same surface.\n\n| the surface | the original | here |\n| --- | --- | --- |\n",
    );
    for (what, original, surface) in rows() {
        let said = match original {
            FalseAlarm(said) => format!("false alarm: {said}"),
            Silent(said) => format!("blind: {said}"),
        };
        let report = check(&read(&surface, None));
        let mut codes: Vec<String> = report
            .diagnostics
            .iter()
            .map(|found| format!("`{}`", found.code))
            .collect();
        codes.dedup();
        let here = if codes.is_empty() {
            "nothing".to_owned()
        } else {
            codes.join(", ")
        };
        let _ = writeln!(text, "| {what} | {said} | {here} |");
    }
    text += "\nWhat no row can show: findings of the original have no file, line or prompt, no suggestion, and no severity that a project could change; \
             `harness validate` gives all of these. A tool that its author does not annotate never exceeds a ceiling there; here it is \
             `TOOL_SURFACE_MISSING_ANNOTATIONS`, as there. Bold names, \"the x tool\" and items of lists are prose to both. Unclosed tags and many tools \
             without a reader take the original time that grows with the square; `./bench/run surface` doubles them here.\n";
    text
}

/// A tool that is in order, with some parts replaced; `null` takes one out.
fn tool(name: &str, parts: Value) -> Value {
    let mut tool = json!({
        "name": name,
        "description": "Does one thing.",
        "parameters": {"type": "object", "properties": {"path": {"type": "string"}}},
        "executor": "harn",
        "annotations": {"kind": "read", "side_effect_level": "read_only"},
    });
    for (key, value) in parts.as_object().into_iter().flatten() {
        tool[key] = value.clone();
    }
    tool
}

fn said(annotations: Value) -> Value {
    tool("get_log", json!({ "annotations": annotations }))
}

fn talk(text: &str) -> Value {
    json!({"tools": [tool("read_note", json!({})), tool("drop_note", json!({})), tool("list-notes", json!({})), tool("render", json!({}))],
           "policy": {"tools": ["read_note", "list-*"]}, "system": text})
}

fn with(more: Value) -> Value {
    let mut surface = more;
    surface["tools"] = json!([tool(
        "read_note",
        json!({"annotations": {"side_effect_level": "read_only", "arg_schema": {"arg_aliases": {"file": "path"}}}})
    )]);
    surface
}

fn runs(more: Value, others: &[Value]) -> Value {
    let mut annotations =
        json!({"kind": "execute", "side_effect_level": "process_exec", "emits_artifacts": true});
    annotations
        .as_object_mut()
        .expect("an object")
        .extend(more.as_object().expect("an object").clone());
    let mut tools = vec![tool("run_command", json!({ "annotations": annotations }))];
    tools.extend(others.iter().cloned());
    json!({ "tools": tools })
}

fn constraint(value: Value) -> Value {
    with(json!({"policy": {"tool_arg_constraints": [value]}}))
}

fn rows() -> Vec<(&'static str, Original, Value)> {
    let unknown = "`UNKNOWN_PROMPT_TOOL`";
    let path = json!({"type": "object", "properties": {"path": {"type": "string"}}});
    vec![
        (
            "prose: \"Use the tools (listed below).\"",
            FalseAlarm(unknown),
            talk("Use the tools (listed below)."),
        ),
        (
            "prose: \"a run (any run)\", \"runtime (docs)\"",
            FalseAlarm(unknown),
            talk("a run (any run), see runtime (docs)"),
        ),
        (
            "methods and paths: `df.group_by(x)`, `os.path.is_file(p)`",
            FalseAlarm(unknown),
            talk("df.group_by(x) and os.path.is_file(p)"),
        ),
        (
            "a declared tool `strings::count_char`, called",
            FalseAlarm("`UNKNOWN_PROMPT_TOOL` for `count_char`"),
            json!({"tools": [tool("strings::count_char", json!({}))], "system": "Call strings::count_char(x)."}),
        ),
        (
            "an alias `file`, and the word \"file\" in prose",
            FalseAlarm("`DEPRECATED_ARG_ALIAS` (0.7)"),
            with(json!({"system": "Every file counts."})),
        ),
        (
            "one unknown name, used three times",
            FalseAlarm("three findings"),
            talk("find_it(1) find_it(2) find_it(3)"),
        ),
        (
            "`side_effect_level: none`, written out",
            FalseAlarm("`MISSING_SIDE_EFFECT_LEVEL`"),
            json!({"tools": [said(json!({"side_effect_level": "none"}))]}),
        ),
        (
            "MCP's `inputSchema` in `native_tools`",
            FalseAlarm("`MISSING_SCHEMA`"),
            json!({"native_tools": [{"name": "read_note", "description": "d", "inputSchema": path, "annotations": {"readOnlyHint": true}}]}),
        ),
        (
            "a constraint on `rea?_note`, which matches",
            FalseAlarm("`UNKNOWN_ARG_CONSTRAINT_TOOL`: only `*` is a glob to the check"),
            constraint(json!({"tool": "rea?_note", "arg_key": "path", "arg_patterns": ["*"]})),
        ),
        (
            "a ceiling of `readonly`, a slip for `read_only`",
            FalseAlarm("an error for every tool that reads: the word counts as `none`"),
            with(json!({"policy": {"side_effect_level": "readonly"}})),
        ),
        (
            "an apostrophe in the brackets of a call, then an unknown call",
            Silent("the rest of the prompt is swallowed"),
            talk("read_note(don't) then find_it(x)"),
        ),
        (
            "an unknown call inside another call",
            Silent("nested calls are lost"),
            talk("read_note(find_it(x))"),
        ),
        (
            "a fence that is never closed",
            Silent("the rest of the prompt is not looked at"),
            talk("```\nfind_it(x)"),
        ),
        (
            "a fence of four backticks around three, then an unknown call",
            Silent("the fences flip"),
            talk("````\n```\n````\nfind_it(x)"),
        ),
        (
            "an example in a fence of tildes",
            FalseAlarm(unknown),
            talk("~~~\nfind_it(x)\n~~~"),
        ),
        (
            "`ignore-next-line`, a blank line, an example",
            FalseAlarm("the blank line uses the marker up"),
            talk("<!-- harn-tool-surface: ignore-next-line -->\n\nfind_it(x)"),
        ),
        (
            "a marker that silences nothing",
            Silent("not reported"),
            talk("<!-- harn-tool-surface: ignore-next-line -->\nread_note(x)"),
        ),
        (
            "`ignore-start` without an end",
            Silent("not reported"),
            talk("<!-- harn-tool-surface: ignore-start -->\nfind_it(x)"),
        ),
        (
            "an inactive tool in backticks",
            Silent("names in backticks are not looked for"),
            talk("Use `drop_note`."),
        ),
        (
            "an inactive tool called `render`",
            Silent("a list of common words hides it"),
            talk("render(x)"),
        ),
        (
            "`<tool_call>ghost`",
            Silent("a name without an underscore is no name"),
            talk("<tool_call>ghost</tool_call>"),
        ),
        (
            "`<tool_call>` with JSON in it",
            Silent("JSON is not read"),
            talk("<tool_call>{\"name\": \"ghost\", \"arguments\": {}}</tool_call>"),
        ),
        (
            "`policy.tools` that is a text",
            Silent("the whole policy is dropped"),
            with(json!({"policy": {"tools": "read_note", "side_effect_level": "none"}})),
        ),
        (
            "`approval_policy` that is a list",
            Silent("dropped"),
            with(json!({"approval_policy": []})),
        ),
        (
            "annotations with `kind: 7` and a level above the ceiling",
            Silent("all annotations are dropped, the level too"),
            json!({"tools": [said(json!({"kind": 7, "side_effect_level": "network"}))], "policy": {"side_effect_level": "read_only"}}),
        ),
        (
            "annotations with `kind: reader`",
            Silent("all annotations are dropped"),
            json!({"tools": [said(json!({"kind": "reader", "side_effect_level": "none"}))]}),
        ),
        (
            "a tool that is its own reader",
            Silent("counts as a reader"),
            runs(json!({"result_readers": ["run_command"]}), &[]),
        ),
        (
            "an unrelated search tool as the only reader",
            Silent("counts as a reader"),
            runs(
                json!({}),
                &[tool(
                    "search_web",
                    json!({"parameters": {"type": "object", "properties": {"query": {"type": "string"}}}, "annotations": {"kind": "search", "side_effect_level": "network_read"}}),
                )],
            ),
        ),
        (
            "a tool of another kind that emits artifacts, no reader",
            Silent("only `execute` is looked at"),
            runs(json!({"kind": "other"}), &[]),
        ),
        (
            "a reader of another kind that is not there",
            Silent("only `execute` is looked at"),
            json!({"tools": [said(json!({"side_effect_level": "none", "result_readers": ["ghost"]}))]}),
        ),
        (
            "two tools of one name",
            Silent("both are kept"),
            json!({"tools": [tool("read_note", json!({})), tool("read_note", json!({}))]}),
        ),
        (
            "a tool whose name is a number",
            Silent("becomes text"),
            json!({"tools": [{"name": 5, "parameters": {}}]}),
        ),
        (
            "parameters that are the text `banana`",
            Silent("counts as a schema"),
            json!({"tools": [tool("read_note", json!({"parameters": "banana"}))]}),
        ),
        (
            "an executor called `banana`",
            Silent("counts as an executor"),
            json!({"tools": [tool("read_note", json!({"executor": "banana"}))]}),
        ),
        (
            "a required argument that the schema does not have",
            Silent("not looked at"),
            json!({"tools": [tool("read_note", json!({"parameters": {"type": "object", "properties": {}, "required": ["line"]}}))]}),
        ),
        (
            "capabilities beyond the policy",
            Silent("not looked at"),
            json!({"tools": [said(json!({"side_effect_level": "none", "capabilities": {"net": ["get"]}}))], "policy": {"capabilities": {"workspace": ["list"]}}}),
        ),
        (
            "a policy that leaves no tool active",
            Silent("valid"),
            with(json!({"policy": {"tools": ["ghost_*"]}})),
        ),
        (
            "a glob of the policy that matches nothing",
            Silent("not looked at"),
            with(json!({"policy": {"tools": ["read_*", "ghost_*"]}})),
        ),
        (
            "one tool approved and denied",
            Silent("not looked at"),
            with(
                json!({"approval_policy": {"auto_approve": ["read_note"], "auto_deny": ["read_note"]}}),
            ),
        ),
        (
            "a constraint on an alias, which is renamed before it is judged",
            Silent("accepted"),
            constraint(json!({"tool": "read_note", "arg_key": "file", "arg_patterns": ["*"]})),
        ),
        (
            "a constraint with no key on a tool without paths",
            Silent("passed over at run time"),
            constraint(json!({"tool": "read_note", "arg_patterns": ["*"]})),
        ),
        (
            "a kind that reads, at a level that writes",
            Silent("not looked at"),
            json!({"tools": [said(json!({"kind": "read", "side_effect_level": "workspace_write"}))]}),
        ),
        (
            "`readOnlyHint` at a level that writes",
            Silent("not looked at"),
            json!({"tools": [said(json!({"readOnlyHint": true, "side_effect_level": "workspace_write"}))]}),
        ),
        (
            "limited paths, and a tool that writes without naming its path",
            Silent("the limit binds nothing"),
            json!({"tools": [said(json!({"kind": "edit", "side_effect_level": "workspace_write"}))], "approval_policy": {"write_path_allowlist": ["src/**"]}}),
        ),
        (
            "an alias that is also an argument",
            Silent("not looked at"),
            json!({"tools": [said(json!({"side_effect_level": "none", "arg_schema": {"arg_aliases": {"path": "file"}}}))]}),
        ),
        (
            "`tool_search: \"off\"` and a deferred tool in a prompt",
            Silent("the text counts as on"),
            json!({"tools": [tool("read_note", json!({"defer_loading": true}))], "tool_search": "off", "system": "read_note(x)"}),
        ),
        (
            "a tool without a description",
            Silent("not looked at"),
            json!({"tools": [tool("read_note", json!({"description": ""}))]}),
        ),
        (
            "a name that some providers refuse",
            Silent("not looked at"),
            json!({"tools": [tool("read note", json!({}))]}),
        ),
        // Items of lists and parts that are not what they should be.
        (
            "an entry of `tools` that is a text",
            Silent("passed over"),
            json!({"tools": [tool("read_note", json!({})), "drop_note"]}),
        ),
        (
            "a tool whose name is empty, or nothing",
            Silent("passed over, or named `nil`"),
            json!({"tools": [tool("", json!({})), tool("read_note", json!({"name": null}))]}),
        ),
        (
            "`native_tools` that is a text",
            Silent("passed over"),
            with(json!({"native_tools": "read_note"})),
        ),
        (
            "a registry as `native_tools`, with a tool without a schema",
            Silent("passed over as a whole: it has no name"),
            json!({"native_tools": {"_type": "tool_registry", "tools": [tool("read_note", json!({"parameters": null}))]}}),
        ),
        (
            "`prompts` that is a text",
            Silent("not looked at"),
            with(json!({"prompts": "find_it(x)"})),
        ),
        (
            "a prompt that is a number",
            Silent("becomes text"),
            with(json!({"system": 7})),
        ),
        (
            "`defer_loading: \"true\"`",
            Silent("only the literal counts, the rest is passed over"),
            json!({"tools": [tool("read_note", json!({"defer_loading": "true"}))]}),
        ),
        (
            "two tools of one name in `native_tools`",
            Silent("both are kept"),
            json!({"native_tools": [tool("read_note", json!({})), tool("read_note", json!({}))]}),
        ),
        (
            "parameters that are `null`",
            Silent("the key counts as a schema"),
            json!({"tools": [tool("read_note", json!({"parameters": null}))]}),
        ),
        (
            "a type that is none: `strin`",
            Silent("not looked at"),
            json!({"tools": [tool("read_note", json!({"parameters": {"type": "object", "properties": {"path": {"type": "strin"}}}}))]}),
        ),
        (
            "a misspelled key of the policy",
            Silent("passed over"),
            with(json!({"policy": {"side_effect_levl": "none"}})),
        ),
        // Constraints and patterns.
        (
            "a constraint on `additionalProperties` of a schema without properties",
            Silent("every key of the schema counts as an argument"),
            json!({"tools": [tool("read_note", json!({"parameters": {"type": "object", "additionalProperties": false}}))],
                   "policy": {"tool_arg_constraints": [{"tool": "read_note", "arg_key": "additionalProperties", "arg_patterns": ["*"]}]}}),
        ),
        (
            "a constraint on `path` of `*`, and one tool that has no path",
            FalseAlarm("`UNKNOWN_ARG_CONSTRAINT_KEY` for that tool"),
            json!({"tools": [tool("read_note", json!({})), tool("list_letters", json!({"parameters": {"type": "object"}}))],
                   "policy": {"tool_arg_constraints": [{"tool": "*", "arg_key": "path", "arg_patterns": ["*"]}]}}),
        ),
        (
            "a constraint on `ghost_*`",
            Silent("a glob that matches nothing is not reported"),
            constraint(json!({"tool": "ghost_*", "arg_key": "path", "arg_patterns": ["*"]})),
        ),
        (
            "a constraint without patterns",
            Silent("passed over at run time"),
            constraint(json!({"tool": "read_note", "arg_key": "path", "arg_patterns": []})),
        ),
        (
            "`ghost_*` in `auto_deny`",
            Silent("a glob that matches nothing is not reported"),
            with(json!({"approval_policy": {"auto_deny": ["ghost_*"]}})),
        ),
        (
            "a pattern that is not a glob: `{a`",
            Silent("passed over"),
            with(json!({"approval_policy": {"auto_deny": ["{a"]}})),
        ),
        (
            "`re*te` in `policy.tools`, which matches",
            FalseAlarm("the tool counts as inactive (0.7: one star, at an end)"),
            with(json!({"policy": {"tools": ["re*te"]}, "system": "read_note(x)"})),
        ),
        // Readers.
        (
            "`read_command_output`, of kind `delete`, as the only reader",
            Silent("counts by its name"),
            runs(
                json!({}),
                &[tool(
                    "read_command_output",
                    json!({"annotations": {"kind": "delete", "side_effect_level": "workspace_write"}}),
                )],
            ),
        ),
        (
            "a declared reader that deletes",
            Silent("counts as a reader"),
            runs(
                json!({"result_readers": ["drop_note"]}),
                &[tool(
                    "drop_note",
                    json!({"annotations": {"kind": "delete", "side_effect_level": "workspace_write"}}),
                )],
            ),
        ),
        // Prompts.
        (
            "\"the file_list (below)\", and a bracket on the next line",
            FalseAlarm(unknown),
            talk("the file_list (below), the read_notes\n(all of them)"),
        ),
        (
            "\"each user_id(s)\"",
            FalseAlarm(unknown),
            talk("List each user_id(s)."),
        ),
        (
            "an inactive and deferred tool in a prompt",
            FalseAlarm("two findings"),
            json!({"tools": [tool("read_note", json!({"defer_loading": true})), tool("list_letters", json!({}))], "policy": {"tools": ["list_*"]}, "system": "read_note(x)"}),
        ),
        (
            "an alias in a fence",
            FalseAlarm("`DEPRECATED_ARG_ALIAS` (0.7)"),
            with(json!({"system": "```\nread_note(file=1)\n```"})),
        ),
        (
            "the word of an alias inside a value",
            FalseAlarm("`DEPRECATED_ARG_ALIAS`"),
            with(json!({"system": "read_note(path=\"the file\")"})),
        ),
        (
            "a call of an inactive tool with a hyphen",
            Silent("names with `-`, `.` or `::` are not looked for"),
            json!({"tools": [tool("drop-note", json!({})), tool("list_letters", json!({}))], "policy": {"tools": ["list_*"]}, "system": "drop-note(x)"}),
        ),
        (
            "a call in backticks of a name without an underscore",
            Silent("no name"),
            talk("Use `ghost(x)`."),
        ),
        (
            "a tool call as JSON, outside of tags",
            Silent("JSON is not read"),
            talk("Say {\"name\": \"ghost\", \"arguments\": {}}."),
        ),
        (
            "`ignore-start` inside a fence, then an unknown call",
            Silent("the marker counts there too"),
            talk("```\n<!-- harn-tool-surface: ignore-start -->\n```\nfind_it(x)"),
        ),
        (
            "an unknown call before a marker on its line",
            Silent("the whole line is dropped"),
            talk("find_it(x) <!-- harn-tool-surface: ignore-next-line -->\nfind_b(x)"),
        ),
        (
            "a line that has `tool-surface-ignore` in it",
            Silent("dropped, by a marker that is documented nowhere"),
            talk("Say tool-surface-ignore to find_it(x)."),
        ),
        (
            "a marker with two spaces, or none",
            FalseAlarm(unknown),
            talk("<!--harn-tool-surface:  ignore-next-line-->\nfind_it(x)"),
        ),
        (
            "a marker that is none: `ignore-all`",
            Silent("not reported"),
            talk("<!-- harn-tool-surface: ignore-all -->\nread_note(x)"),
        ),
        // Size and hints.
        (
            "`readOnlyHint` and `destructiveHint`, both true",
            Silent("not looked at"),
            json!({"tools": [said(json!({"readOnlyHint": true, "destructiveHint": true}))]}),
        ),
        (
            "an argument that annotations require and the schema does not",
            Silent("not looked at"),
            json!({"tools": [said(json!({"side_effect_level": "none", "arg_schema": {"required": ["path"]}}))]}),
        ),
        (
            "a description of 30,000 bytes",
            Silent("not looked at"),
            json!({"tools": [tool("read_note", json!({"description": "Reads one note. ".repeat(1900)}))]}),
        ),
    ]
}

#[test]
fn every_row_says_what_its_original_does_not() {
    for (what, original, surface) in rows() {
        let codes: Vec<&str> = check(&read(&surface, None))
            .diagnostics
            .iter()
            .map(|found| found.code)
            .collect();
        match original {
            Silent(_) => assert!(!codes.is_empty(), "{what}: nothing is said"),
            FalseAlarm(said) => {
                assert!(
                    codes.len() <= 1
                        && !codes.iter().any(|code| said
                            .contains(code.trim_start_matches("TOOL_SURFACE_"))
                            && !said.ends_with(" findings")),
                    "{what}: {codes:?}"
                );
            }
        }
    }
}
