//! Stage 1': the functions that scripts can call. One file per module; this is the list.

mod artifact;
mod base64;
mod bind;
mod bound;
mod cache;
mod crypto;
mod exec;
mod fs;
mod global;
mod hash;
mod http;
mod json;
mod log;
mod math;
mod meta;
mod metrics;
mod number;
mod os;
mod re;
mod set;
mod string;
mod task;
mod template;
#[cfg(test)]
mod tests;
mod time;
mod url;
mod uuid;
mod validate;

use crate::store::StoreScope;
pub use bind::bind;
pub(crate) use bind::verify;
pub use exec::Program;
pub use fs::diff::unified as diff;
pub use global::DELEGATE_IN_TOOLS;

use crate::effect::Effects;
use serde_json::Value;

/// Every module, in the order of the reference page. The number of a built-in on the wire is its
/// position over all calls of this list.
pub const MODULES: &[&Module] = &[
    &global::MODULE,
    &fs::MODULE,
    &exec::MODULE,
    &http::MODULE,
    &json::MODULE,
    &re::MODULE,
    &string::MODULE,
    &math::MODULE,
    &time::MODULE,
    &url::MODULE,
    &uuid::MODULE,
    &hash::MODULE,
    &base64::MODULE,
    &crypto::MODULE,
    &template::MODULE,
    &validate::MODULE,
    &set::MODULE,
    &cache::CACHE,
    &cache::CTX,
    &cache::STATE,
    &metrics::MODULE,
    &log::MODULE,
    &os::MODULE,
    &task::MODULE,
    &artifact::MODULE,
    &meta::MODULE,
];

/// Every module and call with its number.
pub fn all() -> impl Iterator<Item = (u32, &'static Module, &'static Builtin)> {
    let calls = MODULES
        .iter()
        .flat_map(|module| module.calls.iter().map(move |call| (*module, call)));
    (0..)
        .zip(calls)
        .map(|(index, (module, call))| (index, module, call))
}

/// The built-in of that name (`fs.read`, `env`, `log`), with its number.
#[must_use]
pub fn find(full_name: &str) -> Option<(u32, &'static Module, &'static Builtin)> {
    // A global has no module; a module that can itself be called has a call without a name.
    let matches = |module: &Module, builtin: &Builtin| match full_name.split_once('.') {
        Some((_, "") | ("", _)) => false,
        Some((module_name, name)) => module.name == module_name && builtin.name == name,
        None => {
            [module.name, builtin.name].contains(&"")
                && [module.name, builtin.name].contains(&full_name)
        }
    };
    all().find(|(_, module, builtin)| !full_name.is_empty() && matches(module, builtin))
}

/// Whether a module has that name.
#[must_use]
pub(crate) fn is_module(name: &str) -> bool {
    !name.is_empty() && MODULES.iter().any(|module| module.name == name)
}

/// The built-in with that number.
#[must_use]
pub fn at(index: u32) -> Option<(&'static Module, &'static Builtin)> {
    let mut rest = usize::try_from(index).ok()?;
    for module in MODULES {
        match module.calls.get(rest) {
            Some(builtin) => return Some((module, builtin)),
            None => rest -= module.calls.len(),
        }
    }
    None
}

/// The name scripts use: `fs.read`; `env` for globals; `log` for a module that is itself callable.
#[must_use]
pub fn full_name(module: &Module, builtin: &Builtin) -> String {
    match (module.name, builtin.name) {
        ("", name) | (name, "") => name.to_owned(),
        (module, name) => format!("{module}.{name}"),
    }
}

/// The error of calling a built-in that is [`Body::Absent`].
#[must_use]
pub fn absent(full_name: &str, what: &str) -> String {
    format!("`{full_name}` is not available yet: {what}")
}

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
    /// Its effects, as policy sees them.
    pub effects: Effects,
    /// Which scripts have it.
    pub scope: Scope,
    /// Who runs it.
    pub body: Body,
    /// What scripts make of its value.
    pub shape: Shape,
    /// Expressions and their values; a test runs them.
    pub examples: &'static [Example],
}

impl std::fmt::Debug for Builtin {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Builtin")
            .field("name", &self.name)
            .finish_non_exhaustive()
    }
}

