//! A built-in as a Starlark value, and what a call of it does.

use super::bind::{BoundArgument, Signature};
use super::context::ScriptContext;
use super::encode::EncodeError;
use super::record::{reshaped, shaped};
use super::worker_builtin;
use crate::check::predeclared::is_offered;
use allocative::Allocative;
use starlark::eval::{Arguments, Evaluator};
use starlark::starlark_simple_value;
use starlark::values::{
    NoSerialize, ProvidesStaticType, StarlarkPagablePanic, StarlarkValue, Value, starlark_value,
};
use std::fmt;
use tool_harness::builtin::{Args, Body, Builtin, absent};
use tool_harness::facts::ScriptKind;
use tool_harness::worker::protocol::{CallKind, MAX_FRAME, begin_call};
use tool_harness::worker::wire::Writer;

#[derive(ProvidesStaticType, NoSerialize, StarlarkPagablePanic, Allocative)]
pub(super) struct BuiltinValue {
    pub(super) index: u32,
    #[allocative(skip)]
    pub(super) builtin: &'static Builtin,
    #[allocative(skip)]
    pub(super) signature: Signature,
    /// The kind of script that sees this value.
    #[allocative(skip)]
    pub(super) kind: ScriptKind,
}

starlark_simple_value!(BuiltinValue);

#[starlark_value(type = "function")]
impl<'v> StarlarkValue<'v> for BuiltinValue {
    fn invoke(
        &self,
        _: Value<'v>,
        args: &Arguments<'v, '_>,
        eval: &mut Evaluator<'v, '_, '_>,
    ) -> starlark::Result<Value<'v>> {
        let path = &self.signature.path;
        if !self.is_offered() {
            let scripts = match self.kind {
                ScriptKind::Tool => "tools",
                ScriptKind::Hook | ScriptKind::When => "hooks",
                ScriptKind::Condition => "conditions",
            };
            return raise(format!("`{path}` is not available in {scripts}"));
        }
        match &self.builtin.body {
            Body::Absent(what) => raise(absent(path, what)),
            Body::Worker => worker_builtin::call(self, args, eval),
            Body::Pure(function) => {
                if ScriptContext::of(eval).is_some_and(|context| !context.is_linked(self.index)) {
                    return raise(self.not_linked());
                }
                let heap = eval.heap();
                let bound = self.bind(args, eval)?;
                let json = bound
                    .iter()
                    .map(|bound| bound.to_json(heap, FRAME_ROOM))
                    .collect::<Result<_, _>>()
                    .map_err(|error| self.bad_argument(&error))?;
                match function(&Args(json)) {
                    Ok(value) => shaped(self.builtin.shape, &value, heap).or_else(|error| {
                        raise(format!(
                            "`{path}` returned a value that scripts cannot use: {error}"
                        ))
                    }),
                    Err(message) => raise(message),
                }
            }
            Body::Host(_) => {
                let frame = self.frame(CallKind::Cross, args, eval)?;
                let answer = self.context(eval)?.cross(&frame, eval.heap());
                reshaped(self.builtin.shape, answer.or_else(raise)?, eval.heap())
            }
            Body::Note => {
                let frame = self.frame(CallKind::Note, args, eval)?;
                self.context(eval)?.note(&frame);
                Ok(Value::new_none())
            }
        }
    }

    fn name_for_call_stack(&self, _: Value<'v>) -> String {
        self.signature.path.clone()
    }
}

/// The size limit of an argument that stays in the worker.
const FRAME_ROOM: u64 = (MAX_FRAME - 1024) as u64;

impl BuiltinValue {
    /// Whether scripts of this kind have it, if it is linked.
    pub(super) fn is_offered(&self) -> bool {
        is_offered(self.builtin.scope, self.kind)
    }

    pub(super) fn bind<'v>(
        &self,
        args: &Arguments<'v, '_>,
        eval: &Evaluator<'v, '_, '_>,
    ) -> starlark::Result<Vec<BoundArgument<'v, '_>>> {
        self.signature.bind(args, eval.heap())?.or_else(raise)
    }

    /// The context of a call that leaves the worker. No call may leave it while a script loads.
    pub(super) fn context<'a>(
        &self,
        eval: &Evaluator<'_, 'a, '_>,
    ) -> starlark::Result<&'a ScriptContext> {
        let path = &self.signature.path;
        match ScriptContext::of(eval) {
            Some(context) if !context.is_loading() => Ok(context),
            _ => raise(format!(
                "`{path}` cannot be called while the script loads; call it inside a function"
            )),
        }
    }

    /// The context of a call that leaves the worker, if the script is linked with this built-in.
    pub(super) fn linked_context<'a>(
        &self,
        eval: &Evaluator<'_, 'a, '_>,
    ) -> starlark::Result<&'a ScriptContext> {
        let context = self.context(eval)?;
        if context.is_linked(self.index) {
            Ok(context)
        } else {
            raise(self.not_linked())
        }
    }

    fn frame<'v>(
        &self,
        kind: CallKind,
        args: &Arguments<'v, '_>,
        eval: &Evaluator<'v, '_, '_>,
    ) -> starlark::Result<Vec<u8>> {
        let context = self.linked_context(eval)?;
        let bound = self.bind(args, eval)?;
        let mut writer = Writer::default();
        begin_call(&mut writer, kind, self.index, context.link(), bound.len())
            .map_err(|error| self.bad_argument(&error.into()))?;
        for argument in &bound {
            argument
                .to_wire(eval.heap(), context.frame_bytes(), &mut writer)
                .map_err(|error| self.bad_argument(&error))?;
        }
        Ok(writer.bytes)
    }

    pub(super) fn bad_argument(&self, error: &EncodeError) -> starlark::Error {
        script_error(format!(
            "`{}` cannot take this value: {error}",
            self.signature.path
        ))
    }

    fn not_linked(&self) -> String {
        let (path, effects) = (&self.signature.path, self.builtin.effects);
        if effects.is_empty() {
            format!("`{path}` is denied: the project's policy does not let scripts use it")
        } else {
            format!("`{path}` is not available: this script may not have the effect `{effects}`")
        }
    }
}

impl fmt::Debug for BuiltinValue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "BuiltinValue({})", self.signature.path)
    }
}

impl fmt::Display for BuiltinValue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "<built-in {}>", self.signature.path)
    }
}

/// An error in a script, worded for its author.
#[derive(Debug)]
pub(super) struct BuiltinError(String);

impl fmt::Display for BuiltinError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for BuiltinError {}

pub(super) fn script_error(message: String) -> starlark::Error {
    starlark::Error::new_other(BuiltinError(message))
}

pub(super) fn raise<T>(message: String) -> starlark::Result<T> {
    Err(script_error(message))
}
