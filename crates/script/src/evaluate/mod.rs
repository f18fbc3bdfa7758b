//! Runs scripts. Each is compiled and frozen once, then called with fresh values every time.

mod bind;
#[expect(
    unsafe_code,
    reason = "the derive for Starlark values implements an unsafe marker trait"
)]
mod builtin;
#[expect(
    unsafe_code,
    reason = "the derive for Starlark values implements an unsafe marker trait"
)]
mod context;
mod decode;
mod encode;
mod failure;
#[expect(
    unsafe_code,
    reason = "the derive for Starlark values implements an unsafe marker trait"
)]
mod globals;
mod meter;
mod payload;
#[expect(
    unsafe_code,
    reason = "the derive for Starlark values implements an unsafe marker trait"
)]
mod record;
mod script;
mod script_globals;
mod source;
#[expect(
    unsafe_code,
    reason = "the derive for Starlark values implements an unsafe marker trait"
)]
mod worker_builtin;

pub(crate) use context::FrameChannel;
pub use globals::BuiltinTable;
pub(crate) use script_globals::ScriptGlobals;

use crate::check::changes::Changes;
use context::ScriptContext;
use decode::HeapBuilder;
use encode::{to_sized_json, to_wire};
use failure::{raised, unusable};
use meter::Meter;
use payload::Payload;
use script::{Entry, LoadedScript, bounded, classify};
use starlark::environment::Module;
use starlark::eval::Evaluator;
use starlark::values::dict::DictRef;
use starlark::values::{Value, ValueLike};
use std::collections::HashMap;
use std::rc::Rc;
use tool_harness::facts::ScriptKind;
use tool_harness::worker::protocol::{
    Budget, Failure, Link, PayloadUse, Response, Verdict, begin_done,
};
use tool_harness::worker::wire::{Reader, WireError, Writer};
use worker_builtin::OutcomeValue;

/// The scripts a worker has loaded, and what it needs to run them.
pub(crate) struct LoadedScripts {
    globals: ScriptGlobals,
    scripts: HashMap<u32, LoadedScript>,
    context: ScriptContext,
}

impl LoadedScripts {
    pub(crate) fn new(globals: ScriptGlobals, channel: Rc<dyn FrameChannel>) -> Self {
        Self {
            globals,
            scripts: HashMap::new(),
            context: ScriptContext::new(channel),
        }
    }

    /// Loads a script. It is compiled on its first run: compiling evaluates the module, which can
    /// cost as much as a run.
    pub(crate) fn load(&mut self, number: u32, kind: ScriptKind, source: String, linked: Vec<u32>) {
        self.scripts
            .insert(number, LoadedScript::new(kind, source, linked));
    }

    /// Runs a tool's script with the arguments in `reader` and returns the frame of its answer.
    pub(crate) fn run(
        &self,
        number: u32,
        budget: &Budget,
        reader: &mut Reader<'_>,
    ) -> Result<Vec<u8>, WireError> {
        let meter = self.start(budget);
        Module::with_temp_heap(|module| {
            let args = reader.value(&mut HeapBuilder(module.heap()))?;
            let mut eval = self.evaluator(&module, &meter);
            let done = self
                .enter(number, 0, &[args], &mut eval, &meter)
                .and_then(|value| outcome(value, &module, budget.result_bytes));
            done.unwrap_or_else(|failure| Response::Failed(failure).encode())
        })
    }

    /// Runs hooks over the payload in `reader` until one does not allow, and returns the frame of
    /// the answer.
    pub(crate) fn chain(
        &self,
        event: &str,
        links: &[Link],
        budget: &Budget,
        reader: &mut Reader<'_>,
    ) -> Result<Vec<u8>, WireError> {
        let meter = self.start(budget);
        Module::with_temp_heap(|module| {
            let payload = Payload::read(event, reader, module.frozen_heap())?;
            let event = module.heap().alloc(event);
            let mut eval = self.evaluator(&module, &meter);
            let mut verdicts = Vec::with_capacity(links.len());
            let mut room = budget.result_bytes;
            for (index, link) in (0..).zip(links) {
                meter.enter_link(link.timeout_ms);
                let result = self.link(index, link, event, &payload, &mut eval, &meter, &mut room);
                let (verdict, next) =
                    result.unwrap_or_else(|failure| (Verdict::Failed(failure), ChainStep::Stop));
                verdicts.push(verdict);
                if next == ChainStep::Stop {
                    break;
                }
            }
            Response::Chain(verdicts).encode()
        })
    }

