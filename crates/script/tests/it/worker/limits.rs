//! Scripts that use too much: each ends in time, as a failure or with its worker and the right cause.

use super::index;
use super::supervisor::{BUDGET, End, PATIENCE, Worker, run, run_with};
use serde_json::{Value, json};
use std::time::{Duration, Instant};
use tool_harness::facts::ScriptKind;
use tool_harness::worker::protocol::{Budget, FailureKind, Outcome, Request, Response};
use tool_harness_sandbox::process::{Death, DeathCause, WorkerLimits};

fn body(lines: &str) -> String {
    format!("def run(args):\n{lines}\n")
}

#[test]
fn a_refused_allocation_ends_the_worker_and_names_the_cause() {
    for script in [
        "  return len([0] * 1000000000)",
        "  return len(sorted(range(300000000)))",
        "  x = 'a' * 1000000\n  return len(x.replace('a', x))",
        "  x = 'a' * 1000\n  for i in range(40):\n    x = x + x\n  return len(x)",
        "  x = [1]\n  for i in range(40):\n    x.extend(x)\n  return len(x)",
        "  return len(list(range(2000000000)))",
        "  return len(','.join([str(i) * 1000 for i in range(100)] * 100000))",
        // The compiler would inline such a function forever.
        "  return 1\ndef again(f, n):\n  return f(f, n)\ndef other():\n  return again(again, 1)",
    ] {
        let started = Instant::now();
        match run_with(&body(script), Value::Null, BUDGET, &WorkerLimits::default()) {
            Err(End::Died(death)) if script.contains("again") => {
                assert!(
                    matches!(death.cause(), DeathCause::Memory | DeathCause::Stack),
                    "{death:?}"
                )
            }
            Err(End::Died(death)) => {
                assert_eq!(death.cause(), DeathCause::Memory, "{script}: {death:?}")
            }
            Err(End::Failed(failure)) => {
                assert_eq!(failure.kind, FailureKind::Memory, "{script}: {failure:?}")
            }
            other => panic!("{script}: {other:?}"),
        }
        assert!(
            started.elapsed() < PATIENCE,
            "{script} took {:?}",
            started.elapsed()
        );
    }
    assert_eq!(
        run(&body("  return len([0] * 1000)"), Value::Null),
        Ok(Outcome::Value(json!(1000)))
    );
}

#[test]
fn a_heap_that_grows_too_large_is_a_failure() {
    let mut worker = Worker::start();
    worker.load(
        1,
        ScriptKind::Tool,
        &body("  x = []\n  for i in range(100000000):\n    x.append(str(i))\n  return len(x)"),
        &[],
    );
    let Err(End::Failed(failure)) = worker.run(
        1,
        Value::Null,
        Budget {
            memory_bytes: 8 << 20,
            ..BUDGET
        },
    ) else {
        panic!("no failure")
    };
    assert_eq!(failure.kind, FailureKind::Memory, "{failure:?}");
}

#[test]
fn an_endless_loop_is_a_failure_and_the_worker_survives() {
    let mut worker = Worker::start();
    worker.load(
        1,
        ScriptKind::Tool,
        &body("  for i in range(1000000000):\n    pass"),
        &[],
    );
    worker.load(2, ScriptKind::Tool, &body("  return 1"), &[]);
    for (budget, kind) in [
        (
            Budget {
                wall_ms: 100,
                cpu_ms: 0,
                ..BUDGET
            },
            FailureKind::Wall,
        ),
        (
            Budget {
                wall_ms: 0,
                cpu_ms: 100,
                ..BUDGET
            },
            FailureKind::Steps,
        ),
    ] {
        let started = Instant::now();
        let Err(End::Failed(failure)) = worker.run(1, Value::Null, budget) else {
            panic!("no failure")
        };
        assert_eq!(failure.kind, kind, "{failure:?}");
        assert!(failure.message.contains("100 ms"), "{failure:?}");
        assert!(started.elapsed() < PATIENCE, "{:?}", started.elapsed());
        assert_eq!(
            worker.run(2, Value::Null, BUDGET),
            Ok(Outcome::Value(json!(1)))
        );
    }
}

