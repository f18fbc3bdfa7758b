//! The user a contained command runs as.
//!
//! Root without capabilities still owns root's files, and no process limit applies to it. So a
//! command of root's runs as another user: the owner of the workspace, or nobody, with a mount that
//! shows root's files in the workspace as nobody's own.

use super::open;
use rustix::fs::{Access, AtFlags, CWD, accessat};
use rustix::io::Errno;
use std::fs::{File, Metadata};
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

const NOBODY: u32 = 65534;

/// The user a command runs as.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Identity {
    pub(crate) uid: u32,
    pub(crate) gid: u32,
    pub(crate) change: UserChange,
}

/// How the command becomes that user.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum UserChange {
    /// It is the harness's user already.
    None,
    /// Root becomes the owner of the workspace.
    Owner,
    /// Root becomes nobody; root owns the workspace.
    Nobody,
}

impl Identity {
    /// The harness's own user.
    pub(crate) fn own() -> Self {
        Self {
            uid: rustix::process::geteuid().as_raw(),
            gid: rustix::process::getegid().as_raw(),
            change: UserChange::None,
        }
    }

    pub(crate) fn of(workspace: &Path) -> io::Result<Self> {
        let own = Self::own();
        if own.uid != 0 {
            return Ok(own);
        }
        let facts = File::from(open::open_exact(workspace)?).metadata()?;
        Ok(match facts.uid() {
            0 => Self {
                uid: NOBODY,
                gid: NOBODY,
                change: UserChange::Nobody,
            },
            uid => Self {
                uid,
                gid: if facts.gid() == 0 {
                    NOBODY
                } else {
                    facts.gid()
                },
                change: UserChange::Owner,
            },
        })
    }

    /// Whether the permission bits let this user read (4), write (2) or search (1).
    pub(crate) fn may(&self, facts: &Metadata, right: u32) -> bool {
        let shift = if facts.uid() == self.uid {
            6
        } else if facts.gid() == self.gid {
            return facts.mode() >> 3 & right == right || facts.mode() & right == right;
        } else {
            0
        };
        facts.mode() >> shift & right == right
    }

    /// Whether it can read a file or search a folder; it can change the mode of its own files.
    pub(crate) fn can_read(&self, path: &Path, facts: &Metadata) -> bool {
        let (right, asked) = if facts.is_dir() {
            (1, Access::EXEC_OK)
        } else {
            (4, Access::READ_OK)
        };
        if self.change != UserChange::None {
            return self.may(facts, right);
        }
        // It is our own user, so ask the kernel: it may be in several groups, and files can have
        // access control lists.
        facts.uid() == self.uid
            || accessat(CWD, path, asked, AtFlags::EACCESS) != Err(Errno::ACCESS)
    }

    /// How a mount shows owners to this user: root's files as its own, its files as root's, others
    /// unchanged.
    pub(crate) fn shown_owners(id: u32) -> String {
        let after = id + 1;
        let rest = u32::MAX - after;
        format!(
            "0 {id} 1\n1 1 {}\n{id} 0 1\n{after} {after} {rest}\n",
            id - 1
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt as _;

    #[test]
    fn an_ordinary_user_stays_itself_and_root_becomes_another_user() {
        let identity = Identity::of(Path::new("/")).expect("facts");
        assert_ne!(identity.uid, 0);
        assert_eq!(
            identity.change == UserChange::None,
            !rustix::process::geteuid().is_root()
        );
    }

    #[test]
    fn can_read_agrees_with_the_kernel_for_an_ordinary_user() {
        let identity = Identity {
            change: UserChange::None,
            ..Identity::of(Path::new("/")).expect("facts")
        };
        let place = tempfile::tempdir().expect("a folder");
        let file = place.path().join("closed");
        std::fs::write(&file, "").expect("a file");
        let is_root = rustix::process::geteuid().is_root();
        for (mode, is_own) in [
            (0o644, false),
            (0o640, false),
            (0o600, false),
            (0o000, true),
        ] {
            std::fs::set_permissions(&file, std::fs::Permissions::from_mode(mode)).expect("set");
            let identity = Identity {
                uid: if is_own {
                    rustix::process::geteuid().as_raw()
                } else {
                    1
                },
                ..identity
            };
            assert!(
                identity.can_read(&file, &file.metadata().expect("facts")),
                "{mode:o}"
            );
        }
        // Only root can open these, and no ordinary user owns them.
        for path in ["/etc/shadow", "/etc/gshadow", "/root"].map(Path::new) {
            if let Ok(facts) = path.metadata() {
                assert_eq!(identity.can_read(path, &facts), is_root, "{path:?}");
            }
        }
    }

    #[test]
    fn owners_are_exchanged_one_to_one() {
        assert_eq!(
            Identity::shown_owners(65534),
            "0 65534 1\n1 1 65533\n65534 0 1\n65535 65535 4294901760\n"
        );
    }
}
