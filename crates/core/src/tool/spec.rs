//! What a Rust tool says about itself. Everything in it is read: by the registry, by rules, by the
//! path or by a door.

use crate::artifact::tool::{Inject, Limits, RetryPolicy};
use crate::effect::Effects;
use crate::schema::Schema;
use serde_json::{Value, json};
use std::time::Duration;

/// What a tool is.
#[derive(Clone, Debug)]
pub struct ToolSpec {
    /// The name: `snake_case`, with a verb first.
    pub name: String,
    /// What the model reads.
    pub description: String,
    /// The schema of the arguments; of a typed tool, its input type's, and no other.
    pub input_schema: Option<Value>,
    /// The schema of the result; of a typed tool, its output type's, and no other.
    pub output_schema: Option<Value>,
    /// Arguments that the harness fills in, and a model cannot send.
    pub injected: Vec<(String, Inject)>,
    /// What the tool promises beyond its effects.
    pub safety: Safety,
    /// What the tool does to the world. It has to be said, if only that it is nothing.
    pub effects: Option<Effects>,
    /// The most wall-clock time that one run of the body may take.
    pub timeout: Option<Duration>,
    /// How often a retryable failure of an idempotent call is tried again.
    pub retry: Option<RetryPolicy>,
    /// Whether a repeated call is harmless, or what makes it so.
    pub idempotency: Idempotency,
    /// How much one call, or all calls of a session, may use.
    pub limits: Limits,
    /// Arguments whose values may be at work only once at a time.
    pub serial_by: Vec<String>,
    /// Where a call runs.
    pub runs: Runs,
    /// Other names, by provider.
    pub aliases: Vec<(String, String)>,
    /// Words for policy and search.
    pub tags: Vec<String>,
    /// Arguments that are paths of the workspace.
    pub path_params: Vec<String>,
    /// Which schema a typed tool was given beside its types, which are its schema.
    pub(crate) beside_types: Option<&'static str>,
}

/// What a tool promises beyond its effects.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Safety {
    /// Whether a person must agree to each call.
    pub confirm: bool,
    /// The folder of the workspace that the tool is kept to, relative to it.
    pub workspace_root: Option<String>,
    /// What is taken out of whatever leaves a call: names of fields, and patterns between slashes.
    pub redact: Vec<String>,
}

/// Whether a repeated call is harmless.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Idempotency {
    /// It is not, unless the tool changes nothing.
    #[default]
    None,
    /// It is: the tool sees to that.
    Natural,
    /// A call with the same values of these arguments, and of what is injected, gets the stored
    /// result of the one that has done it. A call that has none of them is only itself.
    By(Vec<String>),
}

/// Where a call runs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Runs {
    /// With the caller: the tool waits without blocking.
    #[default]
    Inline,
    /// On a thread of its own, because the tool blocks or computes for long. A call that is over
    /// before its tool leaves the thread behind.
    Blocking,
}

impl ToolSpec {
    /// A tool without arguments, to which everything else is added.
    pub fn new(name: impl Into<String>, description: impl Into<String>) -> Self {
        Self {
            name: name.into(),
            description: description.into(),
            input_schema: None,
            output_schema: None,
            injected: Vec::new(),
            safety: Safety::default(),
            effects: None,
            timeout: None,
            retry: None,
            idempotency: Idempotency::None,
            limits: Limits::default(),
            serial_by: Vec::new(),
            runs: Runs::Inline,
            aliases: Vec::new(),
            tags: Vec::new(),
            path_params: Vec::new(),
            beside_types: None,
        }
    }

    /// Says that the tool does nothing to the world: it computes.
    #[must_use]
    pub fn pure(self) -> Self {
        self.effects(Effects::NONE)
    }

    /// Says what the tool does to the world.
    #[must_use]
    pub fn effects(mut self, effects: Effects) -> Self {
        self.effects = Some(effects);
        self
    }

