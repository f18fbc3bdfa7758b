//! Execute: the body runs under its limits. Failures do not leave the path; they go on to finish.

use super::admit::Admitted;
use super::before::Prepared;
use super::context::Context;
use super::crossing::ToolCrossing;
use super::reach::{Settling, Traces};
use super::refusal::{Code, Refusal};
use super::secret;
use crate::artifact::tool::Inject;
use crate::builtin::StoreScope;
use crate::client;
use crate::content::ContentBlock;
use crate::effect::Effects;
use crate::message::joined;
use crate::registry::RegisteredTool;
use crate::result::{ArtifactRef, Enforced};
use crate::worker::protocol::Outcome;
use crate::worker::script::Script;
use crate::worker::{DEFAULT_MEMORY_MB, ScriptError, ToolBounds};
use serde_json::{Map, Value};
use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::sync::{Arc, PoisonError};
use std::time::Duration;
use tokio::sync::mpsc;
use tokio::time::Instant;

/// A call whose body ran, or could not.
pub(super) struct Executed {
    pub(super) tool: Arc<RegisteredTool>,
    /// For the hooks that see the result; empty when there are none.
    pub(super) arguments: Map<String, Value>,
    pub(super) raw: String,
    pub(super) outcome: Result<Success, Failure>,
    pub(super) enforced: Enforced,
    _made_here: (),
}

/// What a body gave.
#[derive(Debug, Default)]
pub(super) struct Success {
    /// The body's own words; without any, the model reads the value.
    pub(super) content: Option<Vec<ContentBlock>>,
    pub(super) value: Option<Value>,
    pub(super) artifacts: Vec<ArtifactRef>,
    pub(super) refs: Vec<Value>,
    pub(super) metadata: Map<String, Value>,
    pub(super) provider: Map<String, Value>,
}

/// What a body gave instead, with the value it left behind.
#[derive(Debug)]
pub(super) struct Failure {
    pub(super) error: Refusal,
    pub(super) rest: Success,
}

impl From<Refusal> for Failure {
    fn from(error: Refusal) -> Self {
        Self { error, rest: Success::default() }
    }
}

type BodyFuture = Pin<Box<dyn Future<Output = Result<Value, BodyError>> + Send>>;

/// A body written in Rust, registered under an artifact's name.
#[derive(Clone)]
pub struct Body(Arc<dyn Fn(Value) -> BodyFuture + Send + Sync>);

/// A Rust body's own failure.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct BodyError(pub String);

impl Body {
    /// A closure as a body: it takes the arguments as one JSON object.
    pub fn new<F, R>(body: F) -> Self
    where
        F: Fn(Value) -> R + Send + Sync + 'static,
        R: Future<Output = Result<Value, BodyError>> + Send + 'static,
    {
        Self(Arc::new(move |arguments| Box::pin(body(arguments))))
    }
}

impl fmt::Debug for Body {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Body")
    }
}

/// A time nobody waits for.
const FAR: Duration = Duration::from_secs(10 * 365 * 86_400);
/// Processor time of a script unless the tool or the project says otherwise.
const DEFAULT_CPU_MS: u64 = 10_000;
/// Bytes of a script's encoded result.
const MAX_RESULT_BYTES: u64 = 16 << 20;

pub(super) async fn execute(ctx: &Context, prepared: Prepared) -> Executed {
    let (tool, arguments, raw) = prepared.into_parts();
    let seen_later = if ctx.registry().has_hooks("tool.post") { arguments.clone() } else { Map::new() };
    let (outcome, enforced) = match (&tool.script, &tool.body) {
        (Some(script), _) => run_script(ctx, &tool, script, arguments).await,
        (None, Some(body)) => (run_body(ctx, &tool, body, arguments).await, Enforced::Host),
        (None, None) => (Err(no_body(&tool).into()), Enforced::Nothing),
    };
    let outcome = outcome.and_then(|success| match fits_output(&tool, success.value.as_ref()) {
        Ok(()) => Ok(success),
        Err(refusal) => Err(refusal.into()),
    });
    Executed { tool, arguments: seen_later, raw, outcome, enforced, _made_here: () }
}

