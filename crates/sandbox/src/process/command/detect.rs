//! What this machine offers, found by trying each layer once.

use super::files::identity::{Identity, UserChange};
use super::files::landlock::{self, FIRST_WITH_SCOPES, OLDEST_ALONE, OLDEST_IN_NAMESPACES};
use super::files::mount_tree;
use super::files::view::View;
use super::helper::layout::{ENDED, FAILED};
use super::helper::programs::{
    BECOMING, CommandSpec, ContainerInputs, command, namespaces, no_namespaces, with_namespaces,
    without_namespaces,
};
use super::helper::start::{CommandStreams, Helper, ReadyReport};
use super::leftovers::pending;
use super::limits::cgroup::Cgroups;
use super::protect::ProtectedFiles;
use super::watch::{START, step_name};
use crate::home::Homes;
use crate::plan::{Access, Files, Limits, Network, Plan, Programs};
use crate::process::child::null;
use crate::tier::{LayerReport, Mechanism, SandboxReport, Tier};
use std::ffi::OsStr;
use std::fs::{self, File};
use std::io;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// What the machine offers.
pub(super) struct Findings {
    pub(super) report: SandboxReport,
    pub(super) landlock: i32,
    pub(super) cgroups: Cgroups,
}

/// A step that failed.
struct Failure {
    step: &'static str,
    cause: io::Error,
}

/// Not a failed step, but why the harness tried none.
const NEEDS_LANDLOCK: &str =
    "not tried: without namespaces and without a recent Landlock nothing runs";

/// Root is root only in a user namespace without any other user.
const UNMAPPED: &str = "this user namespace has only root: map more users into it (`unshare --map-auto`), or run outside it";

/// What root does for a command that will run as another user.
const OPENING: &str = "opening files for another user";

/// Root is root only in a user namespace while the mounts belong to another one; or in a container
/// without all of root's capabilities.
const NOT_ITS_MOUNTS: &str =
    "root may not change the mounts here: run as an ordinary user, or under `unshare --mount`";

/// The same for tier B, while tier A may work again in a moment.
const NOT_TRIED: &str = "not tried: namespaces are only unavailable for the moment";

/// Finds the best tier up to `at_most`.
pub(super) fn find(at_most: Tier) -> Findings {
    let cgroups = Cgroups::find();
    pending::remove_stale(&cgroups);
    let (landlock, landlock_layer) = try_landlock();
    let no_landlock = || Err(failure(NEEDS_LANDLOCK, libc::EOPNOTSUPP));
    let namespaces = attempt(landlock, Tier::A);
    // In namespaces the same filter was just installed; whether a container without them works
    // matters only if it will be used.
    let filter = match &namespaces {
        Ok(()) if at_most == Tier::A => Ok(()),
        Err(failure) if at_most == Tier::A && may_pass(failure) => {
            Err(self::failure(NOT_TRIED, libc::EAGAIN))
        }
        _ if landlock >= OLDEST_ALONE => try_without_namespaces(landlock),
        _ => no_landlock(),
    };
    let tier = match (&namespaces, &filter, at_most) {
        (.., Tier::None) => Tier::None,
        (Ok(()), _, Tier::A) => Tier::A,
        (_, Ok(()), _) => Tier::B,
        (_, Err(_), _) => Tier::None,
    };
    let layers = vec![
        namespaces_layer(namespaces),
        landlock_layer,
        filter_layer(filter),
        limits_layer(&cgroups),
    ];
    Findings {
        report: SandboxReport { tier, layers },
        landlock,
        cgroups,
    }
}

