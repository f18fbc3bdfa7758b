//! The files above a project: what a machine's administrator and a user decide for all their
//! projects.

use super::ArtifactKind;
use super::root::{
    FORMAT, LIMITS_FIELD, NETWORK_FIELD, POLICY_FIELD, REDACTION_FIELD, Root, SANDBOX_FIELD,
    SECRETS_FIELD, TOOLS_POLICY_FIELD, read_root,
};
use crate::artifact::frontmatter::{body_text, split};
use crate::artifact::load::content;
use crate::artifact::problem::{Problems, Subject};
use crate::artifact::read::{text_of, unsplit_finding};
use crate::artifact::shape::Field;
use crate::artifact::yaml;
use crate::diagnostic::{Diagnostic, Severity};
use crate::span::{Place, Source, Span};
use std::path::Path;
use std::sync::Arc;
use std::{fmt, fs};

/// What counts in the files of the machine and of the user: what every project of theirs is kept
/// to.
pub(in crate::artifact) const FIELDS: &[Field] = &[
    FORMAT,
    TOOLS_POLICY_FIELD,
    POLICY_FIELD,
    NETWORK_FIELD,
    SANDBOX_FIELD,
    LIMITS_FIELD,
    REDACTION_FIELD,
    SECRETS_FIELD,
];

/// Whose policy a file holds. A lower authority cannot reopen what a higher one denies or narrows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Authority {
    /// The machine: `/etc/harness/harness.md`.
    Machine,
    /// The user: `harness/harness.md` in the folder of their settings.
    User,
}

impl fmt::Display for Authority {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Machine => "machine",
            Self::User => "user",
        })
    }
}

/// One file above a project.
#[derive(Clone, Debug)]
pub struct LayerFile {
    /// Its authority.
    pub authority: Authority,
    /// Its settings.
    pub root: Root,
    /// Its first error, which stops everything: unreadable policy may have forbidden anything.
    pub broken: Option<Diagnostic>,
}

/// Reads the file of an authority, with its problems; `None` if there is no file.
pub(crate) fn read_layer(
    authority: Authority,
    path: &Path,
) -> Option<(LayerFile, Vec<Diagnostic>)> {
    let name = path.display().to_string();
    // Only a missing file means no policy. An unreadable one could forbid anything.
    if matches!(fs::symlink_metadata(path), Err(error) if matches!(error.kind(), std::io::ErrorKind::NotFound | std::io::ErrorKind::NotADirectory))
    {
        return None;
    }
    let (root, problems) = match content(path).and_then(text_of) {
        Ok(text) => read_text(&Source::new(name.as_str(), text)),
        Err(finding) => (
            Root::default(),
            vec![finding.at(Place::new(&Source::new(name.as_str(), ""), Span::default()))],
        ),
    };
    let broken = problems
        .iter()
        .find(|problem| problem.severity == Severity::Error)
        .cloned();
    Some((
        LayerFile {
            authority,
            root,
            broken,
        },
        problems,
    ))
}

fn read_text(source: &Arc<Source>) -> (Root, Vec<Diagnostic>) {
    let halves = match split(&source.text) {
        Ok(halves) => halves,
        Err(unsplit) => return (Root::default(), vec![unsplit_finding(source, unsplit)]),
    };
    let (node, found) = yaml::parse(source, halves.yaml);
    let mut problems = Problems::new(source, Subject::Layer, found);
    let body = body_text(&source.text[halves.body.start..halves.body.end]);
    let root = node
        .map(|node| read_root(&mut problems, ArtifactKind::Layer, &node, body))
        .unwrap_or_default();
    (root, problems.found)
}
