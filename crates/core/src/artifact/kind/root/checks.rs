//! `checks` of the root file.

use super::globs;
use crate::artifact::node::Node;
use crate::artifact::problem::Problems;
use crate::artifact::shape::{Field, Shape};
use crate::artifact::value::{flag, natural};
use crate::diagnostic::Severity;
use crate::span::Place;

const SEVERITIES: Shape = Shape::Map(&Shape::Word(&["error", "warning", "note", "off"]));

pub(super) const CHECKS: &[Field] = &[
    Field::new(
        "severity",
        SEVERITIES,
        "none",
        "Code to severity; `off` leaves a finding out.",
    ),
    Field::new(
        "context_tokens",
        Shape::Integer(1000),
        "200000",
        "How many tokens the context of the model has. A description or schema that takes more than a fiftieth of it is reported.",
    ),
    Field::new(
        "scan_fences",
        Shape::Bool,
        "false",
        "Whether fenced code is searched for tool names too; otherwise it counts as an example.",
    ),
    Field::new(
        "paths",
        Shape::List(&Shape::Record(CHECKED_PATHS)),
        "none",
        "Severities for findings in some files; the last matching entry counts.",
    ),
];

const CHECKED_PATHS: &[Field] = &[
    Field::new(
        "path",
        Shape::Text,
        "required",
        "Glob over paths, relative to the project.",
    ),
    Field::new(
        "severity",
        SEVERITIES,
        "none",
        "Code to severity; `off` leaves a finding out.",
    ),
];

/// `checks`: how severe findings are here.
#[derive(Clone, Debug, Default)]
pub struct Checks {
    /// Code to severity, everywhere.
    pub severity: Vec<(String, SeveritySetting)>,
    /// Code to severity, for some files.
    pub paths: Vec<CheckedPaths>,
    /// How many tokens a model's context has, when written.
    pub context_tokens: Option<u64>,
    /// Whether fenced code in texts is checked.
    pub scan_fences: bool,
    /// Where it was written.
    pub place: Option<Place>,
}

/// One entry of `checks.paths`.
#[derive(Clone, Debug)]
pub struct CheckedPaths {
    /// Glob over paths.
    pub path: String,
    /// Code to severity.
    pub severity: Vec<(String, SeveritySetting)>,
}

impl Checks {
    /// Every code that is named, with the place of `checks`.
    pub fn codes(&self) -> impl Iterator<Item = (&str, Option<&Place>)> {
        let all = self
            .severity
            .iter()
            .chain(self.paths.iter().flat_map(|part| &part.severity));
        all.map(|(code, _)| (code.as_str(), self.place.as_ref()))
    }
}

/// What `checks` sets a code to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SeveritySetting {
    /// Not reported.
    Off,
    /// Reported like this.
    Severity(Severity),
}

impl SeveritySetting {
    /// Parses a setting.
    #[must_use]
    pub fn named(word: &str) -> Option<Self> {
        Some(match word {
            "off" => Self::Off,
            "note" => Self::Severity(Severity::Note),
            "warning" => Self::Severity(Severity::Warning),
            "error" => Self::Severity(Severity::Error),
            _ => return None,
        })
    }
}

pub(super) fn checks(problems: &mut Problems<'_>, node: &Node) -> Checks {
    let severity = |node: Option<&Node>| {
        let entries = node.map(Node::entries).unwrap_or_default().iter();
        entries
            .filter_map(|(key, word)| {
                Some((key.name.clone(), SeveritySetting::named(word.text()?)?))
            })
            .collect()
    };
    let paths = node.items_of("paths").iter().filter_map(|entry| {
        let path = entry.get("path")?;
        globs(problems, Some(path), "checks.paths");
        let path = path.text()?.to_owned();
        Some(CheckedPaths {
            path,
            severity: severity(entry.get("severity")),
        })
    });
    Checks {
        context_tokens: natural(node.get("context_tokens")),
        scan_fences: flag(node.get("scan_fences")),
        severity: severity(node.get("severity")),
        paths: paths.collect(),
        place: Some(Place::new(problems.source, node.span)),
    }
}