    /// Runs one hook. `room` is how many bytes the remaining verdicts of the chain may take
    /// together.
    #[expect(
        clippy::too_many_arguments,
        reason = "the parts of a chain that a hook needs"
    )]
    fn link<'v>(
        &self,
        index: u32,
        link: &Link,
        event: Value<'v>,
        payload: &Payload<'_>,
        eval: &mut Evaluator<'v, '_, '_>,
        meter: &Meter,
        room: &mut u64,
    ) -> Result<(Verdict, ChainStep), Failure> {
        // A condition that fails must not be a way around the hook.
        if let Some(when) = link.when
            && let Ok(value) = self.enter(when, index, &[event, payload.frozen()], eval, meter)
            && !value.to_bool()
        {
            return Ok((Verdict::Skipped, ChainStep::Continue));
        }
        let entry = self.entry(link.script, index, meter)?;
        let copy = match entry.changes {
            Changes::Nothing => payload.frozen(),
            Changes::Values => payload.copy(eval.heap()),
        };
        let value = call(&entry, &[event, copy], eval, meter)?;
        if is_allow(value) {
            return Ok((Verdict::Allowed(payload.use_of(copy)), ChainStep::Continue));
        }
        let (json, size) = to_sized_json(value, eval.heap(), *room)
            .map_err(|error| unusable(format!("the decision cannot be used: {error}")))?;
        *room = room.saturating_sub(size);
        let (next, used) = match action(value) {
            Some("allow" | "continue") => (ChainStep::Continue, payload.use_of(copy)),
            None if value.is_none() => (ChainStep::Stop, payload.use_of(copy)),
            // The harness judges every other decision, and takes from it what the hook changed.
            _ => (ChainStep::Stop, PayloadUse::Read),
        };
        Ok((Verdict::Returned(json, used), next))
    }

    fn start(&self, budget: &Budget) -> Meter {
        self.context.limit_frames(budget.result_bytes);
        Meter::start(budget)
    }

    fn evaluator<'v, 'a>(
        &'a self,
        module: &'a Module<'v>,
        meter: &'a Meter,
    ) -> Evaluator<'v, 'a, 'a> {
        let mut eval = bounded(module, meter);
        eval.extra = Some(&self.context);
        eval
    }

    /// Enters a script and calls its entry function.
    fn enter<'v>(
        &self,
        number: u32,
        link: u32,
        args: &[Value<'v>],
        eval: &mut Evaluator<'v, '_, '_>,
        meter: &Meter,
    ) -> Result<Value<'v>, Failure> {
        call(&self.entry(number, link, meter)?, args, eval, meter)
    }

    /// Enters a script: from here on, its built-ins are the ones that can be called.
    fn entry(&self, number: u32, link: u32, meter: &Meter) -> Result<Entry, Failure> {
        let script = self
            .scripts
            .get(&number)
            .ok_or_else(|| raised("the script was not loaded"))?;
        self.context.enter(link, &script.linked);
        script.entry(self.globals.of(script.kind), meter, Some(&self.context))
    }
}

fn call<'v>(
    entry: &Entry,
    args: &[Value<'v>],
    eval: &mut Evaluator<'v, '_, '_>,
    meter: &Meter,
) -> Result<Value<'v>, Failure> {
    let function = eval.heap().access_owned_frozen_value(&entry.function);
    eval.eval_function(function, args, &[])
        .map_err(|error| classify(&error, entry.kind, meter))
}

/// What a chain does after a hook.
#[derive(Clone, Copy, PartialEq, Eq)]
enum ChainStep {
    Continue,
    Stop,
}

/// Whether a hook returned exactly what `allow()` returns.
fn is_allow(value: Value<'_>) -> bool {
    DictRef::from_value(value).is_some_and(|decision| decision.len() == 1)
        && action(value) == Some("allow")
}

/// The action of a decision.
fn action(value: Value<'_>) -> Option<&str> {
    DictRef::from_value(value)?.get_str("action")?.unpack_str()
}

/// Encodes what a tool returned.
fn outcome<'v>(
    value: Value<'v>,
    module: &Module<'v>,
    limit: u64,
) -> Result<Result<Vec<u8>, WireError>, Failure> {
    let unusable_result =
        |why: &dyn std::fmt::Display| unusable(format!("the result cannot be used: {why}"));
    if let Some(reply) = value.downcast_ref::<OutcomeValue>() {
        return match Response::Done(reply.outcome.clone()).encode() {
            Ok(frame) if frame.len() as u64 > limit => {
                Err(unusable_result(&format_args!("larger than {limit} bytes")))
            }
            Ok(frame) => Ok(Ok(frame)),
            Err(error) => Err(unusable_result(&error)),
        };
    }
    let mut writer = Writer::roomy();
    begin_done(&mut writer);
    to_wire(value, module.heap(), limit, &mut writer).map_err(|error| unusable_result(&error))?;
    Ok(Ok(writer.bytes))
}
