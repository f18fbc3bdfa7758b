//! A call goes on although a sink is slow, stuck or broken.

use crate::support::{Project, call, tool_with};
use serde_json::{Map, Value, json};
use std::sync::mpsc::{Receiver, channel};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};
use tool_harness::event::{Delivery, Event, EventRef, Payloads, Sink};

/// Collects events, once the test lets it.
struct Slow {
    let_on: Mutex<Receiver<()>>,
    taken: Mutex<Vec<Event>>,
    payloads: Payloads,
}

impl Slow {
    fn new(let_on: Receiver<()>, payloads: Payloads) -> Arc<Self> {
        Arc::new(Self {
            let_on: Mutex::new(let_on),
            taken: Mutex::default(),
            payloads,
        })
    }

    fn named(&self, name: &str) -> Vec<Map<String, Value>> {
        let taken = self.taken.lock().expect("events");
        taken
            .iter()
            .filter(|event| event.name() == name)
            .map(|event| event.fields().clone())
            .collect()
    }
}

impl Sink for Slow {
    fn record(&self, event: &EventRef<'_>) {
        let _ = self.let_on.lock().expect("the gate").recv();
        self.taken.lock().expect("events").push(event.to_event());
    }

    fn delivery(&self) -> Delivery {
        Delivery::Counting
    }

    fn payloads(&self) -> Payloads {
        self.payloads
    }
}

struct Broken(Delivery);

const DEFECT: &str = "a sink with a defect";

impl Sink for Broken {
    fn record(&self, _: &EventRef<'_>) {
        panic!("{DEFECT}");
    }

    fn delivery(&self) -> Delivery {
        self.0
    }
}

const CHATTY: &str = "def run(args):\n  for n in range(300):\n    log.info(\"step\", n = n)\n  return {\"said\": args[\"text\"]}";

fn project() -> Project {
    Project::new(&[(
        ".harness/tools/say.md",
        &tool_with("parameters: { text: { type: string } }\n", CHATTY),
    )])
}

#[tokio::test(flavor = "multi_thread")]
async fn a_stuck_sink_stalls_no_call_and_later_gets_every_final_event() {
    let project = project();
    let (open, let_on) = channel();
    let stuck = Slow::new(let_on, Payloads::LeftOut);
    let engine = project
        .builder()
        .sink(stuck.clone())
        .load()
        .await
        .expect("the project loads");
    let started = Instant::now();
    for number in 0..20 {
        let result = engine
            .call(call("say", json!({"text": number.to_string()})))
            .await;
        assert!(!result.is_error, "{:?}", result.error);
    }
    assert!(
        stuck.taken.lock().expect("events").is_empty()
            && started.elapsed() < Duration::from_secs(30)
    );
    assert!(
        !engine.flush(Duration::from_millis(20)).await,
        "it is still stuck"
    );
    assert!(
        engine.missed_events() > 1000,
        "20 calls raise 6,000 events, and the queue is bounded"
    );
    drop(open);
    assert!(engine.flush(Duration::from_secs(20)).await);
    assert_eq!(stuck.named("tool.completed").len(), 20);
    let told: Vec<_> = stuck
        .named("log")
        .into_iter()
        .filter(|fields| fields["source"] == "harness")
        .collect();
    assert!(
        told.iter().any(|fields| fields["fields"]["dropped"]
            .as_u64()
            .is_some_and(|dropped| dropped > 0)),
        "{told:?}"
    );
    let ends = project
        .events
        .names()
        .into_iter()
        .filter(|name| name == "tool.completed")
        .count();
    assert_eq!(ends, 20, "the other sink got every event");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_sink_that_panics_harms_neither_the_call_nor_other_sinks() {
    // These panics are intended and number in the hundreds, so keep them out of the output.
    let usual = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |panic| {
        if panic.payload_as_str() != Some(DEFECT) {
            usual(panic)
        }
    }));
    let project = project();
    for how in [Delivery::OnThePath, Delivery::Counting, Delivery::Waiting] {
        project.events.clear();
        let engine = project
            .builder()
            .sink(Arc::new(Broken(how)))
            .load()
            .await
            .expect("the project loads");
        let result = engine.call(call("say", json!({"text": "x"}))).await;
        assert!(
            !result.is_error && engine.flush(Duration::from_secs(20)).await,
            "{how:?}"
        );
        assert_eq!(
            engine.missed_events(),
            302,
            "{how:?}: a start, an end, and 300 logs"
        );
        assert_eq!(
            project.events.names().last().map(String::as_str),
            Some("tool.completed")
        );
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn only_sinks_that_ask_get_payloads_and_payloads_contain_no_secrets() {
    let token = "ghp_16C7e42F292c6912E7710c838347Ae178B4a";
    let project = project();
    let (_, closed) = channel();
    let asking = Slow::new(closed, Payloads::Included);
    let engine = project
        .builder()
        .sink(asking.clone())
        .load()
        .await
        .expect("the project loads");
    engine
        .call(call("say", json!({"text": format!("with {token}")})))
        .await;
    assert!(engine.flush(Duration::from_secs(20)).await);
    assert_eq!(
        asking.named("tool.started")[0]["args"],
        json!({"text": "with [redacted]"})
    );
    let expected = json!({"content": [{"type": "text", "text": "{\"said\":\"with [redacted]\"}"}], "value": {"said": "with [redacted]"}});
    assert_eq!(asking.named("tool.completed")[0]["result"], expected);
    for event in project.events.all() {
        assert!(
            !event.fields().contains_key("args") && !event.fields().contains_key("result"),
            "{event:?}"
        );
    }
}
