//! Calls a second of `harness mcp` with ever more of them in flight, and the workers that start
//! meanwhile.

use crate::project::{Project, plain_tool};
use crate::sample::microseconds;
use crate::server::Server;
use crate::system::{Cpu, Memory};
use crate::{Report, Samples, hook};
use anyhow::{Context, ensure};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::inotify;
use serde::Deserialize;
use std::collections::HashMap;
use std::mem::MaybeUninit;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread::JoinHandle;
use std::time::Instant;
use tempfile::TempDir;

/// Calls in flight.
const IN_FLIGHT: [usize; 5] = [1, 4, 8, 32, 128];
/// Counted calls of a case in one round, and those before them.
const CALLS: usize = 1_000;
const WARM_UP: usize = 200;
/// Rounds; in each, every case has its turn. Many short ones, so that all meet the same machine.
const ROUNDS: usize = 25;

/// The tools: name, memory, and what the script does besides returning its argument. `fs.exists` is
/// served by another thread, so its script waits.
const TOOLS: [(&str, u64, &str); 4] = [
    ("plain", 256, "None"),
    ("cached", 256, "cache.get(\"x\")"),
    ("looked", 256, "fs.exists(\"x\")"),
    ("narrow", 64, "fs.exists(\"x\")"),
];

/// What is called in turns.
const MIXES: [(&str, &[&str]); 4] = [
    ("no built-in", &["plain"]),
    ("`cache.get`", &["cached"]),
    ("`fs.exists`", &["looked"]),
    ("`fs.exists`, two limits", &["looked", "narrow"]),
];

/// What was measured of one case.
#[derive(Default)]
struct Case {
    /// Calls a second in each round.
    rates: Samples,
    /// Microseconds from the writing of a call to the reading of its answer.
    waits: Samples,
    /// Microseconds of CPU time of the harness and its workers.
    harness: f64,
    workers: f64,
    started: usize,
}

/// Measures throughput.
pub fn run(report: &mut Report) -> anyhow::Result<()> {
    let project = Project::new()?;
    project.root("---\nformat: 1\n---\n")?;
    for (name, memory, does) in TOOLS {
        let script = format!(
            "def run(args):\n    seen = {does}\n    return {{\"n\": args[\"n\"], \"seen\": seen}}"
        );
        let fields = format!(
            "limits: {{ memory_mb: {memory} }}\nparameters:\n  n: {{ type: integer, required: true, description: a number }}\n"
        );
        project.tool(name, &plain_tool(&fields, &script))?;
    }
    let installed = TempDir::new()?;
    let program = hook::program(installed.path())?;
    let starts = Starts::watch(&program)?;
    let mut client = Client::start(&program, project.path())?;
    let mut cases: HashMap<(&str, usize), Case> = HashMap::new();
    let mut before = None;
    for round in 0..=ROUNDS {
        for in_flight in IN_FLIGHT {
            for (mix, tools) in MIXES {
                let case = cases.entry((mix, in_flight)).or_default();
                client.calls(tools, in_flight, WARM_UP, &mut Samples::default())?;
                let earlier = starts.count();
                let cpu = Cpu::of(client.server.pid())?;
                let rate = client.calls(tools, in_flight, CALLS, &mut case.waits)?;
                case.rates.push(rate);
                let used = Cpu::of(client.server.pid())?;
                case.harness += used.harness - cpu.harness;
                case.workers += used.workers - cpu.workers;
                case.started += starts.count() - earlier;
            }
        }
        if round == 0 {
            // It only warmed up.
            cases.clear();
            before = Some(Memory::of(client.server.pid())?);
        }
    }
    let after = Memory::of(client.server.pid())?;
    add_cases(report, &cases);
    for (when, memory) in [
        ("after the first round", before.context("no round")?),
        ("after the last", after),
    ] {
        report.add(format!("memory of harness {when}"), memory.process, "MB");
        report.add(
            format!("memory of its workers {when}"),
            memory.children,
            "MB",
        );
        report.add(format!("workers {when}"), count(memory.count), "workers");
    }
    Ok(())
}

fn add_cases(report: &mut Report, cases: &HashMap<(&str, usize), Case>) {
    for (mix, _) in MIXES {
        let of = |in_flight| &cases[&(mix, in_flight)];
        let rates = IN_FLIGHT.map(|in_flight| of(in_flight).rates.median());
        let best = rates.into_iter().fold(0.0, f64::max);
        for (in_flight, rate) in IN_FLIGHT.into_iter().zip(rates) {
            let case = of(in_flight);
            let title = format!("{mix}, {in_flight} in flight");
            report.add(&title, rate, "calls/s");
            report.add(format!("{title} / best"), rate / best, "ratio");
            report.add(
                format!("{title}, workers started"),
                count(case.started),
                "workers",
            );
            let calls = count(CALLS * ROUNDS);
            report.add(
                format!("{title}, CPU time of harness"),
                case.harness / calls,
                "us",
            );
            report.add(
                format!("{title}, CPU time of workers"),
                case.workers / calls,
                "us",
            );
            report.add_samples(&format!("{title}, wait"), &case.waits, "us");
            report.add(
                format!("{title}, wait, longest"),
                case.waits.percentile(100),
                "us",
            );
        }
    }
}

