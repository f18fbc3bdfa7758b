//! Homes on this machine, and what in them no tool sees.

mod listed;
mod private;

use listed::is_home;
use private::PRIVATE;
use std::collections::HashMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

/// Whether a path in a home is private there, or lies in something that is. `inside` is relative to
/// the home.
#[must_use]
pub fn is_private(inside: &Path) -> bool {
    PRIVATE.iter().any(|name| inside.starts_with(name))
}

/// The homes of a machine.
#[derive(Debug, Default)]
pub(crate) struct Homes {
    listed: Vec<PathBuf>,
    /// Where links lead that are private places of a home. They are looked for once: every command
    /// asks.
    linked: Mutex<HashMap<PathBuf, Arc<[PathBuf]>>>,
}

impl Homes {
    /// The homes in this machine's list of users.
    pub(crate) fn of_this_machine() -> Self {
        Self {
            listed: listed::homes(),
            ..Self::default()
        }
    }

    /// Those that exist, by their real paths, and this one.
    pub(crate) fn real(&self, own: Option<&Path>) -> Vec<PathBuf> {
        let listed = self.listed.iter().map(PathBuf::as_path);
        let real = listed.chain(own).map(fs::canonicalize);
        real.filter_map(Result::ok).collect()
    }

    /// What in a folder belongs to the person whose home this is, and not to the work in the
    /// folder: the private places of a home that it is or lies in, and all of a home that lies in
    /// it. They need not exist.
    pub(crate) fn private_in(&self, folder: &Path, home: &Path) -> Vec<PathBuf> {
        if home != folder && home.starts_with(folder) && can_be_hidden(home) {
            return vec![home.to_owned()];
        }
        if !folder.starts_with(home) {
            return Vec::new();
        }
        let named = PRIVATE.iter().map(|name| home.join(name));
        let linked = self.linked_from(home);
        let places = named.chain(linked.iter().cloned());
        places.filter(|place| place.starts_with(folder)).collect()
    }

    fn linked_from(&self, home: &Path) -> Arc<[PathBuf]> {
        let find = || {
            let named = PRIVATE.iter().map(|name| home.join(name));
            let exist = named.filter(|place| fs::symlink_metadata(place).is_ok());
            let real = exist.filter_map(|place| Some((fs::canonicalize(&place).ok()?, place)));
            real.filter(|(real, place)| real != place)
                .map(|(real, _)| real)
                .collect()
        };
        let mut linked = self.linked.lock().unwrap_or_else(PoisonError::into_inner);
        Arc::clone(linked.entry(home.to_owned()).or_insert_with(find))
    }
}

/// Whether a home can be hidden as a whole: not one that is a folder of system programs or data.
pub(crate) fn can_be_hidden(folder: &Path) -> bool {
    is_home(folder)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_has_the_private_places_of_the_home_it_is_in_or_around() {
        let scratch = tempfile::tempdir().expect("a folder");
        let home = scratch
            .path()
            .canonicalize()
            .expect("a path")
            .join("person");
        fs::create_dir_all(home.join("dotfiles/ssh")).expect("a folder");
        std::os::unix::fs::symlink("dotfiles/ssh", home.join(".ssh")).expect("a link");
        let homes = Homes::default();
        let private = |folder: &str| homes.private_in(&home.join(folder), &home);
        let own = private("");
        assert!(own.contains(&home.join(".ssh")) && own.contains(&home.join(".npmrc")));
        assert!(
            own.contains(&home.join("dotfiles/ssh")),
            "where a link leads"
        );
        assert_eq!(private("dotfiles"), [home.join("dotfiles/ssh")]);
        assert!(private("project").is_empty());
        assert!(private(".config").contains(&home.join(".config/gh")));
        assert!(private("..").is_empty(), "only plain paths are compared");
        let around = home.parent().expect("a parent");
        assert_eq!(homes.private_in(around, &home), std::slice::from_ref(&home));
        assert!(is_private(Path::new(".ssh/id")) && is_private(Path::new(".config/gh")));
        assert!(!is_private(Path::new(".config")) && !is_private(Path::new("project/.ssh")));
    }
}
