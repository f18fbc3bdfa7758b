//! Running scripts: each is compiled and frozen once, and entered with fresh values every time.

mod bind;
#[expect(unsafe_code, reason = "the derive for Starlark values implements an unsafe marker trait")]
mod call;
#[expect(unsafe_code, reason = "the derive for Starlark values implements an unsafe marker trait")]
mod context;
mod decode;
mod encode;
mod failure;
#[expect(unsafe_code, reason = "the derive for Starlark values implements an unsafe marker trait")]
mod globals;
mod meter;
#[expect(unsafe_code, reason = "the derive for Starlark values implements an unsafe marker trait")]
mod own;
pub(crate) mod source;

pub(crate) use context::Channel;
pub use globals::Table;

use context::{Context, Linked};
use decode::{Frozen, OnHeap};
use encode::{to_json, to_wire};
use failure::{MAX_CALLS, raised, unusable};
use meter::Meter;
use own::Reply;
use starlark::environment::{Globals, Module};
use starlark::eval::Evaluator;
use starlark::values::dict::DictRef;
use starlark::values::{OwnedFrozenValue, Value, ValueLike};
use std::cell::OnceCell;
use std::collections::HashMap;
use std::rc::Rc;
use tool_harness::check::facts::ScriptKind;
use tool_harness::worker::protocol::{Budget, Failure, FailureKind, Link, Response, Verdict, begin_done};
use tool_harness::worker::wire::{Reader, WireError, Writer};

/// The names scripts start with. Made before the worker is confined.
pub(crate) struct Names {
    tool: Globals,
    hook: Globals,
}

impl Names {
    /// Builds the names, and runs a script so that whatever the evaluator looks up once has been looked up.
    pub(crate) fn prepare(table: Table) -> Self {
        let standard = globals::standard();
        let of = |kind| globals::globals(&standard, table, kind);
        let names = Self { tool: of(ScriptKind::Tool), hook: of(ScriptKind::Hook) };
        let script =
            Script { kind: ScriptKind::Tool, source: FIRST_SCRIPT.to_owned(), linked: Linked::default(), compiled: OnceCell::new() };
        let budget = Budget { wall_ms: 0, cpu_ms: 0, memory_bytes: 0, result_bytes: u64::MAX };
        let meter = Meter::start(&budget);
        Module::with_temp_heap(|module| {
            let mut eval = Evaluator::new(&module);
            bound(&mut eval, &meter, &budget);
            if let Ok(entry) = compile(&script, &names.tool, &meter, &budget) {
                let function = module.heap().access_owned_frozen_value(&entry);
                let _ = eval.eval_function(function, &[Value::new_none()], &[]);
            }
        });
        names
    }

    fn of(&self, kind: ScriptKind) -> &Globals {
        match kind {
            ScriptKind::Tool => &self.tool,
            ScriptKind::Hook | ScriptKind::When => &self.hook,
        }
    }
}

/// Touches each part of the evaluator, and ends in an error because errors are a part of it.
const FIRST_SCRIPT: &str = r#"
TABLE = {"a": [1, 2.5, 1 << 70], "b": (True, None)}
def run(args):
  items = sorted([len(x) for x in TABLE.values()], key = lambda x: -x)
  text = f"{items} {TABLE!r}" + "%s %d" % ("a", 1) + "{}".format(1.5) + struct(a = 1).a * "x" + str(set([1]))
  return text.upper().split(" ")[100]
"#;

/// The scripts a worker was given, and what running them needs.
pub(crate) struct Scripts {
    names: Names,
    scripts: HashMap<u32, Script>,
    context: Context,
}

struct Script {
    kind: ScriptKind,
    source: String,
    linked: Linked,
    compiled: OnceCell<Result<OwnedFrozenValue, Failure>>,
}

impl Scripts {
    pub(crate) fn new(names: Names, channel: Rc<dyn Channel>) -> Self {
        Self { names, scripts: HashMap::new(), context: Context::new(channel) }
    }

