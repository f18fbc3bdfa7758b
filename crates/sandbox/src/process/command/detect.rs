//! What this machine offers, found by trying each layer once.

use super::files::identity::{Change, Identity};
use super::files::landlock::{self, ALONE, INSIDE, SCOPES};
use super::files::mount_tree;
use super::files::view::View;
use super::helper::layout::{ENDED, FAILED, Word};
use super::helper::programs::{
    BECOMING, Parts, Room, command, namespaces, no_namespaces, with_namespaces, without_namespaces,
};
use super::helper::start::{Helper, Made, Streams};
use super::leftovers::pending;
use super::limits::cgroup::Cgroups;
use super::limits::rlimit::Held;
use super::protect::Protected;
use super::watch::{START, step_name};
use crate::plan::{Access, Files, Limits, Network, Plan, Programs};
use crate::process::child::null;
use crate::tier::{Layer, Mechanism, Report, Tier};
use rustix::event::{PollFd, PollFlags, poll};
use rustix::fs::Timespec;
use rustix::io::retry_on_intr;
use std::ffi::OsStr;
use std::fs::{self, File};
use std::io::{self, Read as _};
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// What was found.
pub(super) struct Findings {
    pub(super) report: Report,
    pub(super) landlock: i32,
    pub(super) cgroups: Cgroups,
}

/// A step that failed.
struct Failure {
    step: &'static str,
    cause: io::Error,
}

/// Not a step that failed, but why none was taken.
const NEEDS_LANDLOCK: &str =
    "not tried, because nothing runs without namespaces and without such a Landlock";

/// Where root is root of a user namespace that has nobody else.
const UNMAPPED: &str = "this user namespace has no user but root: give it more of them (`unshare --map-auto`), or run outside of it";

/// What root does for a command that will be somebody else.
const OPENING: &str = "opening files for another user";

/// Where root is root of a user namespace only, and the mounts belong to another; or of a container, and has not all of its rights.
const NOT_ITS_MOUNTS: &str = "root has no right over the mounts here: run it as an ordinary user, or below `unshare --mount`";

/// The same for the second best, while the best may be there again in a moment.
const NOT_TRIED: &str = "not tried, because namespaces are missing only for the moment";

/// `at_most` is the best tier that is wanted.
pub(super) fn find(at_most: Tier) -> Findings {
    let cgroups = Cgroups::find();
    pending::remove_stale(&cgroups);
    let (landlock, landlock_layer) = try_landlock();
    let no_landlock = || Err(failure(NEEDS_LANDLOCK, libc::EOPNOTSUPP));
    let namespaces = attempt(landlock, Tier::A);
    // In namespaces the same filter was just installed; whether there can be a place without them matters only where it is used.
    let filter = match &namespaces {
        Ok(()) if at_most == Tier::A => Ok(()),
        Err(failure) if at_most == Tier::A && may_pass(failure) => {
            Err(self::failure(NOT_TRIED, libc::EAGAIN))
        }
        _ if landlock >= ALONE => try_without_namespaces(landlock),
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
        report: Report { tier, layers },
        landlock,
        cgroups,
    }
}

/// What a helper says next; `None` when it says nothing more, an error when it does not for long.
fn told(helper: &mut Helper) -> io::Result<Option<[u8; size_of::<Word>()]>> {
    const LONG: Timespec = Timespec {
        tv_sec: 10,
        tv_nsec: 0,
    };
    let heard = retry_on_intr(|| {
        poll(
            &mut [PollFd::new(&helper.status, PollFlags::IN)],
            Some(&LONG),
        )
    })?;
    if heard == 0 {
        return Err(io::ErrorKind::TimedOut.into());
    }
    let mut word = [0; size_of::<Word>()];
    Ok(helper.status.read_exact(&mut word).is_ok().then_some(word))
}

/// Whether a step failed for want of something that comes and goes, which says nothing about the machine. What is weaker must not be chosen for it:
/// somebody else may have brought it about.
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
    // As many namespaces as there may be, which others have now.
    let is_crowded = code == Some(libc::ENOSPC) && !has_no_namespaces();
    is_crowded
        || failure.cause.kind() == io::ErrorKind::TimedOut
        || code.is_some_and(|code| passing.contains(&code))
}

/// Whether somebody said that there shall be none.
fn has_no_namespaces() -> bool {
    let is_none = |kind: &&str| {
        fs::read_to_string(format!("/proc/sys/user/max_{kind}_namespaces"))
            .is_ok_and(|most| most.trim() == "0")
    };
    ["user", "mnt", "pid", "net", "ipc", "uts"]
        .iter()
        .any(is_none)
}

