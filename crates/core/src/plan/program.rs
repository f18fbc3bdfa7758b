//! Names of programs to the files they stand for.

use super::Site;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

/// Where programs are looked for when nobody says.
const PATH: &str = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

/// The folders programs are looked for in. One inside the workspace is left out: whoever may write
/// there would decide what `git` is.
pub(super) fn search_path(site: Site<'_>) -> Vec<PathBuf> {
    let path = site
        .surroundings
        .variable("PATH")
        .filter(|path| !path.is_empty())
        .unwrap_or_else(|| PATH.to_owned());
    let mut folders: Vec<PathBuf> = Vec::new();
    for folder in path
        .split(':')
        .map(PathBuf::from)
        .filter(|folder| folder.is_absolute())
    {
        let real = folder.canonicalize().unwrap_or_else(|_| folder.clone());
        if !real.starts_with(site.workspace) && !folders.contains(&folder) {
            folders.push(folder);
        }
    }
    folders
}

/// The file a program is started from: `name` looked for in the folders, or a path, relative to
/// `here`.
fn find<'a>(
    name: &str,
    folders: impl IntoIterator<Item = &'a Path>,
    here: &Path,
) -> Option<PathBuf> {
    if name.contains('/') {
        return Some(here.join(name)).filter(|path| is_program(path));
    }
    folders
        .into_iter()
        .map(|folder| folder.join(name))
        .find(|path| is_program(path))
}

/// The same, as it really lies, so that no link and no other name leads around a list.
pub(super) fn real(name: &str, folders: &[PathBuf], workspace: &Path) -> Option<PathBuf> {
    find(name, folders.iter().map(PathBuf::as_path), workspace)?
        .canonicalize()
        .ok()
}

fn is_program(path: &Path) -> bool {
    path.metadata()
        .is_ok_and(|metadata| metadata.is_file() && metadata.permissions().mode() & 0o111 != 0)
}
