//! Codes about one tool: what it says of itself, and what its schema says.

use super::Code;

pub(super) const CODES: &[Code] = &[
    Code {
        code: "MISSING_SCHEMA",
        gives: &[
            r#"{"tools": [{"parameters": null}]}"#,
            r#"{"bare": [{"name": "read_note", "description": "D.", "parameters": null, "executor": "harn", "annotations": {"side_effect_level": "none"}}]}"#,
            r#"{"bare": [{"type": "function", "function": {"name": "read_note", "description": "D."}, "annotations": {"side_effect_level": "none"}}]}"#,
            r#"{"native_tools": [{"name": "list_letters", "description": "D.", "annotations": {"side_effect_level": "none"}}]}"#,
        ],
        not: &[
            r#"{"bare": [{"type": "custom", "name": "write_code", "description": "D.", "annotations": {"side_effect_level": "none"}}]}"#,
            r#"{"tools": [{"parameters": {}}]}"#,
            r#"{"tools": [{"parameters": {"type": "object"}}]}"#,
            r#"{"tools": [{"parameters": null, "inputSchema": {"type": "object"}}]}"#,
            r#"{"tools": [{"parameters": null}, {"name": "list_letters"}], "policy": {"tools": ["list_letters"]}}"#,
            r#"{"tools": [{"parameters": "banana"}], "also": ["MALFORMED"]}"#,
            r#"{"bare": [{"type": "web_search_20250305", "name": "web_search"}, {"googleSearch": {}}]}"#,
            r#"{"bare": [{"type": "custom", "name": "write_code", "description": "D.", "format": {"type": "text"}, "annotations": {"side_effect_level": "none"}}]}"#,
        ],
    },
    Code {
        code: "MISSING_ANNOTATIONS",
        gives: &[
            r#"{"tools": [{"annotations": null}]}"#,
            r#"{"bare": [{"name": "read_note", "description": "D.", "inputSchema": {"type": "object"}}]}"#,
            r#"{"bare": [{"functionDeclarations": [{"name": "read_note", "description": "D.", "parameters": {"type": "OBJECT"}}]}]}"#,
            r#"{"tools": [{"annotations": null}], "policy": {"tool_annotations": {"other": {"side_effect_level": "none"}}}, "also": ["PATTERN_NO_MATCH"]}"#,
            r#"{"tools": [{"annotations": null}], "policy": {"side_effect_level": "none"}}"#,
        ],
        not: &[
            r#"{"tools": [{"annotations": {"side_effect_level": "none"}}]}"#,
            r#"{"tools": [{"annotations": {}}], "also": ["MISSING_SIDE_EFFECT_LEVEL"]}"#,
            r#"{"tools": [{"annotations": null}], "policy": {"tool_annotations": {"read_note": {"side_effect_level": "none"}}}}"#,
            r#"{"tools": [{"annotations": null, "risk": "read"}]}"#,
            r#"{"tools": [{"annotations": null}, {"name": "list_letters"}], "policy": {"tools": ["list_*"]}}"#,
            r#"{"bare": [{"type": "bash_20250124", "name": "bash"}]}"#,
        ],
    },
    Code {
        code: "MISSING_SIDE_EFFECT_LEVEL",
        gives: &[
            r#"{"tools": [{"annotations": {"kind": "execute", "destructiveHint": true}}]}"#,
            r#"{"tools": [{"annotations": {"kind": "read"}}]}"#,
            r#"{"tools": [{"annotations": {"side_effect_level": null}}]}"#,
            r#"{"bare": [{"name": "read_note", "description": "D.", "inputSchema": {}, "annotations": {"title": "Note"}}]}"#,
            r#"{"tools": [{"annotations": null}], "policy": {"tool_annotations": {"read_note": {"kind": "read"}}}}"#,
        ],
        not: &[
            r#"{"tools": [{"annotations": {"destructiveHint": true}}]}"#,
            r#"{"tools": [{"annotations": {"kind": "execute", "side_effect_level": "process_exec", "destructiveHint": true}}]}"#,
            r#"{"tools": [{"annotations": {"side_effect_level": "none"}}]}"#,
            r#"{"tools": [{"annotations": {"readOnlyHint": true}}]}"#,
            r#"{"tools": [{"annotations": {"kind": "read"}, "risk": "read"}]}"#,
            r#"{"tools": [{"annotations": {"side_effect_level": "readonly"}}], "also": ["MALFORMED"]}"#,
            r#"{"tools": [{"annotations": {"kind": "read"}}, {"name": "list_letters"}], "policy": {"tools": ["list_*"]}}"#,
        ],
    },
    Code {
        code: "MISSING_EXECUTOR",
        gives: &[
            r#"{"tools": [{"executor": null}]}"#,
            r#"{"bare": [{"name": "read_note", "description": "D.", "parameters": {}, "executor": null, "handler": null, "annotations": {"side_effect_level": "none"}}]}"#,
            r#"{"files": {".harness/tools/read_note.md": "---\nparameters: {}\nrisk: read\n---\nReads.\n"}}"#,
        ],
        not: &[
            r#"{"tools": [{"executor": "harness"}]}"#,
            r#"{"tools": [{"executor": "host_bridge"}]}"#,
            r#"{"tools": [{"executor": null, "handler": "read"}]}"#,
            r#"{"tools": [{"executor": null, "mcp_server": "notes"}]}"#,
            r#"{"tools": [{"executor": "banana"}], "also": ["MALFORMED"]}"#,
            r#"{"tools": [{"executor": null, "parameters": null, "inputSchema": {}}]}"#,
            r#"{"native_tools": [{"name": "list_letters", "description": "D.", "parameters": {}, "annotations": {"side_effect_level": "none"}}]}"#,
            r#"{"tools": [{"executor": null}, {"name": "list_letters"}], "policy": {"tools": ["list_*"]}}"#,
        ],
    },
    Code {
        code: "KIND_CONTRADICTS",
        gives: &[
            r#"{"tools": [{"annotations": {"kind": "read", "destructiveHint": true}}]}"#,
            r#"{"tools": [{"annotations": {"kind": "read", "side_effect_level": "workspace_write"}}]}"#,
            r#"{"tools": [{"annotations": {"kind": "search", "side_effect_level": "process_exec"}}]}"#,
            r#"{"tools": [{"annotations": {"kind": "think", "side_effect_level": "network"}}]}"#,
            r#"{"tools": [{"annotations": {"kind": "fetch", "side_effect_level": "workspace_write"}}]}"#,
            r#"{"tools": [{"annotations": {"kind": "edit", "side_effect_level": "read_only"}}]}"#,
            r#"{"tools": [{"annotations": {"kind": "move", "side_effect_level": "none"}}]}"#,
        ],
        not: &[
            r#"{"tools": [{"annotations": {"kind": "delete", "destructiveHint": true}}]}"#,
            r#"{"tools": [{"annotations": {"kind": "edit", "destructiveHint": true}}]}"#,
            r#"{"tools": [{"annotations": {"kind": "move", "destructiveHint": true}}]}"#,
            r#"{"tools": [{"annotations": {"kind": "read", "side_effect_level": "none"}}]}"#,
            r#"{"tools": [{"annotations": {"kind": "read", "side_effect_level": "network_read"}}]}"#,
            r#"{"tools": [{"annotations": {"kind": "fetch", "side_effect_level": "network"}}]}"#,
            r#"{"tools": [{"annotations": {"kind": "edit", "side_effect_level": "workspace_write"}}]}"#,
            r#"{"tools": [{"annotations": {"kind": "delete", "side_effect_level": "network"}}]}"#,
            r#"{"tools": [{"annotations": {"kind": "other", "side_effect_level": "process_exec"}}]}"#,
            r#"{"tools": [{"annotations": {"kind": "read", "side_effect_level": "network"}}, {"name": "list_letters"}], "policy": {"tools": ["list_*"]}}"#,
        ],
    },
    Code {
        code: "KIND_UNKNOWN",
        gives: &[
            r#"{"tools": [{"annotations": {"kind": "reader", "side_effect_level": "none"}}]}"#,
            r#"{"tools": [{"annotations": {"kind": "Read", "side_effect_level": "none"}}]}"#,
            r#"{"tools": [{"annotations": {"kind": "", "side_effect_level": "none"}}]}"#,
        ],
        not: &[
            r#"{"tools": [{"annotations": {"kind": "think", "side_effect_level": "none"}}]}"#,
            r#"{"tools": [{"annotations": {"side_effect_level": "none"}}]}"#,
            r#"{"tools": [{"annotations": {"kind": 7, "side_effect_level": "none"}}], "also": ["MALFORMED"]}"#,
        ],
    },
    Code {
        code: "ALIAS_COLLIDES",
        gives: &[
            r#"{"tools": [{"annotations": {"side_effect_level": "none", "arg_schema": {"arg_aliases": {"path": "file"}}}}]}"#,
            r#"{"tools": [{"annotations": {"side_effect_level": "none", "arg_schema": {"arg_aliases": {"file": "name"}}}}]}"#,
        ],
        not: &[
            r#"{"tools": [{"annotations": {"side_effect_level": "none", "arg_schema": {"arg_aliases": {"file": "path"}}}}]}"#,
            r#"{"tools": [{"parameters": {"type": "object", "properties": {"path": {}}, "allOf": [{"properties": {"name": {}}}]}, "annotations": {"side_effect_level": "none", "arg_schema": {"arg_aliases": {"title": "name"}}}}]}"#,
            r#"{"tools": [{"parameters": null, "annotations": {"side_effect_level": "none", "arg_schema": {"arg_aliases": {"a": "b"}}}}], "also": ["MISSING_SCHEMA"]}"#,
        ],
    },
    Code {
        code: "REQUIRED_UNSAID",
        gives: &[
            r#"{"tools": [{"annotations": {"side_effect_level": "none", "arg_schema": {"required": ["path"]}}}]}"#,
        ],
        not: &[
            r#"{"tools": [{"parameters": {"type": "object", "properties": {"path": {}}, "required": ["path"]}, "annotations": {"side_effect_level": "none", "arg_schema": {"required": ["path"]}}}]}"#,
            r#"{"tools": [{"annotations": {"side_effect_level": "none", "arg_schema": {"required": ["why"]}}}], "also": ["REQUIRED_WITHOUT_PROPERTY"]}"#,
        ],
    },
    Code {
        code: "PATH_PARAM_UNKNOWN",
        gives: &[
            r#"{"tools": [{"annotations": {"side_effect_level": "none", "arg_schema": {"path_params": ["file"]}}}]}"#,
            r#"{"tools": [{"annotations": {"side_effect_level": "none", "arg_schema": {"path_params": ["path", "file", "target"]}}}]}"#,
        ],
        not: &[
            r#"{"tools": [{"annotations": {"side_effect_level": "none", "arg_schema": {"path_params": ["path"]}}}]}"#,
            r#"{"tools": [{"parameters": {"type": "object"}, "annotations": {"side_effect_level": "none", "arg_schema": {"path_params": ["file"]}}}]}"#,
            r#"{"tools": [{"parameters": {"type": "object", "properties": {"path": {}}, "additionalProperties": true}, "annotations": {"side_effect_level": "none", "arg_schema": {"path_params": ["file"]}}}]}"#,
        ],
    },
    Code {
        code: "REQUIRED_WITHOUT_PROPERTY",
        gives: &[
            r#"{"tools": [{"parameters": {"type": "object", "properties": {"path": {}}, "required": ["a", "b", "c", "a"]}}]}"#,
            r#"{"tools": [{"annotations": {"side_effect_level": "none", "arg_schema": {"required": ["why"]}}}]}"#,
            r#"{"tools": [{"parameters": {"type": "object", "properties": {"path": {}}, "required": ["path", "line"]}}]}"#,
            r#"{"tools": [{"parameters": {"type": "object", "required": ["line"]}}]}"#,
        ],
        not: &[
            r#"{"tools": [{"annotations": {"side_effect_level": "none", "arg_schema": {"required": ["file"], "arg_aliases": {"file": "path"}}}}]}"#,
            r#"{"tools": [{"parameters": {"type": "object", "additionalProperties": true, "properties": {"path": {}}}, "annotations": {"side_effect_level": "none", "arg_schema": {"required": ["why"]}}}]}"#,
            r#"{"tools": [{"parameters": {"type": "object", "properties": {"path": {}}, "required": ["path"]}}]}"#,
            r##"{"tools": [{"parameters": {"$ref": "#/$defs/a", "type": "object", "required": ["line"], "$defs": {"a": {"properties": {"line": {}}}}}}]}"##,
            r#"{"tools": [{"parameters": {"path": {"type": "string", "required": true}}}]}"#,
        ],
    },
    Code {
        code: "PARAMETER_UNDESCRIBED",
        gives: &[
            r#"{"tools": [{"parameters": {"type": "object", "properties": {"flavour": {"type": "string"}}}}]}"#,
            r#"{"tools": [{"parameters": {"type": "object", "properties": {"flavour": {"type": "string", "description": " "}}}}]}"#,
            r#"{"tools": [{"parameters": {"type": "object", "properties": {"flavour": {}, "colour": {}}}}]}"#,
        ],
        not: &[
            r#"{"tools": [{"parameters": {"type": "object", "properties": {"flavour": {"type": "string", "description": "Sweet or sour"}}}}]}"#,
            r#"{"tools": [{"parameters": {"type": "object", "properties": {"flavour": {"enum": ["sweet", "sour"]}}}}]}"#,
            r#"{"tools": [{"parameters": {"type": "object", "properties": {"path": {}, "max_bytes": {}}}}]}"#,
        ],
    },
    Code {
        code: "SUSPICIOUS_UNITS",
        gives: &[
            r#"{"tools": [{"parameters": {"type": "object", "properties": {"wait_ms": {"description": "Seconds to wait"}}}}]}"#,
            r#"{"tools": [{"parameters": {"type": "object", "properties": {"max_bytes": {"description": "In kilobytes"}}}}]}"#,
            r#"{"files": {".harness/tools/read_note.md": "---\nparameters: {}\nrisk: read\ntimeout_ms: 30\n---\nReads.\n"}, "also": ["MISSING_EXECUTOR"]}"#,
        ],
        not: &[
            r#"{"tools": [{"parameters": {"type": "object", "properties": {"wait_ms": {"description": "In ms; 1000 is one second"}}}}]}"#,
            r#"{"tools": [{"parameters": {"type": "object", "properties": {"delay_min": {"description": "The least delay, in seconds"}}}}]}"#,
            r#"{"tools": [{"parameters": {"type": "object", "properties": {"path": {"description": "Waits for seconds"}}}}]}"#,
            r#"{"files": {".harness/tools/read_note.md": "---\nparameters: {}\nrisk: read\ntimeout_ms: 30000\n---\nReads.\n"}, "also": ["MISSING_EXECUTOR"]}"#,
        ],
    },
    Code {
        code: "NO_TIMEOUT",
        gives: &[
            r#"{"files": {".harness/tools/run_it.md": "---\nparameters: {}\nannotations: {side_effect_level: process_exec}\n---\nRuns.\n"}, "also": ["MISSING_EXECUTOR"]}"#,
            r#"{"files": {".harness/tools/get_it.md": "---\nparameters: {}\nannotations: {side_effect_level: network_read}\n---\nGets.\n"}, "also": ["MISSING_EXECUTOR"]}"#,
        ],
        not: &[
            r#"{"files": {".harness/tools/run_it.md": "---\nparameters: {}\ntimeout_ms: 5000\nannotations: {side_effect_level: process_exec}\n---\nRuns.\n"}, "also": ["MISSING_EXECUTOR"]}"#,
            r#"{"files": {".harness/tools/write_it.md": "---\nparameters: {}\nannotations: {side_effect_level: workspace_write}\n---\nWrites.\n"}, "also": ["MISSING_EXECUTOR"]}"#,
            r#"{"tools": [{"annotations": {"side_effect_level": "network"}}]}"#,
        ],
    },
    Code {
        code: "TOO_LARGE",
        gives: &[
            r#"{"tools": [{"description": "one two three four five six seven eight nine ten one two three four five six seven eight nine ten one two three"}], "options": {"context_tokens": 1000}}"#,
            r#"{"tools": [{"parameters": {"type": "object", "properties": {"path": {"description": "one two three four five six seven eight nine"}}}}], "options": {"context_tokens": 1000}}"#,
        ],
        not: &[
            r#"{"tools": [{"parameters": {}, "description": "one two three four five six"}], "options": {"context_tokens": 1000}}"#,
            r#"{"tools": [{"description": "one two three four five six seven eight nine ten one two three four five six seven eight nine ten one two three"}]}"#,
        ],
    },
    Code {
        code: "MISSING_RESULT_READER",
        gives: &[
            r#"{"tools": [{"name": "run_it", "annotations": {"side_effect_level": "none", "emits_artifacts": true}}, {"name": "open_log", "defer_loading": true, "annotations": {"kind": "read", "side_effect_level": "none"}}], "also": ["DEFERRED_UNREACHABLE"]}"#,
            r#"{"tools": [{"name": "run_it", "annotations": {"side_effect_level": "none", "emits_artifacts": true}}, {"name": "open_log", "annotations": {"kind": "read", "side_effect_level": "none"}}], "approval_policy": {"auto_deny": ["open_*"]}}"#,
            r#"{"tools": [{"name": "run_it", "annotations": {"side_effect_level": "none", "emits_artifacts": true, "result_readers": ["show_it"]}}, {"name": "show_it", "parameters": {}}], "approval_policy": {"auto_deny": ["show_it"]}, "also": ["UNKNOWN_RESULT_READER"]}"#,
            r#"{"tools": [{"name": "run_it", "annotations": {"kind": "execute", "side_effect_level": "process_exec", "emits_artifacts": true}}]}"#,
            r#"{"tools": [{"name": "get_it", "annotations": {"kind": "read", "side_effect_level": "read_only", "emits_artifacts": true}}]}"#,
            r#"{"tools": [{"name": "run_it", "annotations": {"side_effect_level": "none", "emits_artifacts": true}}, {"name": "find_web", "parameters": {"type": "object", "properties": {"query": {}}}, "annotations": {"kind": "search", "side_effect_level": "none"}}]}"#,
            r#"{"tools": [{"name": "run_it", "annotations": {"side_effect_level": "none", "emits_artifacts": true}}, {"name": "open_log", "annotations": {"kind": "read", "side_effect_level": "none"}}], "policy": {"tools": ["run_*"]}}"#,
            r#"{"tools": [{"name": "run_it", "annotations": {"side_effect_level": "none", "emits_artifacts": true, "result_readers": ["run_it"]}}], "also": ["UNKNOWN_RESULT_READER"]}"#,
        ],
        not: &[
            r#"{"tools": [{"name": "run_it", "annotations": {"side_effect_level": "none", "emits_artifacts": true}}, {"name": "open_log", "defer_loading": true, "annotations": {"kind": "read", "side_effect_level": "none"}}], "tool_search": true}"#,
            r#"{"tools": [{"name": "run_it", "annotations": {"side_effect_level": "none", "emits_artifacts": true}}, {"name": "open_log", "annotations": {"kind": "read", "side_effect_level": "none"}}], "approval_policy": {"require_approval": ["open_log"]}}"#,
            r#"{"tools": [{"name": "run_it", "annotations": {"side_effect_level": "none", "emits_artifacts": true, "inline_result": true}}]}"#,
            r#"{"tools": [{"name": "run_it", "annotations": {"side_effect_level": "none", "emits_artifacts": true}}, {"name": "open_log", "annotations": {"kind": "read", "side_effect_level": "none"}}]}"#,
            r#"{"tools": [{"name": "run_it", "annotations": {"side_effect_level": "none", "emits_artifacts": true, "result_readers": ["show_it"]}}, {"name": "show_it", "parameters": {}}]}"#,
            r#"{"tools": [{"name": "run_it", "annotations": {"kind": "execute", "side_effect_level": "process_exec"}}]}"#,
        ],
    },
    Code {
        code: "UNKNOWN_RESULT_READER",
        gives: &[
            r#"{"tools": [{"annotations": {"side_effect_level": "none", "result_readers": ["ghost", "ghast", "spirit"]}}]}"#,
            r#"{"tools": [{"annotations": {"side_effect_level": "none", "result_readers": ["show_it"]}}, {"name": "show_it", "defer_loading": true}], "also": ["DEFERRED_UNREACHABLE"]}"#,
            r#"{"tools": [{"annotations": {"side_effect_level": "none", "result_readers": ["ghost"]}}]}"#,
            r#"{"tools": [{"annotations": {"side_effect_level": "none", "result_readers": ["read_note"]}}]}"#,
            r#"{"tools": [{"annotations": {"side_effect_level": "none", "result_readers": ["drop_it"]}}, {"name": "drop_it", "annotations": {"kind": "delete", "side_effect_level": "workspace_write"}}]}"#,
            r#"{"tools": [{"annotations": {"side_effect_level": "none", "result_readers": ["show_it"]}}, {"name": "show_it"}], "policy": {"tools": ["read_*"]}}"#,
        ],
        not: &[
            r#"{"tools": [{"annotations": {"side_effect_level": "none", "result_readers": ["show_it"]}}, {"name": "show_it"}]}"#,
            r#"{"tools": [{"annotations": {"side_effect_level": "none", "result_readers": []}}]}"#,
        ],
    },
];
