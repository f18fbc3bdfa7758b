//! Which Landlock rules a plan comes to.

use super::landlock::{DEVICE, READ, REAL, RUN, Rule, change};
use super::program::needed_to_start;
use super::runnable::Runnable;
use super::view::{View, What, is_within};
use crate::plan::{Plan, Programs};
use crate::process::command::warm::stamp::{Entries, Listings, Stamp};
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

/// What programs read that are not programs: libraries, data, settings.
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
/// Folders among libraries that hold programs: the loader could be told to run those.
pub(crate) const PROGRAMS_AMONG_DATA: &[&str] = &[
    "bin", "sbin", "libexec", "git-core", "gcc", "sudo", "openssh", "apt", "dpkg", "systemd",
    "polkit-1",
];
/// More rules than this would take longer than the command.
const MOST_RULES: usize = 4000;

/// Where namespaces hide and close what the plan says: Landlock once more around it.
pub(crate) fn inside_namespaces(plan: &Plan, view: &View, version: i32) -> Vec<Rule> {
    let mut rules = devices();
    let run = if plan.programs == Programs::Any {
        RUN
    } else {
        0
    };
    match &plan.programs {
        Programs::Any => rules.push(folder("/", READ | RUN)),
        Programs::Only(programs) => {
            rules.extend(data());
            rules.extend(programs.iter().flat_map(|program| start(program, view)));
            rules.extend(libraries(programs, view));
            let places = view
                .placements
                .iter()
                .filter(|placement| placement.what == What::Read);
            rules.extend(places.map(|place| Rule {
                path: place.path.clone(),
                rights: READ | REAL,
                is_folder: place.is_folder,
            }));
            if view.is_visible(&plan.files.workspace) {
                rules.push(folder(&plan.files.workspace, READ | REAL));
            }
        }
    }
    let writable = view
        .placements
        .iter()
        .filter(|placement| matches!(placement.what, What::Write | What::Private));
    let rights = change(version) | run | REAL;
    rules.extend(writable.map(|place| Rule {
        path: place.path.clone(),
        rights,
        is_folder: place.is_folder,
    }));
    rules
}

/// Without namespaces: Landlock alone. It can give rights but not take them away below, so what has something closed or hidden in it is
/// given piece by piece, and no new name can be made there.
pub(crate) fn alone(plan: &Plan, view: &View, version: i32, listings: &Listings) -> Given {
    let mut rules = devices();
    let run = if plan.programs == Programs::Any {
        RUN
    } else {
        0
    };
    let (change, read) = (change(version) | run | REAL, READ | run | REAL);
    let mut giving = Giving {
        view,
        change,
        read,
        workspace: &plan.files.workspace,
        listings,
        listed: BTreeMap::new(),
        rules: Vec::new(),
    };
    let trees = view
        .placements
        .iter()
        .filter(|placement| placement.what.is_tree());
    let tops = trees.filter(|placement| {
        !placement
            .within
            .as_ref()
            .is_some_and(|(_, above)| above.is_tree())
    });
    match &plan.programs {
        Programs::Any => {
            giving.give(Path::new("/"));
            // Of the machine's devices only what is a place is given.
            tops.filter(|placement| placement.path.starts_with("/dev"))
                .for_each(|placement| giving.give(&placement.path));
        }
        Programs::Only(programs) => {
            tops.for_each(|placement| giving.give(&placement.path));
            if giving.view.is_visible(&plan.files.workspace) {
                giving.give(&plan.files.workspace);
            }
            rules.extend(data());
            rules.extend(programs.iter().flat_map(|program| start(program, view)));
            rules.extend(libraries(programs, view));
        }
    }
    rules.append(&mut giving.rules);
    rules.push(folder("/proc", READ));
    Given {
        rules,
        listed: giving.listed,
    }
}

/// What is given to a command.
pub(crate) struct Given {
    pub(crate) rules: Vec<Rule>,
    /// The folders of which everything was given piece by piece.
    pub(crate) listed: BTreeMap<PathBuf, Option<Stamp>>,
}

/// The command's own folder for temporary files, where no namespace gives it one.
pub(crate) fn scratch(plan: &Plan, version: i32, path: &Path) -> Rule {
    let run = if plan.programs == Programs::Any {
        RUN
    } else {
        0
    };
    folder(path, change(version) | run)
}

