//! The command a client runs before and after each use of its own tools.
//!
//! Clients let a call through when a hook ends with anything but 0 or 2, and also when the program is not there. The shell around it
//! makes all of that a 2, with a reason. It is named in full because clients use the user's shell, whatever that is.

use super::{Entry, Slot};
use serde_json::{Value, json};

const BEGIN: &str = "/bin/sh -c '\"$0\" hook ";
const END: &str = "; case $? in 0) exit 0 ;; 2) exit 2 ;; *) echo \"harness could not judge this call, so it is stopped; see to $0\" >&2; exit 2 ;; esac' ";

/// The hook entries of a client; both clients use one form.
pub(super) fn entries(program: &str, client: &str) -> Vec<Entry> {
    let command = command(program, client);
    let value = json!({"matcher": "*", "hooks": [{"type": "command", "command": command}]});
    let paths: [&[&str]; 2] = [&["hooks", "PostToolUse"], &["hooks", "PreToolUse"]];
    paths.into_iter().map(|path| Entry { path, slot: Slot::Element, value: value.clone() }).collect()
}

fn command(program: &str, client: &str) -> String {
    format!("{BEGIN}{client}{END}'{}'", program.replace('\'', "'\\''"))
}

/// Whether two hook entries are harness's for the same client.
pub(super) fn is_same_client(one: &Value, other: &Value) -> bool {
    let client = |value: &Value| {
        let command = value.pointer("/hooks/0/command").and_then(Value::as_str)?;
        let rest = command.strip_prefix(BEGIN)?;
        Some(rest.split(';').next().unwrap_or_default().to_owned())
    };
    client(one).is_some() && client(one) == client(other)
}