/// Whether a step failed for lack of something that comes and goes, which says nothing about the
/// machine. It must not lead to a weaker tier: an attacker may have caused it.
fn may_pass(failure: &Failure) -> bool {
    let code = failure.cause.raw_os_error();
    let passing = [
        libc::ETOOMANYREFS,
        libc::EMFILE,
        libc::ENFILE,
        libc::ENOMEM,
        libc::EAGAIN,
        libc::ENOBUFS,
        libc::EPIPE,
    ];
    // Other processes use as many namespaces as there may be.
    let is_crowded = code == Some(libc::ENOSPC) && !has_no_namespaces();
    is_crowded
        || failure.cause.kind() == io::ErrorKind::TimedOut
        || code.is_some_and(|code| passing.contains(&code))
}

/// Whether the administrator disabled namespaces.
fn has_no_namespaces() -> bool {
    ["user", "mnt", "pid", "net", "ipc", "uts"]
        .iter()
        .any(|kind| has_setting(&format!("user/max_{kind}_namespaces"), "0"))
}

/// Whether a setting of the kernel has this value.
fn has_setting(name: &str, value: &str) -> bool {
    fs::read_to_string(Path::new("/proc/sys").join(name)).is_ok_and(|text| text.trim() == value)
}

/// The missing layers, as a sentence.
pub(super) fn why_not(report: &SandboxReport) -> String {
    let missing = report.layers.iter().filter(|layer| !layer.works);
    let shown = missing.map(
        |LayerReport {
             name, detail, fix, ..
         }| match fix {
            Some(fix) => format!("{name}: {detail} ({fix})"),
            None => format!("{name}: {detail}"),
        },
    );
    let missing: Vec<String> = shown.collect();
    if missing.is_empty() {
        "the sandbox was set to none, so nothing runs".into()
    } else {
        missing.join("; ")
    }
}

fn failure(step: &'static str, code: i32) -> Failure {
    Failure {
        step,
        cause: io::Error::from_raw_os_error(code),
    }
}

fn layer(name: &'static str, works: bool, detail: String, fix: Option<String>) -> LayerReport {
    LayerReport {
        name,
        works,
        detail,
        fix,
    }
}

fn try_landlock() -> (i32, LayerReport) {
    let found = landlock::version();
    let (works, detail, fix) = match &found {
        Ok(version) if *version >= FIRST_WITH_SCOPES => {
            let detail = format!("version {version}: files, signals, abstract sockets");
            (true, detail, None)
        }
        Ok(version) if *version >= OLDEST_ALONE => {
            let fix = "Linux 6.12 or newer also keeps signals inside";
            (true, format!("version {version}: files"), Some(fix))
        }
        Ok(version) => {
            let use_of_it = if *version >= OLDEST_IN_NAMESPACES {
                "only useful in addition to namespaces"
            } else {
                "useless, because it forbids all moves between folders"
            };
            let detail = format!("version {version} cannot prevent truncating files: {use_of_it}");
            (false, detail, Some("use Linux 6.2 or newer"))
        }
        Err(cause) => {
            let (detail, fix) = match cause.raw_os_error() {
                Some(libc::EOPNOTSUPP) => (
                    "it is built in but switched off".into(),
                    "add `landlock` to the kernel's `lsm=` boot parameter",
                ),
                Some(libc::ENOSYS) => (
                    "this kernel has no Landlock, or the container forbids it".into(),
                    "use Linux 6.2 or newer built with CONFIG_SECURITY_LANDLOCK, and a container profile that allows landlock_create_ruleset",
                ),
                _ => (
                    cause.to_string(),
                    "allow landlock_create_ruleset in the container's seccomp profile",
                ),
            };
            (false, detail, Some(fix))
        }
    };
    let report = layer("landlock", works, detail, fix.map(str::to_owned));
    (found.unwrap_or(0), report)
}

fn namespaces_layer(tried: Result<(), Failure>) -> LayerReport {
    let name = "namespaces";
    match tried {
        Ok(()) => {
            let detail = "user, mount, pid, network, ipc and host name";
            layer(name, true, detail.into(), None)
        }
        Err(failure) => {
            let fix = if may_pass(&failure) {
                "a resource is exhausted for the moment: try again"
            } else {
                fix_for(failure.step, &failure.cause)
            };
            let detail = format!("{}: {}", failure.step, failure.cause);
            layer(name, false, detail, Some(fix.into()))
        }
    }
}

