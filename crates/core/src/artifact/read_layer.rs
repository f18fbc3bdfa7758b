//! The file of a machine or user to a [`LayerFile`].

use super::frontmatter::{body_text, split};
use super::layer::{Authority, LayerFile};
use super::load::content;
use super::problem::{Problems, Subject};
use super::read::{text_of, unsplit_finding};
use super::read_root::read_root;
use super::{ArtifactKind, Root, yaml};
use crate::diagnostic::{Diagnostic, Severity};
use crate::span::{Place, Source, Span};
use std::fs;
use std::path::Path;
use std::sync::Arc;

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
    let mut problems = Problems::new(source, Subject::Layer);
    problems.found = found;
    let body = body_text(&source.text[halves.body.start..halves.body.end]);
    let root = node
        .map(|node| read_root(&mut problems, ArtifactKind::Layer, &node, body))
        .unwrap_or_default();
    (root, problems.found)
}
