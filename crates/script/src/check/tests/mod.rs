//! Tables of scripts and what is found in them.

mod behaviour;
mod names;

use crate::check::{SOURCE_LIMIT, facts};
use serde_json::Value;
use tool_harness::Effects;
use tool_harness::builtin::{Args, Body, Builtin, Kind, Module, Param, Scope, Shape};
use tool_harness::facts::{Facts, Named, ScriptKind};

pub(super) const fn builtin(name: &'static str, body: Body) -> Builtin {
    Builtin {
        name,
        params: &[],
        doc: "",
        returns: "",
        effects: Effects::NONE,
        scope: Scope::Both,
        shape: Shape::Plain,
        body,
        examples: &[],
    }
}

pub(super) const fn absent(name: &'static str) -> Builtin {
    builtin(name, Body::Absent("a test"))
}

pub(super) fn nothing(_: &Args) -> Result<Value, String> {
    Ok(Value::Null)
}

pub(super) const FS: Module = Module {
    name: "fs",
    doc: "",
    constants: &[],
    calls: &[absent("read"), absent("write")],
};
pub(super) const MATH: Module = Module {
    name: "math",
    doc: "",
    constants: &[("pi", 3.0)],
    calls: &[builtin("abs", Body::Pure(nothing))],
};
pub(super) const LOG: Module = Module {
    name: "log",
    doc: "",
    constants: &[],
    calls: &[absent(""), absent("info")],
};
pub(super) const HASH: Module = Module {
    name: "hash",
    doc: "",
    constants: &[],
    calls: &[Builtin {
        params: &[Param {
            name: "text",
            also: &[],
            kind: Kind::Text,
            default: None,
        }],
        ..absent("sha256")
    }],
};
pub(super) const GLOBALS: Module = Module {
    name: "",
    doc: "",
    constants: &[],
    calls: &[absent("env"), builtin("print", Body::Worker)],
};

pub(super) fn of(kind: ScriptKind, source: &str) -> Facts {
    let facts = facts(kind, source, &[&FS, &MATH, &LOG, &HASH, &GLOBALS]);
    assert_eq!(facts.syntax, None, "{source}");
    facts
}

/// `name@line:column`, joined by spaces.
pub(super) fn shown(found: &[Named]) -> String {
    found
        .iter()
        .map(|named| format!("{}@{}:{}", named.name, named.line, named.column))
        .collect::<Vec<_>>()
        .join(", ")
}

pub(super) fn names(found: &[Named]) -> String {
    found
        .iter()
        .map(|named| named.name.as_str())
        .collect::<Vec<_>>()
        .join(" ")
}
