//! The command a client runs before and after each use of its own tools.
//!
//! Clients let a call through when a hook ends with anything but 0 or 2, and also when the program is not there; Codex also when it ends
//! with 2 and says nothing. The shell around it makes all of that a 2 with a reason. It is named in full because clients use the user's
//! shell, whatever that is. It is short because Claude Code shows it to the model with every refusal.

use super::{Entry, Slot};
use serde_json::{Value, json};

const BEGIN: &str = "/bin/sh -c '\"$0\" hook ";
const END: &str = " || { echo stopped by harness >&2; exit 2; }' ";

/// Where a client looks for what to run before a call, and after it. The last one is written first.
pub(super) const BEFORE_AND_AFTER: &[&[&str]] =
    &[&["hooks", "PostToolUse"], &["hooks", "PreToolUse"]];
/// The same for a client that tells of calls that failed by themselves.
pub(super) const BEFORE_AFTER_AND_FAILED: &[&[&str]] = &[
    &["hooks", "PostToolUseFailure"],
    &["hooks", "PostToolUse"],
    &["hooks", "PreToolUse"],
];

/// The hook entries of a client; both clients use one form.
pub(super) fn entries(
    program: &str,
    client: &str,
    paths: &[&'static [&'static str]],
) -> Vec<Entry> {
    let command = command(program, client);
    let value = json!({"matcher": "*", "hooks": [{"type": "command", "command": command}]});
    paths
        .iter()
        .map(|&path| Entry {
            path,
            slot: Slot::Element,
            value: value.clone(),
        })
        .collect()
}

fn command(program: &str, client: &str) -> String {
    format!("{BEGIN}{client}{END}'{}'", program.replace('\'', "'\\''"))
}

/// Whether an entry of hooks has harness's for the same client among its own. A person may have added others to it.
pub(super) fn is_same_client(one: &Value, other: &Value) -> bool {
    other
        .get("hooks")
        .and_then(Value::as_array)
        .is_some_and(|hooks| hooks.iter().any(|hook| is_same_hook(one, hook)))
}

/// Whether a hook is the one of harness's entry, be it of another version.
pub(super) fn is_same_hook(entry: &Value, hook: &Value) -> bool {
    let client = |hook: &Value| {
        let rest = hook
            .get("command")
            .and_then(Value::as_str)?
            .strip_prefix(BEGIN)?;
        // Whatever another version of harness writes after the client's name.
        let end = rest.find(|c: char| !c.is_ascii_alphanumeric() && c != '-');
        Some(rest[..end.unwrap_or(rest.len())].to_owned())
    };
    let ours = entry.pointer("/hooks/0").and_then(client);
    ours.is_some() && ours == client(hook)
}
