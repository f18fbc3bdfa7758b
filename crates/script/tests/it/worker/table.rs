//! A table of built-ins for the tests: one of each kind, and some that try to escape.

use serde_json::{Value, json};
use std::fs::{self, File};
use std::io::Read;
use std::net::TcpStream;
use std::os::unix::net::UnixStream;
use std::process::Command;
use tool_harness::Effects;
use tool_harness::builtin::{Args, Body, Builtin, BuiltinHost, Kind, Module, Param, Scope, Shape};
use tool_harness_script::BuiltinTable;

/// The argument that starts a worker with this table.
pub(crate) const ARGUMENT: &str = "worker-with-the-table-of-the-tests";

pub(crate) const TABLE: BuiltinTable = &[&GLOBALS, &FS, &LOG, &TEXT, &HASH, &ESCAPE];

const fn call(
    name: &'static str,
    params: &'static [Param],
    effects: Effects,
    body: Body,
) -> Builtin {
    Builtin {
        name,
        params,
        doc: "",
        returns: "",
        effects,
        scope: Scope::Both,
        shape: Shape::Plain,
        body,
        examples: &[],
    }
}

const fn scoped(mut builtin: Builtin, scope: Scope) -> Builtin {
    builtin.scope = scope;
    builtin
}

const fn needs(name: &'static str, kind: Kind) -> Param {
    Param {
        name,
        also: &[],
        kind,
        default: None,
    }
}

const fn takes(name: &'static str, kind: Kind, default: &'static str) -> Param {
    Param {
        name,
        also: &[],
        kind,
        default: Some(default),
    }
}

static GLOBALS: Module = Module {
    name: "",
    doc: "",
    constants: &[],
    calls: &[
        call(
            "print",
            &[needs("values", Kind::Rest)],
            Effects::NONE,
            Body::Worker,
        ),
        scoped(
            call(
                "result",
                &[
                    takes("content", Kind::Any, "null"),
                    takes("data", Kind::Any, "null"),
                ],
                Effects::NONE,
                Body::Worker,
            ),
            Scope::Tools,
        ),
        call(
            "error",
            &[needs("code", Kind::Text), needs("message", Kind::Text)],
            Effects::NONE,
            Body::Worker,
        ),
        scoped(
            call("allow", &[], Effects::NONE, Body::Worker),
            Scope::Hooks,
        ),
        scoped(
            call(
                "block",
                &[needs("reason", Kind::Text)],
                Effects::NONE,
                Body::Worker,
            ),
            Scope::Hooks,
        ),
        scoped(
            call(
                "modify",
                &[needs("payload", Kind::Dict)],
                Effects::NONE,
                Body::Worker,
            ),
            Scope::Hooks,
        ),
        call(
            "log",
            &[needs("message", Kind::Any)],
            Effects::NONE,
            Body::Note,
        ),
        call(
            "later",
            &[],
            Effects::NONE,
            Body::Absent("it comes with a later version"),
        ),
    ],
};

static FS: Module = Module {
    name: "fs",
    doc: "",
    constants: &[],
    calls: &[
        call(
            "read",
            &[needs("path", Kind::Text)],
            Effects::READ,
            Body::Host(never),
        ),
        call(
            "write",
            &[needs("path", Kind::Text), needs("content", Kind::Text)],
            Effects::WRITE,
            Body::Host(never),
        ),
    ],
};

static LOG: Module = Module {
    name: "log",
    doc: "",
    constants: &[],
    calls: &[call(
        "warn",
        &[needs("message", Kind::Any), needs("fields", Kind::Named)],
        Effects::NONE,
        Body::Note,
    )],
};

static TEXT: Module = Module {
    name: "text",
    doc: "",
    constants: &[("answer", 42.0)],
    calls: &[
        call(
            "upper",
            &[needs("text", Kind::Text)],
            Effects::NONE,
            Body::Pure(|args| Ok(json!(args.text(0).to_uppercase()))),
        ),
        call(
            "all",
            &[
                needs("first", Kind::Int),
                takes("second", Kind::Number, "2"),
                takes("third", Kind::List, "null"),
                needs("rest", Kind::Rest),
                needs("named", Kind::Named),
            ],
            Effects::NONE,
            Body::Pure(|args| Ok(Value::Array(args.0.clone()))),
        ),
        call(
            "fails",
            &[],
            Effects::NONE,
            Body::Pure(|_| Err("this built-in always fails".into())),
        ),
    ],
};

static HASH: Module = Module {
    name: "hash",
    doc: "",
    constants: &[],
    calls: &[call(
        "nothing",
        &[],
        Effects::NONE,
        Body::Pure(|_| Ok(Value::Null)),
    )],
};

/// Native code in the worker that does what an exploited evaluator might do.
static ESCAPE: Module = Module {
    name: "escape",
    doc: "",
    constants: &[],
    calls: &[
        call(
            "nothing",
            &[],
            Effects::NONE,
            Body::Pure(|_| Ok(json!("still here"))),
        ),
        call(
            "read",
            &[needs("path", Kind::Text)],
            Effects::NONE,
            Body::Pure(read),
        ),
        call(
            "write",
            &[needs("path", Kind::Text)],
            Effects::NONE,
            Body::Pure(|args| said(fs::write(args.text(0), "changed"))),
        ),
        call(
            "unix",
            &[needs("path", Kind::Text)],
            Effects::NONE,
            Body::Pure(|args| said(UnixStream::connect(args.text(0)))),
        ),
        call(
            "tcp",
            &[needs("address", Kind::Text)],
            Effects::NONE,
            Body::Pure(|args| said(TcpStream::connect(args.text(0)))),
        ),
        call(
            "exec",
            &[needs("path", Kind::Text)],
            Effects::NONE,
            Body::Pure(|args| said(Command::new(args.text(0)).status())),
        ),
        call(
            "kill",
            &[needs("process", Kind::Int)],
            Effects::NONE,
            Body::Pure(kill),
        ),
        call(
            "thread",
            &[],
            Effects::NONE,
            Body::Pure(|_| said(std::thread::Builder::new().spawn(|| ()))),
        ),
        call(
            "panic",
            &[],
            Effects::NONE,
            Body::Pure(|_| panic!("a bug in a built-in")),
        ),
    ],
};

fn never(_: &dyn BuiltinHost, _: &Args) -> Result<Value, String> {
    Err("a worker must not run this".into())
}

fn said<T>(outcome: std::io::Result<T>) -> Result<Value, String> {
    outcome
        .map(|_| json!("got out"))
        .map_err(|error| error.to_string())
}

fn read(args: &Args) -> Result<Value, String> {
    let mut bytes = [0; 16];
    said(File::open(args.text(0)).and_then(|mut file| file.read(&mut bytes)))
}

fn kill(args: &Args) -> Result<Value, String> {
    let process = i32::try_from(args.int(0).unwrap_or_default())
        .ok()
        .and_then(rustix::process::Pid::from_raw)
        .ok_or("no process")?;
    said(rustix::process::kill_process(process, rustix::process::Signal::TERM).map_err(Into::into))
}
