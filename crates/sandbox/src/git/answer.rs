//! The answer to what Git would obey.

use super::stamp::Stamp;
use std::fmt;
use std::path::{Path, PathBuf};

/// What Git would obey in a folder.
#[derive(Clone, Debug, Default)]
pub struct GitAnswer {
    /// The files and folders, whether they exist or not.
    pub places: Vec<GitPlace>,
    /// The repositories.
    pub repositories: Vec<GitRepository>,
    /// What could not be seen.
    pub gaps: Vec<GitGap>,
    /// Everything that the answer depends on.
    pub(super) reads: Vec<Read>,
}

/// A file or folder that Git obeys.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GitPlace {
    /// Absolute and without links; where nothing is, the path that Git would open.
    pub path: PathBuf,
    /// What it is to Git.
    pub kind: PlaceKind,
    /// Why Git obeys it.
    pub reason: PlaceReason,
    /// The links on the way there, which lead Git as well.
    pub links: Vec<PathBuf>,
}

/// What a place is to Git.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum PlaceKind {
    /// The folder of a repository: its name counts, and Git writes in it.
    Folder,
    /// A file that leads to a folder of Git's: `.git`, `commondir`.
    Pointer,
    /// A configuration file.
    Config,
    /// A folder of hooks, or one hook.
    Hooks,
    /// A folder that new repositories are copied from.
    Template,
    /// A file with attributes: it chooses among filters, but names no program, and working trees
    /// have such files as well.
    Attributes,
    /// A program that a setting names.
    Program,
}

impl PlaceKind {
    /// Whether whoever writes it decides what Git runs.
    #[must_use]
    pub fn governs(self) -> bool {
        self != Self::Attributes
    }

    /// Whether this holds for everything below it, too.
    #[must_use]
    pub fn covers_tree(self) -> bool {
        self != Self::Folder
    }
}

/// Why Git obeys a place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PlaceReason {
    /// It has the name that Git looks for.
    Name,
    /// A file names it.
    File(PathBuf),
    /// A setting names it.
    Setting {
        /// The configuration file.
        file: PathBuf,
        /// The line, from 1.
        line: usize,
        /// The setting.
        name: String,
    },
}

impl fmt::Display for PlaceReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Name => f.write_str("Git looks for a file of this name"),
            Self::File(file) => write!(f, "`{}` leads Git there", file.display()),
            Self::Setting { file, line, name } => write!(
                f,
                "`{name}` in line {line} of `{}` leads Git there",
                file.display()
            ),
        }
    }
}

/// A repository.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GitRepository {
    /// Its folder, or that of a linked working tree.
    pub git_folder: PathBuf,
    /// The folder with what all its working trees share.
    pub common_folder: PathBuf,
    /// Its working trees. A bare repository has none.
    pub tops: Vec<PathBuf>,
}

/// Something that could not be seen.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GitGap {
    /// The file or folder.
    pub path: PathBuf,
    /// Why it could not be seen.
    pub why: String,
}

impl fmt::Display for GitGap {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "`{}` {}", self.path.display(), self.why)
    }
}

impl GitAnswer {
    /// Whether everything was seen.
    #[must_use]
    pub fn is_complete(&self) -> bool {
        self.gaps.is_empty()
    }

    /// The place that makes Git obey a path: an absolute one without links.
    #[must_use]
    pub fn place_of(&self, path: &Path) -> Option<&GitPlace> {
        self.places.iter().find(|place| {
            place.kind.governs()
                && (place.path == path || place.kind.covers_tree() && path.starts_with(&place.path))
        })
    }

    /// Whether a new look would answer the same.
    #[must_use]
    pub fn is_current(&self) -> bool {
        self.reads.iter().all(Read::is_current)
    }
}

/// Something that was looked at.
#[derive(Clone, Debug)]
pub(super) struct Read {
    pub(super) path: PathBuf,
    pub(super) what: ReadPart,
    /// `None` if nothing was there.
    pub(super) stamp: Option<Stamp>,
}

/// Which part of it counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ReadPart {
    /// Whether it is there, also as a link that leads nowhere.
    Presence,
    /// Which file it is.
    Identity,
    /// What is in it.
    Content,
}

impl ReadPart {
    pub(super) fn stamp(self, path: &Path) -> Option<Stamp> {
        match self {
            Self::Presence => Stamp::of_name(path),
            Self::Identity | Self::Content => Stamp::of(path),
        }
    }
}

impl Read {
    fn is_current(&self) -> bool {
        match (self.stamp, self.what.stamp(&self.path)) {
            (None, None) => true,
            (Some(then), Some(now)) => match self.what {
                ReadPart::Presence => true,
                ReadPart::Identity => then.is_same_file(&now),
                ReadPart::Content => then == now && then.was_settled,
            },
            _ => false,
        }
    }
}
