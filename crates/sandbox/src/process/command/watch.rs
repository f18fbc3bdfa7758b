//! Watching a command: reading its output, passing on input and signals, and ending it when it must
//! end.

use super::helper::block::EncodedBlock;
use super::helper::layout::{
    ANSWER_ALLOWED, ANSWER_REFUSED, COMMAND_STEPS, CONTAINER_STEPS, ENDED, FAILED, GONE,
    HelperReport, OVERDUE, READY,
};
use super::helper::network::{self, RelayPorts, RunningRelay, StartRelay};
use super::helper::start::{Helper, receive_name};
use super::limits::cgroup::Group;
use super::limits::memory;
use super::output::pipes::{InputFeed, OutputSink};
use super::protect::{NameJudge, NameReply};
use super::{CapturedOutput, Denial, DenialLayer, End, Output, SandboxError, Stdin, Stream};
use crate::network::Domains;
use crate::plan::Limits;
use crate::tier::Mechanism;
use rustix::io::Errno;
use std::fs::File;
use std::future::pending;
use std::io::{self, Read as _};
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::path::Path;
use std::time::{Duration, Instant};
use tokio::io::AsyncReadExt as _;
use tokio::io::unix::AsyncFd;
use tokio::net::unix::pipe;
use tokio::sync::mpsc;
use tokio::time::{sleep, sleep_until};
use tokio_util::sync::CancellationToken;

/// The harness's ends, registered with the runtime.
pub(super) struct AsyncPipes {
    pub(super) stdin: Option<pipe::Sender>,
    pub(super) stdout: pipe::Receiver,
    pub(super) stderr: pipe::Receiver,
}

pub(super) struct CommandWatch<'a> {
    pub(super) helper: Helper,
    pub(super) ends: AsyncPipes,
    /// The blocks that the helper executes: the namespaces', the container's and the command's.
    pub(super) blocks: [&'a EncodedBlock; 3],
    /// Whether the container was made ahead.
    pub(super) is_ready: bool,
    pub(super) program: &'a Path,
    pub(super) limits: &'a Limits,
    pub(super) group: &'a Group,
    pub(super) judge: &'a mut NameJudge,
    pub(super) network: Option<(RelayPorts, &'a Domains, &'a dyn StartRelay)>,
    pub(super) started: Instant,
}

pub(super) struct WatchOutcome {
    pub(super) end: End,
    pub(super) stdout: CapturedOutput,
    pub(super) stderr: CapturedOutput,
    pub(super) denials: Vec<Denial>,
    pub(super) rest: Remains,
}

/// What the harness cleans up after it returned the result.
pub(super) struct Remains {
    /// A helper without processes to watch, which may take a moment to exit.
    pub(super) helper: Helper,
    pub(super) pidfd: AsyncFd<OwnedFd>,
    /// The pipes of the command's streams and of the helper's reports.
    pub(super) ends: (AsyncPipes, pipe::Receiver),
}

/// How long a helper may take to kill everything. Only a process that the kernel itself cannot kill
/// takes longer than a moment.
const STOP_TIMEOUT: Duration = Duration::from_secs(10);
/// How long a killed helper may take to exit.
const KILL_TIMEOUT: Duration = Duration::from_millis(150);
/// How often, and at what interval, processes left in a cgroup are killed one by one.
const KILL_ROUNDS: usize = 200;
const KILL_INTERVAL: Duration = Duration::from_millis(5);
/// How long the receiver of a command that was ended may take for the rest of its output.
const DRAIN_TIMEOUT: Duration = Duration::from_millis(50);
const ASKS_TO_END: [i32; 4] = [libc::SIGINT, libc::SIGTERM, libc::SIGHUP, libc::SIGQUIT];
/// Bytes read at once. Touching memory for every call costs more than a few extra reads of a
/// command with much output.
const CHUNK: usize = 16 << 10;