/// A call that a client ran itself, as it says.
pub(super) fn executed_elsewhere(admitted: Admitted, outcome: &client::Outcome, text: String) -> Executed {
    let (tool, arguments, raw) = admitted.into_parts();
    let rest = Success {
        content: Some(vec![ContentBlock::Text(text)]),
        value: Some(outcome.response.clone()).filter(|value| !value.is_null()),
        ..Success::default()
    };
    let outcome = match &outcome.error {
        None => Ok(rest),
        Some(error) => Err(Failure { error: Refusal::new(Code::Failed, describe(&tool, Code::Failed, error)), rest }),
    };
    Executed { tool, arguments, raw, outcome, enforced: Enforced::Nothing, _made_here: () }
}

/// When a body must have ended, and by whose limit.
#[derive(Clone, Copy)]
struct Deadline {
    at: Instant,
    limit: Duration,
    whose: Whose,
}

/// Who set a limit.
#[derive(Clone, Copy)]
enum Whose {
    Tool,
    Caller,
    Run,
}

/// How long the processes of a call may take, as far as it can be told before.
pub(super) fn longest(ctx: &Context, tool: &RegisteredTool) -> Duration {
    deadline(ctx, tool).limit
}

/// The earliest of the tool's cap, the caller's and the run's.
fn deadline(ctx: &Context, tool: &RegisteredTool) -> Deadline {
    let own = Some(Duration::from_millis(tool.tool.timeout_ms)).filter(|limit| !limit.is_zero());
    let limits = [(own, Instant::now(), Whose::Tool), (ctx.call.timeout, ctx.started, Whose::Caller)];
    // A bound beyond what a clock can show is none.
    let set = limits.into_iter().filter_map(|(limit, from, whose)| Some(Deadline { at: from.checked_add(limit?)?, limit: limit?, whose }));
    let at = ctx.started.checked_add(ctx.shared.budget).unwrap_or(ctx.started + FAR);
    let run = Deadline { at, limit: ctx.shared.budget, whose: Whose::Run };
    set.fold(run, |first, other| if other.at < first.at { other } else { first })
}

impl Deadline {
    fn refusal(self, tool: &RegisteredTool, what: &str) -> Refusal {
        let (set_by, help) = match self.whose {
            Whose::Tool => ("the tool's `timeout_ms`", "ask for less work, or have a person raise `timeout_ms`"),
            Whose::Caller => ("the limit of this call", "ask for less work, or give the call more time"),
            Whose::Run => ("the time any call has", "ask for less work at once"),
        };
        let message = format!("`{}` {what} within {} ms, {set_by}", tool.name(), self.limit.as_millis());
        Refusal::new(Code::Timeout, message).help(help).detail("limit_ms", whole_ms(self.limit))
    }
}

fn whole_ms(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}

/// Runs a script, and says what held it and the processes it started.
async fn run_script(
    ctx: &Context,
    tool: &RegisteredTool,
    script: &Script,
    arguments: Map<String, Value>,
) -> (Result<Success, Failure>, Enforced) {
    let traces = Arc::new(Traces::default());
    let settling = tool.effects.contains(Effects::EXEC).then(Settling::new);
    let outcome = run_traced(ctx, tool, script, arguments, &traces, settling.as_ref().map(Settling::token)).await;
    if let Some(settling) = settling {
        settling.settle().await;
    }
    let enforced = traces.enforced.lock().unwrap_or_else(PoisonError::into_inner).take();
    (outcome, enforced.unwrap_or(Enforced::Worker))
}