#[test]
fn an_uninterruptible_script_is_killed_at_the_deadline() {
    let mut worker = Worker::start();
    worker.load(
        1,
        ScriptKind::Tool,
        &body("  x = 3\n  for i in range(60):\n    x = x * x\n  return 1"),
        &[],
    );
    worker.send(&Request::Run {
        script: 1,
        args: Value::Null,
        budget: Budget {
            wall_ms: 200,
            ..BUDGET
        },
    });
    let started = Instant::now();
    let death = worker
        .receive(Duration::from_millis(300))
        .expect_err("cannot end by itself");
    assert_eq!(death.cause(), DeathCause::Killed);
    assert!(started.elapsed() < PATIENCE, "{:?}", started.elapsed());
}

#[test]
fn deep_results_are_refused() {
    let nest = "  x = []\n  for i in range(100000):\n    x = [x]\n";
    let Err(End::Failed(failure)) = run(&body(&format!("{nest}  return x")), Value::Null) else {
        panic!("no failure")
    };
    assert_eq!(
        (failure.kind, failure.message.as_str()),
        (
            FailureKind::Result,
            "the result cannot be used: nested deeper than 64 levels"
        )
    );
    let shallow = body("  x = []\n  for i in range(60):\n    x = [x]\n  return x");
    assert!(run(&shallow, Value::Null).is_ok());
}

#[test]
fn a_stack_overflow_ends_the_worker_and_names_the_cause() {
    let script = body("  x = []\n  for i in range(100000):\n    x = [x]\n  return len(str(x))");
    match run_with(&script, Value::Null, BUDGET, &WorkerLimits::default()) {
        Err(End::Died(death)) => assert_eq!(death.cause(), DeathCause::Stack, "{death:?}"),
        other => panic!("{other:?}"),
    }
    let large = WorkerLimits {
        stack_bytes: 64 << 20,
        ..WorkerLimits::default()
    };
    assert_eq!(
        run_with(&script, Value::Null, BUDGET, &large),
        Ok(Outcome::Value(json!(200_002)))
    );
    let deeper = body("  x = []\n  for i in range(3000000):\n    x = [x]\n  return len(str(x))");
    let generous = Budget {
        memory_bytes: 1 << 30,
        ..BUDGET
    };
    let memory = WorkerLimits {
        memory_bytes: 1 << 30,
        ..WorkerLimits::default()
    };
    match run_with(&deeper, Value::Null, generous, &memory) {
        Err(End::Died(death)) => assert_eq!(death.cause(), DeathCause::Stack, "{death:?}"),
        other => panic!("{other:?}"),
    }
}

#[test]
fn deep_sources_are_refused() {
    let deep = |depth: usize| {
        body(&format!(
            "  return {}1{}",
            "(".repeat(depth),
            ")".repeat(depth)
        ))
    };
    let Err(End::Failed(failure)) = run(&deep(10_000), Value::Null) else {
        panic!("no failure")
    };
    assert_eq!(
        (failure.message.as_str(), failure.line, failure.column),
        ("nested too deeply", 2, 209)
    );
    assert_eq!(run(&deep(150), Value::Null), Ok(Outcome::Value(json!(1))));
    // Depth without brackets.
    let Err(End::Failed(failure)) = run(
        &body(&format!("  return 1{}", "+1".repeat(500_000))),
        Value::Null,
    ) else {
        panic!("no failure")
    };
    assert_eq!(failure.message, "nested too deeply");
    let Err(End::Failed(failure)) = run(
        &format!("{}{}", "# filler\n".repeat(200_000), body("  return 1")),
        Value::Null,
    ) else {
        panic!()
    };
    assert_eq!(failure.message, "longer than 1048576 bytes");
}

