//! Stage 4: what a call may touch. The tool narrows what the layers allow; arguments and hooks play
//! no part.

mod narrow;
mod program;
mod sandbox_policy;
mod show;
mod surroundings;
mod toolchain;

pub(crate) use sandbox_policy::SandboxPolicy;
pub(crate) use sandbox_policy::narrowed;
pub use show::{plan_lines, plan_to_json};
pub use surroundings::Surroundings;

pub(crate) use narrow::{Narrowing, bounds};

use crate::artifact::tool::Limits as Declared;
use std::path::{Path, PathBuf};
use std::time::Duration;
use tool_harness_sandbox::file::is_protected;
use tool_harness_sandbox::plan::{Access, Files, Limits, Network, Plan, Programs};

/// Memory for the processes of one call, unless the layers or the tool set a limit.
const MEMORY_MB: u64 = 2048;
/// Processor time for those processes.
const CPU: Duration = Duration::from_secs(600);
/// How many of those processes run at once, threads included.
const PROCESSES: u64 = 256;
/// The largest file that those processes may write.
const FILE_BYTES: u64 = 1 << 30;
/// The size of the private `/tmp`.
const TMP_BYTES: u64 = 1 << 30;
/// How many bytes of each stream are kept.
const OUTPUT_BYTES: u64 = 1 << 20;
/// Bytes of output after which the processes are killed.
const FLOOD_BYTES: u64 = 64 << 20;
/// The home that processes see: their private `/tmp`.
const HOME: &str = "/tmp";

/// The policy, workspace and surroundings that a plan is made for.
#[derive(Clone, Copy)]
pub(crate) struct Site<'a> {
    pub(crate) policy: &'a SandboxPolicy,
    pub(crate) workspace: &'a Path,
    pub(crate) surroundings: &'a Surroundings,
}

/// The plan for the processes of one call: those of a tool, or of the project if the narrowing is
/// empty.
pub(crate) fn plan(site: Site<'_>, tool: &Narrowing, limits: Declared, deadline: Duration) -> Plan {
    let path = program::search_path(site);
    let toolchains = toolchain::of(site.surroundings, &path);
    let programs = match &tool.programs {
        None => Programs::Any,
        Some(names) => Programs::Only(
            names
                .iter()
                .filter_map(|name| program::real(name, &path, site.workspace))
                .collect(),
        ),
    };
    let mut environment = vec![
        (
            "PATH".to_owned(),
            path.iter()
                .map(|folder| folder.to_string_lossy())
                .collect::<Vec<_>>()
                .join(":"),
        ),
        ("HOME".to_owned(), HOME.to_owned()),
        (
            "LANG".to_owned(),
            site.surroundings
                .variable("LANG")
                .unwrap_or_else(|| "C.UTF-8".to_owned()),
        ),
        ("TERM".to_owned(), "dumb".to_owned()),
        ("TMPDIR".to_owned(), "/tmp".to_owned()),
    ];
    environment.extend(toolchains.variables);
    for name in &site.policy.env {
        if let Some(value) = site.surroundings.variable(name) {
            environment.retain(|(known, _)| known != name);
            environment.push((name.clone(), value));
        }
    }
    let domains = site.policy.process_hosts(tool);
    Plan {
        files: files(site, tool, toolchains.readable, toolchains.hidden),
        programs,
        network: if domains.is_empty() {
            Network::None
        } else {
            Network::Allowed(domains)
        },
        environment,
        limits: Limits {
            deadline,
            memory_bytes: limits
                .memory_mb
                .unwrap_or(MEMORY_MB)
                .saturating_mul(1 << 20),
            cpu: limits.cpu_ms.map_or(CPU, Duration::from_millis),
            processes: limits.processes.unwrap_or(PROCESSES),
            file_bytes: FILE_BYTES,
            tmp_bytes: TMP_BYTES,
            output_bytes: OUTPUT_BYTES,
            flood_bytes: FLOOD_BYTES,
        },
    }
}

