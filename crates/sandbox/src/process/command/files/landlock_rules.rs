//! Which Landlock rules a plan needs.

use super::landlock::{DEVICE, MAY_BE_GONE, READ, RESOLVE_NO_LINKS, RUN, Rule, change};
use super::program::needed_to_start;
use super::runnable::Runnable;
use super::view::{MountKind, MountPoint, View, is_within};
use crate::plan::{Plan, Programs};
use crate::process::command::protect::NameSupervision;
use crate::process::command::warm::stamp::{FileStamp, FolderCache, FolderEntries};
use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, FileType};
use std::path::{Path, PathBuf};

const DEVICES: &[&str] = &[
    "/dev/null",
    "/dev/zero",
    "/dev/full",
    "/dev/random",
    "/dev/urandom",
    "/dev/tty",
];

/// What programs read that is not a program: libraries, data, settings.
const DATA: &[&str] = &[
    "/etc",
    "/lib",
    "/lib32",
    "/lib64",
    "/libx32",
    "/proc",
    "/sys",
    "/usr/include",
    "/usr/lib",
    "/usr/lib32",
    "/usr/lib64",
    "/usr/libx32",
    "/usr/local/lib",
    "/usr/local/share",
    "/usr/share",
    "/var/lib",
];
/// Folders among libraries that hold programs, which the loader could be told to run.
pub(crate) const PROGRAMS_AMONG_DATA: &[&str] = &[
    "bin", "sbin", "libexec", "git-core", "gcc", "sudo", "openssh", "apt", "dpkg", "systemd",
    "polkit-1",
];
/// More rules than this would take longer than the command.
const MOST_RULES: usize = 4000;

/// Namespaces already hide and close what the plan says; Landlock adds a second layer.
pub(crate) fn inside_namespaces(plan: &Plan, view: &View, version: i32) -> Vec<Rule> {
    let mut rules = system(plan, view);
    match &plan.programs {
        Programs::Any => rules.push(folder("/", READ | RUN)),
        Programs::Only(_) => {
            let places = view.mounts.iter();
            let places = places.filter(|mount| mount.kind == MountKind::Read);
            let rights = READ | RESOLVE_NO_LINKS;
            rules.extend(places.map(|place| rule(&place.path, rights, place.is_folder)));
            if view.is_visible(&plan.files.workspace) {
                rules.push(folder(&plan.files.workspace, rights));
            }
        }
    }
    let mounts = view.mounts.iter();
    let writable =
        mounts.filter(|mount| matches!(mount.kind, MountKind::Write | MountKind::Private));
    let rights = change(version) | run_right(plan) | RESOLVE_NO_LINKS;
    rules.extend(writable.map(|place| rule(&place.path, rights, place.is_folder)));
    rules
}

/// The right to run programs of the workspace, which a list of programs takes away.
fn run_right(plan: &Plan) -> u64 {
    match plan.programs {
        Programs::Any => RUN,
        Programs::Only(_) => 0,
    }
}

/// Without namespaces: Landlock alone. It can grant rights but not revoke them further down, so a
/// folder that holds something closed or hidden is granted entry by entry, and nothing new can be
/// created in it.
pub(crate) fn without_namespaces(
    plan: &Plan,
    view: &View,
    version: i32,
    folder_cache: &FolderCache,
    supervision: NameSupervision,
) -> (Vec<Rule>, ListedFolders) {
    let mut rules = system(plan, view);
    let run = run_right(plan) | RESOLVE_NO_LINKS;
    let mut builder = GrantBuilder {
        view,
        change: change(version) | run,
        read: READ | run,
        closed_top: match supervision {
            NameSupervision::Helper => None,
            NameSupervision::None => Some(&plan.files.workspace),
        },
        folder_cache,
        listed: BTreeMap::new(),
        rules: Vec::new(),
    };
    let tops = view.mounts.iter().filter(|mount| mount.is_outermost_tree());
    match &plan.programs {
        Programs::Any => {
            builder.grant(Path::new("/"));
            // Of the machine's devices, only those that are places of the plan.
            tops.filter(|mount| mount.path.starts_with("/dev"))
                .for_each(|mount| builder.grant(&mount.path));
        }
        Programs::Only(_) => {
            tops.for_each(|mount| builder.grant(&mount.path));
            if view.is_visible(&plan.files.workspace) {
                builder.grant(&plan.files.workspace);
            }
        }
    }
    rules.append(&mut builder.rules);
    rules.push(folder("/proc", READ));
    (rules, builder.listed)
}

/// The folders that were granted entry by entry.
pub(crate) type ListedFolders = BTreeMap<PathBuf, Option<FileStamp>>;

/// The command's scratch folder, if no namespace gives it a private one.
pub(crate) fn scratch(plan: &Plan, version: i32, path: &Path) -> Rule {
    folder(path, change(version) | run_right(plan))
}

struct GrantBuilder<'a> {
    view: &'a View,
    change: u64,
    read: u64,
    /// Where a protected name may be missing and nobody supervises names, so nothing new can be
    /// created: the top of the workspace.
    closed_top: Option<&'a Path>,
    folder_cache: &'a FolderCache,
    listed: ListedFolders,
    rules: Vec<Rule>,
}