/// How to get namespaces to work.
fn fix_for(step: &str, cause: &io::Error) -> &'static str {
    for (setting, value, fix) in [
        (
            "kernel/apparmor_restrict_unprivileged_userns",
            "1",
            "Ubuntu's AppArmor forbids them: `sysctl kernel.apparmor_restrict_unprivileged_userns=0`, or an AppArmor profile for this program with `userns,`",
        ),
        (
            "user/max_user_namespaces",
            "0",
            "`sysctl user.max_user_namespaces=10000`",
        ),
        (
            "kernel/unprivileged_userns_clone",
            "0",
            "`sysctl kernel.unprivileged_userns_clone=1`",
        ),
    ] {
        if has_setting(setting, value) {
            return fix;
        }
    }
    match step {
        BECOMING => return UNMAPPED,
        OPENING => return NOT_ITS_MOUNTS,
        _ => {}
    }
    if step.contains("/proc") && matches!(cause.raw_os_error(), Some(libc::EPERM)) {
        return "the container covers parts of /proc: run it with `--security-opt systempaths=unconfined`";
    }
    match cause.raw_os_error() {
        Some(libc::ENOSYS) => {
            "this kernel is too old: namespaces need 5.12 or newer, and Landlock alone needs 6.2"
        }
        Some(libc::EPERM | libc::EACCES) if is_container() => {
            "the container's seccomp profile forbids them: `--security-opt seccomp=unconfined`, or a profile that allows unshare, mount, open_tree, move_mount and mount_setattr"
        }
        _ => "allow user namespaces for this user",
    }
}

fn is_container() -> bool {
    let seccomp = fs::read_to_string("/proc/self/status")
        .unwrap_or_default()
        .lines()
        .any(|line| line == "Seccomp:\t2");
    seccomp || Path::new("/.dockerenv").exists() || Path::new("/run/.containerenv").exists()
}

fn filter_layer(tried: Result<(), Failure>) -> LayerReport {
    let name = "seccomp";
    match tried {
        Ok(()) => {
            let detail = "a system call filter; in tier B it also blocks the network";
            layer(name, true, detail.into(), None)
        }
        Err(Failure {
            step: step @ (NEEDS_LANDLOCK | NOT_TRIED),
            ..
        }) => layer(name, false, step.into(), None),
        Err(Failure { step, cause }) => {
            let fix = match step {
                BECOMING => UNMAPPED,
                _ => "a kernel with CONFIG_SECCOMP_FILTER and CONFIG_PROC_CHILDREN is needed",
            };
            layer(name, false, format!("{step}: {cause}"), Some(fix.into()))
        }
    }
}

fn limits_layer(cgroups: &Cgroups) -> LayerReport {
    let (memory, processes) = (cgroups.memory(), cgroups.processes());
    let works = memory != Mechanism::Rlimit;
    let fix = "start the harness in a cgroup that is delegated to it with memory and pids enabled below (`systemd-run --user --scope -p Delegate=yes`)";
    let detail = format!("memory by {memory}, processes by {processes}");
    layer("cgroups", works, detail, (!works).then(|| fix.into()))
}

fn try_without_namespaces(version: i32) -> Result<(), Failure> {
    if !Path::new("/proc/thread-self/children").exists() {
        return Err(failure("keeping track of descendants", libc::ENOENT));
    }
    attempt(version, Tier::B)
}