/// A tool restricted to certain places sees only those: the first takes the place of the workspace,
/// and the rest is hidden. A place that does not exist cannot be given to a process and is ignored.
fn files(
    site: Site<'_>,
    tool: &Narrowing,
    mut readable: Vec<PathBuf>,
    mut hidden: Vec<PathBuf>,
) -> Files {
    let at = |path: &String| {
        site.workspace
            .join(path)
            .canonicalize()
            .ok()
            .filter(|real| real.starts_with(site.workspace))
    };
    hidden.extend(
        site.policy
            .hidden
            .iter()
            .filter_map(|place| resolved(site, place)),
    );
    let closed = site.policy.read_only.iter();
    let read_only: Vec<PathBuf> = closed
        .filter_map(|(place, _)| resolved(site, place))
        .collect();
    hidden.extend(
        site.surroundings
            .state
            .as_ref()
            .and_then(|state| state.canonicalize().ok()),
    );
    readable.extend(
        site.policy
            .readable
            .iter()
            .filter_map(|place| opened(site, place)),
    );
    let mut writable: Vec<PathBuf> = site
        .policy
        .writable
        .iter()
        .filter_map(|place| opened(site, place))
        .collect();
    let read = tool.read.as_ref().map_or_else(
        || vec![site.workspace.to_owned()],
        |read| read.iter().filter_map(at).collect(),
    );
    // No permission of a tool opens the files that govern calls.
    let is_free = |real: &PathBuf| {
        real.strip_prefix(site.workspace)
            .is_ok_and(|inside| !is_protected(&inside.to_string_lossy()))
    };
    let write = tool.write.as_ref().map(|write| {
        write
            .iter()
            .filter_map(at)
            .filter(is_free)
            .collect::<Vec<_>>()
    });
    if !read.iter().any(|place| place == site.workspace) {
        hidden.push(site.workspace.to_owned());
    }
    // The workspace itself comes first, or else a place that is written.
    let mut read: Vec<PathBuf> = read;
    let (project, home) = (site.workspace.to_owned(), site.surroundings.home.clone());
    read.sort_by_key(|place| {
        (
            place != site.workspace,
            tool.in_place(place, write.as_deref()).0 != Access::Write,
        )
    });
    let mut places = read.into_iter();
    let Some(workspace) = places.next() else {
        let workspace = site.workspace.to_owned();
        return Files {
            project,
            workspace,
            access: Access::Hidden,
            only: Vec::new(),
            hidden,
            readable,
            writable,
            read_only,
            home,
        };
    };
    for place in places {
        match tool.in_place(&place, write.as_deref()) {
            (Access::Write, only) if only.is_empty() => writable.push(place),
            (Access::Write, only) => {
                readable.push(place);
                writable.extend(only);
            }
            _ => readable.push(place),
        }
    }
    let (access, only) = tool.in_place(&workspace, write.as_deref());
    Files {
        project,
        workspace,
        access,
        only,
        hidden,
        readable,
        writable,
        read_only,
        home,
    }
}

/// Resolves a place that the layers open; `None` if it does not exist. A link in a folder where
/// commands write may be their own, so it opens nothing outside.
fn opened(site: Site<'_>, place: &str) -> Option<PathBuf> {
    let path = PathBuf::from(crate::path::normalise(
        &written(site, place)?.to_string_lossy(),
    ));
    let real = path.canonicalize().ok()?;
    let others = site
        .policy
        .writable
        .iter()
        .filter_map(|other| written(site, other))
        .filter(|other| *other != path);
    let mut around = others
        .chain([site.workspace.to_owned()])
        .filter(|other| path.starts_with(other));
    around
        .all(|other| {
            other
                .canonicalize()
                .is_ok_and(|other| real.starts_with(other))
        })
        .then_some(real)
}

/// Resolves a place that the layers hide or close: to its real path if it exists, else to the path as
/// written.
fn resolved(site: Site<'_>, place: &str) -> Option<PathBuf> {
    let path = written(site, place)?;
    Some(
        path.canonicalize()
            .unwrap_or_else(|_| PathBuf::from(crate::path::normalise(&path.to_string_lossy()))),
    )
}

/// Expands a place as authors write it: absolute, from `~`, or relative to the workspace. `None`
/// for `~` without a home.
fn written(site: Site<'_>, place: &str) -> Option<PathBuf> {
    Some(match (place.strip_prefix("~/"), &site.surroundings.home) {
        (Some(rest), Some(home)) => home.join(rest),
        (Some(_), None) => return None,
        (None, Some(home)) if place == "~" => home.clone(),
        _ => site.workspace.join(place),
    })
}
