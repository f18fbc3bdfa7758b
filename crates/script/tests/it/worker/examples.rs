//! The examples of every built-in that stays in the worker, run in a real one: a built-in that needs a system call the filter does not
//! allow would end it.

use super::supervisor::{BUDGET, PATIENCE, Worker};
use serde_json::{Value, json};
use tool_harness::builtin::{Body, Example, Scope, all, full_name};
use tool_harness::facts::ScriptKind;
use tool_harness::worker::protocol::{Link, Outcome, Request, Response, Verdict};

#[test]
fn every_pure_builtin_example_gives_its_expected_result() {
    let (mut passed, mut failed) = (0, Vec::new());
    for (_, module, builtin) in all() {
        // The examples of the others need the harness; crates/cli/tests/it/builtins.rs runs them.
        if matches!(builtin.body, Body::Host(_) | Body::Note) {
            continue;
        }
        let kind = match builtin.scope {
            Scope::Hooks => ScriptKind::Hook,
            _ => ScriptKind::Tool,
        };
        for example in builtin.examples {
            match check(kind, example) {
                Ok(()) => passed += 1,
                Err(what) => failed.push(format!(
                    "{}: `{}` {what}",
                    full_name(module, builtin),
                    example.script
                )),
            }
        }
    }
    assert!(failed.is_empty(), "{}", failed.join("\n"));
    assert!(passed > 50, "only {passed} examples");
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

/// What an expression returns or raises; an error if it kills the worker.
fn give(kind: ScriptKind, expression: &str) -> Result<Result<Value, String>, String> {
    let mut worker = Worker::with_the_real_table();
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
        match worker.receive(PATIENCE) {
            Ok(Response::Note { .. }) => {}
            Ok(Response::Done(
                Outcome::Value(value) | Outcome::Result(value) | Outcome::Error(value),
            )) => return Ok(Ok(value)),
            Ok(Response::Failed(failure)) => return Ok(Err(failure.message)),
            Ok(Response::Chain(mut verdicts)) => match verdicts.pop() {
                Some(Verdict::Returned(value, _)) => return Ok(Ok(value)),
                Some(Verdict::Allowed(_)) => return Ok(Ok(json!({"action": "allow"}))),
                Some(Verdict::Failed(failure)) => return Ok(Err(failure.message)),
                other => return Err(format!("gives {other:?}")),
            },
            Ok(other) => return Err(format!("is answered by {other:?}")),
            Err(death) => return Err(format!("ends the worker: {:?}", death.cause())),
        }
    }
}
