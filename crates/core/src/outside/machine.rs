//! The real outside: this machine's sandbox and network.

use super::{
    Command, Denial, DenialKind, DenialLayer, End, Outside, Pending, Ran, Refused, Request,
    Response, Text,
};
use crate::containment::Containment;
use std::io;
use std::sync::{Arc, OnceLock};
use std::time::Duration;
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;
use tool_harness_sandbox::network::{
    self, Client, Domains, HttpError, HttpLimits, Listeners, Relay, RelayDenial, SystemResolver,
};
use tool_harness_sandbox::plan::Plan;
use tool_harness_sandbox::process::{
    self, Output, RunningRelay, Sandbox, SandboxError, StartRelay, Stdin,
};
use tool_harness_sandbox::tier::Tier;

/// This machine. It detects its capabilities on first use.
#[derive(Debug, Default)]
pub struct Machine {
    on: OnceLock<Sandbox>,
    off: OnceLock<Sandbox>,
}

impl Machine {
    /// A machine limited to this tier, for tests.
    #[must_use]
    pub fn with_tier(tier: Tier) -> Self {
        let machine = Self::default();
        let _ = machine
            .on
            .set(Sandbox::with_tier(tier).serving(Arc::new(Relayed)));
        machine
    }

    /// The sandbox that runs commands: the strongest available, or none if a person turned it off.
    pub fn sandbox(&self, containment: Containment) -> &Sandbox {
        match containment {
            Containment::On => self
                .on
                .get_or_init(|| Sandbox::detect().serving(Arc::new(Relayed))),
            Containment::Off => self.off.get_or_init(Sandbox::off),
        }
    }
}

impl Outside for Machine {
    fn tier(&self) -> Tier {
        self.sandbox(Containment::On).tier()
    }

    fn run<'a>(
        &'a self,
        plan: &'a Plan,
        containment: Containment,
        command: Command,
        cancel: CancellationToken,
    ) -> Pending<'a, Ran> {
        Box::pin(async move {
            let Command {
                program,
                args,
                cwd,
                stdin,
            } = command;
            let stdin = if stdin.is_empty() {
                Stdin::Empty
            } else {
                Stdin::Bytes(stdin.into_bytes())
            };
            let command = process::Command {
                cwd: Some(cwd),
                stdin,
                output: Output::Capture,
                ..process::Command::new(program, args)
            };
            let finished = self
                .sandbox(containment)
                .run(plan, command, cancel)
                .await
                .map_err(unstarted)?;
            Ok(Ran {
                end: end(finished.end, plan),
                stdout: text(finished.stdout),
                stderr: text(finished.stderr),
                duration: finished.duration,
                enforced: Some(finished.enforced),
                denials: finished.denials.into_iter().map(denial).collect(),
            })
        })
    }

    fn send<'a>(
        &'a self,
        hosts: &'a Domains,
        request: Request,
        time: Duration,
        cancel: CancellationToken,
    ) -> Pending<'a, Response> {
        Box::pin(async move {
            let client = Client::new(
                hosts.clone(),
                HttpLimits {
                    time,
                    ..HttpLimits::default()
                },
            );
            tokio::select! {
                answer = client.request(request) => answer.map_err(unanswered),
                () = cancel.cancelled() => Err(Refused::Failed("cancelled while waiting for an answer".to_owned())),
            }
        })
    }
}

fn unstarted(error: SandboxError) -> Refused {
    let message = error.to_string();
    match error {
        SandboxError::NotAllowed { .. } | SandboxError::BadFolder(_) => Refused::Denied {
            message,
            host: None,
        },
        SandboxError::NotFound { .. }
        | SandboxError::NotExecutable { .. }
        | SandboxError::NullCharacter(_)
        | SandboxError::Start { .. } => Refused::Failed(message),
        SandboxError::NoSandbox(_) | SandboxError::BadPlace { .. } | SandboxError::SetUp { .. } => {
            Refused::Unavailable {
                message,
                help: "`harness doctor` says what this machine lacks, and how to fix that"
                    .to_owned(),
            }
        }
    }
}

fn end(end: process::End, plan: &Plan) -> End {
    let limits = &plan.limits;
    match end {
        process::End::Exited(code) => End::Exited(code),
        process::End::Signalled(signal) => End::Signalled(signal),
        process::End::TimedOut => End::TimedOut,
        process::End::Cancelled => End::Cancelled,
        process::End::Flooded => {
            End::Exceeded(format!("it wrote more than {} bytes", limits.flood_bytes))
        }
        process::End::OutOfMemory => End::Exceeded(format!(
            "it used more than {} MiB of memory",
            limits.memory_bytes >> 20
        )),
        process::End::OutOfTime => End::Exceeded(format!(
            "it used more than {} ms of processor time",
            limits.cpu.as_millis()
        )),
        process::End::Protected => {
            End::Exceeded("it led Git to settings that nobody judged".to_owned())
        }
    }
}

fn text(captured: process::CapturedOutput) -> Text {
    Text {
        text: captured.text,
        truncated: captured.truncated,
        spill: captured.spill.map(Arc::new),
        artifact: None,
    }
}

fn denial(denial: process::Denial) -> Denial {
    let kind = match denial.layer {
        DenialLayer::Network | DenialLayer::Http => DenialKind::Network,
        DenialLayer::Files => DenialKind::File,
        DenialLayer::Limits | DenialLayer::Harness => DenialKind::Process,
    };
    Denial {
        kind,
        what: denial.what,
        why: denial.why,
        layer: denial.layer,
    }
}

fn unanswered(error: HttpError) -> Refused {
    let message = error.to_string();
    match error {
        HttpError::Refused(
            network::HostRefusal::Host { host }
            | network::HostRefusal::Port { host, .. }
            | network::HostRefusal::Address { host, .. },
        ) => Refused::Denied {
            message,
            host: Some(host.to_string()),
        },
        _ => Refused::Failed(message),
    }
}

/// Passes the connections of processes to the relay.
struct Relayed;

/// A running relay, and what it refused.
struct Answering {
    relay: Relay,
    denied: mpsc::Receiver<RelayDenial>,
}

/// How many different hosts are reported for one command.
const MOST_REPORTS: usize = 256;

impl StartRelay for Relayed {
    fn start(&self, listeners: Listeners, domains: &Domains) -> io::Result<Box<dyn RunningRelay>> {
        let (report, denied) = mpsc::channel(MOST_REPORTS);
        let relay = Relay::start(listeners, domains.clone(), Arc::new(SystemResolver), report)?;
        Ok(Box::new(Answering { relay, denied }))
    }
}

impl RunningRelay for Answering {
    fn finish(mut self: Box<Self>) -> Vec<process::Denial> {
        self.relay.report_refusals();
        let denied = std::iter::from_fn(|| self.denied.try_recv().ok());
        denied
            .map(|denied| process::Denial {
                layer: DenialLayer::Network,
                what: denied.what,
                why: denied.why,
            })
            .collect()
    }
}
