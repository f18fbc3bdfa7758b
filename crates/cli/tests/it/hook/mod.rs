//! `harness hook`, driven by the messages that clients send.

mod bounds;
mod faults;
mod governs;
mod many;
mod maps;
mod messages;
mod patch;
mod record;
mod worker;

use crate::support::program::{Ran, prepared};
use serde_json::{Value, json};
use std::path::Path;
use std::process::Stdio;

/// Runs the hook with a message on its standard input, without the folder that the tests run in.
fn hook(folder: &Path, client: &str, message: &str) -> Ran {
    use std::io::Write as _;
    let mut child = prepared(folder, &["hook", client])
        .env_remove("CLAUDE_PROJECT_DIR")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the program starts");
    // A message that is refused early is not read completely.
    let _ = child
        .stdin
        .take()
        .expect("its input")
        .write_all(message.as_bytes());
    Ran::from(child.wait_with_output().expect("it ends"))
}

/// A message before a call.
fn before(folder: &Path, tool: &str, input: &Value) -> String {
    json!({
        "session_id": "s1", "cwd": folder, "hook_event_name": "PreToolUse", "tool_name": tool, "tool_use_id": "toolu_1", "tool_input": input,
    })
    .to_string()
}

/// The reason of a refusal; empty if the call may run.
#[track_caller]
fn refusal(ran: Ran) -> Option<String> {
    let ran = ran.ends(0);
    if ran.out.is_empty() {
        return None;
    }
    let answer = &ran.document()["hookSpecificOutput"];
    assert_eq!(
        (&answer["hookEventName"], &answer["permissionDecision"]),
        (&json!("PreToolUse"), &json!("deny")),
        "{}",
        ran.out
    );
    Some(
        answer["permissionDecisionReason"]
            .as_str()
            .expect("a reason")
            .to_owned(),
    )
}
