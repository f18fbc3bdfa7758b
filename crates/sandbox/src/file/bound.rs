//! Which part of the workspace a tool may use. The jail keeps every tool inside the workspace;
//! these bounds keep some of them further in.

use super::error::{FileError, shown};
use super::protected::folded_parts;

/// Which places of a workspace may be read and changed, as workspace-relative paths without links;
/// `.` is all of it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PathBounds {
    /// The only places that may be read; absent means all.
    pub read: Option<Vec<String>>,
    /// The only places that may be changed; absent means everything that may be read.
    pub write: Option<Vec<String>>,
    /// Places that no tool sees.
    pub hidden: Vec<String>,
    /// Places that no tool changes, each with what says so.
    pub read_only: Vec<(String, String)>,
}

impl PathBounds {
    /// Whether everything is allowed.
    #[must_use]
    pub fn is_open(&self) -> bool {
        *self == Self::default()
    }

    /// Compared as a file system that ignores case would, which can only hide more.
    pub(super) fn hides(&self, path: &str) -> bool {
        if self.hidden.is_empty() {
            return false;
        }
        let parts = folded_parts(path);
        self.hidden
            .iter()
            .any(|hidden| hidden == "." || parts.starts_with(&folded_parts(hidden)))
    }

    /// Whether a path may be read.
    pub(super) fn shows(&self, path: &str) -> bool {
        !self.hides(path) && self.read.as_ref().is_none_or(|places| within(places, path))
    }

    /// Whether a path leads to something that may be read: a folder on the way is listed, without
    /// its other entries.
    pub(super) fn leads_on(&self, path: &str) -> bool {
        let on_the_way = |places: &Vec<String>| places.iter().any(|place| is_below(place, path));
        self.shows(path) || (!self.hides(path) && self.read.as_ref().is_some_and(on_the_way))
    }

    /// Refuses a path that may not be read.
    pub(super) fn judge_read(&self, path: &str, given: &str) -> Result<(), FileError> {
        if self.shows(path) {
            Ok(())
        } else {
            Err(FileError::OutOfBounds(shown(given)))
        }
    }

    /// Refuses a path that may not be changed.
    pub(super) fn judge_write(&self, path: &str) -> Result<(), FileError> {
        // Changing a folder that holds a hidden place would change that place as well.
        let parts = folded_parts(path);
        let is_in = |(place, _): &&(String, String)| {
            place == "." || parts.starts_with(&folded_parts(place))
        };
        if let Some((place, why)) = self.read_only.iter().find(is_in) {
            return Err(FileError::ReadOnly {
                path: shown(path),
                place: shown(place),
                why: why.clone(),
            });
        }
        let covers_hidden = self
            .hidden
            .iter()
            .any(|hidden| folded_parts(hidden).starts_with(&parts));
        let may = self.shows(path)
            && !covers_hidden
            && self
                .write
                .as_ref()
                .is_none_or(|places| within(places, path));
        if may {
            Ok(())
        } else {
            Err(FileError::OutOfBounds(shown(path)))
        }
    }
}

fn within(places: &[String], path: &str) -> bool {
    places.iter().any(|place| is_below(path, place))
}

/// Whether `path` is `place` or below it, component by component.
fn is_below(path: &str, place: &str) -> bool {
    place == "."
        || path
            .strip_prefix(place)
            .is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bounds(read: Option<&[&str]>, write: Option<&[&str]>, hidden: &[&str]) -> PathBounds {
        let texts = |places: &[&str]| {
            places
                .iter()
                .map(|place| (*place).to_owned())
                .collect::<Vec<_>>()
        };
        PathBounds {
            read: read.map(texts),
            write: write.map(texts),
            hidden: texts(hidden),
            read_only: Vec::new(),
        }
    }

    #[test]
    fn a_place_covers_itself_and_what_is_below_by_whole_parts() {
        let bounds = bounds(Some(&["src"]), None, &["src/secret"]);
        for (path, shown) in [
            ("src", true),
            ("src/a/b", true),
            ("srcs", false),
            (".", false),
            ("src/secret", false),
            ("src/Secret/k", false),
            ("SRC/a", false),
            ("lib", false),
        ] {
            assert_eq!(bounds.shows(path), shown, "{path}");
            assert_eq!(
                bounds.judge_write(path).is_ok(),
                shown && path != "src",
                "{path}"
            );
        }
        assert!(bounds.leads_on(".") && !bounds.leads_on("lib") && !bounds.leads_on("src/secret"));
    }

    #[test]
    fn a_read_only_place_is_read_and_its_neighbours_are_changed() {
        let closed = |place: &str| PathBounds {
            read_only: vec![(place.into(), "why".into())],
            ..PathBounds::default()
        };
        let bounds = closed("infra/prod");
        for (path, fine) in [
            ("infra/prod", false),
            ("infra/prod/main.tf", false),
            ("Infra/PROD/x", false),
            ("infra", true),
            ("infra/product", true),
            ("src/infra/prod", true),
        ] {
            assert!(bounds.shows(path), "{path}");
            assert_eq!(bounds.judge_write(path).is_ok(), fine, "{path}");
        }
        assert!(closed(".").judge_write("a").is_err() && closed(".").shows("a"));
    }

    #[test]
    fn writing_can_be_limited_more_than_reading() {
        let some = bounds(None, Some(&["out"]), &[]);
        assert!(
            some.shows("src/a")
                && some.judge_write("out/a").is_ok()
                && some.judge_write("src/a").is_err()
        );
        let none = bounds(None, Some(&[]), &[]);
        assert!(none.shows("a") && none.judge_write("a").is_err());
        assert!(PathBounds::default().is_open() && PathBounds::default().judge_write("a").is_ok());
    }
}
