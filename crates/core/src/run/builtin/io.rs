//! Gives the scripts of a call access to processes and the network: under the plan, with denials
//! and containment recorded.

use crate::artifact::tool::Limits;
use crate::builtin::Program;
use crate::containment::Containment;
use crate::event::EventKind;
use crate::isolate;
use crate::outside::{
    Command, Denial, DenialKind, DenialLayer, End, Ran, Refused, Request, Response, Text, asked,
    judge_address,
};
use crate::plan::{self, Narrowing, Site};
use crate::refusal::{Code, Refusal};
use crate::result::Enforced;
use crate::run::context::Context;
use crate::run::outcome::SideOutcomes;
use crate::store::blob::{Preview, SessionBlobs};
use std::io::Seek as _;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;
use tool_harness_sandbox::file::Jail;
use tool_harness_sandbox::plan::{Plan, Programs};
use tool_harness_sandbox::process;

/// One script's access to processes and the network.
pub(in crate::run) struct SandboxedIo {
    pub(in crate::run) ctx: Context,
    pub(in crate::run) traces: Arc<SideOutcomes>,
    pub(in crate::run) narrowing: Narrowing,
    pub(in crate::run) limits: Limits,
    pub(in crate::run) deadline: Instant,
    pub(in crate::run) cancel: CancellationToken,
    pub(in crate::run) source: String,
    pub(in crate::run) builtin: String,
    /// Whether this is a dry run, which may send only requests that change nothing.
    pub(in crate::run) rehearsed: bool,
}

