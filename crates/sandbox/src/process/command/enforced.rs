//! What the kernel holds a command to, for the result.

use super::files::identity::{Change, Identity};
use super::files::landlock;
use super::limits::cgroup::Group;
use super::limits::memory;
use super::sandbox::Shared;
use crate::plan::{Network, Plan};
use crate::tier::{Enforced, Mechanism, Tier};

/// `weaker` is what is known already to be weaker than it should be.
pub(super) fn enforced(
    shared: &Shared,
    plan: &Plan,
    identity: &Identity,
    group: &Group,
    mut weaker: Vec<String>,
) -> Enforced {
    let tier = shared.tier;
    let asks_network = matches!(&plan.network, Network::Allowed(domains) if !domains.is_empty());
    let network = match tier {
        Tier::A if asks_network && shared.serve.is_some() => "relay",
        Tier::A => "namespace",
        Tier::B => "seccomp",
        Tier::None => "none",
    };
    if asks_network && network != "relay" && tier != Tier::None {
        weaker.push(
            "the plan allows hosts, but none can be reached here: that needs tier A and a relay"
                .into(),
        );
    }
    if tier == Tier::B {
        weaker.push(
            "no private /tmp: TMPDIR is a folder of its own, without a bound on its size".into(),
        );
        weaker.push("nothing new can be made at the top of the workspace or in `.git`, because names there govern calls".into());
        if identity.change == Change::Nobody {
            weaker.push("the workspace is root's, and the command is not: it writes only what everybody may".into());
        } else {
            weaker.push("modes and times of files of the same user can be changed, also outside the workspace".into());
        }
        if shared.landlock < landlock::SCOPES {
            weaker.push("processes of the same user can be signalled: this kernel's Landlock is too old to keep signals inside".into());
        }
    }
    if tier == Tier::A && !shared.has_rules() {
        weaker.push("files are kept by namespaces alone: this kernel has no Landlock, or one that is too old".into());
    }
    if tier == Tier::None {
        weaker.push("the sandbox is turned off".into());
    }
    if group.memory == Mechanism::Rlimit {
        let together = if memory::can_look() {
            "only looked at ten times a second"
        } else {
            "not limited"
        };
        weaker.push(format!(
            "memory is limited for each process; that of all together is {together}"
        ));
    }
    Enforced {
        tier,
        files: match tier {
            Tier::A if shared.has_rules() => "namespaces, landlock",
            Tier::A => "namespaces",
            Tier::B => "landlock",
            Tier::None => "none",
        },
        network,
        memory: group.memory,
        cpu: if group.cpu_time().is_some() {
            Mechanism::Cgroup2
        } else {
            Mechanism::Rlimit
        },
        processes: group.processes,
        tmp: if tier == Tier::A {
            Mechanism::Tmpfs
        } else {
            Mechanism::None
        },
        user: identity.uid,
        weaker,
    }
}
