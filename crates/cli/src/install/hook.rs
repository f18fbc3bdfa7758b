//! The command a client runs before and after each use of its own tools.
//!
//! Clients run the call when a hook exits with anything but 0 or 2, or when its program is missing;
//! Codex also when it exits with 2 and prints nothing. The shell around harness turns all of that
//! into a 2 with a reason. Its path is absolute because clients use the user's shell, whichever
//! that is. The command is short because Claude Code shows it to the model with every refusal.

use super::{ConfigEntry, EntrySlot};
use crate::client::CallPhase;
use serde_json::{Value, json};

const BEGIN: &str = "/bin/sh -c '\"$0\" hook ";
const END: &str = " || { echo stopped by harness >&2; exit 2; }' ";

/// The hook entries of a client. The clients so far use one form.
pub(super) fn entries(
    program: &str,
    client: &str,
    events: &[(&'static str, CallPhase)],
) -> Vec<ConfigEntry> {
    let command = command(program, client);
    let value = json!({"matcher": "*", "hooks": [{"type": "command", "command": command}]});
    let entry = |&(event, _): &(&'static str, CallPhase)| ConfigEntry {
        path: vec!["hooks", event],
        slot: EntrySlot::Element,
        value: value.clone(),
    };
    events.iter().rev().map(entry).collect()
}

fn command(program: &str, client: &str) -> String {
    format!("{BEGIN}{client}{END}'{}'", program.replace('\'', "'\\''"))
}

/// Whether a hook entry contains harness's hook for the same client. A person may have added
/// others.
pub(super) fn is_same_client(one: &Value, other: &Value) -> bool {
    let hooks = other.get("hooks").and_then(Value::as_array);
    hooks.is_some_and(|hooks| hooks.iter().any(|hook| is_same_hook(one, hook)))
}

/// Whether a hook is harness's own, from any version.
pub(super) fn is_same_hook(entry: &Value, hook: &Value) -> bool {
    let client = |hook: &Value| {
        let rest = hook.get("command")?.as_str()?.strip_prefix(BEGIN)?;
        // Another version of harness may write something else after the client's name.
        let end = rest.find(|c: char| !c.is_ascii_alphanumeric() && c != '-');
        Some(rest[..end.unwrap_or(rest.len())].to_owned())
    };
    let ours = entry.pointer("/hooks/0").and_then(client);
    ours.is_some() && ours == client(hook)
}
