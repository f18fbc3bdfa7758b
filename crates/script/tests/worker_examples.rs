//! The examples of every built-in that stays in the worker, run in a real one: a built-in that needs a system call the filter does not
//! allow would end it.

#[path = "worker/supervisor.rs"]
#[expect(
    dead_code,
    reason = "shared with the other test of workers, which uses more of it"
)]
mod supervisor;

use serde_json::{Value, json};
use std::process::ExitCode;
use std::time::Duration;
use supervisor::{BUDGET, Worker};
use tool_harness::builtin::{Body, Example, all, full_name};
use tool_harness::facts::ScriptKind;
use tool_harness::worker::protocol::{Link, Outcome, Request, Response, Verdict};

/// Every pure built-in, and `print`: the examples are linked with all of them.
fn pure_built_ins() -> impl Iterator<Item = u32> {
    all()
        .filter(|(_, _, builtin)| builtin.is_pure() || builtin.name == "print")
        .map(|(index, _, _)| index)
}

fn main() -> ExitCode {
    tool_harness_script::run_if_worker();
    let (mut passed, mut failed, mut elsewhere) = (0, 0, 0);
    for (_, module, builtin) in all() {
        for example in builtin.examples {
            let kind = match builtin.scope {
                tool_harness::builtin::Scope::Hooks => ScriptKind::Hook,
                _ => ScriptKind::Tool,
            };
            if matches!(builtin.body, Body::Host(_) | Body::Note) {
                elsewhere += 1;
                continue;
            }
            match check(kind, example) {
                Ok(()) => passed += 1,
                Err(what) => {
                    failed += 1;
                    println!(
                        "{}: `{}` {what}",
                        full_name(module, builtin),
                        example.script
                    );
                }
            }
        }
    }
    println!("{elsewhere} examples need the harness; crates/cli/tests/builtins.rs runs them");
    println!("{passed} passed, {failed} failed");
    if failed == 0 && passed > 50 {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    }
}

fn check(kind: ScriptKind, example: &Example) -> Result<(), String> {
    let given = give(kind, example.script)?;
    match (example.gives.strip_prefix("error: "), given) {
        (Some(part), Err(message)) if message.contains(part) => Ok(()),
        (Some(_), other) => Err(format!("gives {other:?}")),
        (None, Err(message)) => Err(format!("raises {message:?}")),
        (None, Ok(value)) => {
            let expected: Value =
                serde_json::from_str(example.gives).map_err(|error| error.to_string())?;
            if value == expected {
                Ok(())
            } else {
                Err(format!("gives {value}"))
            }
        }
    }
}

/// What an expression gives or raises; an error when the worker dies of it.
fn give(kind: ScriptKind, expression: &str) -> Result<Result<Value, String>, String> {
    let mut worker = Worker::start();
    let entry = if kind == ScriptKind::Tool {
        "run(args)"
    } else {
        "handle(event, payload)"
    };
    worker.load(
        1,
        kind,
        &format!("def {entry}:\n  return {expression}\n"),
        &[],
    );
    worker.send(&if kind == ScriptKind::Tool {
        Request::Run {
            script: 1,
            args: json!({}),
            budget: BUDGET,
        }
    } else {
        let link = Link {
            when: None,
            script: 1,
            timeout_ms: 1000,
        };
        Request::Chain {
            event: "tool.pre".into(),
            payload: json!({}),
            links: vec![link],
            budget: BUDGET,
        }
    });
    loop {
        match worker.receive(Duration::from_secs(5)) {
            Ok(Response::Note { .. }) => {}
            Ok(Response::Done(
                Outcome::Value(value) | Outcome::Result(value) | Outcome::Error(value),
            )) => return Ok(Ok(value)),
            Ok(Response::Failed(failure)) => return Ok(Err(failure.message)),
            Ok(Response::Chain(mut verdicts)) => match verdicts.pop() {
                Some(Verdict::Returned(value)) => return Ok(Ok(value)),
                Some(Verdict::Allowed) => return Ok(Ok(json!({"action": "allow"}))),
                Some(Verdict::Failed(failure)) => return Ok(Err(failure.message)),
                other => return Err(format!("gives {other:?}")),
            },
            Ok(other) => return Err(format!("is answered by {other:?}")),
            Err(death) => return Err(format!("ends the worker: {:?}", death.cause())),
        }
    }
}
