//! The clients harness works with. One file per client holds all that the program knows about it; the
//! command line, `harness install` and `harness hook` derive from this list.
//!
//! A client whose own tools are judged also has a map of those tools in `tool_harness::native`.

mod claude_code;
mod codex;
mod cursor;
mod gemini;
mod goose;
mod vscode;

use crate::exit::UsageError;
use crate::install::{ConfigFile, InstallContext, InstallScope};
use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use serde_json::{Map, Value, json};
use tool_harness::{Call, Client};

/// Every client, in the order the help lists them.
pub(crate) const CLIENTS: [&ClientSpec; 6] = [
    &claude_code::SPEC,
    &codex::SPEC,
    &cursor::SPEC,
    &vscode::SPEC,
    &goose::SPEC,
    &gemini::SPEC,
];

/// What harness knows about a client.
pub(crate) struct ClientSpec {
    /// Its name on the command line.
    pub(crate) name: &'static str,
    /// What people call it.
    pub(crate) title: &'static str,
    /// Its line in the help.
    pub(crate) help: &'static str,
    /// The command that starts it.
    pub(crate) start: &'static str,
    /// Where it can be configured; the first one is the default.
    pub(crate) scopes: &'static [InstallScope],
    /// The files that `harness install` changes.
    pub(crate) files: fn(&InstallContext<'_>) -> Result<Vec<ConfigFile>, UsageError>,
    /// What a person has to do in the client after an installation.
    pub(crate) then: &'static [&'static str],
    /// How it runs hooks around its own tools. Without hooks, harness judges only the tools it
    /// serves.
    pub(crate) hooks: Option<HookProtocol>,
}

/// The hook messages a client sends, and the answers it understands.
pub(crate) struct HookProtocol {
    /// The events about one call, in the order they happen.
    pub(crate) events: &'static [(&'static str, CallPhase)],
    /// Events about something else, which get no answer. Any other event is an error.
    pub(crate) other_events: &'static [&'static str],
    /// The variable that names the folder the client was started in.
    pub(crate) started_in: Option<&'static str>,
    /// The answer that stops a call.
    pub(crate) deny: fn(reason: &str) -> Value,
    /// The answer that lets a call run with other arguments.
    pub(crate) rewrite: fn(Map<String, Value>) -> Value,
    /// The answer that gives the model another result.
    pub(crate) amend: fn(Amendment<'_>) -> Value,
    /// The calls that the client makes itself from parts of this one; harness judges them as well.
    pub(crate) inner_calls: fn(&Call, &Client) -> Vec<(Call, Client)>,
}

/// When in a call's life the client sends an event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum CallPhase {
    Before,
    After,
    Failed,
}

/// What the model reads instead of a call's result.
pub(crate) struct Amendment<'a> {
    /// When the event came.
    pub(crate) phase: CallPhase,
    /// The client's name for the tool.
    pub(crate) tool: &'a str,
    /// The new text.
    pub(crate) text: &'a str,
    /// The new result in the client's own form, where that form can hold the text.
    pub(crate) response: Option<Value>,
}

/// The answer of a hook that stops a call, in the form that Claude Code and Codex share.
fn deny(reason: &str) -> Value {
    hook_output(json!({
        "hookEventName": "PreToolUse",
        "permissionDecision": "deny",
        "permissionDecisionReason": reason,
    }))
}

fn hook_output(output: Value) -> Value {
    json!({ "hookSpecificOutput": output })
}

impl ClientSpec {
    /// The command-line values that name a client for which `accepts` holds.
    fn parser(accepts: fn(&Self) -> bool) -> impl TypedValueParser<Value = &'static Self> {
        let accepted = move || CLIENTS.into_iter().filter(move |client| accepts(client));
        let values = accepted().map(|client| PossibleValue::new(client.name).help(client.help));
        PossibleValuesParser::new(values).try_map(move |name| {
            accepted()
                .find(|client| client.name == name)
                .ok_or("not a client")
        })
    }

    /// Accepts any client.
    pub(crate) fn any() -> impl TypedValueParser<Value = &'static Self> {
        Self::parser(|_| true)
    }

    /// Accepts a client that has hooks.
    pub(crate) fn with_hooks() -> impl TypedValueParser<Value = &'static Self> {
        Self::parser(|client| client.hooks.is_some())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_client_with_hooks_has_a_map_of_its_tools() {
        let with_hooks = CLIENTS.iter().filter(|client| client.hooks.is_some());
        let names: Vec<&str> = with_hooks.map(|client| client.name).collect();
        assert_eq!(names, tool_harness::native::CLIENTS);
    }
}
