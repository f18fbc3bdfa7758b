//! A tool as its author wrote it.

use super::node::Block;
use super::permission::Permission;
use super::{Form, Layer, Origin};
use crate::effect::{Effects, Level};
use crate::span::Spanned;
use crate::span::{Place, Position, Source, Span};
use serde_json::{Map, Value};
use std::sync::Arc;
use std::time::Duration;

/// A tool artifact after parsing. Nothing in it has been judged beyond its shape.
#[derive(Clone, Debug)]
pub struct Tool {
    /// The name: the file's stem, or `name` where a tool is written inline.
    pub name: String,
    /// Where the tool is defined.
    pub origin: Origin,
    /// Where a reader would look for the name: the file's first line, or the `name` key.
    pub name_span: Span,
    /// What the model reads: the body, or `description` where a tool is written inline; the name
    /// when both are empty.
    pub description: String,
    /// Whether the author wrote any description.
    pub described: bool,
    /// The place of an inline tool's `description`.
    pub description_span: Option<Span>,
    /// The whole frontmatter as JSON, for `artifact.load` hooks and digests.
    pub frontmatter: Value,
    /// The schema of the arguments, from `parameters` or `input_schema`: always an object schema.
    pub input_schema: Value,
    /// Which key the schema came from, with its place.
    pub schema_source: Option<Spanned<&'static str>>,
    /// `output_schema`.
    pub output_schema: Option<Spanned<Value>>,
    /// `script`.
    pub script: Option<Script>,
    /// `timeout_ms`; zero and absent both mean no cap of its own.
    pub timeout_ms: u64,
    /// Every spelling of effects the author used, one entry each, for comparison.
    pub declared_effects: Vec<DeclaredEffects>,
    /// `requires_approval: true`, `safety.confirm: true`.
    pub requires_approval: Option<Spanned<Approval>>,
    /// `approval_timeout_ms`.
    pub approval_timeout_ms: u64,
    /// `annotations`.
    pub annotations: Annotations,
    /// `safety.idempotent` or `idempotency: natural`.
    pub idempotent: bool,
    /// `idempotency.key`, as a script that returns it.
    pub key: Option<Script>,
    /// `retry`.
    pub retry: Option<Spanned<RetryPolicy>>,
    /// `inject`: argument name to what is put there.
    pub inject: Vec<(String, Spanned<Inject>)>,
    /// `safety.redact`: names of fields, and patterns between slashes.
    pub redact: Vec<Spanned<String>>,
    /// `permissions`.
    pub permissions: Vec<Permission>,
    /// `safety.workspace_root`: the folder of the workspace the tool is kept to.
    pub workspace_root: Option<Spanned<String>>,
    /// `limits`.
    pub limits: Limits,
    /// `deferred`.
    pub deferred: bool,
    /// `aliases`: provider to name.
    pub aliases: Vec<(String, Spanned<String>)>,
    /// `examples`.
    pub examples: Vec<Spanned<ToolExample>>,
    /// `strict`.
    pub strict: bool,
    /// `tags`.
    pub tags: Vec<String>,
    /// Fields the author wrote that are not enforced yet, such as `retry` or `async`, with their
    /// places. Each refuses the call.
    pub unsupported: Vec<Spanned<&'static str>>,
}

/// One spelling of a tool's effects.
#[derive(Clone, Debug)]
pub struct DeclaredEffects {
    /// The spelling, as `risk: write`.
    pub spelling: String,
    /// Its place.
    pub span: Span,
    /// What it claims about the set.
    pub claim: Claim,
}

/// What one spelling says about the effect set.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Claim {
    /// The set is exactly this (`risk`, `side_effect_level`).
    Exactly(Effects),
    /// The set holds at least this (`safety.process: true`, `safety.spend: true`, `destructiveHint:
    /// true`).
    AtLeast(Effects),
    /// None of these are in the set (`safety.local_only: true`, `read_only: true`).
    Without(Effects),
}

/// When a call needs a person.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Approval {
    /// Every call.
    Always,
    /// When this expression over `args`, `state` and `mode` says so.
    When(String),
}