/// Goes all the way to starting a program that does not exist inside, which is the one failure that
/// means success.
fn attempt(version: i32, tier: Tier) -> Result<(), Failure> {
    const LONG: Duration = Duration::from_secs(10);
    let plan = trivial_plan();
    let failed = |step| move |cause| Failure { step, cause };
    let identity = Identity::of(&plan.files.workspace).map_err(failed("the workspace"))?;
    let protected = ProtectedFiles::default();
    let view = View::new(&plan, &identity, &Homes::default(), &protected, Tier::A)
        .map_err(|error| failed("the view")(io::Error::other(error.to_string())))?;
    let room = ContainerInputs {
        plan: &plan,
        identity,
        trees: &[],
        landlock: Some((version, Vec::new())),
    };
    let parts = CommandSpec {
        program: Path::new("/proc/does-not-exist"),
        name: OsStr::new("probe"),
        args: &[],
        folder: Path::new("/"),
        environment: Vec::new(),
        limits: &plan.limits,
        memory: Mechanism::Cgroup2,
        others: 1 << 20,
        is_ruled: version >= OLDEST_IN_NAMESPACES,
        profile: None,
        class: None,
        priority: None,
        time_left: plan.limits.deadline,
    };
    if tier == Tier::A && identity.change != UserChange::None {
        mount_tree::clone_mounts(&plan.files.workspace).map_err(failed(OPENING))?;
    }
    let (namespaces, place) = if tier == Tier::A {
        (namespaces(&identity, None), with_namespaces(&room, &view))
    } else {
        (no_namespaces(&identity), without_namespaces(&room))
    };
    let command = command(&parts);
    let set_up = |error| match error {
        super::SandboxError::SetUp { step, cause } => Failure { step, cause },
        other => Failure {
            step: "the helper",
            cause: io::Error::other(other.to_string()),
        },
    };
    let null = || {
        null()
            .and_then(File::try_clone)
            .map(OwnedFd::from)
            .map_err(failed("/dev/null"))
    };
    let streams = CommandStreams {
        stdin: null()?,
        stdout: null()?,
        stderr: null()?,
    };
    let mut helper = Helper::start(&namespaces).map_err(set_up)?;
    helper
        .make_container(&place, &[], ReadyReport::Unwanted)
        .and_then(|()| helper.start_command(&command, &streams))
        .map_err(set_up)?;
    // It does not wait for the end: tearing namespaces down takes longer than making them.
    while let Some(report) = helper.next_report(LONG).map_err(failed("the helper"))? {
        match report.kind {
            FAILED => {
                let (step, code) = (report.first as usize, report.second.cast_signed());
                let step = step_name([&namespaces, &place, &command], step);
                let expected = [libc::ENOENT, libc::EACCES];
                return if step == START && expected.contains(&code) {
                    Ok(())
                } else {
                    Err(failure(step, code))
                };
            }
            ENDED => return Ok(()),
            _ => {}
        }
    }
    Err(failure("the helper", libc::EPIPE))
}

fn trivial_plan() -> Plan {
    let files = Files {
        project: PathBuf::from("/etc"),
        workspace: PathBuf::from("/etc"),
        access: Access::Read,
        only: Vec::new(),
        hidden: Vec::new(),
        readable: Vec::new(),
        writable: Vec::new(),
        read_only: Vec::new(),
        home: None,
    };
    let limits = Limits {
        deadline: Duration::from_secs(5),
        memory_bytes: 1 << 30,
        cpu: Duration::from_secs(5),
        processes: 16,
        file_bytes: 1 << 20,
        tmp_bytes: 1 << 20,
        output_bytes: 1 << 10,
        flood_bytes: 1 << 20,
    };
    Plan {
        files,
        programs: Programs::Any,
        network: Network::None,
        environment: Vec::new(),
        limits,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_passing_shortage_does_not_weaken_the_tier() {
        let passes = |code: i32| may_pass(&failure("namespaces", code));
        // The helper was killed; all namespaces are in use.
        assert!(passes(libc::EPIPE) && passes(libc::EMFILE) && passes(libc::EAGAIN));
        assert_eq!(passes(libc::ENOSPC), !has_no_namespaces());
        assert!(!passes(libc::EPERM) && !passes(libc::ENOSYS) && !passes(libc::EINVAL));
    }
}
