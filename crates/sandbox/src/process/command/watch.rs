//! Watching a command: taking its output, passing on input and signals, and ending it when it must.

use super::helper::block::Filled;
use super::helper::layout::{
    COMMAND_STEPS, ENDED, FAILED, GONE, OVERDUE, PLACE_STEPS, READY, Word,
};
use super::helper::network::{self, Guard, Ports, Serve};
use super::helper::start::Helper;
use super::limits::cgroup::Group;
use super::limits::memory;
use super::output::pipes::{Input, Taken};
use super::protect::{Noticed, Protected};
use super::{Captured, Denial, DenialLayer, End, Output, SandboxError, Stdin, Stream};
use crate::network::Domains;
use crate::plan::Limits;
use crate::tier::Mechanism;
use std::fs::File;
use std::future::pending;
use std::io::{self, Read as _};
use std::os::fd::{AsFd as _, AsRawFd, OwnedFd};
use std::path::Path;
use std::time::{Duration, Instant};
use tokio::io::AsyncReadExt as _;
use tokio::io::unix::AsyncFd;
use tokio::net::unix::pipe;
use tokio::sync::mpsc;
use tokio::time::{sleep, sleep_until};
use tokio_util::sync::CancellationToken;

/// The harness's ends, while nobody has to wait for them.
pub(super) struct Ours {
    pub(super) stdin: Option<OwnedFd>,
    pub(super) stdout: OwnedFd,
    pub(super) stderr: OwnedFd,
}

impl Ours {
    /// Has the runtime watch them.
    pub(super) fn watched(self) -> Result<Ends, SandboxError> {
        let failed = SandboxError::step::<io::Error>;
        let receive = |end| pipe::Receiver::from_owned_fd(end).map_err(failed("pipe"));
        let stdin = self
            .stdin
            .map(pipe::Sender::from_owned_fd)
            .transpose()
            .map_err(failed("pipe"))?;
        Ok(Ends {
            stdin,
            stdout: receive(self.stdout)?,
            stderr: receive(self.stderr)?,
        })
    }
}

/// The harness's ends.
pub(super) struct Ends {
    pub(super) stdin: Option<pipe::Sender>,
    pub(super) stdout: pipe::Receiver,
    pub(super) stderr: pipe::Receiver,
}

pub(super) struct Watch<'a> {
    pub(super) helper: Helper,
    pub(super) ends: Ends,
    /// The blocks it follows: the namespaces', the place's and the command's.
    pub(super) blocks: [&'a Filled; 3],
    /// Whether the place was made ahead.
    pub(super) is_ready: bool,
    pub(super) program: &'a Path,
    pub(super) limits: &'a Limits,
    pub(super) group: &'a Group,
    pub(super) protected: &'a mut Protected,
    pub(super) network: Option<(Ports, &'a Domains, &'a dyn Serve)>,
    pub(super) started: Instant,
}

pub(super) struct Watched {
    pub(super) end: End,
    pub(super) stdout: Captured,
    pub(super) stderr: Captured,
    pub(super) denials: Vec<Denial>,
    pub(super) rest: Rest,
}

/// What is put away when the answer is on its way.
pub(super) struct Rest {
    /// A helper that has nobody left to watch over, and may take a moment to end.
    pub(super) helper: Helper,
    pub(super) pidfd: AsyncFd<OwnedFd>,
    /// What the command's streams and the helper's words came through.
    pub(super) ends: (Ends, pipe::Receiver),
}

/// How long a helper may take to end everything before it is given up. Only a process that the kernel itself cannot end takes longer than a moment.
const PATIENCE: Duration = Duration::from_secs(10);
/// How long a helper that is killed may take to be gone.
const LAST_MOMENT: Duration = Duration::from_millis(150);
/// How often, and how long apart, what is left in a group is ended one by one.
const ROUNDS: usize = 200;
const ROUND: Duration = Duration::from_millis(5);
/// How long the receiver of a command that was ended may take for what it said last.
const LAST_WORDS: Duration = Duration::from_millis(50);
const ASKS_TO_END: [i32; 4] = [libc::SIGINT, libc::SIGTERM, libc::SIGHUP, libc::SIGQUIT];
/// What is read at once. Memory that is touched for each call costs more than a few more reads of a command that says much.
const CHUNK: usize = 16 << 10;

