//! Reads a project on disk into [`Artifacts`]. A file that cannot be read is a diagnostic; the rest
//! loads.

use super::Artifacts;
use super::file_kind::{FOLDERS, FileKind, ROOTS, SKILL_FILE, TEXT_FOLDERS, is_artifact_name};
use super::read::{MAX_FILE_BYTES, Reader, folder_finding, size_finding};
use crate::artifact::rule::file_unreadable;
use crate::diagnostic::Diagnostic;
use std::collections::HashMap;
use std::fs::{self, Metadata};
use std::io::{self, ErrorKind, Read};
use std::path::{Path, PathBuf};
use tool_harness_sandbox::file::open_nonblocking;

/// How much of a project is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Extent {
    /// Everything.
    Whole,
    /// Only what judges calls: the root file, hooks, bundles and client maps, but no tool files.
    Policy,
}

/// Reads every artifact of a project. Never fails as a whole.
#[must_use]
pub fn load(project: &Path) -> Artifacts {
    Files::on_disk(project, Extent::Whole).artifacts()
}

/// The artifact files of a project at one moment, in the order they are read.
#[derive(Clone, Debug, Default)]
pub(crate) struct Files {
    entries: Vec<Entry>,
    strays: Vec<String>,
}

#[derive(Clone, Debug)]
struct Entry {
    kind: FileKind,
    path: String,
    content: Content,
}

#[derive(Clone, Debug)]
enum Content {
    /// A file, or why it could not be read.
    File(Result<Vec<u8>, Box<Diagnostic>>),
    /// A folder whose files could not be listed.
    Unlisted(Diagnostic),
}

impl Files {
    /// Reads the files as they are now.
    pub(crate) fn on_disk(project: &Path, extent: Extent) -> Self {
        let mut entries = Vec::new();
        let file = |kind, path: String, at: &Path| Entry {
            kind,
            path,
            content: Content::File(content(at)),
        };
        let folders = FOLDERS.into_iter().chain(TEXT_FOLDERS).filter(|(_, kind)| {
            extent == Extent::Whole
                || !matches!(
                    kind,
                    FileKind::Tool | FileKind::Agent | FileKind::Skill | FileKind::Context
                )
        });
        for (folder, kind) in folders {
            if folder == "overrides" {
                entries.extend(
                    roots(project)
                        .map(|name| file(FileKind::Root, name.to_owned(), &project.join(name))),
                );
            }
            let shown = format!(".harness/{folder}");
            let there = project.join(&shown);
            if kind == FileKind::Skill {
                entries.extend(skill_folders(&there).iter().map(|name| {
                    let inside = format!("{name}/{SKILL_FILE}");
                    file(kind, format!("{shown}/{inside}"), &there.join(&inside))
                }));
            }
            match names(&there) {
                Ok(names) => entries.extend(names.iter().map(|name| {
                    file(
                        kind,
                        format!("{shown}/{}", name.to_string_lossy()),
                        &there.join(name),
                    )
                })),
                // A dangling link was meant to be a folder.
                Err(error)
                    if error.kind() == ErrorKind::NotFound
                        && fs::symlink_metadata(&there).is_err() => {}
                Err(error) => {
                    entries.push(Entry {
                        kind,
                        path: shown,
                        content: Content::Unlisted(unreadable("this folder", &error)),
                    });
                }
            }
        }
        let strays = if extent == Extent::Whole {
            files(project)
        } else {
            Vec::new()
        };
        Self { entries, strays }
    }

    /// A single root file with this text.
    pub(crate) fn of_root(text: &str) -> Self {
        let content = Content::File(Ok(text.as_bytes().to_vec()));
        Self {
            entries: vec![Entry {
                kind: FileKind::Root,
                path: ROOTS[0].to_owned(),
                content,
            }],
            strays: Vec::new(),
        }
    }

    /// Parses the files.
    pub(crate) fn artifacts(self) -> Artifacts {
        let roots: Vec<_> = self
            .entries
            .iter()
            .filter(|entry| entry.kind == FileKind::Root)
            .map(|entry| entry.path.clone())
            .collect();
        let mut reader = Reader::new(roots.iter().map(String::as_str));
        for Entry {
            kind,
            path,
            content,
        } in self.entries
        {
            match content {
                Content::File(content) => reader.add(kind, &path, content),
                Content::Unlisted(finding) => reader.add_unlisted(kind, &path, finding),
            }
        }
        for path in self.strays {
            reader.add_stray(&path);
        }
        reader.finish()
    }

