//! A minimal harness side for tests.

use super::table::{ARGUMENT, TABLE};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use serde_json::Value;
use std::io::{ErrorKind, Read, Write};
use std::time::{Duration, Instant};
use tool_harness::builtin::{Builtin, all};
use tool_harness::facts::ScriptKind;
use tool_harness::worker::protocol::{
    Budget, Failure, HEADER, Link, Outcome, Request, Response, Verdict, WORKER_ARGUMENT, header,
    push_frame,
};
use tool_harness_sandbox::process::{Channel, Death, WorkerLimits, WorkerProcess, WorkerProgram};

/// More time than any script here needs on a busy machine. Scripts that must time out have their own budget.
pub(crate) const BUDGET: Budget = Budget {
    wall_ms: 25_000,
    cpu_ms: 20_000,
    memory_bytes: 64 << 20,
    result_bytes: 1 << 20,
};

/// The ticket of every request.
pub(crate) const TICKET: u64 = 0x7469_636b_6574;

/// How long an answer may take before the supervisor kills the worker.
pub(crate) const PATIENCE: Duration = Duration::from_secs(30);

/// The program of `tests/worker_for_tests.rs`.
const PROGRAM: &str = env!("CARGO_BIN_EXE_worker-for-tests");

pub(crate) struct Worker {
    /// The pure built-ins of its table, and `print`. Every script is linked with them.
    pure: Vec<u32>,
    pub(crate) process: WorkerProcess,
    pub(crate) channel: Channel,
}

fn pure(builtins: impl Iterator<Item = (&'static Builtin, u32)>) -> Vec<u32> {
    builtins
        .filter(|(builtin, _)| builtin.is_pure() || builtin.name == "print")
        .map(|(_, index)| index)
        .collect()
}

/// Why there is no answer.
#[derive(Debug, PartialEq)]
pub(crate) enum End {
    Failed(Failure),
    Died(Death),
}

impl Worker {
    pub(crate) fn start() -> Self {
        Self::with(&WorkerLimits::default())
    }

    pub(crate) fn with(limits: &WorkerLimits) -> Self {
        let builtins = TABLE.iter().flat_map(|module| module.calls).zip(0..);
        Self::serving(ARGUMENT, limits, pure(builtins))
    }

    /// A worker with the real built-ins.
    pub(crate) fn with_the_real_table() -> Self {
        let builtins = all().map(|(index, _, builtin)| (builtin, index));
        Self::serving(WORKER_ARGUMENT, &WorkerLimits::default(), pure(builtins))
    }

    fn serving(argument: &'static str, limits: &WorkerLimits, pure: Vec<u32>) -> Self {
        let program = WorkerProgram {
            path: PROGRAM.into(),
            argument,
        };
        let mut process = WorkerProcess::spawn(&program, limits).expect("spawns");
        let channel = process.take_channel().expect("has a channel");
        let mut worker = Self {
            pure,
            process,
            channel,
        };
        assert_eq!(worker.receive(PATIENCE), Ok(Response::Ready));
        worker
    }

    pub(crate) fn send(&mut self, request: &Request) {
        self.send_bytes(&request.encode().expect("encodes"));
    }

    pub(crate) fn send_bytes(&mut self, frame: &[u8]) {
        let mut bytes = Vec::new();
        push_frame(&mut bytes, TICKET, frame).expect("fits");
        // A worker that died is noticed when its answer is read.
        let _ = self.channel.writer.write_all(&bytes);
    }

    /// One frame, or the death of the worker, which is killed if it takes longer than `patience`.
    pub(crate) fn receive(&mut self, patience: Duration) -> Result<Response, Death> {
        let deadline = Instant::now() + patience;
        let mut head = [0; HEADER];
        let read = self.fill(&mut head, deadline).and_then(|()| {
            let (length, ticket) = header(&head).expect("a whole header");
            let mut frame = vec![0; length];
            self.fill(&mut frame, deadline)?;
            Ok((frame, ticket))
        });
        match read {
            Ok((frame, ticket)) => {
                let response = Response::decode(&frame).expect("decodes");
                assert_eq!(
                    ticket,
                    if response == Response::Ready {
                        0
                    } else {
                        TICKET
                    },
                    "the ticket of another request"
                );
                Ok(response)
            }
            Err(error) => {
                if matches!(error, ErrorKind::WouldBlock | ErrorKind::TimedOut) {
                    self.process.kill();
                }
                Err(self
                    .process
                    .wait(PATIENCE)
                    .expect("a worker without an answer is dead"))
            }
        }
    }

    fn fill(&mut self, bytes: &mut [u8], deadline: Instant) -> Result<(), ErrorKind> {
        let mut rest = bytes;
        while !rest.is_empty() {
            let left = deadline.saturating_duration_since(Instant::now());
            let left = Timespec {
                tv_sec: i64::try_from(left.as_secs()).expect("fits"),
                tv_nsec: left.subsec_nanos().into(),
            };
            if poll(
                &mut [PollFd::new(&self.channel.reader, PollFlags::IN)],
                Some(&left),
            ) == Ok(0)
            {
                return Err(ErrorKind::TimedOut);
            }
            match self
                .channel
                .reader
                .read(rest)
                .map_err(|error| error.kind())?
            {
                0 => return Err(ErrorKind::UnexpectedEof),
                count => rest = &mut rest[count..],
            }
        }
        Ok(())
    }

    pub(crate) fn load(&mut self, script: u32, kind: ScriptKind, source: &str, linked: &[u32]) {
        let linked = linked
            .iter()
            .copied()
            .chain(self.pure.iter().copied())
            .collect();
        self.send(&Request::Load {
            script,
            kind,
            source: source.to_owned(),
            linked,
        });
    }

    /// Runs a script that makes no call to the harness.
    pub(crate) fn run(&mut self, script: u32, args: Value, budget: Budget) -> Result<Outcome, End> {
        self.send(&Request::Run {
            script,
            args,
            budget,
        });
        match self.receive(PATIENCE) {
            Ok(Response::Done(outcome)) => Ok(outcome),
            Ok(Response::Failed(failure)) => Err(End::Failed(failure)),
            Ok(other) => panic!("{other:?}"),
            Err(death) => Err(End::Died(death)),
        }
    }

    pub(crate) fn chain(&mut self, payload: Value, links: Vec<Link>) -> Vec<Verdict> {
        self.send(&Request::Chain {
            event: "tool.pre".into(),
            payload,
            links,
            budget: BUDGET,
        });
        match self.receive(PATIENCE) {
            Ok(Response::Chain(verdicts)) => verdicts,
            other => panic!("{other:?}"),
        }
    }
}

/// Loads and runs one tool script in a fresh worker.
pub(crate) fn run(source: &str, args: Value) -> Result<Outcome, End> {
    run_with(source, args, BUDGET, &WorkerLimits::default())
}

pub(crate) fn run_with(
    source: &str,
    args: Value,
    budget: Budget,
    limits: &WorkerLimits,
) -> Result<Outcome, End> {
    let mut worker = Worker::with(limits);
    worker.load(1, ScriptKind::Tool, source, &[]);
    worker.run(1, args, budget)
}

/// The failure of a script that must fail.
pub(crate) fn failure(source: &str) -> Failure {
    match run(source, Value::Null) {
        Err(End::Failed(failure)) => failure,
        other => panic!("{source:?} gave {other:?}"),
    }
}