impl Watch<'_> {
    pub(super) async fn run(
        mut self,
        stdin: Stdin,
        output: Output,
        mut signals: Option<mpsc::Receiver<i32>>,
        cancel: CancellationToken,
    ) -> Result<Watched, SandboxError> {
        let failed = SandboxError::step::<io::Error>;
        let pidfd = register(
            self.helper
                .process
                .pidfd
                .try_clone()
                .map_err(failed("pidfd"))?,
        )
        .map_err(failed("pidfd"))?;
        let status = self.helper.status.try_clone().map_err(failed("pipe"))?;
        let mut status =
            pipe::Receiver::from_owned_fd(OwnedFd::from(status)).map_err(failed("pipe"))?;
        let changes = self
            .protected
            .events()
            .and_then(|events| register(events).ok());
        let far = Duration::from_secs(365 * 24 * 3600);
        let deadline = tokio::time::Instant::from_std(self.started + self.limits.deadline.min(far));
        let mut sample = tokio::time::interval_at(tokio::time::Instant::now() + SAMPLE, SAMPLE);
        let mut taken = Taken::new(self.limits, output);
        let mut input = Input::new(stdin, self.ends.stdin.take());
        let mut said = Said::default();
        let mut words = Vec::new();
        let mut guard = if self.is_ready { self.serve()? } else { None };
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
                read = status.read_buf(&mut words), if !said.is_over => {
                    said.is_over = matches!(read, Ok(0) | Err(_));
                    said.take(&words);
                    if said.is_ready && guard.is_none() {
                        guard = self.serve()?;
                    }
                    if said.is_gone {
                        break;
                    }
                }
                read = self.ends.stdout.read(&mut out), if out_open && taken.has_room() => {
                    let count = read.unwrap_or(0);
                    out_open = count > 0;
                    if out_open {
                        taken.take(Stream::Out, &out[..count]);
                    }
                }
                read = self.ends.stderr.read(&mut err), if err_open && taken.has_room() => {
                    let count = read.unwrap_or(0);
                    err_open = count > 0;
                    if err_open {
                        taken.take(Stream::Err, &err[..count]);
                    }
                }
                () = taken.pass() => {}
                () = input.pass() => {}
                signal = receive(&mut signals) => match signal {
                    Some(signal) => {
                        self.helper.signal(signal);
                        is_asked_to_end |= ASKS_TO_END.contains(&signal);
                    }
                    None => signals = None,
                },
                () = changed(changes.as_ref(), self.protected), if cause.is_none() => cause = Some(End::Protected),
                _ = sample.tick(), if cause.is_none() => {
                    if self.group.cpu_time().is_some_and(|used| used > self.limits.cpu) {
                        cause = Some(End::OutOfTime);
                    } else if self.group.memory == Mechanism::Rlimit && memory::exceeds(self.helper.process.pid, self.limits.memory_bytes) {
                        cause = Some(End::OutOfMemory);
                    } else if changes.is_none() && self.protected.peek() {
                        cause = Some(End::Protected);
                    }
                }
            }
            if taken.bytes() > self.limits.flood_bytes && taken.is_kept() && cause.is_none() {
                cause = Some(End::Flooded);
            }
            if cause.is_some() {
                let gone = async {
                    while !said.is_gone
                        && !matches!(status.read_buf(&mut words).await, Ok(0) | Err(_))
                    {
                        said.take(&words);
                    }
                    said.is_gone
                };
                self.finish_off(&pidfd, gone).await;
                break;
            }
        }
        // Nothing of importance is said after that.
        if !said.is_gone {
            self.helper.reap();
            let _ = rustix::io::ioctl_fionbio(&self.helper.status, true);
            let _ = self.helper.status.read_to_end(&mut words);
            said.take(&words);
        }
        if !said.is_gone && said.failure.is_none() {
            self.end_survivors(&mut status).await;
        }
        if let Some(events) = changes {
            self.protected.keep(events.into_inner());
        }
        if said.is_overdue && cause.is_none() {
            cause = Some(End::TimedOut);
        }
        let rest = async {
            taken.drain(Stream::Out, &self.ends.stdout, &mut out).await;
            taken.drain(Stream::Err, &self.ends.stderr, &mut err).await;
        };
        // Whoever reads slowly gets all of it, unless time is up or he was told to end.
        let stop = cause.is_some() || is_asked_to_end;
        tokio::select! {
            biased;
            () = rest => {}
            () = sleep(LAST_WORDS), if stop => {}
            () = cancel.cancelled(), if !stop => cause = Some(End::Cancelled),
            () = sleep_until(deadline), if !stop => cause = Some(End::TimedOut),
            Some(_) = receive(&mut signals), if !stop => cause = Some(End::Cancelled),
        }
        let mut denials = guard.map_or_else(Vec::new, Guard::finish);
        let end = self.end(&said, cause, &mut denials)?;
        let (stdout, stderr) = taken.finish();
        let rest = Rest {
            helper: self.helper,
            pidfd,
            ends: (self.ends, status),
        };
        Ok(Watched {
            end,
            stdout,
            stderr,
            denials,
            rest,
        })
    }

    fn serve(&mut self) -> Result<Option<Box<dyn Guard>>, SandboxError> {
        let (Some((ports, domains, serve)), Some(control)) =
            (self.network.take(), &self.helper.control)
        else {
            return Ok(None);
        };
        let listeners = network::receive(control.as_fd(), &ports)?;
        serve
            .serve(listeners, domains)
            .map(Some)
            .map_err(SandboxError::step("answering the network"))
    }

    /// Ends everything, and waits until it is. The helper is not killed for being slow: then nobody would say when nothing is left.
    async fn finish_off(&mut self, pidfd: &AsyncFd<OwnedFd>, gone: impl Future<Output = bool>) {
        self.helper.end();
        self.group.kill();
        let over = async {
            tokio::select! {
                biased;
                true = gone => {}
                _ = pidfd.readable() => {}
            }
        };
        if tokio::time::timeout(PATIENCE, over).await.is_err() {
            self.helper.kill();
            let _ = tokio::time::timeout(LAST_MOMENT, pidfd.readable()).await;
        }
    }

    /// A helper that is gone, and did not say that nobody is left, was ended by somebody. Its second process ends everything when it hears that.
    async fn end_survivors(&mut self, status: &mut pipe::Receiver) {
        self.helper.end();
        let heard =
            async { while matches!(status.read(&mut [0; size_of::<Word>()]).await, Ok(1..)) {} };
        let _ = tokio::time::timeout(PATIENCE, heard).await;
        // Without a helper its groups still know who is left.
        for _ in 0..ROUNDS {
            if self.group.kill_each() {
                break;
            }
            sleep(ROUND).await;
        }
    }

    fn end(
        &self,
        said: &Said,
        cause: Option<End>,
        denials: &mut Vec<Denial>,
    ) -> Result<End, SandboxError> {
        if let (Some((step, code)), None) = (said.failure, cause) {
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
        let limit = |what: &str, why: String| Denial {
            layer: DenialLayer::Limits,
            what: what.into(),
            why,
        };
        let (status, ended) = (said.status.map(u32::cast_signed), said.status.is_some());
        let signal = status
            .filter(|status| libc::WIFSIGNALED(*status))
            .map(|status| libc::WTERMSIG(status));
        let end = match (cause, status) {
            (Some(cause), _) => cause,
            (None, Some(_)) if signal == Some(libc::SIGKILL) && self.group.ran_out_of_memory() => {
                End::OutOfMemory
            }
            (None, Some(_)) if signal == Some(libc::SIGXCPU) => End::OutOfTime,
            (None, Some(status)) => {
                signal.map_or_else(|| End::Exited(libc::WEXITSTATUS(status)), End::Signalled)
            }
            // The helper is gone and said nothing: the kernel ended it, with everything.
            (None, None) => {
                if self.group.ran_out_of_memory() {
                    End::OutOfMemory
                } else {
                    End::Signalled(libc::SIGKILL)
                }
            }
        };
        debug_assert!(ended || !matches!(end, End::Exited(_)));
        match end {
            End::TimedOut => denials.push(limit(
                "time",
                format!(
                    "the command was ended when its {} ms were over",
                    self.limits.deadline.as_millis()
                ),
            )),
            End::Flooded => denials.push(limit(
                "output",
                format!(
                    "the command was ended when it had written {} bytes",
                    self.limits.flood_bytes
                ),
            )),
            End::OutOfMemory => denials.push(limit(
                "memory",
                format!(
                    "the command was ended when it used more than {} bytes",
                    self.limits.memory_bytes
                ),
            )),
            End::OutOfTime => denials.push(limit(
                "processor time",
                format!(
                    "the command was ended when it had used {:?}",
                    self.limits.cpu
                ),
            )),
            _ => {}
        }
        Ok(end)
    }
}

