//! Replacing files.

use std::fs::{OpenOptions, Permissions};
use std::io::{self, Write};
use std::os::unix::fs::{MetadataExt, PermissionsExt, fchown};
use std::path::Path;

/// Replaces a file as a whole or not at all. The new file keeps the mode and the owner of the old
/// one.
pub(crate) fn replace(path: &Path, text: &str) -> io::Result<()> {
    // A read-only file stays as it is, although its folder would let it be replaced.
    let old = match OpenOptions::new().write(true).open(path) {
        Ok(file) => Some(file.metadata()?),
        Err(problem) if problem.kind() == io::ErrorKind::NotFound => None,
        Err(problem) => return Err(problem),
    };
    let mut new = tempfile::Builder::new()
        .permissions(Permissions::from_mode(0o666))
        .tempfile_in(path.parent().unwrap_or(Path::new(".")))?;
    new.write_all(text.as_bytes())?;
    if let Some(old) = old {
        let file = new.as_file();
        let made = file.metadata()?;
        if (made.uid(), made.gid()) != (old.uid(), old.gid()) {
            // Only root may give a file to its owner; for anyone else it stays as created.
            let _ = fchown(file, Some(old.uid()), Some(old.gid()));
        }
        file.set_permissions(old.permissions())?;
    }
    new.as_file().sync_all()?;
    new.persist(path).map(drop).map_err(|problem| problem.error)
}
