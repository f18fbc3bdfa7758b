//! `exec`: processes. Known by name and effect until they can be contained.

use super::{Body, Builtin, Example, Kind, Module, Param, Scope};
use crate::effect::Effects;

pub(super) const MODULE: Module = Module {
    name: "exec",
    doc: "Processes in the sandbox.",
    constants: &[],
    calls: &[Builtin {
        name: "run",
        params: &[
            Param::required("cmd", Kind::Text),
            Param::optional("args", Kind::List, "[]"),
            Param::optional("timeout_ms", Kind::Int, "30000"),
            Param::optional("stdin", Kind::Text, "\"\""),
            Param::optional("env", Kind::Dict, "null"),
            Param::optional("cwd", Kind::Text, "null"),
            Param::optional("timeout_seconds", Kind::Number, "null"),
        ],
        doc: "Runs a program and waits for it. An exit code other than 0 does not raise, and a timeout returns what was captured.",
        returns: "a dict with `ok`, `stdout`, `stderr`, `exit_code`, `timed_out`, `duration_ms`, `truncated`",
        effects: Effects::READ.and(Effects::WRITE).and(Effects::EXEC),
        scope: Scope::Tools,
        body: Body::Absent("processes come with the sandbox"),
        examples: &[Example::new(r#"exec.run("ls", ["-l"])"#, "error: not available yet: processes come with the sandbox")],
    }],
};