/// `annotations` of seed 004. A bad field is a diagnostic; the others count.
#[derive(Clone, Debug, Default)]
pub struct Annotations {
    /// `kind`.
    pub kind: Option<String>,
    /// `side_effect_level`, also listed among the declared effects.
    pub level: Option<Level>,
    /// `arg_schema.path_params`: arguments that are paths.
    pub path_params: Vec<String>,
    /// `arg_schema.arg_aliases`: alias to canonical argument.
    pub arg_aliases: Vec<(String, String)>,
    /// `arg_schema.required`: added to the schema's own.
    pub required: Vec<String>,
    /// `capabilities`: capability to operations.
    pub capabilities: Vec<(String, Vec<String>)>,
    /// `emits_artifacts`.
    pub emits_artifacts: bool,
    /// `result_readers`.
    pub result_readers: Vec<String>,
    /// `inline_result`.
    pub inline_result: bool,
    /// `readOnlyHint`, `destructiveHint`, `idempotentHint`, `openWorldHint` as written.
    pub hints: Map<String, Value>,
}

/// Where an injected argument comes from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Inject {
    /// The run's id.
    RunId,
    /// The call's id.
    CallId,
    /// The session's id.
    SessionId,
    /// The mode's name.
    Mode,
    /// Identifies repeated calls: the value of `idempotency.key`, or else the call's id.
    IdempotencyKey,
    /// A key of session state.
    State(String),
    /// A secret, by its name.
    Secret(String),
    /// What the host of a Rust tool gives under this name.
    Host(String),
}

/// `retry`: how often a retryable failure of an idempotent call is tried again, and how long is
/// waited in between.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RetryPolicy {
    /// Attempts in all.
    pub max_attempts: u32,
    /// The wait before the second attempt.
    pub initial_backoff_ms: u64,
    /// The longest wait.
    pub max_backoff_ms: u64,
    /// How much each wait grows.
    pub multiplier: f64,
}

impl RetryPolicy {
    /// This many attempts, with waits that start at this and double.
    #[must_use]
    pub fn attempts(max_attempts: u32, initial_backoff: Duration) -> Self {
        let initial_backoff_ms = u64::try_from(initial_backoff.as_millis()).unwrap_or(u64::MAX);
        Self {
            max_attempts,
            initial_backoff_ms,
            max_backoff_ms: u64::MAX,
            multiplier: 2.0,
        }
    }

    /// The wait after this many attempts, before chance shortens it.
    #[must_use]
    pub fn backoff(&self, made: u32) -> Duration {
        // An hour is for ever: no call waits that long.
        const LONGEST: f64 = 3_600_000.0;
        #[expect(
            clippy::cast_precision_loss,
            reason = "whole milliseconds up to an hour"
        )]
        let (first, most) = (
            self.initial_backoff_ms as f64,
            (self.max_backoff_ms as f64).min(LONGEST),
        );
        let grown = first
            * self
                .multiplier
                .max(0.0)
                .powi(i32::try_from(made.saturating_sub(1)).unwrap_or(i32::MAX));
        let wait = if grown.is_finite() {
            grown.min(most)
        } else {
            most
        };
        Duration::from_secs_f64(wait.max(0.0) / 1000.0)
    }
}

/// `limits` of a tool or of the project; absent means the next wider one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Limits {
    /// Calls per session.
    pub max_calls: Option<u64>,
    /// Calls at once.
    pub max_concurrency: Option<u64>,
    /// Bytes of text the model sees.
    pub max_output_bytes: Option<u64>,
    /// Memory of one call.
    pub memory_mb: Option<u64>,
    /// Processor time of one call.
    pub cpu_ms: Option<u64>,
    /// Processes and threads of one call at once.
    pub processes: Option<u64>,
}

/// One example, run by `harness test`.
#[derive(Clone, Debug, Default)]
pub struct ToolExample {
    /// `args`.
    pub args: Map<String, Value>,
    /// `result`, compared with the value when given.
    pub result: Option<Value>,
    /// `is_error`, compared when given.
    pub is_error: Option<bool>,
    /// `files`: the workspace the call sees.
    pub files: Vec<(String, String)>,
    /// `http` answers, in order.
    pub http: Vec<Value>,
    /// `exec` answers, in order.
    pub exec: Vec<Value>,
}