    /// Keeps a script. It is compiled when it is first run, because compiling evaluates and may need as much as running.
    pub(crate) fn load(&mut self, number: u32, kind: ScriptKind, source: String, linked: Vec<u32>) {
        let linked = Rc::new(linked.into_iter().collect());
        self.scripts.insert(number, Script { kind, source, linked, compiled: OnceCell::new() });
    }

    /// Runs a tool's script with the arguments that `reader` holds, and gives the frame of its answer.
    pub(crate) fn run(&self, number: u32, budget: &Budget, reader: &mut Reader<'_>) -> Result<Vec<u8>, WireError> {
        let meter = Meter::start(budget);
        Module::with_temp_heap(|module| {
            let args = reader.value(&mut OnHeap(module.heap()))?;
            let mut eval = self.evaluator(&module, &meter, budget);
            let done = self.enter(number, 0, &[args], &mut eval, &meter, budget).and_then(|value| outcome(value, &module, budget));
            done.unwrap_or_else(|failure| Response::Failed(failure).encode())
        })
    }

    /// Runs hooks over the payload that `reader` holds until one does not allow, and gives the frame of the answer.
    pub(crate) fn chain(&self, event: &str, links: &[Link], budget: &Budget, reader: &mut Reader<'_>) -> Result<Vec<u8>, WireError> {
        let meter = Meter::start(budget);
        let verdicts = Module::with_temp_heap(|module| {
            // Frozen: one hook cannot change what the next one sees.
            let payload = reader.value(&mut Frozen(module.frozen_heap()))?.to_value();
            let args = [module.heap().alloc(event), payload];
            let mut eval = self.evaluator(&module, &meter, budget);
            let mut verdicts = Vec::with_capacity(links.len());
            for (index, link) in links.iter().enumerate() {
                meter.enter_part(link.timeout_ms);
                let index = u32::try_from(index).unwrap_or(u32::MAX);
                let verdict = self.link(index, link, &args, &mut eval, &meter, budget);
                let goes_on = match &verdict {
                    (Verdict::Skipped, _) => true,
                    (_, allows) => *allows,
                };
                verdicts.push(verdict.0);
                if !goes_on {
                    break;
                }
            }
            Ok::<_, WireError>(verdicts)
        })?;
        Response::Chain(verdicts).encode()
    }

    /// What one hook says, and whether that is to go on.
    fn link<'v>(
        &self,
        index: u32,
        link: &Link,
        args: &[Value<'v>; 2],
        eval: &mut Evaluator<'v, '_, '_>,
        meter: &Meter,
        budget: &Budget,
    ) -> (Verdict, bool) {
        let matches = match link.when {
            // A condition that cannot be judged must not be a way around the hook.
            Some(when) => self.enter(when, index, args, eval, meter, budget).map_or(true, Value::to_bool),
            None => true,
        };
        if !matches {
            return (Verdict::Skipped, true);
        }
        let returned = self.enter(link.script, index, args, eval, meter, budget);
        let verdict = returned.and_then(|value| {
            let json = to_json(value, eval.heap(), budget.result_bytes);
            let json = json.map_err(|error| unusable(format!("the decision cannot be used: {error}")))?;
            Ok((Verdict::Returned(json), allows(value)))
        });
        verdict.unwrap_or_else(|failure| (Verdict::Failed(failure), false))
    }