async fn run_traced(
    ctx: &Context,
    tool: &RegisteredTool,
    script: &Script,
    mut arguments: Map<String, Value>,
    traces: &Arc<Traces>,
    alive: Option<mpsc::Sender<()>>,
) -> Result<Success, Failure> {
    let deadline = deadline(ctx, tool);
    let _turn = turn(ctx, tool, deadline).await?;
    let bounds = ToolBounds {
        deadline: deadline.at,
        cpu_ms: tool.limits.cpu_ms.unwrap_or(DEFAULT_CPU_MS),
        memory_mb: tool.limits.memory_mb.unwrap_or(DEFAULT_MEMORY_MB),
        result_bytes: MAX_RESULT_BYTES,
    };
    inject(ctx, tool, &mut arguments);
    secret::inject(ctx, tool, &mut arguments).await?;
    let crossing = ToolCrossing { ctx, tool, script, deadline: deadline.at, traces: Arc::clone(traces), alive };
    let ran = ctx.shared.workers.run_tool(&ctx.call.session_id, script, &arguments, bounds, &ctx.call.cancel, &crossing).await;
    if let (Err(ScriptError { code: Code::Failed, .. }), Some(refusal)) =
        (&ran, traces.refused.lock().unwrap_or_else(PoisonError::into_inner).take())
    {
        return Err(refusal.into());
    }
    match ran {
        Ok(Outcome::Value(value)) => judged(tool, value),
        Ok(Outcome::Result(fields)) => explicit_result(tool, fields),
        Ok(Outcome::Error(fields)) => Err(explicit_error(tool, &fields)),
        Err(error) => {
            let mut refusal = match error.code {
                // A worker knows only the time it had left.
                Code::Timeout => deadline.refusal(tool, "did not finish"),
                code => Refusal::new(code, describe(tool, code, &error.message)),
            };
            if let Some(help) = help(error.code) {
                refusal = refusal.help(help);
            }
            let place = error.position.and_then(|position| Some(tool.tool.script.as_ref()?.place_of(position)));
            Err(Failure::from(refusal.at(place.unwrap_or_else(|| tool.tool.place(tool.tool.name_span)))))
        }
    }
}

fn describe(tool: &RegisteredTool, code: Code, message: &str) -> String {
    match code {
        Code::Failed => format!("`{}` failed: {message}", tool.name()),
        _ => format!("`{}`: {message}", tool.name()),
    }
}

pub(super) fn help(code: Code) -> Option<&'static str> {
    Some(match code {
        Code::ScriptMemory => "ask for less at once, or have a person raise `limits.memory_mb`",
        Code::ScriptSteps => "ask for less work, or have a person raise `limits.cpu_ms`",
        Code::ScriptRecursion => "a person must rewrite the script as a loop",
        Code::ScriptNoWorker => "the program must call `tool_harness_script::run_if_worker()` first in `main`",
        Code::ScriptResult => "a result is at most 16 MiB of JSON, nested at most 64 deep, without functions",
        _ => return None,
    })
}

/// A returned dict whose `error` says something is a failure; the dict stays the value.
fn judged(tool: &RegisteredTool, value: Value) -> Result<Success, Failure> {
    let message = match value.get("error") {
        Some(Value::String(text)) if !text.is_empty() => Some(text.clone()),
        Some(Value::Object(error)) => error.get("message").and_then(Value::as_str).map(str::to_owned),
        _ => None,
    };
    let rest = Success { value: Some(value), ..Success::default() };
    match message {
        None => Ok(rest),
        Some(message) => Err(Failure { error: Refusal::new(Code::Failed, describe(tool, Code::Failed, &message)), rest }),
    }
}

/// `result(content=, data=, refs=, metadata=, is_error=)`.
fn explicit_result(tool: &RegisteredTool, fields: Value) -> Result<Success, Failure> {
    let Value::Object(mut fields) = fields else { return Err(Refusal::new(Code::Internal, "a result without fields").into()) };
    let content = match fields.remove("content") {
        None | Some(Value::Null) => None,
        Some(Value::String(text)) => Some(vec![ContentBlock::Text(text)]),
        Some(other) => Some(ContentBlock::list_from_json(&other).unwrap_or_else(|| vec![ContentBlock::Text(other.to_string())])),
    };
    let failed = fields.get("is_error") == Some(&Value::Bool(true));
    let rest = Success {
        value: fields.remove("data").filter(|data| !data.is_null()),
        refs: fields.remove("refs").and_then(|refs| refs.as_array().cloned()).unwrap_or_default(),
        metadata: fields.remove("metadata").and_then(|metadata| metadata.as_object().cloned()).unwrap_or_default(),
        content,
        ..Success::default()
    };
    if failed {
        let message = rest.content.as_deref().map_or_else(|| "the tool says so".to_owned(), joined);
        return Err(Failure { error: Refusal::new(Code::Failed, describe(tool, Code::Failed, &message)), rest });
    }
    Ok(rest)
}

