//! What the kernel enforces for a command, for its result.

use super::files::identity::{Identity, UserChange};
use super::files::landlock;
use super::limits::cgroup::Group;
use super::limits::memory;
use super::sandbox::SandboxState;
use crate::plan::{Network, Plan};
use crate::tier::{Enforcement, Mechanism, Tier};

/// `weaker` starts with what the container could not enforce.
pub(super) fn enforced(
    shared: &SandboxState,
    plan: &Plan,
    identity: &Identity,
    group: &Group,
    mut weaker: Vec<String>,
) -> Enforcement {
    let tier = shared.tier;
    let asks_network = matches!(&plan.network, Network::Allowed(domains) if !domains.is_empty());
    let network = match tier {
        Tier::A if asks_network && shared.relay.is_some() => "relay",
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
        weaker.push("no private /tmp: TMPDIR is a separate folder without a size limit".into());
        weaker.push("nothing new can be created at the top of the workspace or in `.git`, because some names there are protected".into());
        if identity.change == UserChange::Nobody {
            weaker.push("root owns the workspace, and the command is not root: it can write only what every user may".into());
        } else {
            weaker.push("the command can change modes and times of its user's files, even outside the workspace".into());
        }
        if shared.landlock < landlock::FIRST_WITH_SCOPES {
            weaker.push("the command can signal other processes of its user: this kernel's Landlock is too old to prevent that".into());
        }
    }
    if tier == Tier::A && !shared.has_rules() {
        weaker.push(
            "only namespaces protect files: this kernel has no Landlock, or one that is too old"
                .into(),
        );
    }
    if tier == Tier::None {
        weaker.push("the sandbox is turned off".into());
    }
    if group.memory == Mechanism::Rlimit {
        let together = if memory::can_look() {
            "only measured ten times a second"
        } else {
            "not limited"
        };
        weaker.push(format!(
            "memory is limited per process; the total is {together}"
        ));
    }
    Enforcement {
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