/// A script with the way back to its file.
#[derive(Clone, Debug)]
pub struct Script {
    /// The Starlark source.
    pub text: Arc<str>,
    /// The whole value in the file.
    pub place: Place,
    /// How its lines map to the file; absent for quoted and folded text, where every position is
    /// the value's start.
    pub block: Option<Block>,
}

impl Script {
    /// The place in the file of a position in the script (both from one).
    #[must_use]
    pub fn place_of(&self, position: Position) -> Place {
        let Some(block) = self.block else {
            return self.place.clone();
        };
        let source = &self.place.source;
        // The position comes from a worker and cannot be trusted.
        let line = block.first_line.saturating_add(position.line.max(1) - 1);
        let start = source.offset(Position {
            line,
            column: position.column.saturating_add(block.indent),
        });
        Place::new(
            source,
            Span::new(start, start + token_length(&source.text[start..])),
        )
    }
}

/// The bytes worth marking at the start of a text: a quoted string on one line, a dotted name, or
/// one character.
fn token_length(text: &str) -> usize {
    let line = text.lines().next().unwrap_or_default();
    let first = line.chars().next();
    if let Some(quote @ ('"' | '\'')) = first
        && let Some(end) = line[1..].find(quote)
    {
        return end + 2;
    }
    let word = line
        .find(|c: char| !(c.is_alphanumeric() || c == '_' || c == '.'))
        .unwrap_or(line.len());
    word.max(first.map_or(0, char::len_utf8))
}

impl Tool {
    /// A tool that a client has of its own: no file of the project defines it.
    pub(crate) fn of_client(
        client: &str,
        name: &str,
        path_params: Vec<String>,
        tags: Vec<String>,
    ) -> Self {
        let source = Source::new(format!("the map of {client}'s tools"), "");
        Self {
            name: name.to_owned(),
            origin: Origin {
                source,
                layer: Layer::Builtin,
                form: Form::File,
            },
            name_span: Span::default(),
            description: String::new(),
            described: false,
            description_span: None,
            frontmatter: Value::Null,
            input_schema: Value::Bool(true),
            schema_source: None,
            output_schema: None,
            script: None,
            timeout_ms: 0,
            declared_effects: Vec::new(),
            requires_approval: None,
            approval_timeout_ms: 0,
            annotations: Annotations {
                path_params,
                ..Annotations::default()
            },
            idempotent: false,
            key: None,
            retry: None,
            inject: Vec::new(),
            redact: Vec::new(),
            permissions: Vec::new(),
            workspace_root: None,
            limits: Limits::default(),
            deferred: false,
            aliases: Vec::new(),
            examples: Vec::new(),
            strict: false,
            tags,
            unsupported: Vec::new(),
        }
    }

    /// The place of a span of this tool's file.
    #[must_use]
    pub fn place(&self, span: Span) -> Place {
        Place::new(&self.origin.source, span)
    }

    /// The layer the tool was found in.
    #[must_use]
    pub fn layer(&self) -> Layer {
        self.origin.layer
    }
}

/// Whether providers accept the name.
pub(crate) fn is_offerable(name: &str) -> bool {
    let first = name.bytes().next();
    first.is_some_and(|byte| byte.is_ascii_alphabetic() || byte == b'_')
        && name.len() <= 64
        && name
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-'))
}

#[cfg(test)]
mod tests {
    use super::is_offerable;

    #[test]
    fn names_of_letters_digits_underscores_and_dashes_are_offered() {
        let long = "a".repeat(64);
        for name in ["read_note", "readNote", "_x", "a-b", "A1", long.as_str()] {
            assert!(is_offerable(name), "{name}");
        }
        let longer = "a".repeat(65);
        for name in ["", "1a", "-a", "a b", "a.b", "é", "a/b", longer.as_str()] {
            assert!(!is_offerable(name), "{name}");
        }
    }
}
