//! Running a command inside.

use super::cgroup::{Cgroups, Group};
use super::detect::{self, Findings};
use super::identity::{Change, Identity};
use super::limit::Held;
use super::net::{Ports, Serve};
use super::protect::Protected;
use super::scratch::Scratch;
use super::script::{Parts, with_namespaces, without_namespaces};
use super::spawn::{Helper, Streams};
use super::view::{View, What, homes};
use super::watch::{Ends, Watch};
use super::{Command, Denial, End, Finished, SandboxError, Stdin, landlock, program, rights, tree};
use crate::plan::{Access, Network, Plan};
use crate::tier::{Enforced, Mechanism, Report, Tier};
use rustix::pipe::{PipeFlags, pipe_with};
use std::fs::File;
use std::io;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};
use std::time::Instant;
use tokio::net::unix::pipe;
use tokio_util::sync::CancellationToken;

/// Runs commands, contained as strongly as this machine can. Chosen once; a copy is the same sandbox.
#[derive(Clone)]
pub struct Sandbox {
    shared: Arc<Shared>,
}

struct Shared {
    tier: Tier,
    /// A person turned it off: commands run, and every result says so.
    is_off: bool,
    report: Report,
    landlock: i32,
    cgroups: Cgroups,
    homes: Vec<PathBuf>,
    owners: OnceLock<Result<OwnedFd, String>>,
    serve: Option<Arc<dyn Serve>>,
}

impl std::fmt::Debug for Sandbox {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Sandbox").field("tier", &self.shared.tier).finish_non_exhaustive()
    }
}

impl Sandbox {
    /// The strongest this machine has, found by trying.
    #[must_use]
    pub fn detect() -> Self {
        Self::of(detect::find(), None, false)
    }

    /// A weaker one than the machine has, for tests. A stronger one than the machine has is what the machine has.
    #[must_use]
    pub fn with_tier(tier: Tier) -> Self {
        Self::of(detect::find(), Some(tier), false)
    }

    /// Contains nothing: for a person who turned it off.
    #[must_use]
    pub fn off() -> Self {
        Self::of(detect::find(), Some(Tier::None), true)
    }

    /// Has the network of commands answered. Without this, a plan with a network runs without one.
    #[must_use]
    pub fn serving(self, serve: Arc<dyn Serve>) -> Self {
        let Shared { tier, is_off, report, landlock, cgroups, homes, .. } = &*self.shared;
        let (report, cgroups, homes) = (report.clone(), cgroups.clone(), homes.clone());
        let (tier, is_off, landlock, owners) = (*tier, *is_off, *landlock, OnceLock::new());
        Self { shared: Arc::new(Shared { tier, is_off, report, landlock, cgroups, homes, owners, serve: Some(serve) }) }
    }