/// The step that starts the program itself.
pub(super) const START: &str = "starting the program";

/// What a step that failed is called.
pub(super) fn step_name([ground, place, command]: [&Filled; 3], number: usize) -> &'static str {
    let (places, commands) = (usize::from(PLACE_STEPS), usize::from(COMMAND_STEPS));
    let name = match number {
        _ if number >= commands => command.steps.get(number - commands),
        _ if number >= places => place.steps.get(number - places),
        _ => ground.steps.get(number),
    };
    name.copied().unwrap_or("the helper")
}

const SAMPLE: Duration = Duration::from_millis(100);

/// Has the runtime watch a descriptor.
fn register<T: AsRawFd + Into<OwnedFd>>(owned: T) -> io::Result<AsyncFd<T>> {
    // SAFETY: what can become an owned descriptor owns it now: its number stays the same, and open, until it is dropped.
    unsafe { AsyncFd::register(owned) }.map_err(io::Error::from)
}

async fn receive(signals: &mut Option<mpsc::Receiver<i32>>) -> Option<i32> {
    match signals {
        Some(signals) => signals.recv().await,
        None => pending().await,
    }
}

/// Returns when something that governs calls came to be, or was replaced.
async fn changed(events: Option<&AsyncFd<File>>, protected: &mut Protected) {
    // Another call may have found it already.
    if protected.is_broken() {
        return;
    }
    let Some(events) = events else {
        return pending().await;
    };
    loop {
        let Ok(mut ready) = events.readable().await else {
            return pending().await;
        };
        match protected.notice(events.get_ref()) {
            Noticed::Broken => return,
            Noticed::Nothing => ready.clear_ready(),
            Noticed::More => tokio::task::yield_now().await,
        }
    }
}

/// What the helper said so far.
#[derive(Default)]
struct Said {
    is_over: bool,
    is_ready: bool,
    is_gone: bool,
    is_overdue: bool,
    failure: Option<(u32, u32)>,
    status: Option<u32>,
}

impl Said {
    fn take(&mut self, bytes: &[u8]) {
        for word in bytes.chunks_exact(size_of::<Word>()) {
            let number = |at: usize| {
                u32::from_ne_bytes([word[at], word[at + 1], word[at + 2], word[at + 3]])
            };
            match number(0) {
                READY => self.is_ready = true,
                GONE => self.is_gone = true,
                OVERDUE => self.is_overdue = true,
                FAILED => self.failure = self.failure.or(Some((number(4), number(8)))),
                ENDED => self.status = Some(number(4)),
                _ => {}
            }
        }
    }
}
