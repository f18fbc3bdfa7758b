//! The channel itself.

use super::super::supervisor::{BUDGET, PATIENCE, TICKET, Worker};
use serde_json::json;
use tool_harness::facts::ScriptKind;
use tool_harness::worker::protocol::{Outcome, Request, Response, push_frame};

#[test]
fn several_frames_in_one_write_are_all_served() {
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
        worker.receive(PATIENCE),
        Ok(Response::Done(Outcome::Value(json!(0))))
    );
    worker.channel.writer.write_all(second).expect("writes");
    for number in 1..3 {
        assert_eq!(
            worker.receive(PATIENCE),
            Ok(Response::Done(Outcome::Value(json!(number))))
        );
    }
}

#[test]
fn a_malformed_frame_ends_the_worker() {
    for frame in [&[99_u8][..], &[], &[4, 0], &[2, 1]] {
        let mut worker = Worker::start();
        worker.send_bytes(frame);
        assert!(worker.receive(PATIENCE).is_err(), "{frame:?}");
    }
}

#[test]
fn facts_come_from_the_given_check() {
    let mut worker = Worker::start();
    worker.send(&Request::Check {
        kind: ScriptKind::Hook,
        source: "abc".into(),
    });
    let Ok(Response::Facts(text)) = worker.receive(PATIENCE) else {
        panic!("no facts")
    };
    assert_eq!(text, r#"{"kind":"Hook","length":3,"modules":6}"#);
}
