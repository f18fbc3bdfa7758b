//! What a Rust tool declares about itself.

use crate::artifact::tool::{Inject, Limits, RetryPolicy};
use crate::effect::Effects;
use crate::schema::Schema;
use serde_json::{Value, json};
use std::time::Duration;

/// A tool's specification.
#[derive(Clone, Debug)]
pub struct ToolSpec {
    /// The name: `snake_case`, starting with a verb.
    pub name: String,
    /// What the model reads.
    pub description: String,
    /// The schema of the arguments. For a typed tool, always that of its input type.
    pub input_schema: Option<Value>,
    /// The schema of the result. For a typed tool, always that of its output type.
    pub output_schema: Option<Value>,
    /// Arguments that the harness fills in and a model cannot send.
    pub injected: Vec<(String, Inject)>,
    /// What the tool promises beyond its effects.
    pub safety: Safety,
    /// What the tool does to the world. It must be declared, even if it is nothing.
    pub effects: Option<Effects>,
    /// The longest that one run of the body may take, in wall-clock time.
    pub timeout: Option<Duration>,
    /// How a retryable failure of an idempotent call is retried.
    pub retry: Option<RetryPolicy>,
    /// Whether, and why, a repeated call is harmless.
    pub idempotency: Idempotency,
    /// How much one call, or all calls of a session, may use.
    pub limits: Limits,
    /// Calls with the same values of these arguments run one after the other.
    pub serial_by: Vec<String>,
    /// Where a call runs.
    pub runs: Runs,
    /// Other names, by provider.
    pub aliases: Vec<(String, String)>,
    /// Words for policy and search.
    pub tags: Vec<String>,
    /// Arguments that are paths in the workspace.
    pub path_params: Vec<String>,
    /// Which schema a typed tool declared beside its types; registration refuses it.
    pub(crate) beside_types: Option<&'static str>,
}

/// What a tool promises beyond its effects.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Safety {
    /// Whether a person must agree to each call.
    pub confirm: bool,
    /// The folder that the tool is restricted to, relative to the workspace.
    pub workspace_root: Option<String>,
    /// What to redact from everything that leaves a call: field names, and patterns between
    /// slashes.
    pub redact: Vec<String>,
}

/// Whether a repeated call is harmless.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Idempotency {
    /// Not harmless, unless the tool changes nothing.
    #[default]
    None,
    /// Harmless: the tool ensures it.
    Natural,
    /// A call with the same values of these arguments, and of the injected ones, gets the stored
    /// result of the first. A call with none of these arguments always runs.
    By(Vec<String>),
}

/// Where a call runs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Runs {
    /// In the caller's task: the tool waits without blocking.
    #[default]
    Inline,
    /// On its own thread, because the tool blocks or computes for long. If the call ends before the
    /// tool does, the thread keeps running.
    Blocking,
}

impl ToolSpec {
    /// A specification without arguments, to build on.
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

    /// Declares that the tool has no effects: it only computes.
    #[must_use]
    pub fn pure(self) -> Self {
        self.effects(Effects::NONE)
    }

    /// Declares what the tool does to the world.
    #[must_use]
    pub fn effects(mut self, effects: Effects) -> Self {
        self.effects = Some(effects);
        self
    }

    /// Sets the schema of the arguments: JSON, or that of a Rust type (see [`crate::schema::of`]).
    /// Only for a [`super::Tool`]: a typed tool or closure uses that of its type, and registration
    /// refuses another ([`super::RegisterError::SchemaBesideTypes`]).
    #[must_use]
    pub fn input(mut self, schema: impl Schema) -> Self {
        self.input_schema = Some(schema.schema());
        self
    }

    /// Sets the schema of the result, as [`Self::input`].
    #[must_use]
    pub fn output(mut self, schema: impl Schema) -> Self {
        self.output_schema = Some(schema.schema());
        self
    }

    /// Adds an argument that the harness fills in after validation. The schema must not contain it.
    #[must_use]
    pub fn inject(mut self, argument: impl Into<String>, value: Inject) -> Self {
        self.injected.push((argument.into(), value));
        self
    }

    /// Requires a person's approval for each call.
    #[must_use]
    pub fn confirm(mut self) -> Self {
        self.safety.confirm = true;
        self
    }

    /// Restricts the tool to a folder of the workspace, given relative to it. Registration refuses
    /// a folder outside the workspace ([`super::RegisterError::WorkspaceRoot`]); use
    /// [`crate::EngineBuilder::workspace`] to choose another workspace.
    #[must_use]
    pub fn workspace_root(mut self, folder: impl Into<String>) -> Self {
        self.safety.workspace_root = Some(folder.into());
        self
    }

    /// Redacts these fields, or what matches these patterns between slashes, from everything that
    /// leaves a call.
    #[must_use]
    pub fn redact<const N: usize>(mut self, entries: [&str; N]) -> Self {
        self.safety.redact = entries.map(str::to_owned).into();
        self
    }

    /// Limits the wall-clock time of one run of the body. Each retry and each wait for a slot gets
    /// it anew; [`crate::Call::timeout`], or else [`crate::EngineBuilder::budget`], limits the
    /// whole call.
    #[must_use]
    pub fn timeout(mut self, timeout: Duration) -> Self {
        self.timeout = Some(timeout);
        self
    }

    /// Retries a retryable failure if the call is idempotent: the tool changes nothing, or
    /// [`Self::idempotency`] declares that a repeat is harmless. Any other tool runs once whatever
    /// the policy, so that a host can give one policy to all its tools.
    #[must_use]
    pub fn retry(mut self, retry: RetryPolicy) -> Self {
        self.retry = Some(retry);
        self
    }

    /// Declares whether, and why, a repeated call is harmless.
    #[must_use]
    pub fn idempotency(mut self, idempotency: Idempotency) -> Self {
        self.idempotency = idempotency;
        self
    }

    /// Limits how much one call, or all calls of a session, may use.
    #[must_use]
    pub fn limits(mut self, limits: Limits) -> Self {
        self.limits = limits;
        self
    }

    /// Runs calls with the same values of these arguments one after the other.
    #[must_use]
    pub fn serial_by<const N: usize>(mut self, arguments: [&str; N]) -> Self {
        self.serial_by = arguments.map(str::to_owned).into();
        self
    }

    /// Runs the tool on its own thread, because it blocks or computes for long.
    #[must_use]
    pub fn blocking(mut self) -> Self {
        self.runs = Runs::Blocking;
        self
    }

    /// Adds another name, for one provider.
    #[must_use]
    pub fn alias(mut self, provider: impl Into<String>, name: impl Into<String>) -> Self {
        self.aliases.push((provider.into(), name.into()));
        self
    }

    /// Adds a word for policy and search.
    #[must_use]
    pub fn tag(mut self, tag: impl Into<String>) -> Self {
        self.tags.push(tag.into());
        self
    }

    /// Declares an argument that is a path in the workspace. Rules follow it to its target, and two
    /// calls never write it at once. For the latter the written path counts: two paths to one file
    /// through a link are different.
    #[must_use]
    pub fn path_param(mut self, argument: impl Into<String>) -> Self {
        self.path_params.push(argument.into());
        self
    }

    /// The schema of the arguments; an empty object if none is set.
    pub(crate) fn arguments(&self) -> Value {
        self.input_schema.clone().unwrap_or_else(
            || json!({"type": "object", "properties": {}, "additionalProperties": false}),
        )
    }
}
