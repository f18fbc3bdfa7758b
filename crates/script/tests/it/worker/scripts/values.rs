//! The arguments and results of a script.

use super::super::supervisor::{BUDGET, End, Worker, failure, run};
use super::expression;
use serde_json::{Value, json};
use tool_harness::facts::ScriptKind;
use tool_harness::worker::protocol::{Budget, FailureKind, Outcome};

#[test]
fn a_script_returns_exactly_what_it_was_given() {
    let text = r#"{"z":1,"a":[9223372036854775807,9223372036854775808,-123456789012345678901234567890],"é":"日本\u0000\n","f":[1.5,-0.0,1e300],"n":null,"t":[true,false],"e":[{},[]]}"#;
    let args: Value = serde_json::from_str(text).expect("JSON");
    let Ok(Outcome::Value(back)) = run("def run(args):\n  return args\n", args.clone()) else {
        panic!("no value")
    };
    assert_eq!(back.to_string(), args.to_string());
}

#[test]
fn values_become_json() {
    for (script, expected) in [
        ("(1, 2)", json!([1, 2])),
        ("[x * x for x in range(3)]", json!([0, 1, 4])),
        ("range(2)", json!([0, 1])),
        ("set([3, 3])", json!([3])),
        ("struct(b = 1, a = 2)", json!({"b": 1, "a": 2})),
        ("{'b': 1, 'a': 2}", json!({"b": 1, "a": 2})),
        ("1.0", json!(1.0)),
        (
            "1 << 100",
            serde_json::from_str("1267650600228229401496703205376").expect("JSON"),
        ),
        ("f\"{1 + 1} {'x'}\"", json!("2 x")),
        ("(lambda x: x + 1)(1)", json!(2)),
    ] {
        assert_eq!(
            expression(script).to_string(),
            expected.to_string(),
            "{script}"
        );
    }
}

#[test]
fn values_that_are_not_json_are_refused_with_their_place() {
    for (script, expected) in [
        (
            "{'a': [1, {2: 3}]}",
            "the key `2` is not a string (at `[\"a\"][1]`)",
        ),
        ("[float('nan')]", "not a JSON number (at `[0]`)"),
        ("float('inf')", "not a JSON number"),
        (
            "{'f': len}",
            "a value of type `function` is not JSON (at `[\"f\"]`)",
        ),
        ("fs", "a value of type `module` is not JSON"),
        (
            "[result()]",
            "a value of type `reply` is not JSON (at `[0]`)",
        ),
        ("'x' * 2000000", "larger than 1048576 bytes"),
        ("range(2000000)", "larger than 1048576 bytes"),
    ] {
        let failure = failure(&format!("def run(args):\n  return {script}\n"));
        assert_eq!(failure.kind, FailureKind::Result, "{script}: {failure:?}");
        assert!(failure.message.contains(expected), "{script}: {failure:?}");
    }
}

#[test]
fn errors_carry_line_and_column() {
    for (source, kind, line, column, text) in [
        (
            "def run(args):\n  return 1 // 0\n",
            FailureKind::Bug,
            2,
            10,
            "division by zero",
        ),
        (
            "def run(args):\n  x = 'é'; fail('boom')\n",
            FailureKind::Raised,
            2,
            12,
            "boom",
        ),
        (
            "def help():\n  x = {}\n  return x['x']\ndef run(args):\n  return help()\n",
            FailureKind::Bug,
            3,
            10,
            "x",
        ),
        (
            "def run(args):\n  return (1\n",
            FailureKind::Raised,
            0,
            0,
            "",
        ),
        (
            "def run(args):\n  while True:\n    pass\n",
            FailureKind::Raised,
            2,
            3,
            "",
        ),
        (
            "load('a', 'b')\ndef run(args):\n  return 1\n",
            FailureKind::Raised,
            1,
            1,
            "load",
        ),
        ("for x in [1]:\n  pass\n", FailureKind::Raised, 1, 1, ""),
        (
            "def run(args):\n  return nope\n",
            FailureKind::Raised,
            2,
            10,
            "nope",
        ),
        (
            "x = 1\n",
            FailureKind::Raised,
            0,
            0,
            "does not define `run`",
        ),
        (
            "X = 1 // 0\ndef run(args):\n  return 1\n",
            FailureKind::Bug,
            1,
            5,
            "division by zero",
        ),
        (
            "def f(g, n):\n  x = n\n  return g(g, x)\ndef run(args):\n  return f(f, 1)\n",
            FailureKind::Recursion,
            3,
            10,
            "deeper than 50",
        ),
        (
            "def run(args):\n  return text.fails()\n",
            FailureKind::Raised,
            2,
            10,
            "this built-in always fails",
        ),
    ] {
        let failure = failure(source);
        assert_eq!(failure.kind, kind, "{source}: {failure:?}");
        assert!(failure.message.contains(text), "{source}: {failure:?}");
        if line > 0 {
            assert_eq!(
                (failure.line, failure.column),
                (line, column),
                "{source}: {failure:?}"
            );
        }
    }
}

#[test]
fn result_and_error_take_effect_only_when_returned() {
    let outcome = |expression: &str| {
        run(
            &format!("def run(args):\n  return {expression}\n"),
            Value::Null,
        )
        .expect("runs")
    };
    assert_eq!(
        outcome("result(content='x', data={'a': 1})"),
        Outcome::Result(json!({"content": "x", "data": {"a": 1}}))
    );
    assert_eq!(
        outcome("error('not.found', message='m')"),
        Outcome::Error(json!({"code": "not.found", "message": "m"}))
    );
    assert_eq!(
        outcome("{'content': 'x'}"),
        Outcome::Value(json!({"content": "x"}))
    );
    assert_eq!(outcome("[result(), 1][1]"), Outcome::Value(json!(1)));
}

#[test]
fn no_state_survives_a_call() {
    let mut worker = Worker::start();
    worker.load(
        1,
        ScriptKind::Tool,
        "SEEN = []\ndef run(args):\n  SEEN.append(1)\n  return len(SEEN)\n",
        &[],
    );
    let Err(End::Failed(failure)) = worker.run(1, Value::Null, BUDGET) else {
        panic!("globals can be changed")
    };
    assert_eq!((failure.line, failure.column), (3, 3));
    worker.load(
        2,
        ScriptKind::Tool,
        "def run(args):\n  args.append(1)\n  return len(args)\n",
        &[],
    );
    for _ in 0..2 {
        assert_eq!(
            worker.run(
                2,
                json!([]),
                Budget {
                    wall_ms: 0,
                    cpu_ms: 0,
                    ..BUDGET
                }
            ),
            Ok(Outcome::Value(json!(1)))
        );
    }
}
