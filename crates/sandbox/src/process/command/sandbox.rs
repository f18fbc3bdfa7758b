//! Running commands.

use super::detect::{self, Findings};
use super::enforced::enforced;
use super::files::homes::homes;
use super::files::landlock;
use super::helper::network::StartRelay;
use super::helper::start::{CommandStreams, Helper, ReadyReport};
use super::leftovers::pending;
use super::limits::cgroup::Cgroups;
use super::limits::process_count::{PendingCount, ProcessCounter};
use super::namespaces::NamespaceSpec;
use super::prepare::{ContainerSpec, wait_until_ready};
use super::protect::{CommandResources, ProtectionGuard, UndoReport, Watching};
use super::warm::pool::{self, Container, ContainerPool};
use super::warm::stamp::FolderCache;
use super::watch::{AsyncPipes, CommandWatch, Remains};
use super::{Command, CommandOutcome, Denial, DenialLayer, End, SandboxError, Stdin};
use crate::git::AnswerCache;
use crate::plan::{Network, Plan, Programs};
use crate::process::child::null;
use crate::tier::{Mechanism, SandboxReport, Tier};
use rustix::pipe::{PipeFlags, pipe_with};
use std::fs::File;
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt as _;
use std::path::PathBuf;
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};
use tokio::net::unix::pipe;
use tokio_util::sync::CancellationToken;

/// Runs commands, contained as strongly as this machine can. Clones share one sandbox.
#[derive(Clone)]
pub struct Sandbox {
    shared: Arc<SandboxState>,
}

pub(super) struct SandboxState {
    pub(super) tier: Tier,
    /// A person turned it off: commands run, and every result says so.
    pub(super) is_off: bool,
    report: SandboxReport,
    pub(super) landlock: i32,
    pub(super) cgroups: Cgroups,
    pub(super) homes: Vec<PathBuf>,
    pub(super) owners: OnceLock<Result<OwnedFd, String>>,
    pub(super) relay: Option<Arc<dyn StartRelay>>,
    pool: Arc<ContainerPool>,
    process_counter: Arc<ProcessCounter>,
    pub(super) folder_cache: FolderCache,
    pub(super) git_answers: Arc<AnswerCache>,
}

impl SandboxState {
    /// Whether Landlock rules apply to commands.
    pub(super) fn has_rules(&self) -> bool {
        self.tier != Tier::None && self.landlock >= landlock::OLDEST_IN_NAMESPACES
    }

    /// Whether the process limit counts everything that the command's user runs.
    fn counts_all(&self) -> bool {
        self.tier != Tier::A && self.cgroups.processes() == Mechanism::Rlimit
    }
}

impl std::fmt::Debug for Sandbox {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Sandbox")
            .field("tier", &self.shared.tier)
            .finish_non_exhaustive()
    }
}

impl Sandbox {
    /// The strongest tier this machine has, found by trying.
    #[must_use]
    pub fn detect() -> Self {
        Self::of(detect::find(Tier::A), false, None)
    }

    /// A weaker tier than the machine has, for tests. If it does not have this tier, the next one
    /// it has.
    #[must_use]
    pub fn with_tier(tier: Tier) -> Self {
        Self::of(detect::find(tier), false, None)
    }

    /// Like a kernel without Landlock, for tests.
    #[must_use]
    pub fn without_landlock() -> Self {
        let findings = Findings {
            landlock: 0,
            ..detect::find(Tier::A)
        };
        Self::of(findings, false, None)
    }

    /// Contains nothing: for a person who turned it off.
    #[must_use]
    pub fn off() -> Self {
        Self::of(detect::find(Tier::None), true, None)
    }

    /// Sets the relay that answers the network of commands. Without it, a command runs without a
    /// network even if its plan has one.
    #[must_use]
    pub fn serving(self, relay: Arc<dyn StartRelay>) -> Self {
        let state = &*self.shared;
        let findings = Findings {
            report: state.report.clone(),
            landlock: state.landlock,
            cgroups: state.cgroups.clone(),
        };
        Self::of(findings, state.is_off, Some(relay))
    }

    fn of(findings: Findings, is_off: bool, relay: Option<Arc<dyn StartRelay>>) -> Self {
        let state = SandboxState {
            tier: findings.report.tier,
            is_off,
            report: findings.report,
            landlock: findings.landlock,
            cgroups: findings.cgroups,
            homes: homes(),
            owners: OnceLock::new(),
            relay,
            pool: Arc::new(ContainerPool::new()),
            process_counter: Arc::default(),
            folder_cache: FolderCache::default(),
            git_answers: Arc::default(),
        };
        Self {
            shared: Arc::new(state),
        }
    }

