//! A project on disk to [`Artifacts`]. What cannot be read is a diagnostic, and the rest loads.

use super::Artifacts;
use super::read::{MAX_FILE_BYTES, Reader, folder_finding, size_finding};
use super::slot::{FOLDERS, ROOTS, Slot, is_artifact_name};
use crate::check::file_unreadable;
use crate::diagnostic::Diagnostic;
use std::fs::{self, Metadata};
use std::io::{self, ErrorKind, Read};
use std::path::{Path, PathBuf};
use tool_harness_sandbox::file::open_at_once;

/// How much of a project is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Extent {
    /// Everything.
    Whole,
    /// What judges calls: the root file, hooks, bundles and client maps. Tools in files of their own are left unread.
    Policy,
}

/// Reads every artifact of a project. Never fails as a whole.
#[must_use]
pub fn load(project: &Path) -> Artifacts {
    load_extent(project, Extent::Whole)
}

/// Reads this much of a project. Never fails as a whole.
#[must_use]
pub(crate) fn load_extent(project: &Path, extent: Extent) -> Artifacts {
    let roots: Vec<_> = ROOTS.into_iter().filter(|name| exists(&project.join(name))).collect();
    let mut reader = Reader::new(roots.iter().copied());
    let folders = FOLDERS.into_iter().filter(|(_, slot)| extent == Extent::Whole || *slot != Slot::Tool);
    for (folder, slot) in folders {
        if folder == "overrides" {
            for name in &roots {
                reader.add(Slot::Root, name, content(&project.join(name)));
            }
        }
        let shown = format!(".harness/{folder}");
        match names(&project.join(&shown)) {
            Ok(names) => {
                for name in names {
                    reader.add(slot, &format!("{shown}/{}", name.to_string_lossy()), content(&project.join(&shown).join(&name)));
                }
            }
            // A link that leads nowhere is a folder somebody meant to be there.
            Err(error) if error.kind() == ErrorKind::NotFound && fs::symlink_metadata(project.join(&shown)).is_err() => {}
            Err(error) => reader.add_unlisted(slot, &shown, unreadable("this folder", &error)),
        }
    }
    if extent == Extent::Whole {
        for path in markdown_files(project) {
            reader.add_stray(&path);
        }
    }
    reader.artifacts
}

/// How many folders below `.harness/` are looked into for files that nobody reads.
const MAX_FOLDERS: usize = 1000;

/// Files below `.harness/` whose name ends in `.md`, with their paths: three levels, so that a misplaced one is noticed.
fn markdown_files(project: &Path) -> Vec<String> {
    let (mut files, mut folders) = (Vec::new(), vec![(".harness".to_owned(), 0)]);
    let mut next = 0;
    while let Some((folder, depth)) = folders.get(next).cloned().filter(|_| next < MAX_FOLDERS) {
        next += 1;
        for entry in fs::read_dir(project.join(&folder)).into_iter().flatten().flatten() {
            let Ok(name) = entry.file_name().into_string() else { continue };
            let path = format!("{folder}/{name}");
            match entry.file_type() {
                Ok(kind) if kind.is_dir() && depth < 2 && !name.starts_with(['.', '_']) => folders.push((path, depth + 1)),
                Ok(kind) if kind.is_file() && is_artifact_name(&name) => files.push(path),
                _ => {}
            }
        }
    }
    files.sort_unstable();
    files
}

/// Whether something is there, be it a broken link or a folder.
fn exists(path: &Path) -> bool {
    fs::symlink_metadata(path).is_ok()
}

/// The artifact files of a folder by name, sorted.
fn names(folder: &Path) -> io::Result<Vec<PathBuf>> {
    let mut names = Vec::new();
    for entry in fs::read_dir(folder)? {
        let name = entry?.file_name();
        if is_artifact_name(&name.to_string_lossy()) {
            names.push(PathBuf::from(name));
        }
    }
    names.sort_unstable();
    Ok(names)
}

/// The bytes of a regular file within the limit. Whatever else stands there is not waited for.
fn content(path: &Path) -> Result<Vec<u8>, Box<Diagnostic>> {
    let failed = |error: io::Error| Box::new(unreadable("this file", &error));
    // A socket cannot be opened at all, so this is looked at twice: for the message, and on what was really opened.
    regular(&fs::metadata(path).map_err(failed)?)?;
    let file = open_at_once(path).map_err(failed)?;
    let metadata = file.metadata().map_err(failed)?;
    regular(&metadata)?;
    let mut bytes = Vec::with_capacity(usize::try_from(metadata.len()).unwrap_or_default() + 1);
    file.take(MAX_FILE_BYTES + 1).read_to_end(&mut bytes).map_err(failed)?;
    Ok(bytes)
}

fn regular(metadata: &Metadata) -> Result<(), Box<Diagnostic>> {
    if metadata.is_dir() {
        return Err(folder_finding().into());
    }
    if !metadata.is_file() {
        return Err(file_unreadable::RULE.finding("this is a pipe, socket or device, not a file").help("put a text file here").into());
    }
    if metadata.len() > MAX_FILE_BYTES {
        return Err(size_finding(metadata.len()).into());
    }
    Ok(())
}

fn unreadable(what: &str, error: &io::Error) -> Diagnostic {
    file_unreadable::RULE
        .finding(format!("cannot read {what}: {error}"))
        .help("make it readable for the user who runs harness, or remove it")
}
