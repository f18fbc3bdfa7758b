//! Running a command inside.

use super::detect::{self, Findings};
use super::enforced::enforced;
use super::files::homes::homes;
use super::files::landlock;
use super::helper::network::Serve;
use super::helper::start::{Helper, Made, Streams};
use super::leftovers::pending;
use super::limits::cgroup::Cgroups;
use super::limits::process_count::{Counting, Crowds};
use super::namespaces::Ground;
use super::prepare::{Layout, is_made};
use super::protect::{Had, Keeping, Undone, Watching};
use super::warm::pool::{self, Ready, Waiting};
use super::warm::stamp::Listings;
use super::watch::{Ours, Rest, Watch};
use super::{Command, Denial, DenialLayer, End, Finished, SandboxError, Stdin};
use crate::plan::{Network, Plan, Programs};
use crate::process::child::null;
use crate::tier::{Mechanism, Report, Tier};
use rustix::pipe::{PipeFlags, pipe_with};
use std::fs::File;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt as _;
use std::path::PathBuf;
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};
use tokio_util::sync::CancellationToken;

/// Runs commands, contained as strongly as this machine can. Chosen once; a copy is the same sandbox.
#[derive(Clone)]
pub struct Sandbox {
    shared: Arc<Shared>,
}

pub(super) struct Shared {
    pub(super) tier: Tier,
    /// A person turned it off: commands run, and every result says so.
    pub(super) is_off: bool,
    report: Report,
    pub(super) landlock: i32,
    pub(super) cgroups: Cgroups,
    pub(super) homes: Vec<PathBuf>,
    pub(super) owners: OnceLock<Result<OwnedFd, String>>,
    pub(super) serve: Option<Arc<dyn Serve>>,
    waiting: Waiting,
    crowds: Arc<Crowds>,
    pub(super) listings: Listings,
}

impl Shared {
    /// Whether Landlock's rules hold for commands.
    pub(super) fn has_rules(&self) -> bool {
        self.tier != Tier::None && self.landlock >= landlock::INSIDE
    }

    /// Whether the limit on processes counts everything that the command's user runs.
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
    /// The strongest this machine has, found by trying.
    #[must_use]
    pub fn detect() -> Self {
        Self::of(detect::find(Tier::A), false)
    }

    /// A weaker one than the machine has, for tests. A stronger one than the machine has is what the machine has.
    #[must_use]
    pub fn with_tier(tier: Tier) -> Self {
        Self::of(detect::find(tier), false)
    }

    /// As on a kernel without Landlock, for tests.
    #[must_use]
    pub fn without_landlock() -> Self {
        Self::of(
            Findings {
                landlock: 0,
                ..detect::find(Tier::A)
            },
            false,
        )
    }

    /// Contains nothing: for a person who turned it off.
    #[must_use]
    pub fn off() -> Self {
        Self::of(detect::find(Tier::None), true)
    }

    /// Has the network of commands answered. Without this, a plan with a network runs without one.
    #[must_use]
    pub fn serving(self, serve: Arc<dyn Serve>) -> Self {
        let Shared {
            tier,
            is_off,
            report,
            landlock,
            cgroups,
            homes,
            ..
        } = &*self.shared;
        let (report, cgroups, homes) = (report.clone(), cgroups.clone(), homes.clone());
        let (tier, is_off, landlock, owners) = (*tier, *is_off, *landlock, OnceLock::new());
        let (serve, waiting, crowds, listings) = (
            Some(serve),
            Waiting::new(),
            Arc::default(),
            Listings::default(),
        );
        Self {
            shared: Arc::new(Shared {
                tier,
                is_off,
                report,
                landlock,
                cgroups,
                homes,
                owners,
                serve,
                waiting,
                crowds,
                listings,
            }),
        }
    }

