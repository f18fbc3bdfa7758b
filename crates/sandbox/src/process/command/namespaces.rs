//! What a place stands on: who the command will be, and its namespaces.
//!
//! That is known before anybody has looked at the workspace. So the helper of a command for which no place waits is started first, and makes
//! the namespaces, which takes the kernel longest, while the rest is found out.

use super::SandboxError;
use super::files::identity::{Identity, UserChange};
use super::helper::block::EncodedBlock;
use super::helper::network::RelayPorts;
use super::helper::programs::{namespaces, no_namespaces};
use super::sandbox::SandboxState;
use crate::plan::{Network, Plan};
use crate::tier::Tier;
use rustix::process::{getegid, geteuid};

pub(super) struct NamespaceSpec {
    pub(super) identity: Identity,
    /// What answers in its network.
    pub(super) ports: Option<RelayPorts>,
    pub(super) block: EncodedBlock,
}

impl NamespaceSpec {
    pub(super) fn of(shared: &SandboxState, plan: &Plan) -> Result<Self, SandboxError> {
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
            change: UserChange::None,
        };
        let identity = if shared.is_off { own() } else { found };
        let ports = match (&plan.network, shared.tier, &shared.serve) {
            (Network::Allowed(domains), Tier::A, Some(_)) if !domains.is_empty() => {
                Some(RelayPorts::of(domains))
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