impl SandboxedIo {
    fn site(&self) -> Site<'_> {
        self.ctx.site()
    }

    /// Runs a program under the plan of this call.
    pub(in crate::run) async fn run(&self, jail: &Jail, program: Program) -> Result<Ran, String> {
        let left = self.deadline.saturating_duration_since(Instant::now());
        let mut plan = plan::plan(
            self.site(),
            &self.narrowing,
            self.limits,
            program.timeout.min(left),
        );
        let cwd = self.folder(jail, &plan, program.cwd.as_deref())?;
        self.add_variables(&mut plan, program.env)?;
        let containment = self.ctx.view().sandbox.containment;
        let name = program.program.clone();
        let command = Command {
            program: program.program,
            args: program.args,
            cwd,
            stdin: program.stdin,
        };
        let ran = asked(|| {
            self.ctx
                .shared()
                .outside
                .run(&plan, containment, command, self.cancel.clone())
        })
        .await;
        let mut ran = ran.map_err(|refused| self.refused(refused))?;
        for text in [&mut ran.stdout, &mut ran.stderr] {
            self.keep_whole(text, plan.limits.output_bytes).await;
        }
        self.written_down(&name, containment, &ran);
        Ok(ran)
    }

    /// The blobs of the call's session.
    pub(in crate::run) fn blobs(&self) -> SessionBlobs {
        self.ctx
            .shared()
            .session_blobs(&self.ctx.call().session_id, &self.source)
    }

    /// Stores the full output of a command if it was truncated. The preview is taken from the
    /// redacted copy, so that a cut cannot expose half of a secret.
    async fn keep_whole(&self, output: &mut Text, most: u64) {
        let Some(all) = output.spill.take() else {
            return;
        };
        let half = usize::try_from(most / 2).unwrap_or(usize::MAX);
        let blobs = self.blobs();
        let kept = isolate::blocking(move || match blobs.write_from(&*all, "text/plain", half) {
            Ok(kept) => Some((kept.preview, Some(kept.artifact))),
            // The preview must be redacted even if the store fails.
            Err(_) => (&*all)
                .rewind()
                .ok()
                .and_then(|()| blobs.preview(&*all, half).ok())
                .map(|shown| (shown, None)),
        });
        let Some((shown, artifact)) = kept.await.flatten() else {
            return;
        };
        let Preview {
            head,
            tail,
            bytes,
            redacted,
        } = shown;
        match &artifact {
            // The result cannot list more artifacts, so only the event and the output text name
            // this one.
            Some(artifact) if self.ctx.room_to_store().is_err() => self.ctx.record_stored(artifact),
            Some(artifact) => self.ctx.stored(artifact, redacted),
            None => self.ctx.taken_out(redacted),
        }
        let missing = bytes - head.len() as u64 - tail.len() as u64;
        output.text = match (missing, &artifact) {
            (0, _) => process::printable(&[head, tail].concat()),
            (missing, artifact) => {
                let kept = artifact.as_ref().map_or_else(String::new, |artifact| {
                    format!("; all of it is kept as {}", artifact.id)
                });
                format!(
                    "{}\n[... {missing} bytes left out{kept} ...]\n{}",
                    process::printable(&head),
                    process::printable(&tail)
                )
            }
        };
        output.artifact = artifact;
    }

    /// Sends a request to a host that this call may reach.
    pub(in crate::run) async fn send(
        &self,
        request: Request,
        time: Duration,
    ) -> Result<Response, String> {
        let hosts = self.ctx.view().sandbox.hosts(&self.narrowing);
        judge_address(&hosts, &request.url).map_err(|refused| self.refused(refused))?;
        if self.rehearsed && !["GET", "HEAD"].contains(&request.method.as_str()) {
            return Err(format!(
                "`{} {}` is not sent: a dry run changes nothing",
                request.method, request.url
            ));
        }
        let time = time.min(self.deadline.saturating_duration_since(Instant::now()));
        let answer = asked(|| {
            self.ctx
                .shared()
                .outside
                .send(&hosts, request, time, self.cancel.clone())
        })
        .await;
        answer.map_err(|refused| self.refused(refused))
    }

    /// The folder a program starts in, which must be in the workspace.
    fn folder(&self, jail: &Jail, plan: &Plan, given: Option<&str>) -> Result<PathBuf, String> {
        let Some(given) = given else {
            return Ok(plan.files.workspace.clone());
        };
        let real = jail
            .stat(given)
            .and_then(|_| jail.real(given))
            .map_err(|error| {
                let message = format!("`cwd` of `exec.run`: {error}");
                if error.is_denial() {
                    self.denied(Refusal::new(Code::SandboxDenied, message))
                } else {
                    message
                }
            })?;
        Ok(if real == "." {
            jail.root().to_owned()
        } else {
            jail.root().join(real)
        })
    }

    /// Adds variables. It refuses those that the plan sets and, if programs are limited, those that
    /// make a program run other code.
    fn add_variables(&self, plan: &mut Plan, added: Vec<(String, String)>) -> Result<(), String> {
        let limited = plan.programs != Programs::Any;
        for (name, value) in added {
            let why = if plan.environment.iter().any(|(known, _)| *known == name) {
                "the plan sets it"
            } else if limited && is_loader(&name) {
                "it can make a program run other code, and this tool's programs are limited"
            } else {
                plan.environment.push((name, value));
                continue;
            };
            let message = format!("`{name}` cannot be set by `env` of `exec.run`: {why}");
            return Err(self.denied(
                Refusal::new(Code::SandboxDenied, message)
                    .help("leave it out")
                    .detail("variable", name),
            ));
        }
        Ok(())
    }

    fn denied(&self, refusal: Refusal) -> String {
        self.traces.refuse(refusal)
    }

    fn refused(&self, refused: Refused) -> String {
        match refused {
            Refused::Denied { message, host } => {
                let refusal = Refusal::new(Code::SandboxDenied, message.as_str());
                match host {
                    Some(host) => {
                        let (what, layer) = (host.clone(), DenialLayer::Http);
                        self.record(
                            &Denial {
                                kind: DenialKind::Network,
                                what,
                                why: message,
                                layer,
                            },
                            None,
                        );
                        let help = match self.ctx.view().sandbox.network_from.first() {
                            Some(place) => format!(
                                "a person can add the host to `network.allowed_domains` at {place}, if the layers above and the tool allow it too"
                            ),
                            None => format!(
                                "a person can write `network: {{allowed_domains: [{host}]}}` into harness.md"
                            ),
                        };
                        self.denied(refusal.help(help).detail("host", host))
                    }
                    None => self.denied(refusal.help(
                        "`harness explain` shows what the tool may touch; a person can change it",
                    )),
                }
            }
            Refused::Unavailable { message, help } => {
                self.denied(Refusal::new(Code::SandboxUnavailable, message).help(help))
            }
            Refused::Failed(message) => message,
        }
    }

    /// Records what a command was denied, what ended it, and what contained it.
    fn written_down(&self, program: &str, containment: Containment, ran: &Ran) {
        ran.denials
            .iter()
            .for_each(|denial| self.record(denial, Some(program)));
        let why = match &ran.end {
            End::Exited(_) | End::Signalled(_) => None,
            End::TimedOut => Some("its time was over".to_owned()),
            End::Cancelled => Some("the call was cancelled".to_owned()),
            End::Exceeded(why) => Some(why.clone()),
        };
        let told = ran
            .denials
            .iter()
            .any(|denial| denial.kind == DenialKind::Process);
        if let Some(why) = why.filter(|_| !told) {
            let denial = Denial {
                kind: DenialKind::Process,
                what: String::new(),
                why,
                layer: DenialLayer::Harness,
            };
            self.record(&denial, Some(program));
        }
        if let Some(enforced) = &ran.enforced {
            self.traces.held(Enforced::contained(enforced, containment));
        }
    }

    fn record(&self, denial: &Denial, program: Option<&str>) {
        self.ctx.record(|| {
            let (source, builtin) = (self.source.clone(), self.builtin.clone());
            let program = program.map(str::to_owned);
            let what = Some(denial.what.clone()).filter(|what| !what.is_empty());
            let (message, layer) = (denial.why.clone(), denial.layer);
            match denial.kind {
                DenialKind::Network => EventKind::NetworkDenied {
                    source,
                    builtin,
                    program,
                    host: what,
                    message,
                    layer,
                },
                DenialKind::File => EventKind::FileDenied {
                    source,
                    builtin,
                    program,
                    path: what,
                    message,
                    layer: Some(layer),
                },
                DenialKind::Process => EventKind::ProcessKilled {
                    source,
                    builtin,
                    program,
                    limit: what,
                    message,
                    layer,
                },
            }
        });
    }
}

/// Whether a variable makes loaders, shells or interpreters run code that the call did not name.
fn is_loader(name: &str) -> bool {
    const NAMES: [&str; 12] = [
        "BASH_ENV",
        "ENV",
        "SHELLOPTS",
        "BASHOPTS",
        "IFS",
        "NODE_OPTIONS",
        "NODE_PATH",
        "JAVA_TOOL_OPTIONS",
        "_JAVA_OPTIONS",
        "EDITOR",
        "VISUAL",
        "PAGER",
    ];
    const STARTS: [&str; 8] = [
        "LD_", "DYLD_", "GIT_", "PYTHON", "PERL", "RUBY", "LUA_", "GCONV",
    ];
    NAMES.contains(&name) || STARTS.iter().any(|start| name.starts_with(start))
}
