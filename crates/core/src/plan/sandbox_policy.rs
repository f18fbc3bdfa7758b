//! What all layers together allow calls to touch.

use super::Narrowing;
use crate::artifact::root::Ceiling;
use crate::artifact::tool::Limits;
use crate::artifact::{LayerFile, Root};
use crate::containment::Containment;
use crate::effect::{Effects, Level};
use crate::span::Place;
use crate::span::Spanned;
use std::path::Path;
use tool_harness_sandbox::network::Domains;

/// What the machine, the user and the project allow. A project may request hosts and hide places;
/// only the layers above it open places.
#[derive(Clone, Debug, Default)]
pub struct SandboxPolicy {
    /// Whether processes are contained.
    pub containment: Containment,
    /// The hosts that calls may reach.
    pub network: Domains,
    /// The lines that list the hosts: the project's, then those of the layers that narrow it.
    pub network_from: Vec<Place>,
    /// The limits of every tool.
    pub limits: Limits,
    /// Environment variables that the layers above the project list.
    pub env: Vec<String>,
    /// Whether the project has a root file. Without one, processes run only if namespaces contain
    /// them.
    pub configured: bool,
    pub(super) hidden: Vec<String>,
    /// Places that nothing writes, and where that is written down.
    pub(super) read_only: Vec<(String, Option<Place>)>,
    pub(super) readable: Vec<String>,
    pub(super) writable: Vec<String>,
    ceilings: Vec<Ceiling>,
}

impl SandboxPolicy {
    /// Combines the layers, highest first, and the project.
    #[must_use]
    pub fn of(layers: &[LayerFile], root: &Root) -> Self {
        let above = || layers.iter().map(|layer| &layer.root);
        let all = || above().chain([root]);
        let mut confines = Self {
            configured: root.source.is_some(),
            ..Self::default()
        };
        // The highest file with a setting decides; the project cannot set it.
        confines.containment = above()
            .find_map(|root| root.sandbox.mode.as_ref())
            .map_or(Containment::On, |mode| mode.value);
        confines.ceilings = all()
            .filter_map(|root| root.policy.ceiling.as_ref())
            .map(|ceiling| ceiling.value)
            .collect();
        confines.limits = all().fold(Limits::default(), |limits, root| {
            narrowed(limits, root.limits)
        });
        confines.hidden = all().flat_map(|root| texts(&root.sandbox.hidden)).collect();
        confines.read_only = all().flat_map(read_only).collect();
        for (index, root) in above().enumerate() {
            let higher: Vec<String> = above()
                .take(index)
                .flat_map(|root| texts(&root.sandbox.hidden))
                .collect();
            let opened = |places: &[Spanned<String>]| {
                texts(places)
                    .filter(|place| !covered(&higher, place))
                    .collect::<Vec<_>>()
            };
            confines.readable.extend(opened(&root.sandbox.readable));
            confines.writable.extend(opened(&root.sandbox.writable));
            confines.env.extend(texts(&root.sandbox.env));
        }
        if let Some(asked) = &root.network {
            confines.network = above()
                .filter_map(|root| root.network.as_ref())
                .fold(asked.value.clone(), |list, at| list.intersect(&at.value));
            let lists = [root]
                .into_iter()
                .chain(above())
                .filter_map(|root| Some((root.source.as_ref()?, root.network.as_ref()?)));
            confines.network_from = lists
                .map(|(source, list)| Place::new(source, list.span))
                .collect();
        }
        confines
    }

    /// The hosts that a tool or hook may reach through `http`.
    pub(crate) fn hosts(&self, tool: &Narrowing) -> Domains {
        tool.hosts.as_ref().map_or_else(
            || self.network.clone(),
            |hosts| self.network.intersect(hosts),
        )
    }

    /// The hosts that processes may reach. The harness cannot tell what a process sends from what
    /// it fetches, so a ceiling must admit both.
    pub(crate) fn process_hosts(&self, tool: &Narrowing) -> Domains {
        const NETWORK: Effects = Effects::NET_READ.and(Effects::NET_WRITE);
        let admits = |ceiling: &Ceiling| match ceiling {
            Ceiling::Level(level) => *level >= Level::Network,
            Ceiling::Effects(effects) => effects.contains(NETWORK),
        };
        if self.ceilings.iter().all(admits) {
            self.hosts(tool)
        } else {
            Domains::default()
        }
    }
}

fn read_only(root: &Root) -> impl Iterator<Item = (String, Option<Place>)> {
    let place = |at: &Spanned<String>| Some(Place::new(root.source.as_ref()?, at.span));
    let listed = root.sandbox.read_only.iter();
    listed.map(move |at| (at.value.clone(), place(at)))
}

fn texts(list: &[Spanned<String>]) -> impl Iterator<Item = String> {
    list.iter().map(|at| at.value.clone())
}

/// Whether a place is one of these or lies inside one.
fn covered(places: &[String], place: &str) -> bool {
    places
        .iter()
        .any(|higher| Path::new(place).starts_with(higher))
}

/// The smaller value of each limit.
pub(crate) fn narrowed(one: Limits, other: Limits) -> Limits {
    let least = |a: Option<u64>, b: Option<u64>| match (a, b) {
        (Some(a), Some(b)) => Some(a.min(b)),
        (a, b) => a.or(b),
    };
    Limits {
        max_calls: least(one.max_calls, other.max_calls),
        max_concurrency: least(one.max_concurrency, other.max_concurrency),
        max_output_bytes: least(one.max_output_bytes, other.max_output_bytes),
        memory_mb: least(one.memory_mb, other.memory_mb),
        cpu_ms: least(one.cpu_ms, other.cpu_ms),
        processes: least(one.processes, other.processes),
    }
}
