//! Chains of hooks.

use super::super::supervisor::Worker;
use serde_json::json;
use tool_harness::facts::ScriptKind;
use tool_harness::worker::protocol::{FailureKind, Link, PayloadUse, Verdict};

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
            Verdict::Allowed(PayloadUse::Read),
            read(json!({"action": "continue"})),
            read(json!({"action": "block", "reason": "tool.pre of name"})),
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
            [read(returned)],
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
        let [Verdict::Allowed(_), Verdict::Failed(failure)] = verdicts.as_slice() else {
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
            [read(json!({"action": "block", "reason": "asked"}))],
            "{source}"
        );
    }
}

#[test]
fn a_hook_may_change_its_payload_and_the_next_one_sees_the_original() {
    let mut worker = Worker::start();
    let payload = || json!({"name": "t", "args": {"x": 1, "list": [1]}});
    let untouched = hook(
        &mut worker,
        1,
        "  same = payload['args'] == payload['tool']['args']\n  return allow() if same and payload['args'] == {'x': 1, 'list': [1]} else block('changed')",
    );
    for (number, change) in (10..).zip([
        "payload['args']['x'] = 2",
        "payload['args']['x'] += 1",
        "payload['new'] = 1",
        "payload['args']['list'].append(2)",
        "payload['args'].pop('x')",
        "payload.update({'args': {}})",
        "payload['tool']['args']['x'] = 2",
        "[getattr(payload['args'], 'clear')()]",
    ]) {
        let changes = hook(
            &mut worker,
            number,
            &format!("  {change}\n  return allow()"),
        );
        assert_eq!(
            worker.chain(payload(), vec![changes, untouched]),
            [
                Verdict::Allowed(PayloadUse::Changed),
                Verdict::Allowed(PayloadUse::Read)
            ],
            "{change}"
        );
        let silent = hook(&mut worker, number, &format!("  {change}"));
        assert_eq!(
            worker.chain(payload(), vec![silent]),
            [Verdict::Returned(json!(null), PayloadUse::Changed)],
            "{change}"
        );
    }
    let back = hook(
        &mut worker,
        2,
        "  payload['args']['x'] = 2\n  payload['args']['x'] = 1\n  return allow()",
    );
    assert_eq!(
        worker.chain(payload(), vec![back]),
        [Verdict::Allowed(PayloadUse::Read)]
    );
}

#[test]
fn a_changed_payload_is_returned_under_every_spelling() {
    let mut worker = Worker::start();
    let changes = hook(
        &mut worker,
        1,
        "  payload['args']['x'] = 2\n  return modify(payload)",
    );
    let verdicts = worker.chain(json!({"name": "t", "args": {"x": 1}}), vec![changes]);
    let args = json!({"x": 2});
    let tool = json!({"name": "t", "args": args, "arguments": args});
    assert_eq!(
        verdicts,
        [read(
            json!({"action": "modify", "payload": {"name": "t", "args": args, "tool_name": "t", "arguments": args, "tool": tool}})
        )]
    );
}

fn read(returned: serde_json::Value) -> Verdict {
    Verdict::Returned(returned, PayloadUse::Read)
}
