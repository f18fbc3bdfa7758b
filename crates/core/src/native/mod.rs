//! The clients whose own tools are judged, and what those tools can do: one file for each client.

mod claude_code;
mod codex;

use crate::effect::Effects;

/// Every built-in map. A new client is a file here and a line in this list.
pub const MAPS: [BuiltinMap; 2] = [claude_code::MAP, codex::MAP];

/// The names of those clients.
pub const CLIENTS: [&str; MAPS.len()] = {
    let mut names = [""; MAPS.len()];
    let mut index = 0;
    while index < MAPS.len() {
        names[index] = MAPS[index].client;
        index += 1;
    }
    names
};

/// How one client's tools appear to hooks and policy, unless a project's own map says otherwise.
#[derive(Clone, Copy, Debug)]
pub struct BuiltinMap {
    /// The client's name, as in `harness hook NAME` and `.harness/clients/NAME.md`.
    pub client: &'static str,
    /// Its tools. The first entry whose pattern matches decides; the last one matches everything.
    pub tools: &'static [NativeTool],
}

/// The tools of a client; empty for a client that has no map.
#[must_use]
pub(crate) fn tools_of(client: &str) -> &'static [NativeTool] {
    MAPS.iter()
        .find(|map| map.client == client)
        .map_or(&[], |map| map.tools)
}

/// One tool of a client. A project's own map has the same fields.
#[derive(Clone, Copy, Debug)]
pub struct NativeTool {
    /// The client's name for it; `*` matches any text.
    pub pattern: &'static str,
    /// The name that hooks and policy see; empty for the client's own.
    pub name: &'static str,
    /// The client's names of arguments, each with the one that hooks see.
    pub args: &'static [(&'static str, &'static str)],
    /// Arguments that are paths.
    pub paths: &'static [&'static str],
    /// Arguments that are shell commands.
    pub commands: &'static [&'static str],
    /// How one call is split into several judgements.
    pub split: Option<Split>,
    /// What the tool can do.
    pub effects: Effects,
    /// The fields of its result that hold text.
    pub result: &'static [&'static str],
    /// Who serves it.
    pub served: Served,
}

/// The parts of a call that are judged separately.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Split {
    /// Each item of `edits`.
    Edits,
    /// Each file that `patch` touches.
    Patch,
}

/// Who serves a tool that a client calls.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Served {
    /// The client, or another server.
    Elsewhere,
    /// This harness, over MCP, which judges the call there.
    Here,
}

/// Changes files.
const CHANGES: Effects = Effects::READ.and(Effects::WRITE);
/// Starts processes.
const RUNS: Effects = CHANGES.and(Effects::EXEC);

impl NativeTool {
    /// An unknown tool: it may do everything, and any text in its arguments may be a path.
    const fn unknown(pattern: &'static str) -> Self {
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
    const fn with(pattern: &'static str, effects: Effects) -> Self {
        Self {
            effects,
            paths: &[],
            commands: &[],
            ..Self::unknown(pattern)
        }
    }

    /// A tool that changes nothing outside the client.
    const fn inner(pattern: &'static str) -> Self {
        Self::with(pattern, Effects::NONE)
    }

    /// A tool that harness serves.
    const fn own(pattern: &'static str) -> Self {
        Self {
            served: Served::Here,
            ..Self::inner(pattern)
        }
    }

    const fn named(self, name: &'static str) -> Self {
        Self { name, ..self }
    }

    const fn args(self, args: &'static [(&'static str, &'static str)]) -> Self {
        Self { args, ..self }
    }

    const fn path(self) -> Self {
        Self {
            paths: &["path"],
            ..self
        }
    }

    const fn command(self) -> Self {
        Self {
            commands: &["command"],
            ..self
        }
    }

    const fn split(self, split: Split) -> Self {
        Self {
            split: Some(split),
            ..self
        }
    }

    const fn result(self, result: &'static [&'static str]) -> Self {
        Self { result, ..self }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    #[test]
    fn every_client_has_a_map_whose_last_entry_takes_unknown_tools() {
        for BuiltinMap { client, tools } in MAPS {
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
