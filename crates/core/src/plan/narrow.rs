//! How a tool narrows what the layers allow.

use super::{Site, resolved};
use crate::artifact::Tool;
use crate::artifact::permission::{Permission, PermissionKind};
use crate::artifact::tool::Claim;
use crate::effect::Effects;
use std::path::{Path, PathBuf};
use tool_harness_sandbox::file::PathBounds;
use tool_harness_sandbox::network::Domains;
use tool_harness_sandbox::plan::Access;

/// The part of the project's access that a tool or hook may use.
#[derive(Clone, Debug, Default)]
pub(crate) struct Narrowing {
    /// The tool's effects; `None` where there is no tool.
    pub(super) effects: Option<Effects>,
    /// The only places of the workspace that it may read.
    pub(super) read: Option<Vec<String>>,
    /// The only places of the workspace that it may write.
    pub(super) write: Option<Vec<String>>,
    /// The only programs it may execute, by name or path.
    pub(super) programs: Option<Vec<String>>,
    /// The only hosts it may reach.
    pub(super) hosts: Option<Domains>,
}

impl Narrowing {
    /// Narrows by a tool's `permissions`, `safety.workspace_root`, `safety.local_only` and effects.
    pub(crate) fn of(tool: &Tool, effects: Effects) -> Self {
        let mut narrowing = Self::of_permissions(&tool.permissions);
        narrowing.effects = Some(effects);
        let local = tool
            .declared_effects
            .iter()
            .any(|declared| match declared.claim {
                Claim::Without(none) => none.contains(Effects::NET_READ | Effects::NET_WRITE),
                Claim::Exactly(_) | Claim::AtLeast(_) => false,
            });
        if local {
            narrowing.hosts = Some(Domains::default());
        }
        if let Some(root) = tool
            .workspace_root
            .as_ref()
            .filter(|root| root.value != ".")
        {
            let within = |places: Option<Vec<String>>| {
                let places = places.unwrap_or_else(|| vec![".".to_owned()]);
                Some(
                    places
                        .iter()
                        .filter_map(|place| both(place, &root.value))
                        .collect(),
                )
            };
            narrowing.write = narrowing.write.and_then(|places| within(Some(places)));
            narrowing.read = within(narrowing.read);
        }
        narrowing
    }

    /// Narrows by a list of permissions alone. A kind that is not listed stays unrestricted.
    fn of_permissions(permissions: &[Permission]) -> Self {
        let mut narrowing = Self::default();
        let mut hosts = None::<Vec<String>>;
        for permission in permissions {
            match &permission.kind {
                PermissionKind::Filesystem { access, path } => {
                    let (read, write) = (
                        narrowing.read.get_or_insert_default(),
                        narrowing.write.get_or_insert_default(),
                    );
                    if *access >= Access::Read {
                        read.push(path.clone());
                    }
                    if *access == Access::Write {
                        write.push(path.clone());
                    }
                }
                PermissionKind::Shell { programs } => narrowing
                    .programs
                    .get_or_insert_default()
                    .extend(programs.iter().cloned()),
                PermissionKind::Network { hosts: listed } => {
                    hosts.get_or_insert_default().extend(listed.iter().cloned())
                }
                PermissionKind::Custom => {}
            }
        }
        narrowing.hosts = hosts.map(|hosts| Domains::parse(&hosts).unwrap_or_default());
        narrowing
    }

    /// Narrows for a hook, which has no network unless its permissions list hosts.
    pub(crate) fn of_hook(permissions: &[Permission]) -> Self {
        let hosts = Self::of_permissions(permissions).hosts.unwrap_or_default();
        Self {
            hosts: Some(hosts),
            ..Self::default()
        }
    }

    /// What processes may do in the workspace.
    pub(super) fn access(&self) -> Access {
        let effects = self.effects.unwrap_or(Effects::ALL);
        let nowhere = |places: &Option<Vec<String>>| places.as_ref().is_some_and(Vec::is_empty);
        match (
            effects.contains(Effects::READ),
            effects.contains(Effects::WRITE),
        ) {
            _ if nowhere(&self.read) => Access::Hidden,
            (_, true) if !nowhere(&self.write) => Access::Write,
            (_, true) | (true, false) => Access::Read,
            (false, false) => Access::Hidden,
        }
    }

    /// What processes may do in one place of the workspace, and the only places in it that they may
    /// write; an empty list means all of it.
    pub(super) fn in_place(
        &self,
        place: &Path,
        write: Option<&[PathBuf]>,
    ) -> (Access, Vec<PathBuf>) {
        let access = self.access();
        let Some(write) = write.filter(|_| access == Access::Write) else {
            return (access, Vec::new());
        };
        if write.iter().any(|path| place.starts_with(path)) {
            return (access, Vec::new());
        }
        let only: Vec<PathBuf> = write
            .iter()
            .filter(|path| path.starts_with(place))
            .cloned()
            .collect();
        // An empty list would allow all of it.
        if only.is_empty() {
            (Access::Read, only)
        } else {
            (access, only)
        }
    }
}

/// The intersection of two places: the deeper one if one contains the other.
fn both(one: &str, other: &str) -> Option<String> {
    let below = |path: &str, place: &str| place == "." || Path::new(path).starts_with(place);
    if below(one, other) {
        Some(one.to_owned())
    } else if below(other, one) {
        Some(other.to_owned())
    } else {
        None
    }
}

/// What scripts of this tool may touch in the workspace through `fs`.
pub(crate) fn bounds(site: Site<'_>, tool: &Narrowing) -> PathBounds {
    let hidden = site.policy.hidden.iter();
    let hidden = hidden.filter_map(|place| {
        let path = resolved(site, place)?;
        inside(site, &path)
    });
    let read_only = site.policy.read_only.iter();
    let read_only = read_only.filter_map(|(place, from)| {
        let path = resolved(site, place)?;
        // A workspace that lies in such a place is read-only as a whole.
        let is_around = site.workspace.starts_with(&path);
        let place = inside(site, &path).or(is_around.then(|| ".".to_owned()))?;
        let from = from.as_ref();
        let from = from.map(|from| format!(" at {from}")).unwrap_or_default();
        Some((place, format!("`sandbox.read_only`{from}")))
    });
    PathBounds {
        hidden: hidden.collect(),
        read_only: read_only.collect(),
        read: whole(tool.read.clone()),
        write: whole(tool.write.clone()),
    }
}

/// A path relative to the workspace; `None` if it is outside.
fn inside(site: Site<'_>, path: &Path) -> Option<String> {
    let inside = path.strip_prefix(site.workspace).ok()?;
    let inside = inside.to_string_lossy().into_owned();
    Some(if inside.is_empty() {
        ".".to_owned()
    } else {
        inside
    })
}

/// Drops a list that contains the whole workspace: it restricts nothing.
fn whole(places: Option<Vec<String>>) -> Option<Vec<String>> {
    places.filter(|places| !places.iter().any(|place| place == "."))
}