    /// How strongly commands are contained.
    #[must_use]
    pub fn tier(&self) -> Tier {
        self.shared.tier
    }

    /// What each layer gives, why it is not more, and how to fix that.
    #[must_use]
    pub fn report(&self) -> &SandboxReport {
        &self.shared.report
    }

    /// Runs a command to its end, with everything it starts: when this returns or is dropped, no
    /// process of it is left.
    ///
    /// It also makes the container of the next command with the same plan, which waits a while for
    /// it.
    ///
    /// # Errors
    ///
    /// When the command could not be started as the plan says. Then nothing of it ran.
    pub async fn run(
        &self,
        plan: &Plan,
        command: Command,
        cancel: CancellationToken,
    ) -> Result<CommandOutcome, SandboxError> {
        let started = Instant::now();
        let shared = &*self.shared;
        if shared.tier == Tier::None && !shared.is_off {
            return Err(SandboxError::NoSandbox(detect::why_not(&shared.report)));
        }
        if plan.programs != Programs::Any && !shared.has_rules() && !shared.is_off {
            return Err(SandboxError::NoSandbox(
                "only Landlock can enforce a list of programs, and this kernel has none, or one that is too old".into(),
            ));
        }
        check_texts(plan, &command)?;
        let namespaces = NamespaceSpec::of(shared, plan)?;
        let (identity, uid) = (namespaces.identity, namespaces.identity.uid);
        let is_expected = shared.tier != Tier::None && shared.pool.has_for_plan(plan);
        let helper = (!is_expected)
            .then(|| Helper::start(&namespaces.block))
            .transpose()?;
        let counting = shared
            .counts_all()
            .then(|| PendingCount::begin(&shared.process_counter, uid, plan.limits.processes / 8));
        let mut spec = ContainerSpec::new(shared, plan, namespaces, Watching::Yes)?;
        let (folder, program) = spec.resolve(&command)?;
        let found = is_expected
            .then(|| shared.pool.take(&spec.key(), || spec.stamps()))
            .flatten();
        let is_ready = found.is_some();
        let container = match found {
            Some(container) => container,
            // The relay starts when the helper reports that the network exists.
            None if spec.namespaces.ports.is_some() => spec.make(helper, ReadyReport::Wanted)?,
            None => spec.make(helper, ReadyReport::Unwanted)?,
        };
        let others = match (shared.tier, container.group.processes, counting) {
            (Tier::A, ..) => HELPERS,
            (_, Mechanism::Rlimit, Some(counting)) => {
                counting.end(&shared.process_counter, uid).await + HELPERS
            }
            (_, Mechanism::Rlimit, None) => shared.process_counter.count(uid) + HELPERS,
            // The cgroup counts, and only what belongs to the command.
            _ => u64::from(u32::MAX),
        };
        let block = spec.command(
            &command,
            &folder,
            &program,
            &container,
            others,
            plan.limits.deadline.saturating_sub(started.elapsed()),
        );
        // If something fails from here on, the helper must go first, because it is in the cgroups.
        let Container {
            weaker,
            scratch,
            group,
            helper,
        } = container;
        let (streams, ends) = streams(&command.stdin)?;
        helper.start_command(&block, &streams)?;
        drop(streams);
        let mut enforced = enforced(shared, plan, &identity, &group, weaker);
        let ended = helper
            .process
            .pidfd
            .try_clone()
            .map_err(SandboxError::step("pidfd"))?;
        let mut kept = ProtectionGuard {
            protected: std::mem::take(&mut spec.protected),
            resources: CommandResources { group, scratch },
            ended,
            pool: Arc::downgrade(&shared.pool),
        };
        let network = match (&plan.network, spec.namespaces.ports.clone(), &shared.relay) {
            (Network::Allowed(domains), Some(ports), Some(relay)) => {
                Some((ports, domains, &**relay))
            }
            _ => None,
        };
        let [namespaces, place] = spec.blocks();
        let watch = CommandWatch {
            helper,
            ends,
            blocks: [namespaces, place, &block],
            is_ready,
            program: &program,
            limits: &plan.limits,
            group: &kept.resources.group,
            protected: &mut kept.protected,
            network,
            started,
        };
        let watched = watch
            .run(command.stdin, command.output, command.signals, cancel)
            .await;
        let undone = kept.protected.restore(Some(&shared.pool));
        let mut watched = watched?;
        for note in std::mem::take(&mut kept.protected.notes) {
            // A command that failed may have failed because of it.
            if watched.end != End::Exited(0) {
                watched.denials.push(Denial {
                    layer: DenialLayer::Files,
                    what: "writing".into(),
                    why: note.clone(),
                });
            }
            enforced.weaker.push(note);
        }
        for UndoReport { path, why } in undone {
            watched.end = End::Protected;
            let what = path
                .strip_prefix(&plan.files.project)
                .unwrap_or(&path)
                .display()
                .to_string();
            watched.denials.push(Denial {
                layer: DenialLayer::Files,
                what,
                why,
            });
        }
        collect(watched.rest, std::mem::take(&mut kept.resources));
        if shared.tier != Tier::None && !pending::is_last_call() {
            self.make_ahead(plan);
        }
        Ok(CommandOutcome {
            end: watched.end,
            stdout: watched.stdout,
            stderr: watched.stderr,
            duration: started.elapsed(),
            enforced,
            denials: watched.denials,
        })
    }

