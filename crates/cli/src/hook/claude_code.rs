//! Answers as Claude Code takes them. <https://code.claude.com/docs/en/hooks>

use super::{Answer, Moment};
use serde_json::{Map, Value, json};

/// Events that are about something else than one call: nothing to say. An event that is not here is not known.
pub(super) const OTHER_EVENTS: &[&str] = &[
    "PermissionRequest",
    "PermissionDenied",
    "PostToolBatch",
    "UserPromptSubmit",
    "UserPromptExpansion",
    "SessionStart",
    "SessionEnd",
    "Setup",
    "Stop",
    "StopFailure",
    "SubagentStart",
    "SubagentStop",
    "PreCompact",
    "PostCompact",
    "PreModelSwitch",
    "PostModelSwitch",
    "Notification",
    "MessageDisplay",
    "TeammateIdle",
    "TaskCreated",
    "TaskCompleted",
    "Elicitation",
    "ElicitationResult",
    "ConfigChange",
    "InstructionsLoaded",
    "CwdChanged",
    "FileChanged",
    "DirectoryAdded",
    "WorktreeCreate",
    "WorktreeRemove",
];

/// The call must not run.
pub(super) fn deny(reason: &str) -> Answer {
    specific(
        "PreToolUse",
        &[
            ("permissionDecision", json!("deny")),
            ("permissionDecisionReason", json!(reason)),
        ],
    )
}

/// The call runs with other arguments, if the client's own permissions let it: there is no decision here.
pub(super) fn rewrite(input: Map<String, Value>) -> Answer {
    specific("PreToolUse", &[("updatedInput", Value::Object(input))])
}

/// The model reads something else. A result that has no place for text is followed by it; after a failure that is all the client takes.
pub(super) fn amend(moment: Moment, tool: &str, text: &str, response: Option<Value>) -> Answer {
    match (moment, response) {
        (Moment::Failed, _) => {
            specific("PostToolUseFailure", &[("additionalContext", json!(text))])
        }
        (_, None) => Answer::Print(json!({ "decision": "block", "reason": text })),
        // Versions that cannot replace every result can replace those of MCP tools, under another name.
        (_, Some(response)) if tool.starts_with("mcp__") => specific(
            "PostToolUse",
            &[
                ("updatedToolOutput", response.clone()),
                ("updatedMCPToolOutput", response),
            ],
        ),
        (_, Some(response)) => specific("PostToolUse", &[("updatedToolOutput", response)]),
    }
}

fn specific(event: &str, fields: &[(&str, Value)]) -> Answer {
    let mut output = Map::from_iter([("hookEventName".to_owned(), json!(event))]);
    output.extend(
        fields
            .iter()
            .map(|(key, value)| ((*key).to_owned(), value.clone())),
    );
    Answer::Print(json!({ "hookSpecificOutput": output }))
}
