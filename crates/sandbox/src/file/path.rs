//! Paths as callers give them, made relative to the workspace by their text alone.

use std::ffi::OsStr;
use std::path::{Component, Path};

use super::error::{FileError, shown};

/// The kernel's limits, minus the closing zero byte.
const PATH_MAX: usize = 4095;
const NAME_MAX: usize = 255;

/// A path inside the workspace as far as its text goes: no `..`, no `.`, no empty component. The
/// kernel judges links.
///
/// `..` is resolved here and not by the kernel, so that the path that rules matched is the path
/// that is opened.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct RelativePath {
    text: String,
}

impl RelativePath {
    /// Reads `given`, which is relative to `root` or an absolute path that begins with `root`,
    /// component by component.
    pub(super) fn parse(root: &Path, given: &str) -> Result<Self, FileError> {
        let bad = |why| FileError::BadPath {
            path: shown(given),
            why,
        };
        if given.is_empty() {
            return Err(bad("it is empty; `.` is the workspace"));
        }
        if given.contains('\0') {
            return Err(bad("it contains a zero byte"));
        }
        if given.len() > PATH_MAX {
            return Err(bad("it is longer than 4095 bytes"));
        }
        let mut parts = given
            .split('/')
            .filter(|part| !part.is_empty() && *part != ".");
        if given.starts_with('/') {
            for component in root.components() {
                if let Component::Normal(expected) = component
                    && parts.next().map(OsStr::new) != Some(expected)
                {
                    return Err(FileError::Outside(shown(given)));
                }
            }
        }
        let mut kept: Vec<&str> = Vec::new();
        for part in parts {
            if part != ".." {
                kept.push(part);
            } else if kept.pop().is_none() {
                return Err(FileError::Outside(shown(given)));
            }
        }
        if kept.iter().any(|part| part.len() > NAME_MAX) {
            return Err(bad("a component is longer than 255 bytes"));
        }
        Ok(Self {
            text: if kept.is_empty() {
                ".".into()
            } else {
                kept.join("/")
            },
        })
    }

    /// Relative to the workspace, `.` for the workspace itself.
    pub(super) fn as_str(&self) -> &str {
        &self.text
    }

    /// The directory it is in and its name there; `None` for the workspace itself.
    pub(super) fn split(&self) -> Option<(&str, &str)> {
        match self.text.rsplit_once('/') {
            Some(split) => Some(split),
            None if self.text == "." => None,
            None => Some((".", &self.text)),
        }
    }
}

/// Joins a directory's workspace-relative path and a name in it.
pub(super) fn join(directory: &str, name: &str) -> String {
    if directory == "." {
        name.to_owned()
    } else {
        format!("{directory}/{name}")
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn parse(given: &str) -> Result<String, FileError> {
        RelativePath::parse(Path::new("/ws"), given).map(|inside| inside.text)
    }

    fn check(given: &str, expected: &str) {
        let got = match parse(given) {
            Ok(text) => text,
            Err(FileError::Outside(_)) => "outside".into(),
            Err(FileError::BadPath { .. }) => "bad".into(),
            Err(other) => other.to_string(),
        };
        assert_eq!(got, expected, "{given:?}");
    }

    #[test]
    fn a_path_is_inside_outside_or_unusable() {
        check("a/b.txt", "a/b.txt");
        check("./a//b/.", "a/b");
        check("a/../b", "b");
        check("a/..", ".");
        check(".", ".");
        check("/ws", ".");
        check("/ws/", ".");
        check("/ws/a/../b", "b");
        check("//ws/./a", "a");
        check("...", "...");
        check("a\\..\\b", "a\\..\\b");
        check("..", "outside");
        check("../x", "outside");
        check("a/../../x", "outside");
        check("../ws/x", "outside");
        check("/", "outside");
        check("/ws-evil/x", "outside");
        check("/w", "outside");
        check("/ws/../etc/passwd", "outside");
        check("/ws/../ws/x", "outside");
        check("/etc/../ws/x", "outside");
        check("/proc/self/root/etc/passwd", "outside");
        check("", "bad");
        check("a\0b", "bad");
        check(&"x".repeat(256), "bad");
        check(&"x".repeat(255), &"x".repeat(255));
        check(&"x/".repeat(2048), "bad");
    }

    /// A second implementation: walk up and down from the workspace over absolute paths, and fail
    /// on the first step above it.
    fn model(given: &str) -> Option<Vec<String>> {
        let mut at: Vec<String> = if given.starts_with('/') {
            vec![]
        } else {
            vec!["ws".into()]
        };
        let mut entered = !at.is_empty();
        for part in given.split('/') {
            match part {
                "" | "." => {}
                ".." => {
                    at.pop();
                }
                name => at.push(name.into()),
            }
            let inside = at.first().is_some_and(|first| first == "ws");
            if inside {
                entered = true;
            } else if entered || !at.is_empty() || part == ".." {
                return None;
            }
        }
        (entered && at.first().is_some_and(|first| first == "ws")).then(|| at.split_off(1))
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(20_000))]

        #[test]
        fn no_mix_of_parts_resolves_outside(
            absolute in any::<bool>(),
            parts in prop::collection::vec(prop::sample::select(vec!["ws", "ws-evil", "..", ".", "", "a", "b", "...", "etc", ".harness"]), 0..10),
        ) {
            let given = format!("{}{}", if absolute { "/" } else { "./" }, parts.join("/"));
            let got = parse(&given);
            match model(&given) {
                None => prop_assert!(matches!(got, Err(FileError::Outside(_))), "{given:?}: {got:?}"),
                Some(kept) => {
                    let expected = if kept.is_empty() { ".".to_owned() } else { kept.join("/") };
                    prop_assert_eq!(got.expect("inside"), expected, "{:?}", given);
                }
            }
        }

        #[test]
        fn no_text_at_all_gives_a_path_with_steps_upwards(given in "\\PC{0,40}|[./a]{0,40}") {
            if let Ok(text) = parse(&given) {
                prop_assert!(text == "." || text.split('/').all(|part| !part.is_empty() && part != "." && part != ".."), "{given:?}: {text:?}");
            }
        }
    }
}