#[expect(clippy::cast_precision_loss, reason = "counts are small")]
fn count(number: usize) -> f64 {
    number as f64
}

/// The client of `harness mcp`: one connection, several calls in flight.
struct Client {
    server: Server,
    last_id: u64,
}

impl Client {
    fn start(program: &Path, project: &Path) -> anyhow::Result<Self> {
        #[expect(
            clippy::disallowed_methods,
            reason = "the program is measured from outside"
        )]
        let mut command = Command::new(program);
        command
            .arg("mcp")
            .current_dir(project)
            .stderr(Stdio::null());
        Ok(Self {
            server: Server::start(command)?,
            last_id: 0,
        })
    }

    /// Makes `count` calls, as many at a time as `in_flight` says. Returns calls a second.
    fn calls(
        &mut self,
        tools: &[&str],
        in_flight: usize,
        count: usize,
        waits: &mut Samples,
    ) -> anyhow::Result<f64> {
        let mut sent: HashMap<u64, Instant> = HashMap::new();
        let started = Instant::now();
        let mut unsent = count;
        let mut room = in_flight;
        let mut turns = tools.iter().cycle();
        while unsent > 0 || !sent.is_empty() {
            let mut lines = String::new();
            let now = Instant::now();
            for tool in turns.by_ref().take(room.min(unsent)) {
                self.last_id += 1;
                let id = self.last_id;
                lines.push_str(&format!(
                    r#"{{"jsonrpc":"2.0","id":{id},"method":"tools/call","params":{{"name":"{tool}","arguments":{{"n":{id}}}}}}}"#
                ));
                lines.push('\n');
                sent.insert(id, now);
                unsent -= 1;
            }
            self.server.send(&lines)?;
            room = 0;
            // Every answer that has come makes room for a call.
            while room == 0 || self.server.has_line() {
                self.server.receive()?;
                let answer: Answer = serde_json::from_str(&self.server.line)
                    .with_context(|| format!("wrong answer: {}", self.server.line))?;
                let since = sent.remove(&answer.id).context("an answer to nothing")?;
                ensure!(answer.result.structured.n == answer.id, "a wrong answer");
                waits.push(microseconds(since.elapsed()));
                room += 1;
            }
        }
        Ok(self::count(count) / started.elapsed().as_secs_f64())
    }
}

/// The part of an answer that is checked.
#[derive(Deserialize)]
struct Answer {
    id: u64,
    result: AnswerResult,
}

#[derive(Deserialize)]
struct AnswerResult {
    #[serde(rename = "structuredContent")]
    structured: Echo,
}

#[derive(Deserialize)]
struct Echo {
    n: u64,
}

/// Counts how often a program is started, from outside: each start opens its file. Two starts
/// within a few microseconds may count as one.
struct Starts {
    count: Arc<AtomicUsize>,
    over: Arc<AtomicBool>,
    reader: Option<JoinHandle<()>>,
}

impl Starts {
    fn watch(program: &Path) -> anyhow::Result<Self> {
        let watch = inotify::init(inotify::CreateFlags::CLOEXEC)?;
        inotify::add_watch(&watch, program, inotify::WatchFlags::OPEN)?;
        let (count, over) = (
            Arc::new(AtomicUsize::new(0)),
            Arc::new(AtomicBool::new(false)),
        );
        let (counter, ended) = (Arc::clone(&count), Arc::clone(&over));
        // The system merges equal events that nobody has read, so they are read as they come.
        let reader = std::thread::spawn(move || {
            let mut buffer = [MaybeUninit::uninit(); 4096];
            let mut events = inotify::Reader::new(&watch, &mut buffer);
            let moment = Timespec {
                tv_sec: 0,
                tv_nsec: 50_000_000,
            };
            while !ended.load(Ordering::Relaxed) {
                let ready = poll(&mut [PollFd::new(&watch, PollFlags::IN)], Some(&moment));
                if !matches!(ready, Ok(1..)) {
                    continue;
                }
                while events.next().is_ok() {
                    counter.fetch_add(1, Ordering::Relaxed);
                    if events.is_buffer_empty() {
                        break;
                    }
                }
            }
        });
        Ok(Self {
            count,
            over,
            reader: Some(reader),
        })
    }

    fn count(&self) -> usize {
        self.count.load(Ordering::Relaxed)
    }
}

impl Drop for Starts {
    fn drop(&mut self) {
        self.over.store(true, Ordering::Relaxed);
        if let Some(reader) = self.reader.take() {
            let _ = reader.join();
        }
    }
}
