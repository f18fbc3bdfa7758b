//! The namespaces of a container, and the user its command runs as.
//!
//! Both are known before anything looks at the workspace. So a command without a container that
//! waits for it starts its helper first, which makes the namespaces, the slowest part, while the
//! harness prepares the rest.

use super::SandboxError;
use super::files::identity::Identity;
use super::helper::block::EncodedBlock;
use super::helper::network::RelayPorts;
use super::helper::programs::{namespaces, no_namespaces};
use super::sandbox::SandboxState;
use crate::plan::{Network, Plan};
use crate::tier::Tier;

pub(super) struct NamespaceSpec {
    pub(super) identity: Identity,
    /// The ports that the relay answers in its network.
    pub(super) ports: Option<RelayPorts>,
    pub(super) block: EncodedBlock,
}

impl NamespaceSpec {
    pub(super) fn of(shared: &SandboxState, plan: &Plan) -> Result<Self, SandboxError> {
        let workspace = &plan.files.workspace;
        let found = Identity::of(workspace)
            .map_err(|cause| SandboxError::bad_place("workspace", workspace, cause))?;
        let identity = if shared.is_off {
            Identity::own()
        } else {
            found
        };
        let ports = match (&plan.network, shared.tier, &shared.relay) {
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
