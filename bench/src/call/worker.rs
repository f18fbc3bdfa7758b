//! A worker on its own, driven over its channel by a blocking caller.

use super::arguments;
use crate::project::PRE_HOOKS;
use crate::{Report, Samples};
use anyhow::{Context, bail, ensure};
use serde_json::{Value, json};
use std::io::{Read, Write};
use std::time::Instant;
use tool_harness::facts::ScriptKind;
use tool_harness::worker::announced;
use tool_harness::worker::protocol::{
    Budget, HEADER, Link, Outcome, Request, Response, Verdict, header, push_frame,
};
use tool_harness_sandbox::process::{Channel, WorkerLimits, WorkerProcess};

const BUDGET: Budget = Budget {
    wall_ms: 3000,
    cpu_ms: 2000,
    memory_bytes: 64 << 20,
    result_bytes: 1 << 20,
};

/// A worker and its channel, killed on drop.
struct Worker {
    _process: WorkerProcess,
    channel: Channel,
}

impl Worker {
    /// Starts a worker and waits until it is confined.
    fn start() -> anyhow::Result<Self> {
        let program = announced().context("this program cannot be a worker")?;
        let mut process = WorkerProcess::spawn(&program, &WorkerLimits::default())?;
        let channel = process
            .take_channel()
            .context("the worker has no channel")?;
        let mut worker = Self {
            _process: process,
            channel,
        };
        ensure!(
            worker.receive()? == Response::Ready,
            "the worker is not ready"
        );
        Ok(worker)
    }

    fn send(&mut self, request: &Request) -> anyhow::Result<()> {
        let frame = request.encode()?;
        let mut bytes = Vec::new();
        push_frame(&mut bytes, 1, &frame)?;
        Ok(self.channel.writer.write_all(&bytes)?)
    }

    fn load(&mut self, script: u32, kind: ScriptKind, source: &str) -> anyhow::Result<()> {
        self.send(&Request::Load {
            script,
            kind,
            source: source.to_owned(),
            linked: Vec::new(),
        })
    }

    fn trip(&mut self, request: &Request) -> anyhow::Result<Response> {
        self.send(request)?;
        self.receive()
    }

    fn trips(&mut self, request: &Request) -> Samples {
        Samples::of(5_000, || drop(self.trip(request)))
    }

    fn receive(&mut self) -> anyhow::Result<Response> {
        let mut head = [0; HEADER];
        self.channel.reader.read_exact(&mut head)?;
        let (length, _) = header(&head).context("a whole header")?;
        let mut frame = vec![0; length];
        self.channel.reader.read_exact(&mut frame)?;
        Ok(Response::decode(&frame)?)
    }
}

pub(super) fn measure(report: &mut Report) -> anyhow::Result<()> {
    let mut cold = Samples::default();
    for _ in 0..40 {
        let started = Instant::now();
        let worker = Worker::start()?;
        cold.push(started.elapsed().as_secs_f64() * 1000.0);
        drop(worker);
    }
    report.add_samples("cold start of a worker, to ready", &cold, "ms");

    let mut worker = Worker::start()?;
    worker.load(0, ScriptKind::Tool, "def run(args):\n  return None\n")?;
    for (number, script) in (1..).zip(PRE_HOOKS) {
        worker.load(number, ScriptKind::Hook, script)?;
    }
    let empty = Request::Run {
        script: 0,
        args: json!({}),
        budget: BUDGET,
    };
    ensure!(
        worker.trip(&empty)? == Response::Done(Outcome::Value(json!(null))),
        "the empty run returned a value"
    );
    report.add_samples(
        "round trip of a worker, empty run, blocking caller",
        &worker.trips(&empty),
        "µs",
    );
    let links: Vec<Link> = (1..8)
        .map(|script| Link {
            when: None,
            script,
            timeout_ms: 1000,
        })
        .collect();
    for (case, count) in [("one hook", 1), ("seven hooks", 7)] {
        let links = links.iter().take(count).copied().collect();
        let chain = Request::Chain {
            event: "tool.pre".into(),
            payload: payload(),
            links,
            budget: BUDGET,
        };
        let Response::Chain(verdicts) = worker.trip(&chain)? else {
            bail!("the chain returned no verdicts")
        };
        ensure!(
            verdicts.len() == count
                && verdicts
                    .iter()
                    .all(|verdict| matches!(verdict, Verdict::Allowed(_))),
            "{verdicts:?}"
        );
        report.add_samples(
            &format!("round trip of a worker, {case}, blocking caller"),
            &worker.trips(&chain),
            "µs",
        );
    }
    Ok(())
}

/// What a `tool.pre` hook sees of the call under measurement.
fn payload() -> Value {
    let (args, id) = (arguments(), "call_0123456789abcdef0123456789abcdef");
    json!({
        "name": "find_files", "raw_arguments": args.to_string(), "call_id": id, "session_id": "bench", "mode": "default",
        "effects": [], "tags": [], "args": args,
    })
}
