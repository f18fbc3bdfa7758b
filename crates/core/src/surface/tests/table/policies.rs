//! Codes about policy and approval.

use super::Code;

pub(super) const CODES: &[Code] = &[
    Code {
        code: "UNKNOWN_ARG_CONSTRAINT_TOOL",
        gives: &[
            r#"{"policy": {"tool_arg_constraints": [{"tool": "ghost", "arg_key": "path", "arg_patterns": ["*"]}]}}"#,
            r#"{"tools": [{}, {"name": "list_letters"}], "policy": {"tools": ["list_*"], "tool_arg_constraints": [{"tool": "read_note", "arg_key": "path", "arg_patterns": ["*"]}]}}"#,
        ],
        not: &[
            r#"{"policy": {"tool_arg_constraints": [{"tool": "read_note", "arg_key": "path", "arg_patterns": ["*"]}]}}"#,
            r#"{"policy": {"tool_arg_constraints": [{"tool": "rea?_note", "arg_key": "path", "arg_patterns": ["*"]}]}}"#,
            r#"{"policy": {"tool_arg_constraints": [{"tool": "ghost_*", "arg_key": "path", "arg_patterns": ["*"]}]}, "also": ["PATTERN_NO_MATCH"]}"#,
        ],
    },
    Code {
        code: "UNKNOWN_ARG_CONSTRAINT_KEY",
        gives: &[
            r#"{"policy": {"tool_arg_constraints": [{"tool": "read_note", "arg_key": "why", "arg_patterns": ["*"]}]}}"#,
            r#"{"policy": {"tool_arg_constraints": [{"tool": "read_*", "arg_key": "why", "arg_patterns": ["*"]}]}}"#,
            r#"{"tools": [{"parameters": {"type": "object"}}], "policy": {"tool_arg_constraints": [{"tool": "read_note", "arg_key": "path", "arg_patterns": ["*"]}]}}"#,
        ],
        not: &[
            r#"{"policy": {"tool_arg_constraints": [{"tool": "read_note", "arg_key": "path", "arg_patterns": ["*"]}]}}"#,
            r#"{"tools": [{"annotations": {"side_effect_level": "none", "arg_schema": {"path_params": ["why"]}}}], "policy": {"tool_arg_constraints": [{"tool": "read_note", "arg_key": "why", "arg_patterns": ["*"]}]}, "also": ["PATH_PARAM_UNKNOWN"]}"#,
            r#"{"tools": [{"parameters": {"type": "object", "allOf": [{"properties": {"why": {}}}]}}], "policy": {"tool_arg_constraints": [{"tool": "read_note", "arg_key": "why", "arg_patterns": ["*"]}]}}"#,
            r#"{"tools": [{}, {"name": "list_letters", "parameters": {"why": {"description": "W"}}}], "policy": {"tool_arg_constraints": [{"tool": "*", "arg_key": "why", "arg_patterns": ["*"]}]}}"#,
            r#"{"bare": [{"type": "bash_20250124", "name": "bash"}], "policy": {"tool_arg_constraints": [{"tool": "bash", "arg_key": "command", "arg_patterns": ["ls *"]}]}}"#,
        ],
    },
    Code {
        code: "CONSTRAINT_NEVER_APPLIES",
        gives: &[
            r#"{"tools": [{"parameters": {"type": "object", "properties": {"count": {"type": "integer"}}}}], "policy": {"tool_arg_constraints": [{"tool": "read_note", "arg_key": "count", "arg_patterns": ["1*"]}]}}"#,
            r#"{"tools": [{"parameters": {"type": "object", "properties": {"path": {"enum": ["a", "b"]}}}}], "policy": {"tool_arg_constraints": [{"tool": "read_note", "arg_key": "path", "arg_patterns": ["q*", "c"]}]}}"#,
            r#"{"policy": {"tool_arg_constraints": [{"tool": "read_note", "arg_key": "path", "arg_patterns": []}]}}"#,
            r#"{"policy": {"tool_arg_constraints": [{"tool": "read_note", "arg_key": "path"}]}}"#,
            r#"{"policy": {"tool_arg_constraints": [{"tool": "read_note", "arg_patterns": ["*"]}]}}"#,
            r#"{"tools": [{"annotations": {"side_effect_level": "none", "arg_schema": {"arg_aliases": {"file": "path"}}}}], "policy": {"tool_arg_constraints": [{"tool": "read_note", "arg_key": "file", "arg_patterns": ["*"]}]}}"#,
        ],
        not: &[
            r#"{"tools": [{"parameters": {"type": "object", "properties": {"path": {"type": "array"}}}}], "policy": {"tool_arg_constraints": [{"tool": "read_note", "arg_key": "path", "arg_patterns": ["1*"]}]}}"#,
            r#"{"tools": [{"parameters": {"type": "object", "properties": {"path": {"enum": ["a", "b"]}}}}], "policy": {"tool_arg_constraints": [{"tool": "read_note", "arg_key": "path", "arg_patterns": ["q*", "b"]}]}}"#,
            r#"{"tools": [{"annotations": {"side_effect_level": "none", "arg_schema": {"path_params": ["path"]}}}], "policy": {"tool_arg_constraints": [{"tool": "read_note", "arg_patterns": ["*"]}]}}"#,
            r#"{"tools": [{"annotations": {"side_effect_level": "none", "arg_schema": {"arg_aliases": {"file": "path"}}}}], "policy": {"tool_arg_constraints": [{"tool": "read_note", "arg_key": "path", "arg_patterns": ["*"]}]}}"#,
        ],
    },
    Code {
        code: "APPROVAL_PATTERN_NO_MATCH",
        gives: &[
            r#"{"approval_policy": {"auto_approve": ["ghost"]}}"#,
            r#"{"approval_policy": {"auto_deny": ["ghost"]}}"#,
            r#"{"approval_policy": {"require_approval": ["ghost"]}}"#,
            r#"{"approval_policy": {"rules": [{"ask": {"tool": ["read_note", "ghost"]}}]}}"#,
            r#"{"tools": [{}, {"name": "list_letters"}], "policy": {"tools": ["list_*"]}, "approval_policy": {"auto_deny": ["read_note"]}}"#,
        ],
        not: &[
            r#"{"approval_policy": {"auto_approve": ["read_note"]}}"#,
            r#"{"approval_policy": {"auto_approve": ["rea?_note", "{read,list}_note"]}}"#,
            r#"{"approval_policy": {"auto_approve": ["ghost_*"]}, "also": ["PATTERN_NO_MATCH"]}"#,
            r#"{"approval_policy": {"write_path_allowlist": ["ghost"]}}"#,
        ],
    },
    Code {
        code: "APPROVAL_CONTRADICTS",
        gives: &[
            r#"{"approval_policy": {"auto_approve": ["read_note"], "auto_deny": ["read_*"]}}"#,
            r#"{"approval_policy": {"auto_approve": ["read_note"], "require_approval": ["*"]}}"#,
            r#"{"approval_policy": {"require_approval": ["read_note"], "auto_deny": ["r?ad_note"]}}"#,
            r#"{"approval_policy": {"auto_approve": ["read_*"], "auto_deny": ["*"]}}"#,
            r#"{"approval_policy": {"auto_approve": ["read_note"], "auto_deny": ["read_note"]}}"#,
            r#"{"approval_policy": {"auto_approve": ["read_*"], "require_approval": ["read_*"]}}"#,
            r#"{"approval_policy": {"auto_approve": ["read_note"], "rules": [{"deny": {"tool": "read_note"}}]}}"#,
            r#"{"approval_policy": {"rules": [{"allow": {"tool": "read_note"}}, {"ask": {"tool": "read_note"}}]}}"#,
        ],
        not: &[
            r#"{"approval_policy": {"auto_approve": ["read_*"], "auto_deny": ["read_note"]}}"#,
            r#"{"approval_policy": {"auto_deny": ["read_note"], "require_approval": ["read_*"]}}"#,
            r#"{"approval_policy": {"auto_approve": ["read_*"], "auto_deny": ["r?ad_*"]}}"#,
            r#"{"approval_policy": {"auto_approve": ["*_note"], "require_approval": ["read_*"]}}"#,
            r#"{"approval_policy": {"auto_approve": ["*"], "auto_deny": ["read_note"]}}"#,
            r#"{"approval_policy": {"auto_deny": ["read_note", "read_note"]}}"#,
            r#"{"approval_policy": {"rules": [{"deny": {"tool": "read_note"}}, {"deny": {"tool": "read_note"}}]}}"#,
            r#"{"approval_policy": {"rules": [{"deny": {"tool": "read_note", "path": "a/*"}}, {"allow": {"tool": "read_note"}}]}}"#,
        ],
    },
    Code {
        code: "PATTERN_NO_MATCH",
        gives: &[
            r#"{"policy": {"tool_annotations": {"ghost": {"side_effect_level": "none"}}}}"#,
            r#"{"policy": {"tools": ["read_*", "wirte_*"]}}"#,
            r#"{"policy": {"tools": ["read_*", "ghost"]}}"#,
            r#"{"policy": {"tool_arg_constraints": [{"tool": "g?ost", "arg_key": "path", "arg_patterns": ["*"]}]}}"#,
            r#"{"approval_policy": {"auto_deny": ["ghost_*"]}}"#,
            r#"{"files": {".harness/tools/read_note.md": "---\nparameters: {}\nrisk: read\n---\nReads.\n", "harness.md": "---\ntools_policy: {deny: [\"ghost_*\"]}\n---\nHelp.\n"}, "also": ["MISSING_EXECUTOR"]}"#,
        ],
        not: &[
            r#"{"policy": {"tool_annotations": {"read_note": {"side_effect_level": "read_only"}}}}"#,
            r#"{"policy": {"tools": ["{read,write}_*"]}}"#,
            r#"{"policy": {"tools": ["ghost_*"]}, "also": ["NO_ACTIVE_TOOLS"]}"#,
            r#"{"approval_policy": {"auto_deny": ["*_note"]}}"#,
        ],
    },
    Code {
        code: "NO_ACTIVE_TOOLS",
        gives: &[
            r#"{"bare": []}"#,
            r#"{"policy": {"tools": ["write_*"]}}"#,
            r#"{"policy": {"tools": [], "tools_restricted": true}}"#,
        ],
        not: &[
            r#"{"policy": {"tools": []}}"#,
            r#"{"policy": {"tools": ["read_*"]}}"#,
            r#"{"policy": {"tools": ["[oops"]}, "also": ["MALFORMED"]}"#,
        ],
    },
    Code {
        code: "UNREACHABLE",
        gives: &[
            r#"{"files": {".harness/tools/read_note.md": "---\nparameters: {}\nrisk: read\n---\nReads.\n", ".harness/tools/list_letters.md": "---\nparameters: {}\nrisk: read\n---\nLists.\n", "harness.md": "---\ntools_policy: {deny: [read_note]}\n---\nHelp.\n"}, "also": ["MISSING_EXECUTOR"]}"#,
        ],
        not: &[
            r#"{"files": {".harness/tools/read_note.md": "---\nparameters: {}\nrisk: read\n---\nReads.\n", "harness.md": "---\ntools_policy: {deny: [read_note]}\n---\nHelp.\n"}, "also": ["NO_ACTIVE_TOOLS"]}"#,
            r#"{"tools": [{}, {"name": "list_letters"}], "policy": {"tools": ["list_*"]}}"#,
        ],
    },
    Code {
        code: "CAPABILITIES_EXCEEDED",
        gives: &[
            r#"{"tools": [{"annotations": {"side_effect_level": "none", "capabilities": {"workspace": ["list", "read_text"]}}}], "policy": {"capabilities": {"workspace": ["read_*"]}}}"#,
            r#"{"tools": [{"annotations": {"side_effect_level": "none", "capabilities": {"workspace": ["list"]}}}], "policy": {"capabilities": {"workspace": ["read_text"]}}}"#,
            r#"{"tools": [{"annotations": {"side_effect_level": "none", "capabilities": {"network": []}}}], "policy": {"capabilities": {"workspace": ["list"]}}}"#,
            r#"{"tools": [{"annotations": {"side_effect_level": "none", "capabilities": {"workspace": ["list"]}}}], "policy": {"capabilities": {}, "capabilities_restricted": true}}"#,
        ],
        not: &[
            r#"{"tools": [{"annotations": {"side_effect_level": "none", "capabilities": {"workspace": ["list", "read_text"]}}}], "policy": {"capabilities": {"workspace": ["l?st", "read_*"]}}}"#,
            r#"{"tools": [{"annotations": {"side_effect_level": "none", "capabilities": {"workspace": ["list"]}}}], "policy": {"capabilities": {"workspace": ["list", "read_text"]}}}"#,
            r#"{"tools": [{"annotations": {"side_effect_level": "none", "capabilities": {"workspace": ["list"]}}}], "policy": {"capabilities": {}}}"#,
            r#"{"policy": {"capabilities": {"workspace": ["list"]}}}"#,
        ],
    },
    Code {
        code: "SIDE_EFFECT_CEILING_EXCEEDED",
        gives: &[
            r#"{"tools": [{"annotations": {"readOnlyHint": false, "destructiveHint": true}}], "policy": {"side_effect_level": "none"}}"#,
            r#"{"tools": [{"annotations": {"destructiveHint": true}}], "policy": {"side_effect_level": "read_only"}}"#,
            r#"{"tools": [{"annotations": {"destructiveHint": true}}], "policy": {"effects": ["read"]}}"#,
            r#"{"tools": [{"annotations": {"kind": "delete", "destructiveHint": true}}], "policy": {"side_effect_level": "read_only"}}"#,
            r#"{"policy": {"side_effect_level": "none"}}"#,
            r#"{"tools": [{"annotations": {"side_effect_level": "network"}}], "policy": {"side_effect_level": "network_read"}}"#,
            r#"{"tools": [{"annotations": {"side_effect_level": "desktop_control"}}], "policy": {"side_effect_level": "network"}}"#,
            r#"{"tools": [{"annotations": null}], "policy": {"side_effect_level": "none", "tool_annotations": {"read_note": {"side_effect_level": "read_only"}}}}"#,
            r#"{"tools": [{"annotations": {"side_effect_level": "process_exec"}}], "policy": {"effects": ["read", "net_read"]}}"#,
        ],
        not: &[
            r#"{"tools": [{"annotations": {"destructiveHint": true}}], "policy": {"side_effect_level": "workspace_write"}}"#,
            r#"{"tools": [{"annotations": {"readOnlyHint": true, "destructiveHint": false}}], "policy": {"side_effect_level": "read_only"}}"#,
            r#"{"policy": {"side_effect_level": "read_only"}}"#,
            r#"{"tools": [{"annotations": {"side_effect_level": "process_exec"}}], "policy": {"side_effect_level": "network"}}"#,
            r#"{"policy": {"side_effect_level": "nothing"}, "also": ["MALFORMED"]}"#,
            r#"{"tools": [{}, {"name": "list_letters", "annotations": {"side_effect_level": "none"}}], "policy": {"tools": ["list_*"], "side_effect_level": "none"}}"#,
        ],
    },
    Code {
        code: "WRITE_PATH_UNDECLARED",
        gives: &[
            r#"{"tools": [{"annotations": {"kind": "edit", "side_effect_level": "workspace_write"}}], "approval_policy": {"write_path_allowlist": ["src/**"]}}"#,
            r#"{"tools": [{"annotations": {"side_effect_level": "workspace_write"}}], "approval_policy": {"write_path_allowlist": ["src/**"]}}"#,
            r#"{"tools": [{"annotations": {"side_effect_level": "workspace_write", "arg_schema": {"path_params": ["file"]}}}], "approval_policy": {"write_path_allowlist": ["src/**"]}, "also": ["PATH_PARAM_UNKNOWN"]}"#,
        ],
        not: &[
            r#"{"tools": [{"annotations": {"side_effect_level": "workspace_write", "arg_schema": {"path_params": ["path"]}}}], "approval_policy": {"write_path_allowlist": ["src/**"]}}"#,
            r#"{"tools": [{"annotations": {"side_effect_level": "workspace_write"}}], "approval_policy": {"write_path_allowlist": []}}"#,
            r#"{"tools": [{"annotations": {"side_effect_level": "workspace_write"}}]}"#,
            r#"{"approval_policy": {"write_path_allowlist": ["src/**"]}}"#,
        ],
    },
];
