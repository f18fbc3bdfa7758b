//! What a worker found in a script's syntax tree. Made in a worker, judged here.

use crate::refusal::Code;
use crate::span::Position;
use serde::{Deserialize, Serialize};
use std::collections::HashMap;
use std::sync::Arc;

/// What kind of source a script is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum ScriptKind {
    /// A tool's `script`, entered at `run(args)`.
    Tool,
    /// A hook's `script`, entered at `handle(event, payload)`.
    Hook,
    /// A hook's `when`: one pure expression over `event` and `payload`.
    When,
}

/// A name with its place in the script.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Named {
    /// The name or text.
    pub name: String,
    /// Line, from one.
    pub line: u32,
    /// Column, from one.
    pub column: u32,
}

impl Named {
    /// The place in the script.
    #[must_use]
    pub fn position(&self) -> Position {
        Position {
            line: self.line,
            column: self.column,
        }
    }
}

/// A top-level function.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Function {
    /// Its name.
    pub at: Named,
    /// Positional arguments that must be given.
    pub required: usize,
    /// Positional arguments that may be given; absent when there is `*args`.
    pub accepted: Option<usize>,
    /// The names of its positional parameters, in order.
    pub parameters: Vec<String>,
}

/// Why nothing is known about a script.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Unread {
    /// Reading it ended the worker, in this way.
    Crashed(String),
    /// There was no worker to read it.
    NoWorker {
        /// What calls of it are refused with.
        code: Code,
        /// Why there was none.
        why: String,
    },
}

/// The findings. Everything is in source order.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Facts {
    /// The parser's message, when the source does not parse. Nothing else is filled in then.
    pub syntax: Option<Named>,
    /// Top-level functions.
    pub functions: Vec<Function>,
    /// Built-ins the script can reach, as `fs.read` or `env`; a module used as a value gives each of its calls.
    pub reaches: Vec<Named>,
    /// Names that are neither defined nor known.
    pub unknown_names: Vec<Named>,
    /// `module.member` where the module is known and the member is not.
    pub unknown_members: Vec<Named>,
    /// Functions that call themselves, directly or in a circle: the circle as `a -> b -> a`, at the first function.
    pub recursion: Vec<Named>,
    /// Keys a tool reads from its arguments as `args["x"]` in every run, with no word about their absence.
    pub required_arguments: Vec<Named>,
    /// Keys a hook reads from its payload as `payload["x"]` or `payload.get("x")` (also nested: `tool.name`).
    pub payload_keys: Vec<Named>,
    /// Texts a hook compares with the called tool's name.
    pub compared_names: Vec<Named>,
    /// Dict literals returned by a hook whose keys mean nothing here, as `{"decision": ...}`: the offending key.
    pub odd_returns: Vec<Named>,
    /// For `When`: why it is not one pure expression.
    pub impure: Option<Named>,
}

/// What workers found, by source.
pub type FactsBySource = HashMap<(ScriptKind, Arc<str>), Result<Facts, Unread>>;
