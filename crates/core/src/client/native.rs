//! The tools that clients have of their own, as this version knows them.

use super::claude_code;
use super::codex;
use crate::artifact::client::{ClientTool, Served, Split};
use crate::effect::Effects;

/// One entry of a built-in map: what a project's own map says with the same words.
#[derive(Clone, Copy, Debug)]
pub struct Native {
    /// The client's name for it; `*` stands for any text.
    pub pattern: &'static str,
    /// The name that hooks and policy see; empty for the client's own.
    pub name: &'static str,
    /// The client's names of arguments, each with the one that hooks see.
    pub args: &'static [(&'static str, &'static str)],
    /// Arguments that are paths.
    pub paths: &'static [&'static str],
    /// Arguments that are shell commands.
    pub commands: &'static [&'static str],
    /// What is judged one by one.
    pub split: Option<Split>,
    /// What the tool can do.
    pub effects: Effects,
    /// Where its result has its text.
    pub result: &'static [&'static str],
    /// Who serves it.
    pub served: Served,
}

/// Changes files.
pub(super) const CHANGES: Effects = Effects::READ.and(Effects::WRITE);
/// Starts processes.
pub(super) const RUNS: Effects = CHANGES.and(Effects::EXEC);

impl Native {
    /// A tool about which nothing is known: it may do everything, and any text in its arguments may be a path.
    pub(super) const fn unknown(pattern: &'static str) -> Self {
        Self {
            pattern,
            name: "",
            args: &[],
            paths: &["*"],
            commands: &["command", "cmd", "script"],
            split: None,
            effects: Effects::ALL,
            result: &[],
            served: Served::Elsewhere,
        }
    }

    /// A tool with these effects.
    pub(super) const fn with(pattern: &'static str, effects: Effects) -> Self {
        Self {
            effects,
            paths: &[],
            commands: &[],
            ..Self::unknown(pattern)
        }
    }

    /// A tool that changes nothing outside the client.
    pub(super) const fn inner(pattern: &'static str) -> Self {
        Self::with(pattern, Effects::NONE)
    }

    /// A tool that harness serves.
    pub(super) const fn own(pattern: &'static str) -> Self {
        Self {
            served: Served::Here,
            ..Self::inner(pattern)
        }
    }

    pub(super) const fn named(self, name: &'static str) -> Self {
        Self { name, ..self }
    }

    pub(super) const fn args(self, args: &'static [(&'static str, &'static str)]) -> Self {
        Self { args, ..self }
    }

    pub(super) const fn path(self) -> Self {
        Self {
            paths: &["path"],
            ..self
        }
    }

    pub(super) const fn command(self) -> Self {
        Self {
            commands: &["command"],
            ..self
        }
    }

    pub(super) const fn split(self, split: Split) -> Self {
        Self {
            split: Some(split),
            ..self
        }
    }

    pub(super) const fn result(self, result: &'static [&'static str]) -> Self {
        Self { result, ..self }
    }
}

/// The built-in map of a client; none when the client is not known.
#[must_use]
pub fn built_in(client: &str) -> &'static [Native] {
    match client {
        "claude-code" => claude_code::TOOLS,
        "codex" => codex::TOOLS,
        _ => &[],
    }
}

impl From<&Native> for ClientTool {
    fn from(native: &Native) -> Self {
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::artifact::client::CLIENTS;
    use std::collections::HashSet;

    #[test]
    fn every_client_has_a_map_whose_last_entry_takes_whatever_is_new() {
        for client in CLIENTS {
            let tools = built_in(client);
            let last = tools.last().expect("entries");
            assert_eq!(
                (last.pattern, last.effects),
                ("*", Effects::ALL),
                "{client}"
            );
            let patterns: HashSet<&str> = tools.iter().map(|tool| tool.pattern).collect();
            assert_eq!(patterns.len(), tools.len(), "{client} names a tool twice");
        }
    }
}
