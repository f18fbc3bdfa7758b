//! The files of clients, and where their links lead.

use crate::exit::{UsageError, usage};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// A larger file is not a configuration.
const MAX_BYTES: u64 = 64 << 20;

/// Where a path leads with links followed, which must be below `root`.
pub(super) fn real(path: &Path, root: &Path) -> Result<PathBuf, UsageError> {
    let refuse = |why: &str| usage!("`{}` {why}", path.display()).help("nothing was written");
    let real_root = fs::canonicalize(root);
    let existing = path
        .ancestors()
        .find(|one| fs::symlink_metadata(one).is_ok())
        .unwrap_or(path);
    let found = fs::canonicalize(existing).map_err(|_| refuse("is a broken link"))?;
    // A root that does not exist yet, such as a new `CODEX_HOME`, contains no link that leads out.
    if real_root.is_ok_and(|root| !found.starts_with(root)) {
        return Err(refuse(&format!(
            "is behind a link that leads out of `{}`, to `{}`",
            root.display(),
            found.display()
        )));
    }
    let rest = path.strip_prefix(existing).unwrap_or(Path::new(""));
    let real = if rest.as_os_str().is_empty() {
        found
    } else {
        found.join(rest)
    };
    match fs::metadata(&real) {
        Ok(about) if !about.is_file() => Err(refuse("is not a file")),
        Ok(about) if about.len() > MAX_BYTES => Err(refuse("is too large to be a configuration")),
        _ => Ok(real),
    }
}

/// The text of a file, if it exists.
pub(super) fn read(path: &Path) -> Result<Option<String>, UsageError> {
    let shown = path.display();
    let problem = match fs::read(path).map(String::from_utf8) {
        Ok(Ok(text)) => return Ok(Some(text)),
        Ok(Err(_)) => usage!("`{shown}` is not UTF-8"),
        Err(problem) => match problem.kind() {
            io::ErrorKind::NotFound | io::ErrorKind::NotADirectory => return Ok(None),
            _ => usage!("cannot read `{shown}`: {problem}"),
        },
    };
    Err(problem.help("nothing was written"))
}

/// The folders that have to be created for a file, outermost first.
pub(super) fn missing_folders(path: &Path) -> Vec<PathBuf> {
    let mut missing: Vec<PathBuf> = path
        .ancestors()
        .skip(1)
        .take_while(|folder| !folder.exists())
        .map(Path::to_owned)
        .collect();
    missing.reverse();
    missing
}
