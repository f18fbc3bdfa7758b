//! `exec`: processes in the sandbox.

use super::{Args, Body, Builtin, BuiltinHost, Example, Module, Param, Scope, Shape};
use crate::effect::Effects;
use crate::outside::{End, Ran};
use serde_json::{Map, Value, json};
use std::time::Duration;

pub(super) const MODULE: Module = Module {
    name: "exec",
    doc: "Processes in the sandbox.",
    constants: &[],
    calls: &[Builtin {
        name: "run",
        params: &[
            Param::text("cmd"),
            Param::list("args").or("[]"),
            Param::int("timeout_ms").or("30000"),
            Param::text("stdin").or("\"\""),
            Param::dict("env").or("null"),
            Param::text("cwd").or("null").also(&["dir"]),
            Param::number("timeout_seconds").or("null"),
        ],
        doc: "Runs a program in the sandbox of the call and waits for it. Neither a non-zero exit code nor a timeout raises. \
              `env` adds variables but cannot change those that the plan sets; `cwd` is a folder of the workspace.",
        returns: "a dict with `ok`, `stdout`, `stderr`, `exit_code`, `timed_out`, `duration_ms`, `truncated`. Of long output it has the start and the end, and `artifacts` has the handle of the whole for each stream",
        effects: Effects::READ.and(Effects::WRITE).and(Effects::EXEC),
        scope: Scope::Tools,
        body: Body::Host(run),
        shape: Shape::Plain,
        examples: &[
            Example::new(
                r#"exec.run("sh", ["-c", "echo hello; exit 3"]).get("exit_code")"#,
                "3",
            ),
            Example::new(r#"exec.run("cat", stdin="hello")["stdout"]"#, "\"hello\""),
            Example::new(r#"exec.run("sleep", ["10"], 50)["timed_out"]"#, "true"),
            Example::new(r#"exec.run("no-such-program")"#, "error: no-such-program"),
        ],
    }],
};

/// A program to run, before the plan is applied.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Program {
    /// The program, by name or path.
    pub program: String,
    /// Its arguments.
    pub args: Vec<String>,
    /// Its standard input.
    pub stdin: String,
    /// Variables to add.
    pub env: Vec<(String, String)>,
    /// The folder of the workspace it starts in.
    pub cwd: Option<String>,
    /// How long it may take.
    pub timeout: Duration,
}

impl Program {
    /// A program without arguments, in the workspace, with the default timeout of `exec.run`.
    pub fn new(program: impl Into<String>) -> Self {
        let program = program.into();
        Self {
            program,
            args: Vec::new(),
            stdin: String::new(),
            env: Vec::new(),
            cwd: None,
            timeout: Duration::from_secs(30),
        }
    }
}

fn run(host: &dyn BuiltinHost, args: &Args) -> Result<Value, String> {
    let program = Program {
        program: args.text(0).to_owned(),
        args: args
            .texts(1, "args")?
            .into_iter()
            .map(str::to_owned)
            .collect(),
        timeout: timeout(args)?,
        stdin: args.text(3).to_owned(),
        env: variables(args.get(4))?,
        cwd: args.given_text(5).map(str::to_owned),
    };
    if program.program.is_empty() {
        return Err("`cmd` must name a program".to_owned());
    }
    if std::iter::once(&program.program)
        .chain(&program.args)
        .any(|word| word.contains('\0'))
    {
        return Err("`cmd` and `args` must not contain a zero byte".to_owned());
    }
    Ok(result(host.run(program)?))
}

/// `timeout_seconds` if it is given, else `timeout_ms`.
fn timeout(args: &Args) -> Result<Duration, String> {
    match args.number(6) {
        Some(seconds) => seconds_of(seconds),
        None => match args.int(2).and_then(|ms| u64::try_from(ms).ok()) {
            Some(ms) => Ok(Duration::from_millis(ms)),
            None => Err(format!(
                "`timeout_ms` must be 0 or more, got {}",
                args.get(2)
            )),
        },
    }
}

/// Seconds as a duration, if they fit one.
pub(super) fn seconds_of(seconds: f64) -> Result<Duration, String> {
    Duration::try_from_secs_f64(seconds)
        .map_err(|_| format!("`timeout_seconds` must be 0 or more, got {seconds}"))
}

fn variables(given: &Value) -> Result<Vec<(String, String)>, String> {
    let variable = |(name, value): (&String, &Value)| {
        let Some(text) = value.as_str() else {
            return Err(format!("`env.{name}` must be a string"));
        };
        if name.is_empty() || name.contains(['=', '\0']) || text.contains('\0') {
            return Err(format!(
                "`env.{name}` is not a variable: its name must not be empty or contain `=`, and neither name nor value a zero byte"
            ));
        }
        Ok((name.clone(), text.to_owned()))
    };
    given
        .as_object()
        .into_iter()
        .flatten()
        .map(variable)
        .collect()
}

/// The exit code that shells report for a killed process.
const KILLED: i32 = 137;

fn result(ran: Ran) -> Value {
    let (exit_code, timed_out) = match &ran.end {
        End::Exited(code) => (*code, false),
        End::Signalled(signal) => (128 + signal, false),
        End::TimedOut => (KILLED, true),
        End::Cancelled | End::Exceeded(_) => (KILLED, false),
    };
    let mut stderr = ran.stderr.text;
    if let End::Exceeded(why) = &ran.end {
        // On stderr, where a model looks for the reason of a failure.
        let line = if stderr.is_empty() || stderr.ends_with('\n') {
            ""
        } else {
            "\n"
        };
        stderr.push_str(&format!("{line}[harness killed it: {why}]\n"));
    }
    let artifacts = [
        ("stdout", ran.stdout.artifact),
        ("stderr", ran.stderr.artifact),
    ];
    let artifacts: Map<String, Value> = artifacts
        .into_iter()
        .filter_map(|(stream, artifact)| Some((stream.to_owned(), artifact?.to_json())))
        .collect();
    let mut result = json!({
        "ok": ran.end == End::Exited(0),
        "stdout": ran.stdout.text,
        "stderr": stderr,
        "exit_code": exit_code,
        "timed_out": timed_out,
        "duration_ms": u64::try_from(ran.duration.as_millis()).unwrap_or(u64::MAX),
        "truncated": ran.stdout.truncated || ran.stderr.truncated,
    });
    if !artifacts.is_empty() {
        result["artifacts"] = Value::Object(artifacts);
    }
    result
}