    fn evaluator<'v, 'a>(&'a self, module: &'a Module<'v>, meter: &'a Meter, budget: &Budget) -> Evaluator<'v, 'a, 'a> {
        let mut eval = Evaluator::new(module);
        bound(&mut eval, meter, budget);
        eval.extra = Some(&self.context);
        eval
    }

    /// Calls the entry of a script.
    fn enter<'v>(
        &self,
        number: u32,
        link: u32,
        args: &[Value<'v>],
        eval: &mut Evaluator<'v, '_, '_>,
        meter: &Meter,
        budget: &Budget,
    ) -> Result<Value<'v>, Failure> {
        let script = self.scripts.get(&number).ok_or_else(|| raised("the script was not loaded"))?;
        let entry = self.compiled(script, meter, budget)?;
        self.context.enter(link, &script.linked);
        let function = eval.heap().access_owned_frozen_value(&entry);
        eval.eval_function(function, args, &[]).map_err(|error| judge(&error, script.kind, meter, budget))
    }

    fn compiled(&self, script: &Script, meter: &Meter, budget: &Budget) -> Result<OwnedFrozenValue, Failure> {
        if let Some(known) = script.compiled.get() {
            return known.clone();
        }
        let compiled = compile(script, self.names.of(script.kind), meter, budget);
        // A bound may be wider next time; anything else stays as it is.
        if compiled.as_ref().err().is_none_or(|failure| failure.kind == FailureKind::Raised) {
            let _ = script.compiled.set(compiled.clone());
        }
        compiled
    }
}

fn compile(script: &Script, globals: &Globals, meter: &Meter, budget: &Budget) -> Result<OwnedFrozenValue, Failure> {
    let ast = source::parse(script.kind, &script.source)?;
    Module::with_temp_heap(|module| {
        {
            let mut eval = Evaluator::new(&module);
            bound(&mut eval, meter, budget);
            eval.eval_module(ast, globals).map_err(|error| judge(&error, script.kind, meter, budget))?;
        }
        let frozen = module
            .freeze()
            .map_err(|error| raised(format!("the script cannot be kept: {}", starlark::Error::from(error).without_diagnostic())))?;
        let name = source::entry(script.kind);
        match frozen.get_any_visibility(name) {
            Ok((entry, _)) => Ok(entry),
            Err(_) => Err(raised(format!("the script does not define `{name}`"))),
        }
    })
}

fn bound<'a>(eval: &mut Evaluator<'_, 'a, '_>, meter: &'a Meter, budget: &Budget) {
    // Values are held outside the evaluator between two hooks.
    eval.disable_gc();
    eval.set_check_cancelled(Box::new(|| meter.exceeded()));
    // These fail only for zero, which means no bound, and when set twice.
    let _ = eval.set_max_callstack_size(MAX_CALLS);
    let _ = eval.set_max_heap_size(usize::try_from(budget.memory_bytes).unwrap_or(usize::MAX));
}

/// The evaluator does not say what ended it, so the meter is asked.
fn judge(error: &starlark::Error, kind: ScriptKind, meter: &Meter, budget: &Budget) -> Failure {
    match meter.tripped() {
        Some(tripped) => failure::bound(tripped, budget),
        None => failure::of(error, kind),
    }
}

fn outcome<'v>(value: Value<'v>, module: &Module<'v>, budget: &Budget) -> Result<Result<Vec<u8>, WireError>, Failure> {
    if let Some(reply) = value.downcast_ref::<Reply>() {
        let frame = Response::Done(reply.outcome().clone()).encode();
        return match frame {
            Ok(frame) if frame.len() as u64 > budget.result_bytes => {
                Err(unusable(format!("the result is larger than {} bytes", budget.result_bytes)))
            }
            frame => Ok(frame),
        };
    }
    let mut writer = Writer::default();
    begin_done(&mut writer);
    match to_wire(value, module.heap(), budget.result_bytes, &mut writer) {
        Ok(()) => Ok(Ok(writer.bytes)),
        Err(error) => Err(unusable(format!("the result cannot be used: {error}"))),
    }
}

/// Whether a hook lets the chain go on. What anything else means is for the harness to judge.
fn allows(value: Value<'_>) -> bool {
    let action = DictRef::from_value(value).and_then(|decision| decision.get_str("action"));
    matches!(action.and_then(Value::unpack_str), Some("allow" | "continue"))
}
