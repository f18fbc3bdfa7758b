//! Runs a tool's script in a worker, and serves the built-ins that it calls.

use crate::builtin::{self, Scope};
use crate::effect::Effects;
use crate::refusal::{Code, Refusal};
use crate::registry::RegisteredTool;
use crate::result::Enforced;
use crate::run::ask::answer;
use crate::run::builtin::{BuiltinCall, BuiltinCaller, admit, note, run};
use crate::run::chain::payload::{merge, object};
use crate::run::chain::{Changed, fire, fire_emitted};
use crate::run::context::Context;
use crate::run::deadline::Deadline;
use crate::run::outcome::{
    BodyResult, Failure, SideOutcomes, describe, explicit_error, explicit_result, help, judged,
};
use crate::worker::protocol::Outcome;
use crate::worker::script::Script;
use crate::worker::{Crossing, DEFAULT_MEMORY_MB, ScriptError, ToolLimits};
use serde_json::{Map, Value, json};
use std::sync::{Arc, PoisonError};
use std::time::Duration;
use tokio::sync::mpsc;
use tokio::time::Instant;

/// Processor time of a script unless the tool or the project sets a limit.
const DEFAULT_CPU_MS: u64 = 10_000;
/// The most bytes of a script's encoded result.
const MAX_RESULT_BYTES: u64 = 16 << 20;

/// Runs a script. Also returns what contained it and the processes it started.
pub(in crate::run) async fn run_script(
    ctx: &Context,
    tool: &RegisteredTool,
    script: &Script,
    arguments: Map<String, Value>,
    deadline: Deadline,
) -> (BodyResult, Enforced) {
    let traces = Arc::new(SideOutcomes::default());
    let settling = tool.effects.contains(Effects::EXEC).then(Settling::new);
    let outcome = run_traced(
        ctx,
        tool,
        script,
        arguments,
        deadline,
        &traces,
        settling.as_ref().map(Settling::token),
    )
    .await;
    if let Some(settling) = settling {
        settling.settle().await;
    }
    let enforced = traces
        .enforced
        .lock()
        .unwrap_or_else(PoisonError::into_inner)
        .take();
    (outcome, enforced.unwrap_or(Enforced::Worker))
}

async fn run_traced(
    ctx: &Context,
    tool: &RegisteredTool,
    script: &Script,
    arguments: Map<String, Value>,
    deadline: Deadline,
    traces: &Arc<SideOutcomes>,
    alive: Option<mpsc::Sender<()>>,
) -> BodyResult {
    let bounds = ToolLimits {
        deadline: deadline.at,
        cpu_ms: tool.limits.cpu_ms.unwrap_or(DEFAULT_CPU_MS),
        memory_mb: tool.limits.memory_mb.unwrap_or(DEFAULT_MEMORY_MB),
        result_bytes: MAX_RESULT_BYTES,
    };
    let crossing = ToolCrossing {
        ctx,
        tool,
        script,
        deadline: deadline.at,
        traces: Arc::clone(traces),
        alive,
    };
    let ran = ctx
        .shared()
        .workers
        .run_tool(
            &ctx.call().session_id,
            script,
            &arguments,
            bounds,
            &ctx.call().cancel,
            &crossing,
        )
        .await;
    if let (
        Err(ScriptError {
            code: Code::Failed, ..
        }),
        Some(refusal),
    ) = (
        &ran,
        traces
            .refused
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .take(),
    ) {
        return Err(refusal.into());
    }
    match ran {
        Ok(Outcome::Value(value)) => judged(tool, value),
        Ok(Outcome::Result(fields)) => explicit_result(tool, fields),
        Ok(Outcome::Error(fields)) => Err(explicit_error(tool, &fields)),
        Err(error) => {
            let mut refusal = match error.code {
                // The worker knows only its remaining time, not who set the limit.
                Code::Timeout => deadline.refusal(tool, "did not finish"),
                code => Refusal::new(code, describe(tool, code, &error.message)),
            };
            if let Some(help) = help(error.code) {
                refusal = refusal.help(help);
            }
            let place = error
                .position
                .and_then(|position| Some(tool.tool.script.as_ref()?.place_of(position)));
            let place = place.unwrap_or_else(|| tool.tool.place(tool.tool.name_span));
            if error.is_bug {
                // Still repairable: other arguments may not reach the faulty line.
                refusal = refusal
                    .help(format!(
                        "the author of the tool must fix its script at {place}"
                    ))
                    .detail("fault", "script");
            }
            let refusal = refusal.at(place);
            // The script ended, and only its result is unusable.
            Err(if error.code == Code::ScriptResult {
                Failure::when_done(refusal)
            } else {
                refusal.into()
            })
        }
    }
}

/// Evaluates an expression over `args` in a worker without built-ins.
pub(in crate::run) async fn value_of(
    ctx: &Context,
    tool: &RegisteredTool,
    script: &Script,
    arguments: Map<String, Value>,
    deadline: Deadline,
) -> Result<Value, Refusal> {
    match run_traced(
        ctx,
        tool,
        script,
        arguments,
        deadline,
        &Arc::default(),
        None,
    )
    .await
    {
        Ok(success) => Ok(success.value.unwrap_or_default()),
        Err(failure) => Err(failure.error),
    }
}

