//! Built-ins that the worker runs itself: `print`, the results of tools, the decisions of hooks.

use super::builtin::{BuiltinValue, raise};
use super::decode::{HeapBuilder, from_json};
use allocative::Allocative;
use serde_json::{Map, Value as Json};
use starlark::eval::{Arguments, Evaluator};
use starlark::starlark_simple_value;
use starlark::values::{
    NoSerialize, ProvidesStaticType, StarlarkPagablePanic, StarlarkValue, Value, starlark_value,
};
use std::fmt;
use tool_harness::builtin::{DELEGATE_IN_TOOLS, Kind, absent};
use tool_harness::facts::ScriptKind;
use tool_harness::worker::protocol::{CallKind, MAX_FRAME, Outcome, begin_call};
use tool_harness::worker::wire::Writer;

/// The most bytes one `print` sends.
const MAX_PRINT: usize = 64 << 10;

/// The value of `result(...)` and `error(...)`. It takes effect when `run` returns it.
#[derive(Debug, ProvidesStaticType, NoSerialize, StarlarkPagablePanic, Allocative)]
pub(super) struct OutcomeValue {
    #[allocative(skip)]
    pub(super) outcome: Outcome,
}

starlark_simple_value!(OutcomeValue);

#[starlark_value(type = "reply")]
impl<'v> StarlarkValue<'v> for OutcomeValue {}

impl fmt::Display for OutcomeValue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.outcome {
            Outcome::Error(value) => write!(f, "error({value})"),
            Outcome::Result(value) | Outcome::Value(value) => write!(f, "result({value})"),
        }
    }
}

pub(super) fn call<'v>(
    call: &BuiltinValue,
    args: &Arguments<'v, '_>,
    eval: &mut Evaluator<'v, '_, '_>,
) -> starlark::Result<Value<'v>> {
    let outcome = |of: fn(Json) -> Outcome| {
        let outcome = of(Json::Object(fields(call, args, eval)?));
        Ok(eval.heap().alloc(OutcomeValue { outcome }))
    };
    match call.builtin.name {
        "print" => print(call, args, eval),
        "result" => outcome(Outcome::Result),
        "error" => outcome(Outcome::Error),
        "delegate" if call.kind == ScriptKind::Tool => {
            raise(absent(&call.signature.path, DELEGATE_IN_TOOLS))
        }
        action @ ("allow" | "block" | "modify" | "ask" | "delegate") => {
            let fields = fields(call, args, eval)?.into_iter();
            let mut decision = Map::from_iter([("action".to_owned(), Json::from(action))]);
            decision.extend(fields.filter(|(_, value)| !value.is_null()));
            from_json(&Json::Object(decision), &mut HeapBuilder(eval.heap()))
                .or_else(|error| raise(error.to_string()))
        }
        _ => raise(format!(
            "`{}` is not available in scripts",
            call.signature.path
        )),
    }
}

/// The arguments by the names of their parameters, together with any extra named ones.
fn fields<'v>(
    call: &BuiltinValue,
    args: &Arguments<'v, '_>,
    eval: &Evaluator<'v, '_, '_>,
) -> starlark::Result<Map<String, Json>> {
    let heap = eval.heap();
    let mut fields = Map::new();
    for (param, bound) in call.signature.params().iter().zip(call.bind(args, eval)?) {
        let value = bound
            .to_json(heap, MAX_FRAME as u64)
            .map_err(|error| call.bad_argument(&error))?;
        match (param.kind, value) {
            (Kind::Named, Json::Object(extra)) => fields.extend(extra),
            (_, value) => drop(fields.insert(param.name.to_owned(), value)),
        }
    }
    Ok(fields)
}

/// Sends the text without waiting for an answer. Any value can be printed, JSON or not, so the
/// arguments are not bound as for other built-ins.
fn print<'v>(
    call: &BuiltinValue,
    args: &Arguments<'v, '_>,
    eval: &Evaluator<'v, '_, '_>,
) -> starlark::Result<Value<'v>> {
    args.no_named_args()?;
    let context = call.linked_context(eval)?;
    let mut text = String::new();
    for (index, value) in args.positions(eval.heap())?.enumerate() {
        if index > 0 {
            text.push(' ');
        }
        text.push_str(&value.to_str());
    }
    let most = usize::try_from(context.frame_bytes())
        .unwrap_or(MAX_PRINT)
        .min(MAX_PRINT);
    if text.len() > most {
        let end = (0..=most)
            .rev()
            .find(|&end| text.is_char_boundary(end))
            .unwrap_or(0);
        text.truncate(end);
        text.push('…');
    }
    let mut writer = Writer::default();
    let written = begin_call(&mut writer, CallKind::Note, call.index, context.link(), 1)
        .and_then(|()| writer.list(1))
        .and_then(|()| writer.text(&text));
    written.or_else(|error| raise(error.to_string()))?;
    context.note(&writer.bytes);
    Ok(Value::new_none())
}
