//! `metrics`: counters and gauges of the engine.

use super::{Args, Body, Builtin, BuiltinHost, Example, Module, PLAIN, Param};
use crate::store::number;
use serde_json::{Value, json};

/// Bytes of a name.
const MAX_NAME: usize = 200;

const NAME: Param = Param::text("name");

pub(super) const MODULE: Module = Module {
    name: "metrics",
    doc: "Counters and gauges of this engine, shared by all its tools and hooks.",
    constants: &[],
    calls: &[
        Builtin {
            name: "incr",
            params: &[NAME, Param::number("by").or("1").also(&["delta"])],
            doc: "Adds to a counter, which starts at 0.",
            returns: "the new number",
            body: Body::Host(incr),
            examples: &[Example::new(
                r#"[metrics.incr("calls"), metrics.incr("calls", by=2)]"#,
                "[1, 3]",
            )],
            ..PLAIN
        },
        Builtin {
            name: "set",
            params: &[NAME, Param::number("value")],
            doc: "Sets a gauge.",
            body: Body::Host(set),
            examples: &[Example::new(
                r#"[metrics.set("load", 0.5), metrics.get("load")][1]"#,
                "0.5",
            )],
            ..PLAIN
        },
        Builtin {
            name: "get",
            params: &[NAME, Param::any("default").or("0")],
            doc: "A counter or gauge.",
            returns: "the number, or `default` when it was never set",
            body: Body::Host(|host, args| {
                Ok(host
                    .metrics()
                    .get(args.text(0))
                    .map_or_else(|| args.get(1).clone(), number))
            }),
            examples: &[Example::new(r#"metrics.get("calls")"#, "0")],
            ..PLAIN
        },
        Builtin {
            name: "reset",
            params: &[Param::text("name").or("null")],
            doc: "Forgets a counter or gauge; without a name, all of them.",
            body: Body::Host(|host, args| {
                host.metrics().reset(args.given_text(0));
                Ok(Value::Null)
            }),
            examples: &[Example::new(
                r#"[metrics.incr("a"), metrics.incr("b"), metrics.reset("a"), metrics.snapshot()][3]"#,
                r#"{"b": 1}"#,
            )],
            ..PLAIN
        },
        Builtin {
            name: "snapshot",
            doc: "Every counter and gauge, by name.",
            returns: "a dict",
            body: Body::Host(|host, _| Ok(Value::Object(host.metrics().snapshot()))),
            examples: &[Example::new(
                r#"[metrics.incr("b"), metrics.incr("a"), metrics.snapshot()][2]"#,
                r#"{"a": 1, "b": 1}"#,
            )],
            ..PLAIN
        },
    ],
};

fn name(args: &Args) -> Result<&str, String> {
    match args.text(0).len() {
        1..=MAX_NAME => Ok(args.text(0)),
        bytes => Err(format!(
            "`name` must have 1 to {MAX_NAME} bytes, got {bytes}"
        )),
    }
}

fn finite(args: &Args, what: &str) -> Result<f64, String> {
    args.number(1)
        .filter(|number| number.is_finite())
        .ok_or_else(|| format!("`{what}` must be a finite number, got {}", args.get(1)))
}

fn incr(host: &dyn BuiltinHost, args: &Args) -> Result<Value, String> {
    Ok(number(
        host.metrics().incr(name(args)?, finite(args, "by")?)?,
    ))
}

fn set(host: &dyn BuiltinHost, args: &Args) -> Result<Value, String> {
    host.metrics().set(name(args)?, finite(args, "value")?)?;
    Ok(json!(null))
}
