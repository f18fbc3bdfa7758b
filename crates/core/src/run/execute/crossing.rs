//! Serves the built-ins that a tool's script calls, with the hooks around them.

use crate::builtin::{self, Scope};
use crate::registry::RegisteredTool;
use crate::run::ask::answer;
use crate::run::builtin::io::SideOutcomes;
use crate::run::builtin::{BuiltinCall, BuiltinCaller, admit, note, run};
use crate::run::chain::payload::merge;
use crate::run::chain::{Changed, fire, fire_emitted};
use crate::run::context::Context;
use crate::run::record::object;
use crate::worker::Crossing;
use crate::worker::script::Script;
use serde_json::{Map, Value, json};
use std::sync::Arc;
use tokio::sync::mpsc;
use tokio::time::Instant;

/// Serves a tool's script.
pub(in crate::run) struct ToolCrossing<'a> {
    pub(in crate::run) ctx: &'a Context,
    pub(in crate::run) tool: &'a RegisteredTool,
    pub(in crate::run) script: &'a Script,
    pub(in crate::run) deadline: Instant,
    /// Side outcomes of its built-ins. A hook that blocks a built-in leaves its reason here too.
    pub(in crate::run) traces: Arc<SideOutcomes>,
    /// Held by the commands it started.
    pub(in crate::run) alive: Option<mpsc::Sender<()>>,
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