/// `error(code, message, metadata=)`: the tool's own code is a detail of `tool.failed`.
fn explicit_error(tool: &RegisteredTool, fields: &Value) -> Failure {
    let text = |key: &str| fields.get(key).and_then(Value::as_str).unwrap_or_default();
    let error = Refusal::new(Code::Failed, describe(tool, Code::Failed, text("message"))).detail("code", text("code"));
    let metadata = fields.get("metadata").and_then(Value::as_object).cloned().unwrap_or_default();
    Failure { error, rest: Success { metadata, ..Success::default() } }
}

async fn run_body(ctx: &Context, tool: &RegisteredTool, body: &Body, mut arguments: Map<String, Value>) -> Result<Success, Failure> {
    let deadline = deadline(ctx, tool);
    let _turn = turn(ctx, tool, deadline).await?;
    inject(ctx, tool, &mut arguments);
    secret::inject(ctx, tool, &mut arguments).await?;
    // A task of its own, so that a panic ends the call and not the engine.
    let mut task = tokio::spawn(body.0(Value::Object(arguments)));
    let refusal = tokio::select! {
        ended = &mut task => match ended {
            Ok(Ok(value)) => return judged(tool, value),
            Ok(Err(error)) => Refusal::new(Code::Failed, describe(tool, Code::Failed, &error.0)),
            Err(_) => Refusal::new(Code::Failed, describe(tool, Code::Failed, "the body panicked")),
        },
        () = ctx.call.cancel.cancelled() => Refusal::new(Code::Cancelled, describe(tool, Code::Cancelled, "cancelled")),
        () = tokio::time::sleep_until(deadline.at) => deadline.refusal(tool, "did not finish"),
    };
    task.abort();
    Err(refusal.into())
}

/// Waits for a turn when the tool limits how many calls run at once.
async fn turn(ctx: &Context, tool: &RegisteredTool, deadline: Deadline) -> Result<Option<tokio::sync::OwnedSemaphorePermit>, Failure> {
    let Some(at_once) = &tool.at_once else { return Ok(None) };
    tokio::select! {
        biased;
        permit = Arc::clone(at_once).acquire_owned() => Ok(permit.ok()),
        () = ctx.call.cancel.cancelled() => Err(Refusal::new(Code::Cancelled, "cancelled while waiting for its turn").into()),
        () = tokio::time::sleep_until(deadline.at) => Err(deadline.refusal(tool, "did not get its turn").into()),
    }
}

/// Adds what the harness fills in.
fn inject(ctx: &Context, tool: &RegisteredTool, arguments: &mut Map<String, Value>) {
    for (name, inject) in &tool.tool.inject {
        let value = match &inject.value {
            Inject::RunId => Value::from(ctx.call.run_id.as_str()),
            Inject::CallId => Value::from(ctx.call.id.as_str()),
            Inject::SessionId => Value::from(ctx.call.session_id.as_str()),
            Inject::Mode => Value::from(ctx.call.mode.as_str()),
            Inject::State(key) => ctx.stores.scope(StoreScope::Session).get(key).unwrap_or_default(),
            Inject::Secret(_) => continue,
        };
        arguments.insert(name.clone(), value);
    }
}

/// Whether a value fits the tool's output schema.
pub(super) fn fits_output(tool: &RegisteredTool, value: Option<&Value>) -> Result<(), Refusal> {
    let Some(schema) = tool.output() else { return Ok(()) };
    let problem = match (schema, value) {
        (Err(problem), _) => problem.to_owned(),
        (Ok(_), None) => "there is no value".to_owned(),
        (Ok(schema), Some(value)) => match schema.violations(value).first() {
            None => return Ok(()),
            Some(violation) if violation.path.is_empty() => violation.message.clone(),
            Some(violation) => format!("{}: {}", violation.path, violation.message),
        },
    };
    let message = format!("the result of `{}` does not fit its output schema: {problem}", tool.name());
    Err(Refusal::new(Code::OutputInvalid, message).help("a person must mend the tool or its `output_schema`"))
}

pub(super) fn no_body(tool: &RegisteredTool) -> Refusal {
    Refusal::new(Code::NoBody, format!("`{}` has no script, and no Rust body is registered for it", tool.name()))
        .help(format!("add a `script` to {}, or register a body of this name", tool.path()))
        .at(tool.tool.place(tool.tool.name_span))
}