impl Builtin {
    /// Whether the worker runs it without access to anything. Hooks do not see such calls.
    #[must_use]
    pub const fn is_pure(&self) -> bool {
        matches!(self.body, Body::Pure(_))
    }

    /// The effects that a script must declare to have it. The sandbox enforces what a process may
    /// do: a tool that declares only reading may start one, which then cannot write the workspace.
    #[must_use]
    pub const fn needs(&self) -> Effects {
        if self.effects.contains(Effects::EXEC) {
            Effects::EXEC
        } else {
            self.effects
        }
    }

    /// Whether a script that calls it waits for the harness's answer.
    #[must_use]
    pub(crate) const fn is_asked_for(&self) -> bool {
        matches!(self.body, Body::Host(_) | Body::Absent(_))
    }

    /// Whether it may block the harness: on files, on the artifact store, or on purpose.
    #[must_use]
    pub fn blocks(&self) -> bool {
        !self.effects.is_empty() || matches!(self.name, "sleep" | "read" | "write")
    }
}

/// What most built-ins share: no effect, for tools and hooks. Each table fills in the rest.
const PLAIN: Builtin = Builtin {
    name: "",
    params: &[],
    doc: "",
    returns: "None",
    effects: Effects::NONE,
    scope: Scope::Both,
    body: Body::Note,
    shape: Shape::Plain,
    examples: &[],
};

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

/// How a script sees the value of a built-in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shape {
    /// As JSON.
    Plain,
    /// A dict whose keys are also fields.
    Record,
    /// A match: a record, and a list of the whole match and its groups.
    Match,
    /// A list of matches.
    Matches,
}

/// Who runs a built-in.
pub enum Body {
    /// The worker. No access to anything; arguments in parameter order.
    Pure(fn(&Args) -> Result<Value, String>),
    /// The harness, after policy and hooks let the call pass. May block, since it runs off the
    /// async threads.
    Host(fn(&dyn BuiltinHost, &Args) -> Result<Value, String>),
    /// The harness, without an answer; the script does not wait.
    Note,
    /// The worker, with code of its own (`print`, `result`, the decisions).
    Worker,
    /// Known by name and effect, but not available yet; the text says why.
    Absent(&'static str),
}

/// One parameter.
pub struct Param {
    /// The name, usable as a keyword.
    pub name: &'static str,
    /// Other names for it, also usable as keywords.
    pub also: &'static [&'static str],
    /// What it accepts.
    pub kind: Kind,
    /// The default as JSON text; `None` makes the parameter required.
    pub default: Option<&'static str>,
}

impl Param {
    const fn new(name: &'static str, kind: Kind) -> Self {
        Self {
            name,
            also: &[],
            kind,
            default: None,
        }
    }

    const fn any(name: &'static str) -> Self {
        Self::new(name, Kind::Any)
    }

    const fn text(name: &'static str) -> Self {
        Self::new(name, Kind::Text)
    }

    const fn bool(name: &'static str) -> Self {
        Self::new(name, Kind::Bool)
    }

    const fn int(name: &'static str) -> Self {
        Self::new(name, Kind::Int)
    }

    const fn number(name: &'static str) -> Self {
        Self::new(name, Kind::Number)
    }

    const fn list(name: &'static str) -> Self {
        Self::new(name, Kind::List)
    }

    const fn dict(name: &'static str) -> Self {
        Self::new(name, Kind::Dict)
    }

    const fn rest(name: &'static str) -> Self {
        Self::new(name, Kind::Rest).or("[]")
    }

    const fn named(name: &'static str) -> Self {
        Self::new(name, Kind::Named).or("{}")
    }

    /// Gives the parameter other names.
    const fn also(mut self, names: &'static [&'static str]) -> Self {
        self.also = names;
        self
    }

    /// Whether a keyword means this parameter.
    #[must_use]
    pub fn is_named(&self, name: &str) -> bool {
        self.name == name || self.also.contains(&name)
    }

    /// Makes the parameter optional. `default` is JSON text. With `null`, None is accepted whatever
    /// the kind.
    const fn or(mut self, default: &'static str) -> Self {
        self.default = Some(default);
        self
    }
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

/// An expression and its value as JSON, or its error. It runs in a tool, or in a hook if only hooks
/// have the call, with an empty workspace and empty stores.
pub struct Example {
    /// A Starlark expression.
    pub script: &'static str,
    /// JSON text, or `error: ` and a part of the message.
    pub gives: &'static str,
}

