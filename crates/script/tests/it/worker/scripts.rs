//! What scripts give and how they fail.

use super::index;
use super::supervisor::{BUDGET, End, TICKET, Worker, failure, run};
use serde_json::{Value, json};
use std::time::Duration;
use tool_harness::facts::ScriptKind;
use tool_harness::worker::protocol::{
    Budget, FailureKind, Link, Outcome, Request, Response, Verdict, push_frame,
};

fn value(source: &str) -> Value {
    match run(source, Value::Null) {
        Ok(Outcome::Value(value)) => value,
        other => panic!("{source:?} gave {other:?}"),
    }
}

fn expression(expression: &str) -> Value {
    value(&format!("def run(args):\n  return {expression}\n"))
}

#[test]
fn a_script_gives_back_exactly_what_it_was_given() {
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
fn what_is_not_json_is_refused_with_its_place() {
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
            FailureKind::Raised,
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
            FailureKind::Raised,
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
            FailureKind::Raised,
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
fn arguments_are_bound_and_checked() {
    assert_eq!(expression("text.upper('é')"), json!("É"));
    assert_eq!(expression("text.upper(text='a')"), json!("A"));
    assert_eq!(expression("text.all(1)"), json!([1, 2, null, [], {}]));
    assert_eq!(
        expression("text.all(1, 2.5, (3,), 4, 5, x=6)"),
        json!([1, 2.5, [3], [4, 5], {"x": 6}])
    );
    assert_eq!(
        expression("text.all(1, third=None)"),
        json!([1, 2, null, [], {}])
    );
    assert_eq!(
        expression("text.all(*[1, 2], **{'z': 1})"),
        json!([1, 2, null, [], {"z": 1}])
    );
    for (script, expected) in [
        (
            "text.upper()",
            "`text.upper` needs `text`; it takes `(text)`",
        ),
        (
            "text.upper(1)",
            "`text` of `text.upper` must be a string, not int",
        ),
        (
            "text.upper('a', 'b')",
            "`text.upper` is given too many arguments; it takes `(text)`",
        ),
        (
            "text.upper('a', text='b')",
            "`text.upper` is given `text` twice",
        ),
        (
            "text.upper('a', other=1)",
            "`text.upper` has no parameter `other`; it takes `(text)`",
        ),
        (
            "text.all(True)",
            "`first` of `text.all` must be an int, not bool",
        ),
        (
            "text.all(1, third='x')",
            "`third` of `text.all` must be a list or `None`, not string",
        ),
        (
            "text.all(1, 2, [], len)",
            "`text.all` cannot be given this: a value of type `function` is not JSON",
        ),
        (
            "text.fails(1)",
            "`text.fails` is given too many arguments; it takes no arguments",
        ),
        (
            "later()",
            "`later` is not available yet: it comes with a later version",
        ),
        ("allow()", "`allow` is not available in tools"),
    ] {
        let failure = failure(&format!("def run(args):\n  return {script}\n"));
        assert_eq!(
            (failure.message.as_str(), failure.line, failure.column),
            (expected, 2, 10),
            "{script}"
        );
    }
}

#[test]
fn a_built_in_crosses_to_the_harness_and_back() {
    let mut worker = Worker::start();
    let read = index("fs.read");
    worker.load(
        1,
        ScriptKind::Tool,
        "def run(args):\n  return [fs.read(p) for p in args] + [fs.read(path='c')]\n",
        &[read],
    );
    worker.send(&Request::Run {
        script: 1,
        args: json!(["a", "b"]),
        budget: BUDGET,
    });
    for (path, answer) in [
        ("a", json!({"deep": [1, 12_345_678_901_234_567_890_u64]})),
        ("b", json!("text")),
    ] {
        let asked = worker.receive(Duration::from_secs(5)).expect("lives");
        assert_eq!(
            asked,
            Response::Cross {
                builtin: read,
                link: 0,
                args: vec![json!(path)]
            }
        );
        worker.send(&Request::Answer(Ok(answer)));
    }
    assert!(matches!(
        worker.receive(Duration::from_secs(5)),
        Ok(Response::Cross { .. })
    ));
    worker.send(&Request::Answer(Err("`c` is not yours".into())));
    let Ok(Response::Failed(failure)) = worker.receive(Duration::from_secs(5)) else {
        panic!("not failed")
    };
    assert_eq!(
        (failure.message.as_str(), failure.line, failure.column),
        ("`c` is not yours", 2, 40)
    );
}

#[test]
fn what_is_not_linked_cannot_be_called() {
    let mut worker = Worker::start();
    worker.load(
        1,
        ScriptKind::Tool,
        "def run(args):\n  w = fs.write\n  return w('a', 'b')\n",
        &[index("fs.read")],
    );
    let Err(End::Failed(failure)) = worker.run(1, Value::Null, BUDGET) else {
        panic!("not failed")
    };
    assert_eq!(
        failure.message,
        "`fs.write` is not linked: this script may not have the effect `write`"
    );
    worker.load(
        2,
        ScriptKind::Tool,
        "def run(args):\n  return text.upper('pure ones always are')\n",
        &[],
    );
    assert!(worker.run(2, Value::Null, BUDGET).is_ok());
}

#[test]
fn nothing_leaves_the_worker_while_a_script_is_loaded() {
    let mut worker = Worker::start();
    let linked = [index("fs.read"), index("log")];
    for call in ["fs.read('a')", "log('x')", "print('x')"] {
        worker.load(
            1,
            ScriptKind::Tool,
            &format!("X = {call}\ndef run(args):\n  return 1\n"),
            &linked,
        );
        let Err(End::Failed(failure)) = worker.run(1, Value::Null, BUDGET) else {
            panic!("not failed")
        };
        assert!(
            failure
                .message
                .contains("cannot be called while the script is loaded"),
            "{failure:?}"
        );
        assert_eq!((failure.line, failure.column), (1, 5));
    }
    worker.load(
        1,
        ScriptKind::Tool,
        "X = text.upper('x')\ndef run(args):\n  return X\n",
        &[],
    );
    assert_eq!(
        worker.run(1, Value::Null, BUDGET),
        Ok(Outcome::Value(json!("X")))
    );
}

#[test]
fn notes_do_not_wait() {
    let mut worker = Worker::start();
    let (log, warn, print) = (index("log"), index("log.warn"), index("print"));
    worker.load(
        1,
        ScriptKind::Tool,
        "def run(args):\n  log('a')\n  log.warn('b', n=1)\n  print('c', [1], len)\n  return 'done'\n",
        &[log, warn],
    );
    worker.send(&Request::Run {
        script: 1,
        args: Value::Null,
        budget: BUDGET,
    });
    let mut next = || worker.receive(Duration::from_secs(5)).expect("lives");
    assert_eq!(
        next(),
        Response::Note {
            builtin: log,
            link: 0,
            args: vec![json!("a")]
        }
    );
    assert_eq!(
        next(),
        Response::Note {
            builtin: warn,
            link: 0,
            args: vec![json!("b"), json!({"n": 1})]
        }
    );
    assert_eq!(
        next(),
        Response::Note {
            builtin: print,
            link: 0,
            args: vec![json!(["c [1] len"])]
        }
    );
    assert_eq!(next(), Response::Done(Outcome::Value(json!("done"))));
}

#[test]
fn namespaces_have_attributes_and_may_be_called() {
    assert_eq!(expression("text.answer"), json!(42.0));
    assert_eq!(expression("dir(fs)"), json!(["read", "write"]));
    assert_eq!(
        expression("hasattr(fs, 'read') and not hasattr(fs, 'x')"),
        json!(true)
    );
    assert_eq!(
        expression("[type(fs), type(fs.read), str(fs), str(fs.read)]"),
        json!(["module", "function", "<module fs>", "<built-in fs.read>"])
    );
    assert_eq!(
        expression("type(hash('x')) == 'int' and hash.nothing() == None"),
        json!(true),
        "Starlark's own `hash` still works"
    );
    for (script, expected) in [("fs.raed('x')", "did you mean `read`"), ("fs()", "call()")] {
        let failure = failure(&format!("def run(args):\n  return {script}\n"));
        assert!(failure.message.contains(expected), "{failure:?}");
        assert_eq!((failure.line, failure.column), (2, 10), "{failure:?}");
    }
}

#[test]
fn result_and_error_mean_something_only_when_returned() {
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

fn hook(worker: &mut Worker, script: u32, body: &str) -> Link {
    worker.load(
        script,
        ScriptKind::Hook,
        &format!("def handle(event, payload):\n{body}\n"),
        &[],
    );
    Link {
        when: None,
        script,
        timeout_ms: 1000,
    }
}

fn when(worker: &mut Worker, number: u32, source: &str, link: Link) -> Link {
    worker.load(number, ScriptKind::When, source, &[]);
    Link {
        when: Some(number),
        ..link
    }
}

#[test]
fn a_chain_skips_allows_and_blocks() {
    let mut worker = Worker::start();
    let never = hook(&mut worker, 1, "  fail('not to be run')");
    let never = when(
        &mut worker,
        2,
        "event == 'tool.pre' and payload['name'] == 'other' # a comment",
        never,
    );
    let always = hook(&mut worker, 3, "  return allow()");
    let always = when(
        &mut worker,
        4,
        "payload['name'].startswith(\n  'na')",
        always,
    );
    let as_dict = hook(&mut worker, 5, "  return {'action': 'continue'}");
    let blocks = hook(
        &mut worker,
        6,
        "  return block(event + ' of ' + payload['name'])",
    );
    let last = hook(&mut worker, 7, "  fail('not to be run')");
    let verdicts = worker.chain(
        json!({"name": "name"}),
        vec![never, always, as_dict, blocks, last],
    );
    assert_eq!(
        verdicts,
        [
            Verdict::Skipped,
            Verdict::Allowed,
            Verdict::Returned(json!({"action": "continue"})),
            Verdict::Returned(json!({"action": "block", "reason": "tool.pre of name"})),
        ]
    );
    assert_eq!(worker.chain(json!({"name": "name"}), vec![]), []);
    for (body, returned) in [
        ("  pass", json!(null)),
        ("  return 'allow'", json!("allow")),
        (
            "  return modify({'a': 1})",
            json!({"action": "modify", "payload": {"a": 1}}),
        ),
    ] {
        let odd = hook(&mut worker, 8, body);
        assert_eq!(
            worker.chain(json!({}), vec![odd, last]),
            [Verdict::Returned(returned)],
            "{body}"
        );
    }
}

#[test]
fn a_chain_ends_at_a_failure() {
    let mut worker = Worker::start();
    let fine = hook(&mut worker, 1, "  return allow()");
    for (body, kind) in [
        ("  return payload['missing']", FailureKind::Raised),
        ("  return len", FailureKind::Result),
        ("  return result()", FailureKind::Raised),
        ("  for i in range(1000000000):\n    pass", FailureKind::Wall),
    ] {
        let broken = Link {
            timeout_ms: 100,
            ..hook(&mut worker, 2, body)
        };
        let verdicts = worker.chain(json!({}), vec![fine, broken, fine]);
        let [Verdict::Allowed, Verdict::Failed(failure)] = verdicts.as_slice() else {
            panic!("{verdicts:?}")
        };
        assert_eq!(failure.kind, kind, "{body}: {failure:?}");
    }
    assert_eq!(
        worker.chain(json!({}), vec![fine]).len(),
        1,
        "the worker still serves"
    );
}

#[test]
fn a_condition_that_raises_counts_as_matching() {
    let mut worker = Worker::start();
    for source in [
        "payload['missing'] == 1",
        "1 +",
        "fs.read('x')",
        "nope",
        "[0] and (1 // 0)",
    ] {
        let link = hook(&mut worker, 1, "  return block('asked')");
        let link = when(&mut worker, 2, source, link);
        assert_eq!(
            worker.chain(json!({}), vec![link]),
            [Verdict::Returned(
                json!({"action": "block", "reason": "asked"})
            )],
            "{source}"
        );
    }
}

#[test]
fn hooks_cannot_change_what_others_see() {
    let mut worker = Worker::start();
    let changes = hook(
        &mut worker,
        1,
        "  payload['args']['x'] = 2\n  return allow()",
    );
    let verdicts = worker.chain(json!({"args": {"x": 1}}), vec![changes]);
    let [Verdict::Failed(failure)] = verdicts.as_slice() else {
        panic!("{verdicts:?}")
    };
    assert!(failure.message.contains("copy it first"), "{failure:?}");
    assert_eq!((failure.line, failure.column), (2, 3));
    let copies = hook(
        &mut worker,
        2,
        "  p = dict(payload)\n  p['args'] = dict(p['args'], x=2)\n  return modify(p)",
    );
    let verdicts = worker.chain(json!({"args": {"x": 1}}), vec![copies]);
    assert_eq!(
        verdicts,
        [Verdict::Returned(
            json!({"action": "modify", "payload": {"args": {"x": 2}, "arguments": {"x": 1}}})
        )]
    );
}

#[test]
fn several_frames_at_once_are_all_served() {
    use std::io::Write;
    let mut worker = Worker::start();
    let load = Request::Load {
        script: 1,
        kind: ScriptKind::Tool,
        source: "def run(args):\n  return args\n".into(),
        linked: vec![],
    };
    let mut bytes = Vec::new();
    for request in [load].into_iter().chain((0..3).map(|number| Request::Run {
        script: 1,
        args: json!(number),
        budget: BUDGET,
    })) {
        let frame = request.encode().expect("encodes");
        push_frame(&mut bytes, TICKET, &frame).expect("fits");
    }
    let (first, second) = bytes.split_at(bytes.len() - 3);
    worker.channel.writer.write_all(first).expect("writes");
    assert_eq!(
        worker.receive(Duration::from_secs(5)),
        Ok(Response::Done(Outcome::Value(json!(0))))
    );
    worker.channel.writer.write_all(second).expect("writes");
    for number in 1..3 {
        assert_eq!(
            worker.receive(Duration::from_secs(5)),
            Ok(Response::Done(Outcome::Value(json!(number))))
        );
    }
}

#[test]
fn nonsense_ends_the_worker() {
    for frame in [&[99_u8][..], &[], &[4, 0], &[2, 1]] {
        let mut worker = Worker::start();
        worker.send_bytes(frame);
        assert!(worker.receive(Duration::from_secs(5)).is_err(), "{frame:?}");
    }
}

#[test]
fn facts_are_found_by_the_given_check() {
    let mut worker = Worker::start();
    worker.send(&Request::Check {
        kind: ScriptKind::Hook,
        source: "abc".into(),
    });
    let Ok(Response::Facts(text)) = worker.receive(Duration::from_secs(5)) else {
        panic!("no facts")
    };
    assert_eq!(text, r#"{"kind":"Hook","length":3,"modules":6}"#);
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
