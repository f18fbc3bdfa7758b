//! What a worker found in the syntax tree of a script.

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
    /// A bundle's `condition` or a context's `when`: one expression of pure built-ins and
    /// [`CONDITION_BUILTINS`].
    Condition,
}

/// What such a condition may call besides pure built-ins.
pub const CONDITION_BUILTINS: [&str; 3] = ["ctx.get", "ctx.has", "env"];

impl ScriptKind {
    /// The field of an artifact that holds such a script.
    #[must_use]
    pub fn field(self) -> &'static str {
        match self {
            Self::Tool | Self::Hook => "script",
            Self::When => "when",
            Self::Condition => "condition",
        }
    }
}

/// A name and its place in the script.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Named {
    /// The name or text.
    pub name: String,
    /// The line, counted from 1.
    pub line: u32,
    /// The column, counted from 1.
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
    /// Positional arguments that are required.
    pub required: usize,
    /// Positional arguments that are accepted; `None` with `*args`.
    pub accepted: Option<usize>,
    /// The names of its positional parameters, in order.
    pub parameters: Vec<String>,
}

/// A timeout that is written out in a call of a built-in, or in the variable that it is given.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TimeoutLiteral {
    /// The built-in, as `http.get`, at the place of the argument.
    pub at: Named,
    /// How many bytes the argument has, with its name.
    pub length: u32,
    /// The value as it is written: a number, or a variable that holds it.
    pub written: String,
    /// The parameter: `timeout_ms` or `timeout_seconds`.
    pub parameter: String,
    /// How it is given.
    pub given: Given,
    /// The number.
    pub value: u64,
}

/// How an argument of a call is given.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Given {
    /// By its position.
    Position,
    /// By its name.
    Name,
}

/// Why there are no facts about a script.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Unread {
    /// Reading it crashed the worker.
    Crashed(String),
    /// There was no worker to read it.
    NoWorker {
        /// The code that calls of it are refused with.
        code: Code,
        /// Why there was no worker.
        why: String,
    },
}

/// Facts about a script. Lists are in source order.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Facts {
    /// The message of the parser. If set, everything else is empty.
    pub syntax: Option<Named>,
    /// Top-level functions.
    pub functions: Vec<Function>,
    /// Built-ins that the script can reach, such as `fs.read` or `env`; a module used as a value
    /// counts as all its calls.
    pub reaches: Vec<Named>,
    /// Names that are neither defined nor built in.
    pub unknown_names: Vec<Named>,
    /// `module.member` where the module is known and the member is not.
    pub unknown_members: Vec<Named>,
    /// Functions that call themselves, directly or in a cycle: the cycle as `a -> b -> a`, at the
    /// first function.
    pub recursion: Vec<Named>,
    /// Keys that a tool reads from its arguments as `args["x"]` in every run, without a check.
    pub required_arguments: Vec<Named>,
    /// Keys that a tool reads from its arguments as `args["x"]`, without testing whether they are
    /// there, and does not set itself.
    pub indexed_arguments: Vec<Named>,
    /// Keys of its arguments that a tool reads as `args.get("x")` or tests with `in`, and does not
    /// set itself.
    pub tested_arguments: Vec<Named>,
    /// A value and an attribute that it does not have, as `exec.run.strip`, `args.path` or
    /// `list.sort`.
    pub wrong_attributes: Vec<Named>,
    /// Lists and dicts of the top level that a function changes.
    pub changed_globals: Vec<Named>,
    /// Timeouts that are written out in calls of built-ins.
    pub timeouts: Vec<TimeoutLiteral>,
    /// Keys that a hook reads from its payload as `payload["x"]`, without a check (also nested:
    /// `tool.name`).
    pub payload_keys: Vec<Named>,
    /// Keys that a hook reads from its payload and whose absence it handles, as
    /// `payload.get("x")`.
    pub optional_payload_keys: Vec<Named>,
    /// Keys that a hook reads as fields: `agent` for `payload.agent`, `args.path` for
    /// `payload["args"].path`.
    pub payload_fields: Vec<Named>,
    /// Where a hook that never returns `modify` changes its payload: the source of each change.
    pub payload_changes: Vec<Named>,
    /// What a hook does with `payload["result"]` that only text allows, such as `lower`.
    pub text_results: Vec<Named>,
    /// Keys that a hook reads from `payload["result"]`, which only a dict has.
    pub dict_results: Vec<Named>,
    /// What a hook does with `payload["error"]` that only a dict allows, such as `code` for
    /// `payload["error"]["code"]`; `None` for a comparison with it.
    pub dict_errors: Vec<Named>,
    /// Strings that a hook compares with the name of the called tool.
    pub compared_names: Vec<Named>,
    /// Strings that a hook compares with that name only to block the call.
    pub forbidden_names: Vec<Named>,
    /// Whether a hook blocks whatever reaches it.
    pub always_blocks: bool,
    /// Keys of returned dict literals that mean nothing here, as in `{"decision": ...}`.
    pub odd_returns: Vec<Named>,
    /// Reads of `m["matched"]` of a match that the script never tests.
    pub untested_matches: Vec<Named>,
    /// Environment variables that it reads with `env` and a literal name.
    pub variables: Vec<Named>,
    /// Formats of numbers and columns that Starlark does not have, such as `%.2f`.
    pub number_formats: Vec<Named>,
    /// For `When` and `Condition`: why it is not one pure expression.
    pub impure: Option<Named>,
}

/// Facts by source.
pub type FactsBySource = HashMap<(ScriptKind, Arc<str>), Result<Facts, Unread>>;