struct Giving<'a> {
    view: &'a View,
    change: u64,
    read: u64,
    workspace: &'a Path,
    listings: &'a Listings,
    listed: BTreeMap<PathBuf, Option<Stamp>>,
    rules: Vec<Rule>,
}

impl Giving<'_> {
    fn give(&mut self, path: &Path) {
        let path: PathBuf = path.components().collect();
        if let Ok(facts) = fs::symlink_metadata(&path) {
            self.give_known(&path, facts.file_type());
        }
    }

    fn give_known(&mut self, path: &Path, kind: FileType) {
        if self.rules.len() >= MOST_RULES || path == Path::new("/dev") || path == Path::new("/proc")
        {
            return;
        }
        // Links lead to something that is given, or not, where it is.
        if !(kind.is_dir() || kind.is_file()) {
            return;
        }
        let below = |placement: &&super::view::Placement| {
            placement.path.as_os_str() != path.as_os_str() && is_within(&placement.path, path)
        };
        let what = self
            .view
            .placements
            .iter()
            .rev()
            .find(|placement| is_within(path, &placement.path))
            .map_or(What::Read, |found| found.what);
        let exceptions: Vec<What> = self
            .view
            .placements
            .iter()
            .filter(below)
            .map(|placement| placement.what)
            .collect();
        let hides = exceptions
            .iter()
            .any(|what| matches!(what, What::Hidden | What::Private));
        let rights = match what {
            What::Hidden | What::Private => 0,
            What::Read | What::Run | What::Pinned => self.read,
            // A name that is protected may not exist yet, so at the top of the workspace nothing new is made.
            What::Write
                if path == self.workspace || exceptions.iter().any(|what| *what != What::Write) =>
            {
                self.read
            }
            What::Write => self.change,
        };
        let is_whole = exceptions.is_empty() && !(what == What::Write && path == self.workspace);
        if rights != 0 && (is_whole || !hides) {
            self.rules.push(Rule {
                path: path.to_path_buf(),
                rights,
                is_folder: kind.is_dir(),
            });
        }
        if is_whole || !kind.is_dir() {
            return;
        }
        let children: Entries = if matches!(what, What::Hidden | What::Private) {
            let on_the_way = |placement: &super::view::Placement| {
                Some(
                    path.join(
                        placement
                            .path
                            .strip_prefix(path)
                            .ok()?
                            .components()
                            .next()?,
                    ),
                )
            };
            let ways: BTreeSet<PathBuf> =
                self.view.placements.iter().filter_map(on_the_way).collect();
            ways.into_iter()
                .filter_map(|way| {
                    fs::symlink_metadata(&way)
                        .ok()
                        .map(|facts| (way, facts.file_type()))
                })
                .collect()
        } else {
            let (entries, stamp) = self.listings.of(path);
            self.listed.insert(path.to_path_buf(), stamp);
            entries
        };
        children
            .iter()
            .for_each(|(child, kind)| self.give_known(child, *kind));
    }
}

fn devices() -> Vec<Rule> {
    let there = DEVICES.iter().map(Path::new).filter(|path| path.exists());
    there
        .map(|path| Rule {
            path: path.to_path_buf(),
            rights: DEVICE,
            is_folder: false,
        })
        .collect()
}

fn folder(path: impl Into<PathBuf>, rights: u64) -> Rule {
    Rule {
        path: path.into(),
        rights,
        is_folder: true,
    }
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
                rules.push(Rule {
                    path,
                    rights: READ,
                    is_folder: facts.is_dir(),
                });
            }
        }
    }
    rules
}

fn start(program: &Path, view: &View) -> Vec<Rule> {
    let real = fs::canonicalize(program).unwrap_or_else(|_| program.to_path_buf());
    let needed = needed_to_start(&real)
        .into_iter()
        .filter(|path| path.exists() && view.is_visible(path));
    needed
        .map(|path| Rule {
            path,
            rights: READ | RUN,
            is_folder: false,
        })
        .collect()
}

/// The libraries of programs that have their own.
fn libraries(programs: &[PathBuf], view: &View) -> Vec<Rule> {
    let runnable = Runnable::of(programs);
    let visible = runnable
        .own_libraries()
        .filter(|path| view.is_visible(path));
    visible
        .map(|path| Rule {
            path: path.clone(),
            rights: READ,
            is_folder: path.is_dir(),
        })
        .collect()
}