    fn of(findings: Findings, is_off: bool) -> Self {
        let Findings {
            report,
            landlock,
            cgroups,
        } = findings;
        let (tier, owners, waiting, crowds) =
            (report.tier, OnceLock::new(), Waiting::new(), Arc::default());
        let (homes, serve, listings) = (homes(), None, Listings::default());
        let shared = Shared {
            tier,
            is_off,
            report,
            landlock,
            cgroups,
            homes,
            owners,
            serve,
            waiting,
            crowds,
            listings,
        };
        Self {
            shared: Arc::new(shared),
        }
    }

    /// How strongly commands are contained.
    #[must_use]
    pub fn tier(&self) -> Tier {
        self.shared.tier
    }

    /// What each layer gives, why it is not more, and what to do about it.
    #[must_use]
    pub fn report(&self) -> &Report {
        &self.shared.report
    }

    /// Runs a command to its end, and everything it starts: when this returns, or is dropped, none of it is left.
    ///
    /// The place of the next command with the same plan is made ahead, and waits a while for it.
    ///
    /// # Errors
    ///
    /// When it could not be started as the plan says. Then nothing of it ran.
    pub async fn run(
        &self,
        plan: &Plan,
        command: Command,
        cancel: CancellationToken,
    ) -> Result<Finished, SandboxError> {
        let started = Instant::now();
        let shared = &*self.shared;
        if shared.tier == Tier::None && !shared.is_off {
            return Err(SandboxError::NoSandbox(detect::why_not(&shared.report)));
        }
        if plan.programs != Programs::Any && !shared.has_rules() && !shared.is_off {
            return Err(SandboxError::NoSandbox(
                "a list of programs is kept by Landlock, and this kernel has none, or one that is too old".into(),
            ));
        }
        check_texts(plan, &command)?;
        let ground = Ground::of(shared, plan)?;
        let (identity, uid) = (ground.identity, ground.identity.uid);
        let is_expected = shared.tier != Tier::None && shared.waiting.expects(plan);
        let started_first = if is_expected {
            None
        } else {
            Some(Helper::start(&ground.block)?)
        };
        let counting = shared
            .counts_all()
            .then(|| Counting::begin(&shared.crowds, uid, plan.limits.processes / 8));
        let mut layout = Layout::new(shared, plan, ground, Watching::Yes)?;
        let (folder, program) = layout.resolve(&command)?;
        let found = if is_expected {
            shared.waiting.take(&layout.likeness(), || layout.stamps())
        } else {
            None
        };
        let is_ready = found.is_some();
        let ready = match (found, started_first) {
            (Some(ready), _) => ready,
            (None, helper) => {
                let gathered = layout.gather()?;
                let helper = match helper {
                    Some(helper) => helper,
                    None => Helper::start(&layout.ground.block)?,
                };
                // Whoever answers its network is told when that is there.
                let made = if layout.ground.ports.is_some() {
                    Made::Said
                } else {
                    Made::Unsaid
                };
                layout.make(gathered, helper, made)?
            }
        };
        let others = match (shared.tier, ready.group.processes, counting) {
            (Tier::A, ..) => HELPERS,
            (_, Mechanism::Rlimit, Some(counting)) => {
                counting.end(&shared.crowds, uid).await + HELPERS
            }
            (_, Mechanism::Rlimit, None) => shared.crowds.count(uid) + HELPERS,
            // The group counts, and only what is the command's.
            _ => u64::from(u32::MAX),
        };
        let block = layout.command(
            &command,
            &folder,
            &program,
            &ready,
            others,
            plan.limits.deadline.saturating_sub(started.elapsed()),
        );
        // Where something fails from here on, the helper goes first, because it is in the groups.
        let Ready {
            weaker,
            scratch,
            group,
            helper,
        } = ready;
        let (streams, ends) = streams(&command.stdin)?;
        helper.command(&block, &streams)?;
        drop(streams);
        let ends = ends.watched()?;
        let mut enforced = enforced(shared, plan, &identity, &group, weaker);
        let ended = helper
            .process
            .pidfd
            .try_clone()
            .map_err(SandboxError::step("pidfd"))?;
        let mut kept = Keeping::new(
            std::mem::take(&mut layout.protected),
            Had { group, scratch },
            ended,
        );
        let network = match (&plan.network, layout.ground.ports.clone(), &shared.serve) {
            (Network::Allowed(domains), Some(ports), Some(serve)) => {
                Some((ports, domains, &**serve))
            }
            _ => None,
        };
        let [ground, place] = layout.blocks();
        let (blocks, limits, protected) =
            ([ground, place, &block], &plan.limits, &mut kept.protected);
        let group = &kept.had.group;
        let watch = Watch {
            helper,
            ends,
            blocks,
            is_ready,
            program: &program,
            limits,
            group,
            protected,
            network,
            started,
        };
        let watched = watch
            .run(command.stdin, command.output, command.signals, cancel)
            .await;
        let undone = kept.protected.restore();
        if !kept.protected.is_complete {
            enforced.weaker.push(
                "the workspace is large: protected names deep in it were not all looked for".into(),
            );
        }
        let mut watched = watched?;
        for Undone { path, why } in undone {
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
        collect(watched.rest, std::mem::take(&mut kept.had));
        if shared.tier != Tier::None && !pending::is_last() {
            self.make_ahead(plan);
        }
        Ok(Finished {
            end: watched.end,
            stdout: watched.stdout,
            stderr: watched.stderr,
            duration: started.elapsed(),
            enforced,
            denials: watched.denials,
        })
    }

    /// Makes a place for the next command of the same plan, when this one has been answered.
    fn make_ahead(&self, plan: &Plan) {
        let Some(leave) = self.shared.waiting.leave() else {
            return;
        };
        let (shared, plan) = (Arc::downgrade(&self.shared), plan.clone());
        let make = move || -> Option<()> {
            let shared = shared.upgrade().filter(|_| !pending::is_last())?;
            let ground = Ground::of(&shared, &plan).ok()?;
            if shared.counts_all() {
                shared.crowds.count(ground.identity.uid);
            }
            let layout = Layout::new(&shared, &plan, ground, Watching::No).ok()?;
            let (likeness, stamps) = (layout.likeness(), layout.stamps());
            if !shared.waiting.has(&likeness) {
                let helper = Helper::start(&layout.ground.block).ok()?;
                let mut ready = layout
                    .make(layout.gather().ok()?, helper, Made::Said)
                    .ok()?;
                is_made(&mut ready).then(|| {
                    shared
                        .waiting
                        .put(&leave, plan.clone(), likeness, stamps, ready)
                })?;
            }
            Some(())
        };
        let shared = Arc::downgrade(&self.shared);
        tokio::spawn(async move {
            // Whoever runs one command and ends should not wait for a place that nobody will use.
            tokio::time::sleep(BREATH).await;
            let _ = tokio::task::spawn_blocking(make).await;
            tokio::time::sleep(pool::PATIENCE).await;
            if let Some(shared) = shared.upgrade() {
                shared.waiting.tidy();
            }
        });
    }
}

/// The processes of one helper.
const HELPERS: u64 = 2;
/// How long after a command the place of the next one is made.
const BREATH: Duration = Duration::from_millis(2);

/// Sees to it that a helper that is about to end is collected, and its groups and its folder with it. A runtime that ends before does so then.
fn collect(
    Rest {
        mut helper,
        pidfd,
        ends,
    }: Rest,
    Had { group, scratch }: Had,
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
fn streams(stdin: &Stdin) -> Result<(Streams, Ours), SandboxError> {
    let pipe = || pipe_with(PipeFlags::CLOEXEC).map_err(SandboxError::step("pipe"));
    let ((out, stdout), (err, stderr)) = (pipe()?, pipe()?);
    let (theirs, ours) = if matches!(stdin, Stdin::Empty) {
        (
            null()
                .and_then(File::try_clone)
                .map_err(SandboxError::step("/dev/null"))?
                .into(),
            None,
        )
    } else {
        let (theirs, ours) = pipe()?;
        (theirs, Some(ours))
    };
    Ok((
        Streams {
            stdin: theirs,
            stdout,
            stderr,
        },
        Ours {
            stdin: ours,
            stdout: out,
            stderr: err,
        },
    ))
}