    /// Every file that could be read, with its bytes.
    pub(crate) fn readable(&self) -> impl Iterator<Item = (&str, &[u8])> {
        self.entries
            .iter()
            .filter_map(|entry| match &entry.content {
                Content::File(Ok(bytes)) => Some((entry.path.as_str(), bytes.as_slice())),
                _ => None,
            })
    }

    /// Replaces the bytes of an existing file; returns whether that changed anything.
    pub(crate) fn replace(&mut self, path: &str, bytes: &[u8]) -> bool {
        let Some(entry) = self.entries.iter_mut().find(|entry| entry.path == path) else {
            return false;
        };
        let same = matches!(&entry.content, Content::File(Ok(old)) if old == bytes);
        entry.content = Content::File(Ok(bytes.to_vec()));
        !same
    }

    /// The first of these root files that exists.
    pub(crate) fn root_in(&self, among: &HashMap<String, Vec<u8>>) -> Option<String> {
        let mut roots = self
            .entries
            .iter()
            .filter(|entry| entry.kind == FileKind::Root);
        roots
            .find(|entry| among.contains_key(&entry.path))
            .map(|entry| entry.path.clone())
    }

    /// Drops every root file but this one; returns whether there was another.
    pub(crate) fn only_root(&mut self, path: &str) -> bool {
        let before = self.entries.len();
        self.entries
            .retain(|entry| entry.kind != FileKind::Root || entry.path == path);
        self.entries.len() < before
    }
}

/// The root files that exist, including broken links and folders.
pub(super) fn roots(project: &Path) -> impl Iterator<Item = &'static str> {
    ROOTS
        .into_iter()
        .filter(|name| fs::symlink_metadata(project.join(name)).is_ok())
}

/// How many folders below `.harness/` are searched for misplaced files.
const MAX_FOLDERS: usize = 1000;

/// Files below `.harness/` with their paths: three levels, so that a misplaced one is noticed.
fn files(project: &Path) -> Vec<String> {
    let (mut files, mut folders) = (Vec::new(), vec![(".harness".to_owned(), 0)]);
    let mut next = 0;
    while let Some((folder, depth)) = folders.get(next).cloned().filter(|_| next < MAX_FOLDERS) {
        next += 1;
        for entry in fs::read_dir(project.join(&folder))
            .into_iter()
            .flatten()
            .flatten()
        {
            let Ok(name) = entry.file_name().into_string() else {
                continue;
            };
            let path = format!("{folder}/{name}");
            match entry.file_type() {
                Ok(kind) if kind.is_dir() && depth < 2 && !name.starts_with(['.', '_']) => {
                    folders.push((path, depth + 1))
                }
                Ok(kind) if !kind.is_dir() => files.push(path),
                _ => {}
            }
        }
    }
    files.sort_unstable();
    files
}

/// The artifact files of a folder by name, sorted.
pub(super) fn names(folder: &Path) -> io::Result<Vec<PathBuf>> {
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

/// The folders with a skill, by name, sorted.
fn skill_folders(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let mut names: Vec<String> = entries
        .filter(|entry| entry.path().join(SKILL_FILE).is_file())
        .filter_map(|entry| entry.file_name().into_string().ok())
        .filter(|name| !name.starts_with(['.', '_']))
        .collect();
    names.sort_unstable();
    names
}

/// The bytes of a regular file within the limit. Never blocks on a pipe or device.
pub(super) fn content(path: &Path) -> Result<Vec<u8>, Box<Diagnostic>> {
    let failed = |error: io::Error| Box::new(unreadable("this file", &error));
    // Checked twice: here for the message, because a socket cannot be opened, and again on the
    // opened file.
    regular(&fs::metadata(path).map_err(failed)?)?;
    let file = open_nonblocking(path).map_err(failed)?;
    let metadata = file.metadata().map_err(failed)?;
    regular(&metadata)?;
    let mut bytes = Vec::with_capacity(usize::try_from(metadata.len()).unwrap_or_default() + 1);
    file.take(MAX_FILE_BYTES + 1)
        .read_to_end(&mut bytes)
        .map_err(failed)?;
    Ok(bytes)
}

fn regular(metadata: &Metadata) -> Result<(), Box<Diagnostic>> {
    if metadata.is_dir() {
        return Err(folder_finding().into());
    }
    if !metadata.is_file() {
        return Err(file_unreadable::RULE
            .finding("this is a pipe, socket or device, not a file")
            .help("put a text file here")
            .into());
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