impl GrantBuilder<'_> {
    fn grant(&mut self, path: &Path) {
        let path: PathBuf = path.components().collect();
        if let Ok(facts) = fs::symlink_metadata(&path) {
            self.grant_path(&path, facts.file_type());
        }
    }

    fn grant_path(&mut self, path: &Path, kind: FileType) {
        if self.rules.len() >= MOST_RULES || path == Path::new("/dev") || path == Path::new("/proc")
        {
            return;
        }
        // The target of a link has its own rule, or none.
        if !(kind.is_dir() || kind.is_file()) {
            return;
        }
        let below = |mount: &&MountPoint| {
            mount.path.as_os_str() != path.as_os_str() && is_within(&mount.path, path)
        };
        let mounts = self.view.mounts.iter();
        let what = mounts
            .clone()
            .rfind(|mount| is_within(path, &mount.path))
            .map_or(MountKind::Read, |found| found.kind);
        let exceptions: Vec<MountKind> = mounts.filter(below).map(|mount| mount.kind).collect();
        let hides = exceptions
            .iter()
            .any(|what| matches!(what, MountKind::Hidden | MountKind::Private));
        let rights = match what {
            MountKind::Hidden | MountKind::Private => 0,
            MountKind::Read | MountKind::Run | MountKind::Pinned => self.read,
            MountKind::Write
                if Some(path) == self.closed_top
                    || exceptions.iter().any(|what| *what != MountKind::Write) =>
            {
                self.read
            }
            MountKind::Write => self.change,
        };
        let is_whole =
            exceptions.is_empty() && !(what == MountKind::Write && Some(path) == self.closed_top);
        if rights != 0 && (is_whole || !hides) {
            let is_place = self.view.mounts.iter().any(|mount| mount.path == path);
            let listed = if is_place { 0 } else { MAY_BE_GONE };
            self.rules.push(rule(path, rights | listed, kind.is_dir()));
        }
        if is_whole || !kind.is_dir() {
            return;
        }
        let children: FolderEntries = if matches!(what, MountKind::Hidden | MountKind::Private) {
            let on_the_way = |mount: &MountPoint| {
                Some(path.join(mount.path.strip_prefix(path).ok()?.components().next()?))
            };
            let ways: BTreeSet<PathBuf> = self.view.mounts.iter().filter_map(on_the_way).collect();
            let kind = |way: &Path| Some(fs::symlink_metadata(way).ok()?.file_type());
            ways.into_iter()
                .filter_map(|way| kind(&way).map(|kind| (way, kind)))
                .collect()
        } else {
            let (entries, stamp) = self.folder_cache.of(path);
            self.listed.insert(path.to_path_buf(), stamp);
            entries
        };
        children
            .iter()
            .for_each(|(child, kind)| self.grant_path(child, *kind));
    }
}

fn rule(path: impl Into<PathBuf>, rights: u64, is_folder: bool) -> Rule {
    Rule {
        path: path.into(),
        rights,
        is_folder,
    }
}

fn folder(path: impl Into<PathBuf>, rights: u64) -> Rule {
    rule(path, rights, true)
}

/// What every command needs of the system: its devices, and what the listed programs need.
fn system(plan: &Plan, view: &View) -> Vec<Rule> {
    let devices = DEVICES.iter().map(Path::new).filter(|path| path.exists());
    let mut rules: Vec<Rule> = devices.map(|path| rule(path, DEVICE, false)).collect();
    if let Programs::Only(programs) = &plan.programs {
        rules.extend(data());
        rules.extend(programs.iter().flat_map(|program| start(program, view)));
        rules.extend(libraries(programs, view));
    }
    rules
}

/// The system's files without its programs.
fn data() -> Vec<Rule> {
    let mut rules = Vec::new();
    for top in DATA.iter().map(Path::new).filter(|top| top.is_dir()) {
        let is_library = top.to_string_lossy().contains("/lib");
        if !is_library {
            rules.push(folder(top, READ));
            continue;
        }
        for entry in fs::read_dir(top).into_iter().flatten().flatten() {
            let (path, name) = (entry.path(), entry.file_name());
            let Ok(facts) = fs::metadata(&path) else {
                continue;
            };
            let is_program = PROGRAMS_AMONG_DATA.iter().any(|program| name == *program);
            if !is_program && (facts.is_dir() || facts.is_file()) {
                rules.push(rule(path, READ, facts.is_dir()));
            }
        }
    }
    rules
}

fn start(program: &Path, view: &View) -> Vec<Rule> {
    let real = fs::canonicalize(program).unwrap_or_else(|_| program.to_path_buf());
    let needed = needed_to_start(&real).into_iter();
    needed
        .filter(|path| path.exists() && view.is_visible(path))
        .map(|path| rule(path, READ | RUN, false))
        .collect()
}

/// The libraries of programs that bring their own.
fn libraries(programs: &[PathBuf], view: &View) -> Vec<Rule> {
    let runnable = Runnable::of(programs);
    let own = runnable.own_libraries();
    own.filter(|path| view.is_visible(path))
        .map(|path| rule(path, READ, path.is_dir()))
        .collect()
}
