//! Answers as Codex takes them. <https://developers.openai.com/codex/hooks>
//!
//! It passes over an answer that it does not know in every detail, and then runs the call: nothing is written here that it does not take.

use super::Answer;
use serde_json::{Map, Value, json};

/// Events that are about something else than one call: nothing to say. An event that is not here is not known.
pub(super) const OTHER_EVENTS: &[&str] = &[
    "PermissionRequest",
    "UserPromptSubmit",
    "SessionStart",
    "SessionEnd",
    "SubagentStart",
    "SubagentStop",
    "PreCompact",
    "PostCompact",
    "Stop",
    "StopFailure",
    "Interrupt",
];

/// The call must not run.
pub(super) fn deny(reason: &str) -> Answer {
    pre(
        &json!({ "hookEventName": "PreToolUse", "permissionDecision": "deny", "permissionDecisionReason": reason }),
    )
}

/// The call runs with other arguments. Codex takes them only with the word `allow`, which there does not stand for anybody's approval.
pub(super) fn rewrite(input: Map<String, Value>) -> Answer {
    pre(
        &json!({ "hookEventName": "PreToolUse", "permissionDecision": "allow", "updatedInput": input }),
    )
}

/// The model reads this in place of the result.
pub(super) fn amend(text: &str) -> Answer {
    Answer::Print(json!({ "decision": "block", "reason": text }))
}

fn pre(output: &Value) -> Answer {
    Answer::Print(json!({ "hookSpecificOutput": output }))
}
