//! Stage 1': what scripts can call. One file per module; this is the list.

use crate::effect::Effects;
use serde_json::Value;

/// A namespace of built-ins, or the globals when the name is empty.
pub struct Module {
    /// `fs`; empty for globals such as `env`.
    pub name: &'static str,
    /// One sentence for the reference page.
    pub doc: &'static str,
    /// Values that are not calls, as `math.pi`.
    pub constants: &'static [(&'static str, f64)],
    /// The calls.
    pub calls: &'static [Builtin],
}

/// One built-in.
pub struct Builtin {
    /// The name within its module.
    pub name: &'static str,
    /// Parameters in order.
    pub params: &'static [Param],
    /// What it does, in a sentence or two.
    pub doc: &'static str,
    /// What it returns.
    pub returns: &'static str,
    /// What it does to the world.
    pub effects: Effects,
    /// Which scripts have it.
    pub scope: Scope,
    /// Who runs it.
    pub body: Body,
    /// Expressions and what they give, executed by a test.
    pub examples: &'static [Example],
}

/// Which scripts have a built-in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scope {
    /// Tools and hooks.
    Both,
    /// Tools only.
    Tools,
    /// Hooks only.
    Hooks,
}

/// Who runs a built-in.
pub enum Body {
    /// The worker itself: no access to anything, arguments in parameter order.
    Pure(fn(&Args) -> Result<Value, String>),
    /// The harness, after the call crossed to it and passed policy and hooks. May block: it runs off the async threads.
    Host(fn(&dyn Host, &Args) -> Result<Value, String>),
    /// The harness, without an answer: the script goes on at once.
    Note,
    /// The worker, by means of its own (`print`, `result`, the decisions).
    Worker,
    /// Known by name and effect, not available yet; the text says what is missing.
    Absent(&'static str),
}

/// One parameter.
pub struct Param {
    /// The name, usable as a keyword.
    pub name: &'static str,
    /// What it accepts.
    pub kind: Kind,
    /// What is passed when it is left out; absent makes it required. JSON text.
    pub default: Option<&'static str>,
}

/// What a parameter accepts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Any JSON value.
    Any,
    /// A string.
    Text,
    /// A boolean.
    Bool,
    /// An integer.
    Int,
    /// An integer or a float.
    Number,
    /// A list.
    List,
    /// A dict with string keys.
    Dict,
    /// Every further positional argument, as a list. Last but for `Named`.
    Rest,
    /// Every further named argument, as a dict. Last.
    Named,
}

/// An expression and the JSON it gives, or the error it raises.
pub struct Example {
    /// A Starlark expression.
    pub script: &'static str,
    /// JSON text, or `error: ` and a part of the message.
    pub gives: &'static str,
}

/// Bound arguments, one per parameter, defaults filled in, kinds checked.
#[derive(Clone, Debug, PartialEq)]
pub struct Args(pub Vec<Value>);

impl Args {
    /// The argument at `index`; null when there is none.
    #[must_use]
    pub fn get(&self, index: usize) -> &Value {
        self.0.get(index).unwrap_or(&Value::Null)
    }

    /// The text at `index`; empty for anything else.
    #[must_use]
    pub fn text(&self, index: usize) -> &str {
        self.get(index).as_str().unwrap_or_default()
    }

    /// The integer at `index`, when it fits.
    #[must_use]
    pub fn int(&self, index: usize) -> Option<i64> {
        self.get(index).as_i64()
    }

    /// The number at `index` as a float.
    #[must_use]
    pub fn number(&self, index: usize) -> Option<f64> {
        self.get(index).as_f64()
    }

    /// The boolean at `index`; false for anything else.
    #[must_use]
    pub fn bool(&self, index: usize) -> bool {
        self.get(index).as_bool().unwrap_or_default()
    }

    /// The list at `index`; empty for anything else.
    #[must_use]
    pub fn list(&self, index: usize) -> &[Value] {
        self.get(index).as_array().map_or(&[], Vec::as_slice)
    }
}

/// What host built-ins may touch, given by the call that runs them.
pub trait Host: Send + Sync {
    /// The file jail of this call.
    fn files(&self) -> Result<&tool_harness_sandbox::file::Jail, String>;
    /// The key-value store of a scope.
    fn store(&self, scope: StoreScope) -> &dyn crate::store::KeyValue;
    /// Counters of this engine.
    fn metrics(&self) -> &crate::store::Metrics;
    /// An environment variable the project lists in `sandbox.env`; `Err` when it is not listed.
    fn env(&self, name: &str) -> Result<Option<String>, String>;
    /// Raises `custom.<name>`.
    fn emit(&self, name: &str, payload: &Value) -> Result<(), String>;
    /// Waits, or fails when the call's deadline or cancellation comes first.
    fn sleep(&self, duration: std::time::Duration) -> Result<(), String>;
    /// Reports progress of the call.
    fn progress(&self, fraction: f64, message: &str);
}

/// How long a value of a key-value store lives.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum StoreScope {
    /// `cache`: one run.
    Run,
    /// `ctx`: one turn.
    Turn,
    /// `state`: one session.
    Session,
}
