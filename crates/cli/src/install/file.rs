//! The files of clients: found without following links out of place, replaced as a whole or not at all.

use crate::exit::Usage;
use std::fs;
use std::io::{self, Write};
use std::os::unix::fs::{MetadataExt, fchown};
use std::path::{Path, PathBuf};

/// A file of a client larger than this is not one.
const LARGEST: u64 = 64 << 20;

/// Where a path really leads. It has to stay beneath `root`, links followed.
pub(super) fn real(path: &Path, root: &Path) -> Result<PathBuf, Usage> {
    let refuse =
        |why: &str| Usage::new(format!("`{}` {why}", path.display())).help("nothing was written");
    let real_root = fs::canonicalize(root);
    let existing = path
        .ancestors()
        .find(|one| fs::symlink_metadata(one).is_ok())
        .unwrap_or(path);
    let found = fs::canonicalize(existing).map_err(|_| refuse("is a link that leads nowhere"))?;
    // A root that is not there yet, as a `CODEX_HOME` of a first installation, holds nothing that could lead away.
    if real_root.is_ok_and(|root| !found.starts_with(root)) {
        return Err(refuse(&format!(
            "leads out of `{}` through a link, to `{}`",
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
        Ok(about) if about.len() > LARGEST => Err(refuse("is too large to be a configuration")),
        _ => Ok(real),
    }
}

/// The text of a file; absent where there is none.
pub(super) fn read(path: &Path) -> Result<Option<String>, Usage> {
    match fs::read(path) {
        Ok(bytes) => {
            let text = String::from_utf8(bytes);
            text.map(Some).map_err(|_| {
                Usage::new(format!("`{}` is not UTF-8", path.display())).help("nothing was written")
            })
        }
        Err(problem)
            if matches!(
                problem.kind(),
                io::ErrorKind::NotFound | io::ErrorKind::NotADirectory
            ) =>
        {
            Ok(None)
        }
        Err(problem) => Err(
            Usage::new(format!("cannot read `{}`: {problem}", path.display()))
                .help("nothing was written"),
        ),
    }
}

/// Puts a text in the place of a file, whole or not at all, with the mode and the owner that the file has.
pub(super) fn replace(path: &Path, text: &str) -> io::Result<()> {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let beside = path.with_file_name(format!(".{name}.harness-{}", std::process::id()));
    let written = (|| {
        // A file that may not be written must not be replaced either, although its folder would let that happen.
        let about = match fs::OpenOptions::new().write(true).open(path) {
            Ok(file) => Some(file.metadata()?),
            Err(problem) if problem.kind() == io::ErrorKind::NotFound => None,
            Err(problem) => return Err(problem),
        };
        let mut file = fs::File::create_new(&beside)?;
        file.write_all(text.as_bytes())?;
        if let Some(about) = about {
            let made = file.metadata()?;
            if (made.uid(), made.gid()) != (about.uid(), about.gid()) {
                // Root gives a file back to whom it belongs; whoever may not leaves it as it is made.
                let _ = fchown(&file, Some(about.uid()), Some(about.gid()));
            }
            file.set_permissions(about.permissions())?;
        }
        file.sync_all()?;
        fs::rename(&beside, path)
    })();
    if written.is_err() {
        let _ = fs::remove_file(&beside);
    }
    written
}

/// The folders that have to be made for a file, the outer ones first.
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