impl CommandWatch<'_> {
    pub(super) async fn run(
        mut self,
        stdin: Stdin,
        output: Output,
        mut signals: Option<mpsc::Receiver<i32>>,
        cancel: CancellationToken,
    ) -> Result<WatchOutcome, SandboxError> {
        let failed = SandboxError::step::<io::Error>;
        let pidfd = self.helper.process.pidfd.try_clone().and_then(register);
        let pidfd = pidfd.map_err(failed("pidfd"))?;
        let status = self.helper.status.try_clone().map_err(failed("pipe"))?;
        let mut status =
            pipe::Receiver::from_owned_fd(OwnedFd::from(status)).map_err(failed("pipe"))?;
        let control = self.helper.control.as_ref().map(OwnedFd::try_clone);
        let control = control.transpose().map_err(failed("socket"))?;
        let control = control
            .map(register)
            .transpose()
            .map_err(failed("socket"))?;
        let mut changes = None;
        let far = Duration::from_secs(365 * 24 * 3600);
        let deadline = tokio::time::Instant::from_std(self.started + self.limits.deadline.min(far));
        let mut sample = tokio::time::interval_at(tokio::time::Instant::now() + SAMPLE, SAMPLE);
        let mut sink = OutputSink::new(self.limits, output);
        let mut input = InputFeed::new(stdin, self.ends.stdin.take());
        let mut reports = HelperReports::default();
        let mut words = Vec::new();
        let mut guard = if self.is_ready {
            self.start_relay()?
        } else {
            None
        };
        let mut cause = None;
        let (mut out, mut err) = (vec![0; CHUNK], vec![0; CHUNK]);
        let (mut out_open, mut err_open) = (true, true);
        let mut is_asked_to_end = false;
        loop {
            tokio::select! {
                biased;
                () = cancel.cancelled(), if cause.is_none() => cause = Some(End::Cancelled),
                () = sleep_until(deadline), if cause.is_none() => cause = Some(End::TimedOut),
                _ = pidfd.readable() => break,
                read = status.read_buf(&mut words), if !reports.is_over => {
                    reports.is_over = matches!(read, Ok(0) | Err(_));
                    reports.take(&words);
                    if reports.is_ready && guard.is_none() {
                        guard = self.start_relay()?;
                    }
                    if reports.is_gone {
                        break;
                    }
                }
                read = self.ends.stdout.read(&mut out), if out_open && sink.has_room() => {
                    let count = read.unwrap_or(0);
                    out_open = count > 0;
                    if out_open {
                        sink.take(Stream::Out, &out[..count]);
                    }
                }
                read = self.ends.stderr.read(&mut err), if err_open && sink.has_room() => {
                    let count = read.unwrap_or(0);
                    err_open = count > 0;
                    if err_open {
                        sink.take(Stream::Err, &err[..count]);
                    }
                }
                () = sink.pass() => {}
                () = input.pass() => {}
                signal = receive(&mut signals) => match signal {
                    Some(signal) => {
                        self.helper.signal(signal);
                        is_asked_to_end |= ASKS_TO_END.contains(&signal);
                    }
                    None => signals = None,
                },
                // The listening sockets of the network come first on it.
                heard = hear(control.as_ref()), if cause.is_none() && self.network.is_none() => {
                    self.answer(heard);
                    if changes.is_none() {
                        changes = self.judge.events().and_then(|events| register(events).ok());
                    }
                }
                () = changed(changes.as_ref(), self.judge), if cause.is_none() => cause = Some(End::Protected),
                _ = sample.tick(), if cause.is_none() => {
                    if self.group.cpu_time().is_some_and(|used| used > self.limits.cpu) {
                        cause = Some(End::OutOfTime);
                    } else if self.group.memory == Mechanism::Rlimit && memory::exceeds(self.helper.process.pid, self.limits.memory_bytes) {
                        cause = Some(End::OutOfMemory);
                    }
                }
            }
            if sink.bytes() > self.limits.flood_bytes && sink.is_kept() && cause.is_none() {
                cause = Some(End::Flooded);
            }
            if cause.is_some() {
                let gone = async {
                    while !reports.is_gone
                        && !matches!(status.read_buf(&mut words).await, Ok(0) | Err(_))
                    {
                        reports.take(&words);
                    }
                    reports.is_gone
                };
                self.finish_off(&pidfd, gone).await;
                break;
            }
        }
        // What the helper said last may still be there.
        while let (Some(control), None) = (&control, &self.network) {
            match receive_name(control.get_ref().as_fd()) {
                Ok((message, file)) if !message.is_empty() => self.answer((message, file)),
                _ => break,
            }
        }
        // Nothing important is reported after that.
        if !reports.is_gone {
            self.helper.reap();
            let _ = rustix::io::ioctl_fionbio(&self.helper.status, true);
            let _ = self.helper.status.read_to_end(&mut words);
            reports.take(&words);
        }
        if !reports.is_gone && reports.failure.is_none() {
            self.end_survivors(&mut status).await;
        }
        if reports.is_overdue && cause.is_none() {
            cause = Some(End::TimedOut);
        }
        let rest = async {
            sink.drain(Stream::Out, &self.ends.stdout, &mut out).await;
            sink.drain(Stream::Err, &self.ends.stderr, &mut err).await;
        };
        // A slow receiver gets everything, unless time is up or it was asked to end.
        let stop = cause.is_some() || is_asked_to_end;
        tokio::select! {
            biased;
            () = rest => {}
            () = sleep(DRAIN_TIMEOUT), if stop => {}
            () = cancel.cancelled(), if !stop => cause = Some(End::Cancelled),
            () = sleep_until(deadline), if !stop => cause = Some(End::TimedOut),
            Some(_) = receive(&mut signals), if !stop => cause = Some(End::Cancelled),
        }
        let mut denials = guard.map_or_else(Vec::new, RunningRelay::finish);
        let end = self.end(&reports, cause, &mut denials)?;
        let (stdout, stderr) = sink.finish();
        let rest = Remains {
            helper: self.helper,
            pidfd,
            ends: (self.ends, status),
        };
        Ok(WatchOutcome {
            end,
            stdout,
            stderr,
            denials,
            rest,
        })
    }

    /// Answers a message of the helper about a name.
    fn answer(&mut self, (message, file): (Vec<u8>, Option<OwnedFd>)) {
        let (kind, passed) = match self.judge.hear(&message, file) {
            NameReply::None => return,
            NameReply::Refused => (ANSWER_REFUSED, None),
            NameReply::Allowed(passed) => (ANSWER_ALLOWED, passed),
        };
        self.helper.answer(kind, passed.as_ref().map(AsFd::as_fd));
    }

    fn start_relay(&mut self) -> Result<Option<Box<dyn RunningRelay>>, SandboxError> {
        let (Some((ports, domains, relay)), Some(control)) =
            (self.network.take(), &self.helper.control)
        else {
            return Ok(None);
        };
        let listeners = network::receive(control.as_fd(), &ports)?;
        relay
            .start(listeners, domains)
            .map(Some)
            .map_err(SandboxError::step("answering the network"))
    }

    /// Ends everything, and waits until it has ended. A slow helper is not killed, because then
    /// nothing would report that no process is left.
    async fn finish_off(&mut self, pidfd: &AsyncFd<OwnedFd>, gone: impl Future<Output = bool>) {
        self.helper.stop();
        self.group.kill();
        let over = async {
            tokio::select! {
                biased;
                true = gone => {}
                _ = pidfd.readable() => {}
            }
        };
        if tokio::time::timeout(STOP_TIMEOUT, over).await.is_err() {
            self.helper.kill();
            let _ = tokio::time::timeout(KILL_TIMEOUT, pidfd.readable()).await;
        }
    }

    /// The helper was killed before it reported that no process is left. Its second process kills
    /// everything when it notices.
    async fn end_survivors(&mut self, status: &mut pipe::Receiver) {
        self.helper.stop();
        let heard = async {
            while matches!(
                status.read(&mut [0; size_of::<HelperReport>()]).await,
                Ok(1..)
            ) {}
        };
        let _ = tokio::time::timeout(STOP_TIMEOUT, heard).await;
        // Without a helper, the cgroups still know which processes are left.
        for _ in 0..KILL_ROUNDS {
            if self.group.kill_each() {
                break;
            }
            sleep(KILL_INTERVAL).await;
        }
    }

    fn end(
        &self,
        reports: &HelperReports,
        cause: Option<End>,
        denials: &mut Vec<Denial>,
    ) -> Result<End, SandboxError> {
        if let (Some((step, code)), None) = (reports.failure, cause) {
            let step = step_name(self.blocks, step as usize);
            let cause = io::Error::from_raw_os_error(code.cast_signed());
            return Err(if step == START {
                SandboxError::Start {
                    program: self.program.to_path_buf(),
                    cause,
                }
            } else {
                SandboxError::SetUp { step, cause }
            });
        }
        // A helper that is gone without a report was killed by the kernel, with everything.
        let status = reports.status.map_or(libc::SIGKILL, u32::cast_signed);
        let signal = libc::WIFSIGNALED(status).then(|| libc::WTERMSIG(status));
        let end = match (cause, signal) {
            (Some(cause), _) => cause,
            (None, Some(libc::SIGKILL)) if self.group.ran_out_of_memory() => End::OutOfMemory,
            (None, Some(libc::SIGXCPU)) => End::OutOfTime,
            (None, Some(signal)) => End::Signalled(signal),
            (None, None) => End::Exited(libc::WEXITSTATUS(status)),
        };
        let limits = self.limits;
        let (what, why) = match end {
            End::TimedOut => {
                let time = limits.deadline.as_millis();
                (
                    "time",
                    format!("the harness ended the command after {time} ms"),
                )
            }
            End::Flooded => {
                let bytes = limits.flood_bytes;
                (
                    "output",
                    format!("the harness ended the command after {bytes} bytes of output"),
                )
            }
            End::OutOfMemory => {
                let bytes = limits.memory_bytes;
                (
                    "memory",
                    format!("the command was ended because it used more than {bytes} bytes"),
                )
            }
            End::OutOfTime => {
                let time = limits.cpu;
                (
                    "processor time",
                    format!("the command was ended because it had used {time:?}"),
                )
            }
            _ => return Ok(end),
        };
        denials.push(Denial {
            layer: DenialLayer::Limits,
            what: what.into(),
            why,
        });
        Ok(end)
    }
}

