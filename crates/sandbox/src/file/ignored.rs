//! What `.gitignore` files say about paths. They are read through the jail like any other file, and
//! not through links.

use std::fs::File;
use std::io::Read as _;
use std::os::fd::AsFd as _;
use std::sync::Arc;

use ignore::Match;
use ignore::gitignore::{Gitignore, GitignoreBuilder};
use rustix::fs::OFlags;

use super::Jail;
use super::open::{NO_LINKS, READ, open_beneath, regular_file};
use super::path::join;
use super::protected::GIT_FOLDER;

/// The file that lists what git does not track.
pub(super) const GITIGNORE: &str = ".gitignore";
/// The most bytes of one such file; the rest is not read.
const BYTES: u64 = 1 << 20;

/// The files that apply to a directory, the nearest first.
#[derive(Clone, Default)]
pub(super) struct Ignores(Option<Arc<IgnoreFile>>);

struct IgnoreFile {
    rules: Gitignore,
    above: Ignores,
}

impl Ignores {
    /// Whether the nearest rule about a path leaves it out.
    pub(super) fn leave_out(&self, path: &str, is_directory: bool) -> bool {
        let mut at = self;
        while let Some(file) = &at.0 {
            match file.rules.matched(path, is_directory) {
                Match::None => at = &file.above,
                found => return found.is_ignore(),
            }
        }
        false
    }
}

impl Jail {
    /// The files that apply to a directory because of the directories above it.
    pub(super) fn ignores_above(&self, directory: &str) -> Ignores {
        let exclude = join(GIT_FOLDER, "info/exclude");
        let mut ignores = self.with_ignore_file(Ignores::default(), ".", &exclude);
        if directory == "." {
            return ignores;
        }
        let ends = directory.match_indices('/').map(|(end, _)| end);
        for above in std::iter::once(".").chain(ends.map(|end| &directory[..end])) {
            let git = join(above, GIT_FOLDER);
            if above != "." && self.is_there(&git) {
                ignores = Ignores::default();
            }
            ignores = self.with_ignore_file(ignores, above, &join(above, GITIGNORE));
        }
        ignores
    }

    /// Adds the rules of one file about what is below `directory`.
    pub(super) fn with_ignore_file(&self, above: Ignores, directory: &str, path: &str) -> Ignores {
        let Some(text) = self.ignore_file(path) else {
            return above;
        };
        let mut rules = GitignoreBuilder::new(directory);
        for line in text.lines() {
            // Git passes over a line that it cannot read, too.
            let _ = rules.add_line(None, line);
        }
        match rules.build() {
            Ok(rules) if !rules.is_empty() => Ignores(Some(Arc::new(IgnoreFile { rules, above }))),
            _ => above,
        }
    }

    fn ignore_file(&self, path: &str) -> Option<String> {
        if self.hides(path) {
            return None;
        }
        let opened = open_beneath(self.root.as_fd(), path, READ, NO_LINKS).ok()?;
        let (file, _): (File, _) = regular_file(opened, path).ok()?;
        let mut bytes = Vec::new();
        file.take(BYTES).read_to_end(&mut bytes).ok()?;
        Some(String::from_utf8_lossy(&bytes).into_owned())
    }

    fn is_there(&self, path: &str) -> bool {
        let flags = OFlags::PATH | OFlags::NOFOLLOW;
        open_beneath(self.root.as_fd(), path, flags, NO_LINKS).is_ok()
    }
}
