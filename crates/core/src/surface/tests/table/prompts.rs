//! Codes about what texts say of tools. What counts as a use of a name is in `mention/tests.rs`.

use super::Code;

pub(super) const CODES: &[Code] = &[
    Code {
        code: "UNKNOWN_PROMPT_TOOL",
        gives: &[
            r#"{"tools": [{"parameters": {"type": "object", "properties": {"path": {"type": "object", "properties": {"line": {"description": "Call find_it(1) first."}}}}}}]}"#,
            r#"{"tools": [{"parameters": {"type": "object", "properties": {"path": {"items": {"description": "Call find_it(1) first."}}}}}]}"#,
            r#"{"tools": [{"parameters": {"type": "object", "properties": {"path": {"anyOf": [{"type": "null"}, {"description": "Call find_it(1) first."}]}}}}]}"#,
            r##"{"tools": [{"parameters": {"type": "object", "properties": {"path": {"$ref": "#/$defs/a"}}, "$defs": {"a": {"description": "Call find_it(1) first."}}}}]}"##,
            r#"{"tools": [{"parameters": {"type": "object", "description": "Call find_it(1) first.", "properties": {}}}]}"#,
            r#"{"tools": [{"parameters": {"type": "object", "properties": {"path": {"title": "Call find_it(1) first."}}}}]}"#,
            r#"{"tools": [{"title": "Call find_it(1) first."}]}"#,
            r#"{"system": "<tool_call>{\"name\": \"gh\\u006fst\"}</tool_call>"}"#,
            r#"{"system": "<!-- harness: ignore-next-line -->\n```\nread_note(x)\n```\nfind_it(x)", "also": ["UNUSED_MARKER"]}"#,
            r#"{"system": "- > ~~~\n  > gone_it(1)\n  > ~~~\n  > find_it(1)"}"#,
            r#"{"system": "<!--\n```\n-->\nfind_it(1)"}"#,
            r#"{"system": "Use delete_file(x), then delete_file(y)."}"#,
            r#"{"prompt": "`ghost(x)`"}"#,
            r#"{"prompts": ["<tool_call>ghost</tool_call>"]}"#,
            r#"{"system": "<TOOL_CALL name=\"ghost\">"}"#,
            r#"{"system": "{\"name\": \"ghost\", \"arguments\": {}}"}"#,
            r#"{"tools": [{"description": "As find_it(x) says."}]}"#,
            r#"{"tools": [{"parameters": {"type": "object", "properties": {"path": {"description": "As find_it(x) says"}}}}]}"#,
            r#"{"system": "```\nfind_it(x)\n```", "options": {"scan_fences": true}}"#,
        ],
        not: &[
            r#"{"tools": [{"parameters": {"type": "object", "properties": {"path": {"enum": ["a", "Call find_it(1) first."]}}}}]}"#,
            r#"{"tools": [{"parameters": {"type": "object", "properties": {"path": {"default": "Call find_it(1) first."}}}}]}"#,
            r#"{"tools": [{"parameters": {"type": "object", "properties": {"path": {"examples": [{"a": "Call find_it(1) first."}]}}}}]}"#,
            r#"{"system": "order_id(optional), user_id(required), a_b(at)example.com"}"#,
            r#"{"system": "Use tool_search(q).", "tool_search": true}"#,
            r#"{"tools": [{}, {"name": "tool_search"}], "system": "Use tool_search(q) and `tool_search`."}"#,
            r#"{"system": "<tool_call>{\"name\": \"read\\u005fnote\"}</tool_call>"}"#,
            r#"{"system": "-\t```\n\tfind_it(1)\n\t```\n"}"#,
            r#"{"system": "```\rfind_it(1)\r```\r"}"#,
            r#"{"tools": [{"aliases": ["find_it"]}], "system": "find_it(1)"}"#,
            r#"{"system": "Use read_note(x), the tools (listed below), df.group_by(x) and os.path.is_file(p)."}"#,
            r#"{"system": "```\nfind_it(x)\n```"}"#,
            r#"{"system": "find_it(x) <!-- harn-tool-surface: ignore-line -->"}"#,
            r#"{"system": "<!-- harness: ignore-start -->\nfind_it(x)\n<!-- harness: ignore-end -->"}"#,
        ],
    },
    Code {
        code: "PROMPT_TOOL_NOT_IN_POLICY",
        gives: &[
            r#"{"tools": [{}, {"name": "drop_it"}], "policy": {"tools": ["read_*"]}, "system": "drop_it(x)"}"#,
            r#"{"tools": [{}, {"name": "drop_it"}], "policy": {"tools": ["read_*"]}, "system": "Use `drop_it`."}"#,
        ],
        not: &[
            r#"{"tools": [{}, {"name": "drop_it"}], "policy": {"tools": ["*"]}, "system": "drop_it(x)"}"#,
            r#"{"tools": [{}, {"name": "drop_it"}], "policy": {"tools": ["read_*"]}, "system": "read_note(x), and drop_it is gone"}"#,
        ],
    },
    Code {
        code: "DEFERRED_TOOL_PROMPT_REFERENCE",
        gives: &[
            r#"{"tools": [{}, {"name": "drop_it", "defer_loading": true}], "system": "drop_it(x), `drop_it`"}"#,
            r#"{"tools": [{}, {"name": "drop_it", "defer_loading": true}], "system": "drop_it(x)", "tool_search": "off"}"#,
        ],
        not: &[
            r#"{"tools": [{}, {"name": "drop_it", "defer_loading": true}], "system": "drop_it(x)", "tool_search": "bm25"}"#,
            r#"{"tools": [{}, {"name": "drop_it", "defer_loading": false}], "system": "drop_it(x)"}"#,
            r#"{"tools": [{}, {"name": "drop_it", "defer_loading": true}], "system": "drop_it(x)", "policy": {"tools": ["read_*"]}, "also": ["PROMPT_TOOL_NOT_IN_POLICY"]}"#,
        ],
    },
    Code {
        code: "DEFERRED_UNREACHABLE",
        gives: &[
            r#"{"tools": [{}, {"name": "drop_it", "defer_loading": true}]}"#,
            r#"{"tools": [{}, {"name": "drop_it", "deferred": true}], "tool_search": false}"#,
        ],
        not: &[
            r#"{"tools": [{}, {"name": "drop_it", "defer_loading": true}], "tool_search": true}"#,
            r#"{"tools": [{}, {"name": "drop_it", "defer_loading": true}], "native_tools": [{"type": "tool_search_tool_regex_20251119", "name": "tool_search_tool_regex"}]}"#,
            r#"{"tools": [{}, {"name": "drop_it", "defer_loading": true}], "policy": {"tools": ["read_*"]}}"#,
        ],
    },
    Code {
        code: "DEPRECATED_ARG_ALIAS",
        gives: &[
            r#"{"tools": [{"annotations": {"side_effect_level": "none", "arg_schema": {"arg_aliases": {"file": "path"}}}}], "system": "read_note(file=1, path=2)"}"#,
            r#"{"tools": [{"annotations": {"side_effect_level": "none", "arg_schema": {"arg_aliases": {"file": "path"}}}}], "system": "read_note(file=1), read_note({file: 2})"}"#,
            r#"{"tools": [{"annotations": {"side_effect_level": "none", "arg_schema": {"arg_aliases": {"file": "path"}}}}], "system": "<tool_call>{\"name\": \"read_note\", \"arguments\": {\"file\": 1}}</tool_call>"}"#,
        ],
        not: &[
            r#"{"tools": [{"annotations": {"side_effect_level": "none", "arg_schema": {"arg_aliases": {"file": "path"}}}}], "system": "A file is a file. read_note(path=\"file\")"}"#,
            r#"{"tools": [{"annotations": {"side_effect_level": "none", "arg_schema": {"arg_aliases": {"file": "path"}}}}, {"name": "drop_it"}], "system": "drop_it(file=1)"}"#,
            r#"{"tools": [{"annotations": {"side_effect_level": "none", "arg_schema": {"arg_aliases": {"file": "path"}}}}], "system": "<!-- harness: ignore-next-line -->\nread_note(file=1)"}"#,
        ],
    },
    Code {
        code: "UNCLOSED_FENCE",
        gives: &[
            r#"{"system": "```\nread_note(x)"}"#,
            r#"{"system": "~~~\nread_note(x)\n```"}"#,
            r#"{"system": "````\nread_note(x)\n```"}"#,
            r#"{"system": "```py\nread_note(x)\n``` py"}"#,
        ],
        not: &[
            r#"{"system": "```py\nread_note(x)\n````"}"#,
            r#"{"system": "    ```\nread_note(x)"}"#,
            r#"{"system": "> ```\n> read_note(x)\nDone."}"#,
        ],
    },
    Code {
        code: "UNBALANCED_MARKER",
        gives: &[
            r#"{"system": "<!-- harness: ignore-end -->"}"#,
            r#"{"system": "<!-- harn-tool-surface: ignore-start -->\nfind_it(x)"}"#,
            r#"{"system": "<!-- harness: ignore-start -->\n<!-- harness: ignore-start -->\nfind_it(x)\n<!-- harness: ignore-end -->"}"#,
            r#"{"system": "<!-- harness: ignore-nextline -->"}"#,
        ],
        not: &[
            r#"{"system": "<!-- harness: ignore-start -->\nfind_it(x)\n<!-- harness: ignore-end -->"}"#,
            r#"{"system": "```\n<!-- harness: ignore-end -->\n```"}"#,
            r#"{"system": "<!-- harness: see the guide -->"}"#,
        ],
    },
    Code {
        code: "UNUSED_MARKER",
        gives: &[
            r#"{"system": "<!-- harness: ignore-next-line -->\n```\nfind_it(x)\n```"}"#,
            r#"{"system": "<!-- harness: ignore-next-line -->\nread_note(x)"}"#,
            r#"{"system": "read_note(x) <!-- harness: ignore-line -->"}"#,
            r#"{"system": "find_it(x) <!-- harness: ignore-line -->\n<!-- harn-tool-surface: ignore-start -->\nNothing.\n<!-- harn-tool-surface: ignore-end -->"}"#,
            r#"{"system": "<!-- harness: ignore-next-line -->"}"#,
        ],
        not: &[
            r#"{"system": "<!-- harness: ignore-next-line -->\n```\nfind_it(x)\n```", "options": {"scan_fences": true}}"#,
            r#"{"system": "<!-- harn-tool-surface: ignore-next-line -->\n\nfind_it(x)"}"#,
            r#"{"system": "```\n<!-- harness: ignore-line -->\n```"}"#,
        ],
    },
];
