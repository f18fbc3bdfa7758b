//! Built-ins: their arguments, crossings and notes.

use super::super::index;
use super::super::supervisor::{BUDGET, End, PATIENCE, Worker, failure};
use super::expression;
use serde_json::{Value, json};
use tool_harness::facts::ScriptKind;
use tool_harness::worker::protocol::{Outcome, Request, Response};

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
    assert_eq!(
        expression("text.all(7.0, 2.5)"),
        json!([7, 2.5, null, [], {}]),
        "a whole float is an integer"
    );
    for (script, expected) in [
        (
            "text.all(1.5)",
            "`first` of `text.all` must be a whole number, not 1.5",
        ),
        (
            "text.all(1e300)",
            "`first` of `text.all` must be a whole number, not 1e+300",
        ),
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
            "`text.upper` got too many arguments; it takes `(text)`",
        ),
        ("text.upper('a', text='b')", "`text.upper` got `text` twice"),
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
            "`text.all` cannot take this value: a value of type `function` is not JSON",
        ),
        (
            "text.fails(1)",
            "`text.fails` got too many arguments; it takes no arguments",
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
        let asked = worker.receive(PATIENCE).expect("lives");
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
        worker.receive(PATIENCE),
        Ok(Response::Cross { .. })
    ));
    worker.send(&Request::Answer(Err("`c` is not yours".into())));
    let Ok(Response::Failed(failure)) = worker.receive(PATIENCE) else {
        panic!("not failed")
    };
    assert_eq!(
        (failure.message.as_str(), failure.line, failure.column),
        ("`c` is not yours", 2, 40)
    );
}

#[test]
fn unlinked_builtins_cannot_be_called() {
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
        "`fs.write` is not available: this script may not have the effect `write`"
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
fn no_call_leaves_the_worker_while_a_script_loads() {
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
                .contains("cannot be called while the script loads"),
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
fn notes_do_not_wait_for_an_answer() {
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
    let mut next = || worker.receive(PATIENCE).expect("lives");
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
fn namespaces_have_attributes_and_can_be_callable() {
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
