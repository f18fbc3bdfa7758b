//! One script, from its source to a function that can be entered.

use super::context::{Context, Linked};
use super::failure::{self, MAX_CALLS, raised};
use super::meter::Meter;
use super::source;
use starlark::environment::{Globals, Module};
use starlark::eval::Evaluator;
use starlark::values::OwnedFrozenValue;
use std::cell::OnceCell;
use std::rc::Rc;
use tool_harness::facts::ScriptKind;
use tool_harness::worker::protocol::{Failure, FailureKind};

/// A script, compiled when it is first needed.
pub(super) struct Script {
    pub(super) kind: ScriptKind,
    pub(super) linked: Linked,
    source: String,
    compiled: OnceCell<Result<OwnedFrozenValue, Failure>>,
}

impl Script {
    pub(super) fn new(kind: ScriptKind, source: String, linked: Vec<u32>) -> Self {
        Self {
            kind,
            linked: Rc::new(linked.into_iter().collect()),
            source,
            compiled: OnceCell::new(),
        }
    }

    /// The function the script is entered at.
    pub(super) fn entry(
        &self,
        globals: &Globals,
        meter: &Meter,
        context: Option<&Context>,
    ) -> Result<OwnedFrozenValue, Failure> {
        if let Some(known) = self.compiled.get() {
            return known.clone();
        }
        let compiled = self.compile(globals, meter, context);
        // A bound may be wider next time; anything else stays as it is.
        if compiled
            .as_ref()
            .err()
            .is_none_or(|failure| failure.kind == FailureKind::Raised)
        {
            let _ = self.compiled.set(compiled.clone());
        }
        compiled
    }

    fn compile(
        &self,
        globals: &Globals,
        meter: &Meter,
        context: Option<&Context>,
    ) -> Result<OwnedFrozenValue, Failure> {
        let ast = source::parse(self.kind, &self.source)?;
        Module::with_temp_heap(|module| {
            {
                let mut eval = bounded(&module, meter);
                let _loading = context.map(|context| context.load(&mut eval));
                eval.eval_module(ast, globals)
                    .map_err(|error| judge(&error, self.kind, meter))?;
            }
            let kept = module.freeze().map_err(starlark::Error::from);
            let frozen = kept.map_err(|error| {
                raised(format!(
                    "the script cannot be kept: {}",
                    error.without_diagnostic()
                ))
            })?;
            let name = source::entry(self.kind);
            match frozen.get_any_visibility(name) {
                Ok((entry, _)) => Ok(entry),
                Err(_) => Err(raised(format!("the script does not define `{name}`"))),
            }
        })
    }
}

/// An evaluator with the bounds of the request.
pub(super) fn bounded<'v, 'a, 'e>(module: &'a Module<'v>, meter: &'a Meter) -> Evaluator<'v, 'a, 'e>
where
    'e: 'a,
{
    let mut eval = Evaluator::new(module);
    // Values are held outside the evaluator between two hooks.
    eval.disable_gc();
    eval.set_check_cancelled(Box::new(|| meter.exceeded()));
    // These fail only for zero, which means no bound, and when set twice.
    let _ = eval.set_max_callstack_size(MAX_CALLS);
    let _ =
        eval.set_max_heap_size(usize::try_from(meter.budget().memory_bytes).unwrap_or(usize::MAX));
    eval
}

/// The evaluator does not say which bound ended it, so the meter is asked.
pub(super) fn judge(error: &starlark::Error, kind: ScriptKind, meter: &Meter) -> Failure {
    match meter.tripped() {
        Some(tripped) => failure::bound(tripped, meter.budget()),
        None => failure::of(error, kind),
    }
}
