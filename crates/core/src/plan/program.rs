//! Resolves the names of programs to files.

use super::Site;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

/// The search path if the environment sets none.
const PATH: &str = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

/// The folders that are searched for programs. Folders inside the workspace are left out: a process
/// that can write there could replace `git`.
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

/// The file of a program: `name` searched in the folders, or a path relative to `here`.
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

/// The real path of a program's file, so that no link or second name gets around a list.
pub(super) fn real(name: &str, folders: &[PathBuf], workspace: &Path) -> Option<PathBuf> {
    find(name, folders.iter().map(PathBuf::as_path), workspace)?
        .canonicalize()
        .ok()
}

fn is_program(path: &Path) -> bool {
    path.metadata()
        .is_ok_and(|metadata| metadata.is_file() && metadata.permissions().mode() & 0o111 != 0)
}
