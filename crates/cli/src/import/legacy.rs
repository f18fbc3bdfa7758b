//! What older hooks call things: their events, the names in `when`, and decisions without a script.

use tool_harness::hook_event;

/// Older names of events.
const EVENTS: &[(&str, &str)] = &[
    ("onPreToolUse", "tool.pre"),
    ("onPostToolUse", "tool.post"),
    ("onPreCompletion", "completion.pre"),
    ("onPostCompletion", "completion.post"),
    ("onSessionStart", "session.start"),
    ("onSessionEnd", "session.end"),
    ("onTurnStart", "turn.start"),
    ("onTurnEnd", "turn.end"),
    ("onPreDelegation", "delegation.pre"),
    ("onPostDelegation", "delegation.post"),
    ("onAgentStop", "agent.stop"),
    ("onStop", "agent.stop"),
    ("onError", "error"),
];

/// The event of this or an older name.
pub(super) fn event(name: &str) -> Option<String> {
    if hook_event::find(name).is_some() {
        return Some(name.to_owned());
    }
    let bare = |name: &str| name.trim_start_matches("on").to_ascii_lowercase();
    let found = EVENTS.iter().find(|(old, _)| bare(old) == bare(name));
    found.map(|(_, new)| (*new).to_owned())
}

/// The script of a hook that only names its decision.
pub(super) fn decision_script(action: &str, reason: &str) -> Option<String> {
    let reason = match reason {
        "" => "not allowed here",
        reason => reason,
    };
    // A JSON string is a Starlark string.
    let reason = serde_json::Value::from(reason).to_string();
    let lines = match action.to_ascii_lowercase().as_str() {
        "deny" | "block" => format!("    return block({reason})\n"),
        "ask" | "confirm" => format!("    return ask({reason})\n"),
        "advisory" | "advise" | "warn" | "log" | "audit" | "annotate" => {
            format!("    log({reason})\n    return allow()\n")
        }
        "allow" | "continue" => "    return allow()\n".to_owned(),
        _ => return None,
    };
    Some(format!("def handle(event, payload):\n{lines}"))
}

/// A condition with today's names: `payload["name"]` for `tool.name`, and so on. Strings in it stay
/// as they are.
pub(super) fn condition(old: &str) -> String {
    let mut new = String::new();
    let mut rest = old;
    while let Some(first) = rest.chars().next() {
        let length = match first {
            '"' | '\'' => string_length(rest, first),
            c if c.is_ascii_alphabetic() || c == '_' => {
                let end = rest.find(|c: char| !(c.is_ascii_alphanumeric() || c == '_' || c == '.'));
                end.unwrap_or(rest.len())
            }
            c => c.len_utf8(),
        };
        let (word, after) = rest.split_at(length);
        let follows = new.ends_with('.') || new.ends_with(|c: char| c.is_ascii_digit());
        match (follows, renamed(word, after.starts_with('('))) {
            (false, Some(name)) => new.push_str(&name),
            _ => new.push_str(word),
        }
        rest = after;
    }
    new
}

fn string_length(text: &str, quote: char) -> usize {
    let mut escaped = false;
    for (at, c) in text.char_indices().skip(1) {
        match c {
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            c if c == quote => return at + c.len_utf8(),
            _ => {}
        }
    }
    text.len()
}

/// Today's spelling of an older name, with the attributes behind it.
fn renamed(word: &str, is_called: bool) -> Option<String> {
    const ARGS: &str = "payload[\"args\"]";
    let parts: Vec<&str> = word.split('.').collect();
    let (base, rest) = match parts.as_slice() {
        ["tool", "name", rest @ ..] | ["tool_name", rest @ ..] => {
            ("payload[\"name\"]".to_owned(), rest)
        }
        ["tool", "args" | "arguments", rest @ ..] | ["tool_args" | "tool_arguments", rest @ ..] => {
            match rest {
                // `tool.args.get("x")` is a method of the dict.
                [] => (ARGS.to_owned(), rest),
                [_] if is_called => (ARGS.to_owned(), rest),
                [key, rest @ ..] => (format!("{ARGS}.get(\"{key}\", \"\")"), rest),
            }
        }
        _ => return None,
    };
    Some(
        rest.iter()
            .fold(base, |name, part| format!("{name}.{part}")),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn older_events_have_a_name_here() {
        for (old, new) in [
            ("onPreToolUse", Some("tool.pre")),
            ("PostToolUse", Some("tool.post")),
            ("tool.pre", Some("tool.pre")),
            ("custom.done", Some("custom.done")),
            ("onMoonrise", None),
        ] {
            assert_eq!(event(old).as_deref(), new, "{old}");
        }
        for (_, new) in EVENTS {
            assert!(hook_event::find(new).is_some(), "{new}");
        }
    }

    #[test]
    fn conditions_get_todays_names_and_keep_their_strings() {
        for (old, new) in [
            (
                "tool.name == 'exec' and 'rm -rf' in tool.args.command",
                "payload[\"name\"] == 'exec' and 'rm -rf' in payload[\"args\"].get(\"command\", \"\")",
            ),
            (
                "tool_name == \"tool.name\"",
                "payload[\"name\"] == \"tool.name\"",
            ),
            (
                "tool.args.path.startswith('/') or tool.args.get(\"x\")",
                "payload[\"args\"].get(\"path\", \"\").startswith('/') or payload[\"args\"].get(\"x\")",
            ),
            (
                "payload[\"tool_name\"] == 'x'",
                "payload[\"tool_name\"] == 'x'",
            ),
            ("my.tool.name", "my.tool.name"),
            ("'it\\'s tool.name'", "'it\\'s tool.name'"),
        ] {
            assert_eq!(condition(old), new);
        }
    }
}