/// Serves a tool's script.
struct ToolCrossing<'a> {
    ctx: &'a Context,
    tool: &'a RegisteredTool,
    script: &'a Script,
    deadline: Instant,
    /// Side outcomes of its built-ins. A hook that blocks a built-in leaves its reason here too.
    traces: Arc<SideOutcomes>,
    /// Held by the commands it started.
    alive: Option<mpsc::Sender<()>>,
}

impl Crossing for ToolCrossing<'_> {
    async fn cross(&self, _link: u32, index: u32, args: Vec<Value>) -> Result<Value, String> {
        let mut call = admit(self.ctx, self.script, Scope::Tools, index, args)?;
        self.before(&mut call).await?;
        let narrowing = self.tool.narrowing();
        let by = BuiltinCaller {
            name: self.tool.name(),
            narrowing,
            limits: self.tool.limits,
            traces: &self.traces,
            alive: self.alive.clone(),
            judged: self.ctx.judged_paths(),
        };
        let outcome = run(self.ctx, by, &call, self.deadline).await;
        let outcome = self.after(&call, outcome).await;
        fire_emitted(self.ctx).await;
        outcome
    }

    async fn note(&self, _link: u32, index: u32, args: Vec<Value>) {
        if let Ok(call) = admit(self.ctx, self.script, Scope::Tools, index, args) {
            note(self.ctx, self.tool.name(), &call);
            // The script does not wait for a note, so its hooks' decisions have no effect.
            let _ = self.after(&call, Ok(Value::Null)).await;
        }
    }
}

impl ToolCrossing<'_> {
    fn payload(&self, call: &BuiltinCall) -> Map<String, Value> {
        let args: Map<String, Value> = call
            .builtin
            .params
            .iter()
            .zip(&call.args.0)
            .map(|(param, value)| (param.name.to_owned(), value.clone()))
            .collect();
        object(
            json!({"name": call.name, "args": args, "tool": self.tool.name(), "call_id": self.ctx.call().id.as_str()}),
        )
    }

    async fn before(&self, call: &mut BuiltinCall) -> Result<(), String> {
        if !self.ctx.view().has_hooks("builtin.pre") {
            return Ok(());
        }
        let mut merge_args = |payload: &Map<String, Value>, returned: &Value| {
            merge(payload, returned, &["args"]).map(Changed::To)
        };
        let fired = fire(self.ctx, "builtin.pre", self.payload(call), &mut merge_args)
            .await
            .map_err(|refusal| self.traces.refuse(refusal))?;
        if !fired.asks.is_empty() {
            let answered = answer(self.ctx, Some(&call.name), &fired.asks).await;
            answered.map_err(|refusal| self.traces.refuse(refusal))?;
        }
        // An argument that a hook removed gets its default. A hook that added an unknown argument
        // or gave one the wrong type gets an error.
        let named = fired
            .payload
            .get("args")
            .and_then(Value::as_object)
            .cloned()
            .unwrap_or_default();
        call.args = builtin::bind(
            &call.name,
            call.builtin.params,
            Vec::new(),
            named.into_iter().collect(),
        )?;
        Ok(())
    }

    async fn after(
        &self,
        call: &BuiltinCall,
        outcome: Result<Value, String>,
    ) -> Result<Value, String> {
        if !self.ctx.view().has_hooks("builtin.post") {
            return outcome;
        }
        let mut payload = self.payload(call);
        match &outcome {
            Ok(value) => payload.insert("result".into(), value.clone()),
            Err(message) => payload.insert("error".into(), json!(message)),
        };
        let mut merge_result = |payload: &Map<String, Value>, returned: &Value| {
            merge(payload, returned, &["result"]).map(Changed::To)
        };
        let mut fired = fire(self.ctx, "builtin.post", payload, &mut merge_result)
            .await
            .map_err(|refusal| self.traces.refuse(refusal))?;
        match outcome {
            Ok(_) => Ok(fired.payload.remove("result").unwrap_or_default()),
            Err(message) => Err(message),
        }
    }
}

/// Waits until everything that a call started has ended.
struct Settling {
    alive: mpsc::Sender<()>,
    gone: mpsc::Receiver<()>,
}

impl Settling {
    fn new() -> Self {
        let (alive, gone) = mpsc::channel(1);
        Self { alive, gone }
    }

    /// A token for each piece of work to hold until it ends.
    fn token(&self) -> mpsc::Sender<()> {
        self.alive.clone()
    }

    /// Returns when all work has ended. All of it has been cancelled; a process that the kernel
    /// does not release is not waited for.
    async fn settle(mut self) {
        drop(self.alive);
        let _ = tokio::time::timeout(LONGEST, self.gone.recv()).await;
    }
}

/// How long to wait for a cancelled command to end.
const LONGEST: Duration = Duration::from_secs(2);
