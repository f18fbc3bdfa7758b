//! One script, from its source to its entry function.

use super::context::{LinkedBuiltins, ScriptContext};
use super::failure::{self, MAX_CALLS, raised};
use super::meter::Meter;
use super::source;
use crate::check::changes::{Changes, changes};
use starlark::environment::{Globals, Module};
use starlark::eval::Evaluator;
use starlark::values::OwnedFrozenValue;
use std::cell::OnceCell;
use std::rc::Rc;
use tool_harness::facts::ScriptKind;
use tool_harness::worker::protocol::{Failure, FailureKind};

/// A script, compiled on first use.
pub(super) struct LoadedScript {
    pub(super) kind: ScriptKind,
    pub(super) linked: LinkedBuiltins,
    source: String,
    compiled: OnceCell<Result<Entry, Failure>>,
}

/// The entry function of a compiled script.
#[derive(Clone)]
pub(super) struct Entry {
    pub(super) kind: ScriptKind,
    pub(super) function: OwnedFrozenValue,
    /// Whether the script can change what it is given.
    pub(super) changes: Changes,
}

impl LoadedScript {
    pub(super) fn new(kind: ScriptKind, source: String, linked: Vec<u32>) -> Self {
        Self {
            kind,
            linked: Rc::new(linked.into_iter().collect()),
            source,
            compiled: OnceCell::new(),
        }
    }

    /// The entry function of the script.
    pub(super) fn entry(
        &self,
        globals: &Globals,
        meter: &Meter,
        context: Option<&ScriptContext>,
    ) -> Result<Entry, Failure> {
        if let Some(compiled) = self.compiled.get() {
            return compiled.clone();
        }
        let compiled = self.compile(globals, meter, context);
        // The next request may have a wider limit; every other failure is final.
        if compiled
            .as_ref()
            .err()
            .is_none_or(|failure| matches!(failure.kind, FailureKind::Raised | FailureKind::Bug))
        {
            let _ = self.compiled.set(compiled.clone());
        }
        compiled
    }

    fn compile(
        &self,
        globals: &Globals,
        meter: &Meter,
        context: Option<&ScriptContext>,
    ) -> Result<Entry, Failure> {
        let ast = source::parse(self.kind, &self.source)?;
        let changes = changes(ast.statement());
        Module::with_temp_heap(|module| {
            {
                let mut eval = bounded(&module, meter);
                let _loading = context.map(|context| context.load(&mut eval));
                eval.eval_module(ast, globals)
                    .map_err(|error| classify(&error, self.kind, meter))?;
            }
            let frozen = module.freeze().map_err(|error| {
                let error = starlark::Error::from(error);
                let why = error.without_diagnostic();
                raised(format!("the script cannot be frozen: {why}"))
            })?;
            let name = source::entry(self.kind);
            let (entry, _) = frozen
                .get_any_visibility(name)
                .map_err(|_| raised(format!("the script does not define `{name}`")))?;
            Ok(Entry {
                kind: self.kind,
                function: entry,
                changes,
            })
        })
    }
}

/// An evaluator with the limits of the request.
pub(super) fn bounded<'v, 'a, 'e>(module: &'a Module<'v>, meter: &'a Meter) -> Evaluator<'v, 'a, 'e>
where
    'e: 'a,
{
    let mut eval = Evaluator::new(module);
    // Values outside the evaluator must survive from one hook to the next.
    eval.disable_gc();
    eval.set_check_cancelled(Box::new(|| meter.check()));
    // These fail only for zero, which means no limit, and when set twice.
    let _ = eval.set_max_callstack_size(MAX_CALLS);
    let _ =
        eval.set_max_heap_size(usize::try_from(meter.budget().memory_bytes).unwrap_or(usize::MAX));
    eval
}

/// Classifies an error. The evaluator does not say which limit ended it; the meter does.
pub(super) fn classify(error: &starlark::Error, kind: ScriptKind, meter: &Meter) -> Failure {
    match meter.exceeded() {
        Some(limit) => failure::limit_exceeded(limit, meter.budget()),
        None => failure::from_error(error, kind),
    }
}