    /// Makes a container for the next command with the same plan, after this one's result is on its
    /// way.
    fn make_ahead(&self, plan: &Plan) {
        let Some(permit) = self.shared.pool.permit() else {
            return;
        };
        let (shared, plan) = (Arc::downgrade(&self.shared), plan.clone());
        let make = move || -> Option<()> {
            let shared = shared.upgrade().filter(|_| !pending::is_last_call())?;
            let namespaces = NamespaceSpec::of(&shared, &plan).ok()?;
            if shared.counts_all() {
                shared.process_counter.count(namespaces.identity.uid);
            }
            let spec = ContainerSpec::new(&shared, &plan, namespaces, Watching::No).ok()?;
            let (key, stamps) = (spec.key(), spec.stamps());
            if !shared.pool.has(&key) {
                let helper = Helper::start(&spec.namespaces.block).ok()?;
                let mut container = spec.make(Some(helper), ReadyReport::Wanted).ok()?;
                if wait_until_ready(&mut container) {
                    let plan = plan.clone();
                    shared.pool.put(&permit, plan, key, stamps, container);
                }
            }
            Some(())
        };
        let shared = Arc::downgrade(&self.shared);
        tokio::spawn(async move {
            // A program that runs one command and exits should not wait for a container it will not
            // use.
            tokio::time::sleep(BREATH).await;
            let _ = tokio::task::spawn_blocking(make).await;
            tokio::time::sleep(pool::LIFETIME).await;
            if let Some(shared) = shared.upgrade() {
                shared.pool.drop_expired();
            }
        });
    }
}

/// The processes of one helper.
const HELPERS: u64 = 2;
/// How long after a command the container of the next one is made.
const BREATH: Duration = Duration::from_millis(2);

/// Reaps a helper that is about to exit, and then removes its cgroups and its scratch folder; also
/// if the runtime is shut down before.
fn collect(
    Remains {
        mut helper,
        pidfd,
        ends,
    }: Remains,
    CommandResources { group, scratch }: CommandResources,
) {
    tokio::spawn(async move {
        drop(ends);
        let _ = pidfd.readable().await;
        helper.reap();
        drop(group);
        if scratch.is_some() {
            let _ = tokio::task::spawn_blocking(move || drop(scratch)).await;
        }
    });
}

fn check_texts(plan: &Plan, command: &Command) -> Result<(), SandboxError> {
    let has_null = |text: &str| text.contains('\0');
    if std::iter::once(&command.program)
        .chain(&command.args)
        .any(|word| word.as_bytes().contains(&0))
    {
        return Err(SandboxError::NullCharacter("the command"));
    }
    if plan.environment.iter().any(|(name, value)| {
        has_null(name) || has_null(value) || name.contains('=') || name.is_empty()
    }) {
        return Err(SandboxError::NullCharacter("the environment"));
    }
    Ok(())
}
/// The streams of a command, and our ends of them.
fn streams(stdin: &Stdin) -> Result<(CommandStreams, AsyncPipes), SandboxError> {
    let failed = SandboxError::step::<io::Error>;
    let pipe = || pipe_with(PipeFlags::CLOEXEC).map_err(SandboxError::step("pipe"));
    let receive = |end| pipe::Receiver::from_owned_fd(end).map_err(failed("pipe"));
    let ((out, stdout), (err, stderr)) = (pipe()?, pipe()?);
    let (theirs, ours) = if matches!(stdin, Stdin::Empty) {
        let null = null()
            .and_then(File::try_clone)
            .map_err(failed("/dev/null"))?;
        (null.into(), None)
    } else {
        let (theirs, ours) = pipe()?;
        let ours = pipe::Sender::from_owned_fd(ours).map_err(failed("pipe"))?;
        (theirs, Some(ours))
    };
    let commands = CommandStreams {
        stdin: theirs,
        stdout,
        stderr,
    };
    let harness = AsyncPipes {
        stdin: ours,
        stdout: receive(out)?,
        stderr: receive(err)?,
    };
    Ok((commands, harness))
}