    fn of(findings: Findings, wanted: Option<Tier>, is_off: bool) -> Self {
        let rank = |tier: Tier| match tier {
            Tier::A => 2,
            Tier::B => 1,
            Tier::None => 0,
        };
        let Findings { mut report, landlock, cgroups } = findings;
        if let Some(wanted) = wanted.filter(|wanted| rank(*wanted) < rank(report.tier)) {
            report.tier = wanted;
        }
        let shared = Shared { tier: report.tier, is_off, report, landlock, cgroups, homes: homes(), owners: OnceLock::new(), serve: None };
        Self { shared: Arc::new(shared) }
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
    /// # Errors
    ///
    /// When it could not be started as the plan says. Then nothing of it ran.
    pub async fn run(&self, plan: &Plan, command: Command, cancel: CancellationToken) -> Result<Finished, SandboxError> {
        let started = Instant::now();
        let mut prepared = self.prepare(plan, &command)?;
        let (streams, ends) = streams(&command.stdin)?;
        let helper = Helper::start(&prepared.block, &streams, &prepared.further)?;
        drop(streams);
        prepared.further.clear();
        let Prepared { steps, program, group, protected, mut enforced, ports, scratch, .. } = prepared;
        let network = match (&plan.network, ports, &self.shared.serve) {
            (Network::Allowed(domains), Some(ports), Some(serve)) => Some((ports, domains, &**serve)),
            _ => None,
        };
        let watch =
            Watch { helper, ends, steps, program: &program, limits: &plan.limits, group: &group, protected: &protected, network, started };
        let watched = watch.run(command.stdin, command.output, command.signals, cancel).await;
        let set_aside = protected.restore();
        drop(scratch);
        let mut watched = watched?;
        for path in set_aside {
            watched.end = End::Protected;
            let what = path.strip_prefix(&plan.files.workspace).unwrap_or(&path).display().to_string();
            watched.denials.push(Denial {
                layer: "files",
                what,
                why: "it governs calls, and no command makes it; it was set aside".into(),
            });
        }
        enforced.memory = group.memory;
        Ok(Finished {
            end: watched.end,
            stdout: watched.stdout,
            stderr: watched.stderr,
            duration: started.elapsed(),
            enforced,
            denials: watched.denials,
        })
    }

    fn prepare(&self, plan: &Plan, command: &Command) -> Result<Prepared, SandboxError> {
        let shared = &*self.shared;
        if shared.tier == Tier::None && !shared.is_off {
            return Err(SandboxError::NoSandbox(detect::why_not(&shared.report)));
        }
        check_texts(plan, command)?;
        let workspace = &plan.files.workspace;
        let bad = |cause| SandboxError::BadPlace { what: "workspace", path: workspace.clone(), cause };
        let mut identity = Identity::of(workspace).map_err(bad)?;
        if shared.is_off {
            identity =
                Identity { uid: rustix::process::geteuid().as_raw(), gid: rustix::process::getegid().as_raw(), change: Change::None };
        }
        let protected =
            if plan.files.access == Access::Write && !shared.is_off { Protected::find(workspace) } else { Protected::default() };
        let view = View::new(plan, &identity, &shared.homes, &protected)?;
        let is_visible = |path: &Path| shared.is_off || view.is_visible(path);
        let folder = start_folder(plan, command, &view)?;
        let program = program::resolve(plan, command, &folder, &is_visible)?;
        let group = shared.cgroups.make(&plan.limits);
        let mut enforced = self.enforced(plan, &identity, &group);
        if !protected.is_complete && plan.files.access == Access::Write {
            enforced.weaker.push("the workspace is large: protected names deep in it were not all looked for".into());
        }
        let (trees, mut further) = self.trees(plan, &identity, &view, &mut enforced)?;
        let doors = group.doors().map_err(SandboxError::step("control groups"))?;
        let scratch = if shared.tier == Tier::B { Some(Scratch::new(&identity)?) } else { None };
        let mut environment: Vec<String> = plan.environment.iter().map(|(name, value)| format!("{name}={value}")).collect();
        if let Some(scratch) = &scratch {
            environment.retain(|line| !line.starts_with("TMPDIR="));
            environment.push(format!("TMPDIR={}", scratch.path().display()));
        }
        let landlock = match (shared.tier, &scratch) {
            (Tier::A, _) => Some((shared.landlock, rights::inside_namespaces(plan, &view, shared.landlock))),
            (Tier::B, Some(scratch)) => Some((shared.landlock, rights::alone(plan, &view, shared.landlock, scratch.path()))),
            _ => None,
        };
        let parts = Parts {
            plan,
            identity,
            program: &program,
            name: &command.program,
            args: &command.args,
            folder: &folder,
            environment,
            trees: &trees,
            doors: doors.len(),
            held: Held { memory: group.memory != Mechanism::Rlimit },
            others: match (shared.tier, group.processes) {
                (Tier::A, _) => 2,
                (_, Mechanism::Rlimit) => processes_of(identity.uid) + 1,
                // The group counts, and only what is the command's.
                _ => u64::from(u32::MAX),
            },
            landlock,
        };
        let ports = match (&plan.network, shared.tier, &shared.serve) {
            (Network::Allowed(domains), Tier::A, Some(_)) if !domains.is_empty() => Some(Ports::of(domains)),
            _ => None,
        };
        let (block, steps) =
            if shared.tier == Tier::A { with_namespaces(&parts, &view, ports.as_ref()) } else { without_namespaces(&parts) };
        further.extend(doors.into_iter().map(OwnedFd::from));
        Ok(Prepared { block, steps, program, further, group, protected, enforced, ports, scratch })
    }

    /// Opens what the command's user could not, as that user should see it.
    fn trees(
        &self,
        plan: &Plan,
        identity: &Identity,
        view: &View,
        enforced: &mut Enforced,
    ) -> Result<(Vec<PathBuf>, Vec<OwnedFd>), SandboxError> {
        let (mut paths, mut opened) = (Vec::new(), Vec::new());
        if self.shared.tier != Tier::A || identity.change == Change::None {
            return Ok((paths, opened));
        }
        let outermost = |within: &Option<(PathBuf, What)>| !within.as_ref().is_some_and(|(_, what)| what.is_tree());
        for placement in view.placements.iter().filter(|placement| placement.what.is_tree() && outermost(&placement.within)) {
            let failed = |cause| SandboxError::BadPlace { what: "place", path: placement.path.clone(), cause };
            let tree = tree::open(&placement.path).map_err(failed)?;
            let is_own = placement.what == What::Write || placement.path.starts_with(&plan.files.workspace);
            if identity.change == Change::Nobody && is_own {
                let owners = self.shared.owners.get_or_init(|| tree::owners(identity).map_err(|cause| cause.to_string()));
                let shown = owners
                    .as_ref()
                    .map_err(Clone::clone)
                    .and_then(|owners| tree::show_owners(&tree, owners).map_err(|cause| cause.to_string()));
                if let Err(cause) = shown {
                    enforced.weaker.push(format!(
                        "root's files in `{}` cannot be changed by the command: its file system shows no other owners ({cause})",
                        placement.path.display()
                    ));
                }
            }
            paths.push(placement.path.clone());
            opened.push(tree);
        }
        Ok((paths, opened))
    }

    fn enforced(&self, plan: &Plan, identity: &Identity, group: &Group) -> Enforced {
        let tier = self.shared.tier;
        let mut weaker = Vec::new();
        let asks_network = matches!(&plan.network, Network::Allowed(domains) if !domains.is_empty());
        let network = match tier {
            Tier::A if asks_network && self.shared.serve.is_some() => "relay",
            Tier::A => "namespace",
            Tier::B => "seccomp",
            Tier::None => "none",
        };
        if asks_network && network != "relay" && tier != Tier::None {
            weaker.push("the plan allows hosts, but none can be reached here: that needs tier A and a relay".into());
        }
        if tier == Tier::B {
            weaker.push("no private /tmp: TMPDIR is a folder of its own, without a bound on its size".into());
            weaker.push("nothing new can be made at the top of the workspace or in `.git`, because names there govern calls".into());
            if identity.change == Change::Nobody {
                weaker.push("the workspace is root's, and the command is not: it writes only what everybody may".into());
            } else {
                weaker.push("modes and times of files of the same user can be changed, also outside the workspace".into());
            }
            if self.shared.landlock < landlock::SCOPES {
                weaker.push("processes of the same user can be signalled: this kernel's Landlock is too old to keep signals inside".into());
            }
        }
        if tier == Tier::None {
            weaker.push("the sandbox is turned off".into());
        }
        if group.memory == Mechanism::Rlimit {
            weaker.push("memory is limited for each process, not for all together".into());
        }
        Enforced {
            tier,
            files: match tier {
                Tier::A => "namespaces, landlock",
                Tier::B => "landlock",
                Tier::None => "none",
            },
            network,
            memory: group.memory,
            cpu: if group.cpu_time().is_some() { Mechanism::Cgroup2 } else { Mechanism::Rlimit },
            processes: group.processes,
            tmp: if tier == Tier::A { Mechanism::Tmpfs } else { Mechanism::None },
            user: identity.uid,
            weaker,
        }
    }
}

/// Everything that is decided before a process starts.
struct Prepared {
    block: Vec<u8>,
    steps: Vec<&'static str>,
    program: PathBuf,
    further: Vec<OwnedFd>,
    group: Group,
    protected: Protected,
    enforced: Enforced,
    ports: Option<Ports>,
    scratch: Option<Scratch>,
}

fn check_texts(plan: &Plan, command: &Command) -> Result<(), SandboxError> {
    let has_null = |text: &str| text.contains('\0');
    if has_null(&command.program) || command.args.iter().any(|arg| has_null(arg)) {
        return Err(SandboxError::NullCharacter("the command"));
    }
    if plan.environment.iter().any(|(name, value)| has_null(name) || has_null(value) || name.contains('=') || name.is_empty()) {
        return Err(SandboxError::NullCharacter("the environment"));
    }
    Ok(())
}

fn start_folder(plan: &Plan, command: &Command, view: &View) -> Result<PathBuf, SandboxError> {
    let files = &plan.files;
    if files.access == Access::Hidden && command.cwd.is_none() {
        return Ok("/".into());
    }
    let wanted = files.workspace.join(command.cwd.as_deref().unwrap_or(Path::new("")));
    if wanted == Path::new("/tmp") {
        return Ok(wanted);
    }
    let bad = || SandboxError::BadFolder(wanted.clone());
    let real = std::fs::canonicalize(&wanted).map_err(|_| bad())?;
    let allowed = std::iter::once(&files.workspace).chain(&files.readable).chain(&files.writable);
    let is_allowed = allowed.filter_map(|place| std::fs::canonicalize(place).ok()).any(|place| real.starts_with(place));
    if is_allowed && real.is_dir() && view.is_visible(&real) { Ok(real) } else { Err(bad()) }
}

/// Where there is no user namespace, a process limit counts everything the user runs.
fn processes_of(uid: u32) -> u64 {
    use std::os::unix::fs::MetadataExt as _;
    let all = std::fs::read_dir("/proc").into_iter().flatten().flatten();
    let processes = all.filter(|entry| entry.file_name().to_string_lossy().bytes().all(|byte| byte.is_ascii_digit()));
    let own = processes.filter(|entry| entry.metadata().is_ok_and(|facts| facts.uid() == uid));
    own.map(|entry| std::fs::read_dir(entry.path().join("task")).map_or(1, |threads| threads.count() as u64)).sum()
}

fn streams(stdin: &Stdin) -> Result<(Streams, Ends), SandboxError> {
    let failed = SandboxError::step::<io::Error>;
    let pipe = || pipe_with(PipeFlags::CLOEXEC).map_err(SandboxError::step("pipe"));
    let ((out, stdout), (err, stderr)) = (pipe()?, pipe()?);
    let (theirs, ours) = if matches!(stdin, Stdin::Empty) {
        (File::open("/dev/null").map_err(failed("/dev/null"))?.into(), None)
    } else {
        let (theirs, ours) = pipe()?;
        (theirs, Some(pipe::Sender::from_owned_fd(ours).map_err(failed("pipe"))?))
    };
    let receive = |end| pipe::Receiver::from_owned_fd(end).map_err(failed("pipe"));
    let ends = Ends { stdin: ours, stdout: receive(out)?, stderr: receive(err)? };
    Ok((Streams { stdin: theirs, stdout, stderr }, ends))
}
