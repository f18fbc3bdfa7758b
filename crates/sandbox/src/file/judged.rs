//! Paths that rules judged before a call began. Another process can put a link in the way of such a
//! path afterwards, so the jail has the same rules judge what it really opened.

use super::Jail;
use super::error::{FileError, shown};
use super::path::{RelativePath, join};
use std::fmt;
use std::path::Path;
use std::sync::Arc;

/// What a path that was opened is to the path that the rules judged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Opened {
    /// The same path.
    Itself,
    /// Something below it.
    Below,
}

/// The question that rules answer about the real path of what was opened: relative to the workspace,
/// `.` for the workspace. The answer is the reason to refuse it.
type Objection = dyn Fn(&str, Opened) -> Option<String> + Send + Sync;

/// A path as a call gives it, and the rules that judged it.
#[derive(Clone)]
pub struct JudgedPath {
    given: String,
    objection: Arc<Objection>,
}

impl JudgedPath {
    /// A path that was judged, and how to judge what is opened under its name.
    pub fn new(
        given: impl Into<String>,
        objection: impl Fn(&str, Opened) -> Option<String> + Send + Sync + 'static,
    ) -> Self {
        Self {
            given: given.into(),
            objection: Arc::new(objection),
        }
    }
}

impl fmt::Debug for JudgedPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("JudgedPath").field(&self.given).finish()
    }
}

/// The judged paths of one jail, each with its name in the workspace.
#[derive(Clone, Debug, Default)]
pub(super) struct JudgedPaths(Vec<(String, JudgedPath)>);

impl JudgedPaths {
    /// A path that is outside by its name is left out: nothing is ever opened there.
    pub(super) fn of(root: &Path, paths: &[JudgedPath]) -> Self {
        let inside = |judged: &JudgedPath| {
            let inside = RelativePath::parse(root, &judged.given).ok()?;
            Some((inside.as_str().to_owned(), judged.clone()))
        };
        Self(paths.iter().filter_map(inside).collect())
    }

    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl Jail {
    /// Judges what was opened under the name `inside`.
    pub(super) fn judge_opened(
        &self,
        inside: &str,
        real: &str,
        given: &str,
    ) -> Result<(), FileError> {
        for (name, judged) in &self.judged.0 {
            let opened = match below(inside, name) {
                Some("") => Opened::Itself,
                Some(_) => Opened::Below,
                None => continue,
            };
            judged.judge(real, opened, given)?;
        }
        Ok(())
    }

    /// Judges what is about to be changed under the name `inside`. A folder that is made on the way
    /// to a judged path is judged by where that path would be.
    pub(super) fn judge_change(
        &self,
        inside: &str,
        real: &str,
        given: &str,
    ) -> Result<(), FileError> {
        self.judge_opened(inside, real, given)?;
        for (name, judged) in &self.judged.0 {
            if let Some(rest) = below(name, inside).filter(|rest| !rest.is_empty()) {
                judged.judge(&join(real, rest), Opened::Itself, given)?;
            }
        }
        Ok(())
    }
}

impl JudgedPath {
    /// Why the rules do not accept what was opened.
    #[must_use]
    pub fn objection(&self, real: &str, opened: Opened) -> Option<String> {
        (self.objection)(real, opened)
    }

    fn judge(&self, real: &str, opened: Opened, given: &str) -> Result<(), FileError> {
        match self.objection(real, opened) {
            None => Ok(()),
            Some(why) => Err(FileError::Ruled {
                path: shown(given),
                real: shown(real),
                why,
            }),
        }
    }
}

/// The rest of a path below another, empty if they are the same.
fn below<'a>(path: &'a str, place: &str) -> Option<&'a str> {
    match path.strip_prefix(place) {
        _ if place == "." && path != "." => Some(path),
        Some("") => Some(""),
        Some(rest) => rest.strip_prefix('/'),
        None => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn below_compares_whole_parts() {
        for (path, place, rest) in [
            ("a", "a", Some("")),
            ("a/b", "a", Some("b")),
            ("a/b/c", "a", Some("b/c")),
            ("ab", "a", None),
            ("a", "a/b", None),
            ("a/b", ".", Some("a/b")),
            (".", ".", Some("")),
            (".", "a", None),
        ] {
            assert_eq!(below(path, place), rest, "{path} below {place}");
        }
    }
}
