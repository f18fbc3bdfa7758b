//! Chains of hooks.

use super::super::supervisor::Worker;
use serde_json::json;
use tool_harness::facts::ScriptKind;
use tool_harness::worker::protocol::{FailureKind, Link, Verdict};

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
        ("  return payload['missing']", FailureKind::Bug),
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
fn hooks_cannot_change_what_other_hooks_see() {
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