impl Example {
    const fn new(script: &'static str, gives: &'static str) -> Self {
        Self { script, gives }
    }
}

/// Bound arguments, one per parameter, with defaults filled in and kinds checked.
#[derive(Clone, Debug, PartialEq)]
pub struct Args(pub Vec<Value>);

impl Args {
    /// The argument at `index`; null if there is none.
    #[must_use]
    pub fn get(&self, index: usize) -> &Value {
        self.0.get(index).unwrap_or(&Value::Null)
    }

    /// The string at `index`; empty for anything else.
    #[must_use]
    pub fn text(&self, index: usize) -> &str {
        self.get(index).as_str().unwrap_or_default()
    }

    /// The integer at `index`, if it fits.
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

    /// The string at `index`, for parameters that may be None.
    fn given_text(&self, index: usize) -> Option<&str> {
        self.get(index).as_str()
    }

    /// Like [`Args::count`], with 0 for a parameter that is None.
    fn count_or_zero(&self, index: usize, name: &str) -> Result<usize, String> {
        match self.get(index) {
            Value::Null => Ok(0),
            _ => self.count(index, name, usize::MAX),
        }
    }

    /// The integer at `index` as a count from 0 to `max`.
    fn count(&self, index: usize, name: &str, max: usize) -> Result<usize, String> {
        let count = self
            .int(index)
            .and_then(|count| usize::try_from(count).ok());
        count
            .filter(|&count| count <= max)
            .ok_or_else(|| match max {
                usize::MAX => format!("`{name}` must be 0 or more, got {}", self.get(index)),
                _ => format!("`{name}` must be from 0 to {max}, got {}", self.get(index)),
            })
    }

    /// The list at `index`, whose items must be strings.
    fn texts(&self, index: usize, name: &str) -> Result<Vec<&str>, String> {
        let item = |(at, item): (usize, &'_ Value)| -> Result<(), String> {
            if item.is_string() {
                Ok(())
            } else {
                Err(format!(
                    "item {at} of `{name}` must be a string, got {}",
                    bind::describe(item)
                ))
            }
        };
        self.list(index).iter().enumerate().try_for_each(item)?;
        Ok(self.list(index).iter().filter_map(Value::as_str).collect())
    }
}

/// What the host built-ins of a call may use.
pub trait BuiltinHost: Send + Sync {
    /// The file jail of this call.
    fn files(&self) -> Result<&tool_harness_sandbox::file::Jail, String>;
    /// The key-value store of a scope.
    fn store(&self, scope: StoreScope) -> &dyn crate::store::KeyValue;
    /// Counters of this engine.
    fn metrics(&self) -> &crate::store::Metrics;
    /// An environment variable that the project lists in `sandbox.env`; `Err` if it is not listed.
    fn env(&self, name: &str) -> Result<Option<String>, String>;
    /// Raises `custom.<name>`.
    fn emit(&self, name: &str, payload: &Value) -> Result<(), String>;
    /// Waits, or fails if the call ends or is cancelled first.
    fn sleep(&self, duration: std::time::Duration) -> Result<(), String>;
    /// Reports progress of the call.
    fn progress(&self, fraction: f64, message: &str);
    /// Runs a program under the call's plan.
    fn run(&self, program: Program) -> Result<crate::outside::Ran, String>;
    /// Sends a request to a host that the call may reach, for at most `time`.
    fn send(
        &self,
        request: crate::outside::Request,
        time: std::time::Duration,
    ) -> Result<crate::outside::Response, String>;
    /// Stores an artifact for this session.
    fn keep(&self, content: &str, media_type: &str) -> Result<crate::result::ArtifactRef, String>;
    /// At most `length` bytes of an artifact of this session.
    fn read_artifact(&self, id: &str, offset: u64, length: u64) -> Result<Vec<u8>, String>;
    /// Whether the call was cancelled or its time is over: long work stops here.
    fn is_over(&self) -> bool;
    /// Adds a warning to the log of the call.
    fn warn(&self, message: &str);
    /// Records that the jail refused something.
    fn file_denied(&self, error: &tool_harness_sandbox::file::FileError);
}