/// The step that executes the program.
pub(super) const START: &str = "starting the program";

/// The name of a failed step.
pub(super) fn step_name(
    [namespaces, place, command]: [&EncodedBlock; 3],
    number: usize,
) -> &'static str {
    let (places, commands) = (usize::from(CONTAINER_STEPS), usize::from(COMMAND_STEPS));
    let name = match number {
        _ if number >= commands => command.steps.get(number - commands),
        _ if number >= places => place.steps.get(number - places),
        _ => namespaces.steps.get(number),
    };
    name.copied().unwrap_or("the helper")
}

const SAMPLE: Duration = Duration::from_millis(100);

/// Registers a descriptor with the runtime.
fn register<T: AsRawFd + Into<OwnedFd>>(owned: T) -> io::Result<AsyncFd<T>> {
    // SAFETY: a type that converts into an owned descriptor owns it now: its number stays the same,
    // and open, until it is dropped.
    unsafe { AsyncFd::register(owned) }.map_err(io::Error::from)
}

async fn receive(signals: &mut Option<mpsc::Receiver<i32>>) -> Option<i32> {
    match signals {
        Some(signals) => signals.recv().await,
        None => pending().await,
    }
}

/// The next message of the helper about a name.
async fn hear(control: Option<&AsyncFd<OwnedFd>>) -> (Vec<u8>, Option<OwnedFd>) {
    let Some(control) = control else {
        return pending().await;
    };
    loop {
        let Ok(mut ready) = control.readable().await else {
            return pending().await;
        };
        match receive_name(control.get_ref().as_fd()) {
            Ok((message, _)) if message.is_empty() => return pending().await,
            Ok(heard) => return heard,
            Err(Errno::AGAIN | Errno::INTR) => ready.clear_ready(),
            Err(_) => return pending().await,
        }
    }
}

/// Returns when a watched file changed to something harmful.
async fn changed(events: Option<&AsyncFd<File>>, judge: &NameJudge) {
    let Some(events) = events else {
        return pending().await;
    };
    loop {
        let Ok(mut ready) = events.readable().await else {
            return pending().await;
        };
        ready.clear_ready();
        if judge.is_broken() {
            return;
        }
    }
}

/// What the helper has reported so far.
#[derive(Default)]
struct HelperReports {
    is_over: bool,
    is_ready: bool,
    is_gone: bool,
    is_overdue: bool,
    failure: Option<(u32, u32)>,
    status: Option<u32>,
}

impl HelperReports {
    fn take(&mut self, bytes: &[u8]) {
        for bytes in bytes.chunks_exact(size_of::<HelperReport>()) {
            let report = HelperReport::from_bytes(bytes);
            match report.kind {
                READY => self.is_ready = true,
                GONE => self.is_gone = true,
                OVERDUE => self.is_overdue = true,
                FAILED => self.failure = self.failure.or(Some((report.first, report.second))),
                ENDED => self.status = Some(report.first),
                _ => {}
            }
        }
    }
}