/// The first layer that is missing, as a sentence.
pub(super) fn why_not(report: &Report) -> String {
    let missing: Vec<String> = report
        .layers
        .iter()
        .filter(|layer| !layer.works)
        .map(|layer| {
            format!(
                "{}: {}{}",
                layer.name,
                layer.detail,
                layer
                    .fix
                    .as_ref()
                    .map_or_else(String::new, |fix| format!(" ({fix})"))
            )
        })
        .collect();
    if missing.is_empty() {
        "the sandbox was set to none, which runs nothing".into()
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

fn try_landlock() -> (i32, Layer) {
    let name = "landlock";
    let layer = |works, detail, fix: Option<&str>| Layer {
        name,
        works,
        detail,
        fix: fix.map(str::to_owned),
    };
    match landlock::version() {
        Ok(version @ ALONE..) if version >= SCOPES => (
            version,
            layer(
                true,
                format!("version {version}: files, signals, abstract sockets"),
                None,
            ),
        ),
        Ok(version @ ALONE..) => (
            version,
            layer(
                true,
                format!("version {version}: files"),
                Some("a kernel from 6.12 on also keeps signals inside"),
            ),
        ),
        Ok(version) => {
            let use_of_it = if version >= INSIDE {
                "only around what namespaces close"
            } else {
                "of no use, as it lets nothing be moved between folders"
            };
            let detail =
                format!("version {version} cannot keep files from being truncated: {use_of_it}");
            (
                version,
                layer(false, detail, Some("use a kernel from 6.2 on")),
            )
        }
        Err(cause) if cause.raw_os_error() == Some(libc::EOPNOTSUPP) => (
            0,
            layer(
                false,
                "it is built in but switched off".into(),
                Some("add `landlock` to the kernel's `lsm=` boot parameter"),
            ),
        ),
        Err(cause) if cause.raw_os_error() == Some(libc::ENOSYS) => (
            0,
            layer(
                false,
                "this kernel has none, or the container refuses it".into(),
                Some(
                    "use a kernel from 6.2 on built with CONFIG_SECURITY_LANDLOCK, and a container profile that allows landlock_create_ruleset",
                ),
            ),
        ),
        Err(cause) => (
            0,
            layer(
                false,
                cause.to_string(),
                Some("allow landlock_create_ruleset in the container's seccomp profile"),
            ),
        ),
    }
}

fn namespaces_layer(tried: Result<(), Failure>) -> Layer {
    let name = "namespaces";
    match tried {
        Ok(()) => Layer {
            name,
            works: true,
            detail: "user, mount, pid, network, ipc and host name".into(),
            fix: None,
        },
        Err(failure) => {
            let fix = if may_pass(&failure) {
                "something was short for the moment: try again".into()
            } else {
                fix_for(failure.step, &failure.cause)
            };
            Layer {
                name,
                works: false,
                detail: format!("{}: {}", failure.step, failure.cause),
                fix: Some(fix),
            }
        }
    }
}

/// What to do about namespaces that cannot be made.
fn fix_for(step: &str, cause: &io::Error) -> String {
    let setting = |path: &str| {
        fs::read_to_string(path)
            .ok()
            .map(|text| text.trim().to_owned())
    };
    if setting("/proc/sys/kernel/apparmor_restrict_unprivileged_userns").as_deref() == Some("1") {
        return "Ubuntu's AppArmor refuses them: `sysctl kernel.apparmor_restrict_unprivileged_userns=0`, or an AppArmor profile for this program with `userns,`".into();
    }
    if setting("/proc/sys/user/max_user_namespaces").as_deref() == Some("0") {
        return "`sysctl user.max_user_namespaces=10000`".into();
    }
    if setting("/proc/sys/kernel/unprivileged_userns_clone").as_deref() == Some("0") {
        return "`sysctl kernel.unprivileged_userns_clone=1`".into();
    }
    match step {
        BECOMING => return UNMAPPED.into(),
        OPENING => return NOT_ITS_MOUNTS.into(),
        _ => {}
    }
    if step.contains("/proc") && matches!(cause.raw_os_error(), Some(libc::EPERM)) {
        return "the container covers parts of /proc: run it with `--security-opt systempaths=unconfined`".into();
    }
    match cause.raw_os_error() {
        Some(libc::ENOSYS) => "this kernel is too old: 5.12 or later is needed for namespaces, 6.2 where there are none".into(),
        Some(libc::EPERM | libc::EACCES) if is_container() => {
            "the container's seccomp profile refuses them: `--security-opt seccomp=unconfined`, or a profile that allows unshare, mount, open_tree, move_mount and mount_setattr".into()
        }
        _ => "user namespaces have to be allowed for this user".into(),
    }
}

fn is_container() -> bool {
    let seccomp = fs::read_to_string("/proc/self/status")
        .unwrap_or_default()
        .lines()
        .any(|line| line == "Seccomp:\t2");
    seccomp || Path::new("/.dockerenv").exists() || Path::new("/run/.containerenv").exists()
}

fn filter_layer(tried: Result<(), Failure>) -> Layer {
    let name = "seccomp";
    match tried {
        Ok(()) => Layer {
            name,
            works: true,
            detail: "a filter for system calls; in tier B also what keeps the network away".into(),
            fix: None,
        },
        Err(Failure {
            step: step @ (NEEDS_LANDLOCK | NOT_TRIED),
            ..
        }) => Layer {
            name,
            works: false,
            detail: step.into(),
            fix: None,
        },
        Err(Failure {
            step: BECOMING,
            cause,
        }) => Layer {
            name,
            works: false,
            detail: format!("{BECOMING}: {cause}"),
            fix: Some(UNMAPPED.into()),
        },
        Err(Failure { step, cause }) => {
            let fix = Some(
                "a kernel with CONFIG_SECCOMP_FILTER and CONFIG_PROC_CHILDREN is needed".into(),
            );
            Layer {
                name,
                works: false,
                detail: format!("{step}: {cause}"),
                fix,
            }
        }
    }
}

fn limits_layer(cgroups: &Cgroups) -> Layer {
    let (memory, processes) = (cgroups.memory(), cgroups.processes());
    let works = memory != Mechanism::Rlimit;
    let fix = "start the harness in a cgroup that is delegated to it with memory and pids enabled below (`systemd-run --user --scope -p Delegate=yes`)";
    Layer {
        name: "cgroups",
        works,
        detail: format!("memory by {memory}, processes by {processes}"),
        fix: (!works).then(|| fix.into()),
    }
}

fn try_without_namespaces(version: i32) -> Result<(), Failure> {
    if !Path::new("/proc/thread-self/children").exists() {
        return Err(failure("keeping track of descendants", libc::ENOENT));
    }
    attempt(version, Tier::B)
}

/// Goes all the way to starting a program that does not exist inside, which is the one failure that means success.
fn attempt(version: i32, tier: Tier) -> Result<(), Failure> {
    let plan = trivial_plan();
    let failed = |step| move |cause| Failure { step, cause };
    let identity = Identity::of(&plan.files.workspace).map_err(failed("the workspace"))?;
    let view =
        View::new(&plan, &identity, &[], &Protected::default(), Tier::A).map_err(|error| {
            Failure {
                step: "the view",
                cause: io::Error::other(error.to_string()),
            }
        })?;
    let room = Room {
        plan: &plan,
        identity,
        trees: &[],
        landlock: Some((version, Vec::new())),
    };
    let parts = Parts {
        program: Path::new("/proc/does-not-exist"),
        name: OsStr::new("probe"),
        args: &[],
        folder: Path::new("/"),
        environment: Vec::new(),
        limits: &plan.limits,
        held: Held { memory: true },
        others: 1 << 20,
        is_ruled: version >= INSIDE,
        profile: None,
        class: None,
        priority: None,
        time_left: plan.limits.deadline,
    };
    if tier == Tier::A && identity.change != Change::None {
        mount_tree::open(&plan.files.workspace).map_err(failed(OPENING))?;
    }
    let (ground, place) = if tier == Tier::A {
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
    let streams = Streams {
        stdin: null()?,
        stdout: null()?,
        stderr: null()?,
    };
    let mut helper = Helper::start(&ground).map_err(set_up)?;
    helper
        .place(&place, &[], Made::Unsaid)
        .and_then(|()| helper.command(&command, &streams))
        .map_err(set_up)?;
    let number = |word: &[u8], at: usize| {
        u32::from_ne_bytes([word[at], word[at + 1], word[at + 2], word[at + 3]])
    };
    // Not to its end: taking namespaces apart takes longer than making them, and nobody has to wait for that.
    while let Some(word) = told(&mut helper).map_err(failed("the helper"))? {
        match number(&word, 0) {
            FAILED => {
                let (step, code) = (number(&word, 4) as usize, number(&word, 8).cast_signed());
                let step = step_name([&ground, &place, &command], step);
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
    fn what_is_short_for_the_moment_makes_nothing_weaker() {
        let passes = |code: i32| may_pass(&failure("namespaces", code));
        // The helper was killed; as many namespaces as there may be are in use.
        assert!(passes(libc::EPIPE) && passes(libc::EMFILE) && passes(libc::EAGAIN));
        assert_eq!(passes(libc::ENOSPC), !has_no_namespaces());
        assert!(!passes(libc::EPERM) && !passes(libc::ENOSYS) && !passes(libc::EINVAL));
    }
}
