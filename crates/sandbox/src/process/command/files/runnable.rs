//! What may be executed, or mapped as a program, if a plan lists programs.
//!
//! Landlock forbids executing anything else, but not reading it, and the loader can start what it
//! can read. So in namespaces only what is named here can be mapped as a program: the listed
//! programs, what the kernel opens to start them, and libraries.

use super::landlock_rules::PROGRAMS_AMONG_DATA;
use super::program::needed_to_start;
use super::view::{MountKind, View, mount_points};
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

const LIBRARIES: &[&str] = &[
    "/lib",
    "/lib32",
    "/lib64",
    "/libx32",
    "/usr/lib",
    "/usr/lib32",
    "/usr/lib64",
    "/usr/libx32",
    "/usr/local/lib",
];
/// Folders of programs whose libraries are in the folders above.
const PROGRAMS: &[&str] = &[
    "/bin",
    "/sbin",
    "/usr/bin",
    "/usr/sbin",
    "/usr/local/bin",
    "/usr/local/sbin",
];
/// How deep below a toolchain's libraries to look for programs, and among how many entries.
const DEPTH: usize = 3;
const MOST_ENTRIES: usize = 2000;

/// What may be run.
#[derive(Debug, Default)]
pub(crate) struct Runnable {
    files: BTreeSet<PathBuf>,
    libraries: BTreeSet<PathBuf>,
    /// Folders of programs among the libraries of toolchains.
    closed: BTreeSet<PathBuf>,
}

impl Runnable {
    pub(crate) fn of(programs: &[PathBuf]) -> Self {
        let mut found = Self::default();
        found.libraries.extend(
            LIBRARIES
                .iter()
                .filter_map(|folder| fs::canonicalize(folder).ok()),
        );
        for program in programs
            .iter()
            .filter_map(|program| fs::canonicalize(program).ok())
        {
            found.add_own_libraries(&program);
            found.files.extend(needed_to_start(&program));
        }
        found
    }

    /// A program outside the system's folders has its libraries beside it, or beside the folder it
    /// is in.
    fn add_own_libraries(&mut self, program: &Path) {
        let Some(folder) = program
            .parent()
            .filter(|folder| !PROGRAMS.iter().any(|system| *folder == Path::new(system)))
        else {
            return;
        };
        let beside = fs::read_dir(folder)
            .into_iter()
            .flatten()
            .flatten()
            .take(MOST_ENTRIES)
            .map(|entry| entry.path());
        self.files.extend(
            beside
                .filter(|path| is_library(path))
                .filter_map(|path| fs::canonicalize(path).ok()),
        );
        let prefix = folder
            .parent()
            .filter(|prefix| folder.ends_with("bin") && prefix.parent().is_some());
        let libraries = prefix
            .into_iter()
            .flat_map(|prefix| ["lib", "lib64"].map(|name| prefix.join(name)));
        for library in libraries
            .filter(|library| fs::symlink_metadata(library).is_ok_and(|facts| facts.is_dir()))
        {
            if !self.libraries.contains(&library) {
                let mut left = MOST_ENTRIES;
                self.close_programs(&library, DEPTH, &mut left);
                self.libraries.insert(library);
            }
        }
    }

    fn close_programs(&mut self, folder: &Path, depth: usize, left: &mut usize) {
        for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
            *left = left.saturating_sub(1);
            if *left == 0 || !entry.file_type().is_ok_and(|kind| kind.is_dir()) {
                continue;
            }
            if PROGRAMS_AMONG_DATA
                .iter()
                .any(|name| entry.file_name() == *name)
            {
                self.closed.insert(entry.path());
            } else if depth > 0 {
                self.close_programs(&entry.path(), depth - 1, left);
            }
        }
    }

    /// The libraries of programs that bring their own.
    pub(crate) fn own_libraries(&self) -> impl Iterator<Item = &PathBuf> {
        let is_own = |path: &&PathBuf| !LIBRARIES.iter().any(|system| path.starts_with(system));
        self.libraries.iter().filter(is_own).chain(
            self.files
                .iter()
                .filter(|path| is_library(path))
                .filter(is_own),
        )
    }

    /// Makes these, and nothing else, executable in a view. Hidden files stay hidden.
    pub(crate) fn open_in(&self, view: &mut View) {
        let mut wanted: BTreeMap<PathBuf, MountKind> = view
            .mounts
            .drain(..)
            .map(|mount| (mount.path, mount.kind))
            .collect();
        // The most specific last: folders of libraries, closed folders in them, files.
        for path in &self.libraries {
            if matches!(above(&wanted, path), None | Some(MountKind::Read)) {
                wanted.insert(path.clone(), MountKind::Run);
            }
        }
        for path in &self.closed {
            if above(&wanted, path) == Some(MountKind::Run) {
                wanted.insert(path.clone(), MountKind::Read);
            }
        }
        for path in &self.files {
            // The command may not change a program that it may run, even where it may write.
            if !matches!(
                above(&wanted, path),
                Some(MountKind::Hidden | MountKind::Private)
            ) {
                wanted.insert(path.clone(), MountKind::Run);
            }
        }
        view.mounts = mount_points(wanted);
    }
}

/// The kind of mount of a path, its own or that of the nearest folder above.
fn above(wanted: &BTreeMap<PathBuf, MountKind>, path: &Path) -> Option<MountKind> {
    path.ancestors()
        .find_map(|above| wanted.get(above))
        .copied()
}

fn is_library(path: &Path) -> bool {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    name.ends_with(".so") || name.contains(".so.")
}
