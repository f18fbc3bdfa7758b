//! What a place stands on: who the command will be, and its namespaces.
//!
//! That is known before anybody has looked at the workspace. So the helper of a command for which no place waits is started first, and makes
//! the namespaces, which takes the kernel longest, while the rest is found out.

use super::SandboxError;
use super::files::identity::{Change, Identity};
use super::helper::block::Filled;
use super::helper::network::Ports;
use super::helper::programs::{namespaces, no_namespaces};
use super::sandbox::Shared;
use crate::plan::{Network, Plan};
use crate::tier::Tier;
use rustix::process::{getegid, geteuid};

pub(super) struct Ground {
    pub(super) identity: Identity,
    /// What answers in its network.
    pub(super) ports: Option<Ports>,
    pub(super) block: Filled,
}

impl Ground {
    pub(super) fn of(shared: &Shared, plan: &Plan) -> Result<Self, SandboxError> {
        let workspace = &plan.files.workspace;
        let bad = |cause| SandboxError::BadPlace {
            what: "workspace",
            path: workspace.clone(),
            cause,
        };
        let found = Identity::of(workspace).map_err(bad)?;
        let own = || Identity {
            uid: geteuid().as_raw(),
            gid: getegid().as_raw(),
            change: Change::None,
        };
        let identity = if shared.is_off { own() } else { found };
        let ports = match (&plan.network, shared.tier, &shared.serve) {
            (Network::Allowed(domains), Tier::A, Some(_)) if !domains.is_empty() => {
                Some(Ports::of(domains))
            }
            _ => None,
        };
        let block = if shared.tier == Tier::A {
            namespaces(&identity, ports.as_ref())
        } else {
            no_namespaces(&identity)
        };
        Ok(Self {
            identity,
            ports,
            block,
        })
    }
}