#[test]
fn large_results_are_refused() {
    let generous = Budget {
        memory_bytes: 0,
        ..BUDGET
    };
    let limits = WorkerLimits {
        memory_bytes: 1 << 30,
        ..WorkerLimits::default()
    };
    let failure = match run_with(
        &body("  return ''.join(['x' * 1000000] * 200)"),
        Value::Null,
        generous,
        &limits,
    ) {
        Err(End::Failed(failure)) => failure,
        other => panic!("{other:?}"),
    };
    assert_eq!(
        (failure.kind, failure.message.as_str()),
        (
            FailureKind::Result,
            "the result cannot be used: larger than 1048576 bytes"
        )
    );
    match run(
        &body("  return ''.join(['x' * 1000000] * 200)"),
        Value::Null,
    ) {
        Err(End::Died(death)) => assert_eq!(death.cause(), DeathCause::Memory, "{death:?}"),
        Err(End::Failed(failure)) => assert_eq!(failure.kind, FailureKind::Memory, "{failure:?}"),
        Ok(_) => panic!("200 MB came through"),
    }
}

#[test]
fn script_messages_are_bounded() {
    let mut worker = Worker::start();
    let (write, print) = (index("fs.write"), index("print"));
    worker.load(1, ScriptKind::Tool, &body("  fail('é' * 1000000)"), &[]);
    let Err(End::Failed(failure)) = worker.run(1, Value::Null, BUDGET) else {
        panic!("no failure")
    };
    assert_eq!(failure.message.chars().count(), 2001);
    worker.load(
        2,
        ScriptKind::Tool,
        &body("  return fs.write('a', 'x' * 2000000)"),
        &[write],
    );
    let Err(End::Failed(failure)) = worker.run(2, Value::Null, BUDGET) else {
        panic!("no failure")
    };
    assert_eq!(
        failure.message,
        "`fs.write` cannot take this value: larger than 1048576 bytes"
    );
    worker.load(3, ScriptKind::Tool, &body("  print('é' * 1000000)"), &[]);
    worker.send(&Request::Run {
        script: 3,
        args: Value::Null,
        budget: BUDGET,
    });
    let Ok(Response::Note { builtin, args, .. }) = worker.receive(PATIENCE) else {
        panic!("no note")
    };
    assert_eq!(
        (builtin, args[0][0].as_str().map(str::len)),
        (print, Some((64 << 10) + '…'.len_utf8()))
    );
}

#[test]
fn loading_is_bounded_like_running() {
    let rest = "\ndef run(args):\n  return 1\n";
    let slow = Budget {
        wall_ms: 100,
        ..BUDGET
    };
    let Err(End::Failed(failure)) = run_with(
        &format!("X = [i for i in range(1000000000) if i < 0]{rest}"),
        Value::Null,
        slow,
        &WorkerLimits::default(),
    ) else {
        panic!("no failure")
    };
    assert_eq!(failure.kind, FailureKind::Wall, "{failure:?}");
    match run(
        &format!("X = len(list(range(2000000000))){rest}"),
        Value::Null,
    ) {
        Err(End::Died(death)) => assert_eq!(death.cause(), DeathCause::Memory, "{death:?}"),
        other => panic!("{other:?}"),
    }
}

#[test]
fn waiting_for_the_harness_is_not_processor_time() {
    let mut worker = Worker::start();
    let read = index("fs.read");
    worker.load(1, ScriptKind::Tool, &body("  return fs.read('a')"), &[read]);
    worker.send(&Request::Run {
        script: 1,
        args: Value::Null,
        budget: Budget {
            wall_ms: 0,
            cpu_ms: 200,
            ..BUDGET
        },
    });
    assert!(matches!(
        worker.receive(PATIENCE),
        Ok(Response::Cross { .. })
    ));
    std::thread::sleep(Duration::from_millis(1000));
    worker.send(&Request::Answer(Ok(json!("late"))));
    assert_eq!(
        worker.receive(PATIENCE),
        Ok(Response::Done(Outcome::Value(json!("late"))))
    );
    let used = worker.process.cpu_time().expect("lives");
    assert!(
        used > Duration::ZERO && used < Duration::from_millis(1000),
        "{used:?}"
    );
}

#[test]
fn a_panic_ends_the_worker_and_names_the_cause() {
    match run(&body("  return escape.panic()"), Value::Null) {
        Err(End::Died(death)) => assert_eq!(death.cause(), DeathCause::Panic, "{death:?}"),
        other => panic!("{other:?}"),
    }
    let mut worker = Worker::start();
    worker.process.kill();
    assert_eq!(worker.receive(PATIENCE), Err(Death::Signal(9)));
}