    /// The schema of the arguments: JSON, or a Rust type's (see [`crate::schema::of`]). Only for a
    /// [`super::Tool`]: a typed tool, or a closure, has that of its type, and another one is
    /// refused when it is registered ([`super::RegisterError::SchemaBesideTypes`]).
    #[must_use]
    pub fn input(mut self, schema: impl Schema) -> Self {
        self.input_schema = Some(schema.schema());
        self
    }

    /// The schema of the result, as [`Self::input`].
    #[must_use]
    pub fn output(mut self, schema: impl Schema) -> Self {
        self.output_schema = Some(schema.schema());
        self
    }

    /// An argument that the harness fills in after validation. The schema must not have it.
    #[must_use]
    pub fn inject(mut self, argument: impl Into<String>, value: Inject) -> Self {
        self.injected.push((argument.into(), value));
        self
    }

    /// A person must agree to each call.
    #[must_use]
    pub fn confirm(mut self) -> Self {
        self.safety.confirm = true;
        self
    }

    /// Keeps the tool to a folder of the workspace, which is named relative to it. It can only
    /// narrow: a folder that is not in the workspace is refused when the tool is registered
    /// ([`super::RegisterError::WorkspaceRoot`]); [`crate::EngineBuilder::workspace`] chooses
    /// another one.
    #[must_use]
    pub fn workspace_root(mut self, folder: impl Into<String>) -> Self {
        self.safety.workspace_root = Some(folder.into());
        self
    }

    /// Takes these fields, or what matches these patterns between slashes, out of whatever leaves a
    /// call.
    #[must_use]
    pub fn redact<const N: usize>(mut self, entries: [&str; N]) -> Self {
        self.safety.redact = entries.map(str::to_owned).into();
        self
    }

    /// The most wall-clock time that one run of the body may take. Each attempt of a retry has it
    /// anew, and so has waiting for a place; all of it together ends with [`crate::Call::timeout`],
    /// or else with [`crate::EngineBuilder::budget`].
    #[must_use]
    pub fn timeout(mut self, timeout: Duration) -> Self {
        self.timeout = Some(timeout);
        self
    }

    /// Tries a retryable failure again, if the call is idempotent: the tool changes nothing, or
    /// says with [`Self::idempotency`] that a repeat does no harm. A tool for which neither holds
    /// runs once, whatever the policy, so that a host can give one to all its tools.
    #[must_use]
    pub fn retry(mut self, retry: RetryPolicy) -> Self {
        self.retry = Some(retry);
        self
    }

    /// A repeated call is harmless, or what makes it so.
    #[must_use]
    pub fn idempotency(mut self, idempotency: Idempotency) -> Self {
        self.idempotency = idempotency;
        self
    }

    /// How much one call, or all calls of a session, may use.
    #[must_use]
    pub fn limits(mut self, limits: Limits) -> Self {
        self.limits = limits;
        self
    }

    /// Calls with the same values of these arguments run one after the other.
    #[must_use]
    pub fn serial_by<const N: usize>(mut self, arguments: [&str; N]) -> Self {
        self.serial_by = arguments.map(str::to_owned).into();
        self
    }

    /// The tool blocks or computes for long, so that it runs on a thread of its own.
    #[must_use]
    pub fn blocking(mut self) -> Self {
        self.runs = Runs::Blocking;
        self
    }

    /// Another name, for one provider.
    #[must_use]
    pub fn alias(mut self, provider: impl Into<String>, name: impl Into<String>) -> Self {
        self.aliases.push((provider.into(), name.into()));
        self
    }

    /// A word for policy and search.
    #[must_use]
    pub fn tag(mut self, tag: impl Into<String>) -> Self {
        self.tags.push(tag.into());
        self
    }

    /// An argument that is a path of the workspace: rules follow it to what it leads to, and two
    /// calls never write it at once. For the latter it counts as it is written: two paths that a
    /// link makes one are two.
    #[must_use]
    pub fn path_param(mut self, argument: impl Into<String>) -> Self {
        self.path_params.push(argument.into());
        self
    }

    /// The schema of the arguments; without one there are none.
    pub(crate) fn arguments(&self) -> Value {
        self.input_schema.clone().unwrap_or_else(
            || json!({"type": "object", "properties": {}, "additionalProperties": false}),
        )
    }
}
