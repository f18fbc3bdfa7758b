//! A worker by itself, spoken to over its channel by a caller that blocks.

use crate::{Report, Samples};
use anyhow::{Context, ensure};
use serde_json::json;
use std::io::{Read, Write};
use std::os::unix::net::UnixStream;
use tool_harness::check::facts::ScriptKind;
use tool_harness::worker::announced;
use tool_harness::worker::protocol::{Budget, Outcome, Request, Response};
use tool_harness_sandbox::process::{WorkerLimits, WorkerProcess};

const BUDGET: Budget = Budget { wall_ms: 3000, cpu_ms: 2000, memory_bytes: 64 << 20, result_bytes: 1 << 20 };

/// A worker and its channel; killed when dropped.
struct Worker {
    _process: WorkerProcess,
    stream: UnixStream,
}

impl Worker {
    /// Starts a worker and waits until it is confined.
    fn start() -> anyhow::Result<Self> {
        let program = announced().context("this program cannot be a worker")?;
        let mut process = WorkerProcess::spawn(&program, &WorkerLimits::default())?;
        let channel = process.take_channel().context("the worker has no channel")?;
        let mut worker = Self { _process: process, stream: UnixStream::from(channel) };
        ensure!(worker.receive()? == Response::Ready, "the worker is not ready");
        Ok(worker)
    }

    fn send(&mut self, request: &Request) -> anyhow::Result<()> {
        let frame = request.encode()?;
        let mut bytes = u32::try_from(frame.len())?.to_le_bytes().to_vec();
        bytes.extend(frame);
        Ok(self.stream.write_all(&bytes)?)
    }

    fn receive(&mut self) -> anyhow::Result<Response> {
        let mut length = [0; 4];
        self.stream.read_exact(&mut length)?;
        let mut frame = vec![0; usize::try_from(u32::from_le_bytes(length))?];
        self.stream.read_exact(&mut frame)?;
        Ok(Response::decode(&frame)?)
    }
}

pub(super) fn measure(report: &mut Report) -> anyhow::Result<()> {
    let mut failed = None;
    let cold = Samples::of(40, || {
        if let Err(problem) = Worker::start() {
            failed = Some(problem);
        }
    });
    if let Some(problem) = failed {
        return Err(problem);
    }
    report.add_samples("cold start of a worker, to ready and gone again", &cold.times(0.001), "ms");

    let mut worker = Worker::start()?;
    worker.send(&Request::Load {
        script: 1,
        kind: ScriptKind::Tool,
        source: "def run(args):\n  return None\n".into(),
        linked: Vec::new(),
    })?;
    let mut trip = || -> anyhow::Result<Response> {
        worker.send(&Request::Run { script: 1, args: json!({}), budget: BUDGET })?;
        worker.receive()
    };
    ensure!(trip()? == Response::Done(Outcome::Value(json!(null))), "the empty run gave something");
    let trips = Samples::of(5_000, || drop(trip()));
    report.add_samples("one round trip of a worker, blocking caller", &trips, "µs");
    Ok(())
}
