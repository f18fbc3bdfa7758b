//! Calls that a client runs itself: how hooks and policy see its tools, and what the tools may
//! never touch.

mod contain;
mod destructive_command;
mod guard;
mod patch;
mod path;
mod response;
mod shell;
mod translate;

pub use patch::{Inline, inline, inline_words};
pub(crate) use response::{instead, text};
pub(crate) use translate::Part;

use crate::artifact::client::{ClientMap, ClientTool, Commands};
use crate::native::{CLIENTS, MAPS, NativeTool, Served, tools_of};
use crate::refusal::{Code, Refusal};
use serde_json::{Map, Value};
use std::path::PathBuf;
use std::sync::{Arc, OnceLock};
use tool_harness_sandbox::file::{Jail, WriteGuard};

/// The client that calls, and where it runs.
#[derive(Clone, Debug)]
pub struct Client {
    /// `claude-code` or `codex`.
    pub name: String,
    /// The folder its tools work in.
    pub cwd: PathBuf,
    /// What `~` stands for.
    pub home: Option<PathBuf>,
    /// The judging program's real paths: no tool may replace it, and its `exec` contains commands.
    pub programs: Vec<PathBuf>,
}

/// The engine's judgement of a call that a client is about to run.
#[derive(Clone, Debug, PartialEq)]
pub enum Judgement {
    /// No objection: the client applies its own permissions.
    Nothing,
    /// The call may run with these arguments instead.
    Instead(Map<String, Value>),
    /// The call must not run.
    Refused(Refusal),
}

/// The outcome of a client's call.
#[derive(Clone, Debug, PartialEq)]
pub struct Outcome {
    /// The result in the client's own form.
    pub response: Value,
    /// Why the call failed, if it did.
    pub error: Option<String>,
}

/// What the engine decides about the result of a call that a client ran.
#[derive(Clone, Debug, PartialEq)]
pub enum Observation {
    /// The model may read it unchanged.
    Nothing,
    /// The model must read something else.
    Instead {
        /// The text it reads.
        text: String,
        /// The same in the client's own form, if that form can carry it.
        response: Option<Value>,
    },
}

/// A client's tool in one call.
#[derive(Debug)]
pub struct ClientToolCall {
    client: Client,
    jail: Arc<Jail>,
    native: String,
    entry: Arc<ClientTool>,
    commands: Commands,
    guard: OnceLock<Option<WriteGuard>>,
}

impl ClientToolCall {
    /// The tool with that name, from the project's map or else the built-in one.
    pub(crate) fn find(
        maps: &[ClientMap],
        jail: &Arc<Jail>,
        client: &Client,
        native: &str,
    ) -> Result<Self, Refusal> {
        let own = maps.iter().find(|map| map.client == client.name);
        if let Some(map) = own {
            usable(map)?;
        }
        let written = own.and_then(|map| {
            map.tools
                .iter()
                .find(|tool| fits(&tool.pattern, native))
                .map(Arc::clone)
        });
        let known = || {
            tools_of(&client.name)
                .iter()
                .find(|tool| fits(tool.pattern, native))
                .map(|tool| Arc::new(tool.into()))
        };
        let Some(entry) = written.or_else(known) else {
            let message = format!("there is no client `{}`", client.name);
            return Err(Refusal::new(Code::ToolUnknown, message)
                .help(format!("accepted: {}", CLIENTS.join(", "))));
        };
        let commands = own.map(|map| map.commands).unwrap_or_default();
        Ok(Self {
            client: client.clone(),
            jail: Arc::clone(jail),
            native: native.to_owned(),
            entry,
            commands,
            guard: OnceLock::new(),
        })
    }

    /// The name that hooks and policy see.
    pub(crate) fn name(&self) -> &str {
        self.entry.name.as_deref().unwrap_or(&self.native)
    }

    /// The client's own name for the tool.
    pub(crate) fn native(&self) -> &str {
        &self.native
    }

    /// The client's name.
    pub(crate) fn client(&self) -> &str {
        &self.client.name
    }

    pub(crate) fn entry(&self) -> &ClientTool {
        &self.entry
    }

    /// Whether harness serves the tool and judges the call there, not here.
    pub(crate) fn is_judged_elsewhere(&self) -> bool {
        self.entry.served == Served::Here
    }
}

/// A map with a mistake allows nothing.
fn usable(map: &ClientMap) -> Result<(), Refusal> {
    let Some(problem) = &map.broken else {
        return Ok(());
    };
    let message = format!(
        "the map of {}'s tools is broken, so it may call nothing: {}",
        map.client, problem.message
    );
    let refusal = Refusal::new(Code::Stopped, message)
        .help("a person must fix it; `harness validate` shows everything that is wrong");
    Err(problem
        .place
        .iter()
        .fold(refusal, |refusal, place| refusal.at(place.clone())))
}

/// Whether a name matches a pattern in which `*` stands for any text.
fn fits(pattern: &str, name: &str) -> bool {
    let mut parts = pattern.split('*');
    let Some(mut rest) = name.strip_prefix(parts.next().unwrap_or_default()) else {
        return false;
    };
    let mut parts = parts.peekable();
    if parts.peek().is_none() {
        return rest.is_empty();
    }
    while let Some(part) = parts.next() {
        if parts.peek().is_none() {
            return rest.ends_with(part);
        }
        let Some(at) = rest.find(part) else {
            return false;
        };
        rest = &rest[at + part.len()..];
    }
    true
}

impl From<&NativeTool> for ClientTool {
    fn from(native: &NativeTool) -> Self {
        let texts = |texts: &[&str]| texts.iter().map(|text| (*text).to_owned()).collect();
        Self {
            pattern: native.pattern.to_owned(),
            name: Some(native.name)
                .filter(|name| !name.is_empty())
                .map(str::to_owned),
            args: native
                .args
                .iter()
                .map(|(from, to)| ((*from).to_owned(), (*to).to_owned()))
                .collect(),
            paths: texts(native.paths),
            commands: texts(native.commands),
            split: native.split,
            effects: native.effects,
            result: texts(native.result),
            tags: Vec::new(),
            served: native.served,
        }
    }
}

/// Whether a client's tool appears under this name.
pub(crate) fn knows(name: &str) -> bool {
    MAPS.iter()
        .flat_map(|map| map.tools)
        .any(|tool| tool.name == name || (tool.name.is_empty() && tool.pattern == name))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_star_stands_for_any_text() {
        for (pattern, name, expected) in [
            ("Bash", "Bash", true),
            ("Bash", "BashOutput", false),
            ("Bash", "bash", false),
            ("mcp__*", "mcp__memory__read", true),
            ("mcp__*__read", "mcp__memory__read", true),
            ("mcp__*__read", "mcp__memory__readers", false),
            ("a*b*b", "ab", false),
            ("a*b*b", "abb", true),
            ("*", "", true),
            ("", "x", false),
        ] {
            assert_eq!(fits(pattern, name), expected, "{pattern} {name}");
        }
    }

    #[test]
    fn names_that_hooks_see_are_known() {
        assert!(knows("run_command") && knows("write_file") && knows("TodoWrite"));
        assert!(!knows("Bash") && !knows("no_such_tool"));
    }
}
