//! Who a contained command is.
//!
//! Root without capabilities is still the owner of root's files, and no process limit counts for it. So what root starts becomes
//! somebody else: the owner of the workspace, or nobody, to whom a mount then shows root's files in the workspace as its own.

use super::open;
use rustix::fs::{Access, AtFlags, CWD, accessat};
use rustix::io::Errno;
use std::fs::{File, Metadata};
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

const NOBODY: u32 = 65534;

/// Who a command runs as.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Identity {
    pub(crate) uid: u32,
    pub(crate) gid: u32,
    pub(crate) change: Change,
}

/// How it becomes that.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Change {
    /// It is the user of the harness.
    None,
    /// Root gives up being root and becomes the workspace's owner.
    Owner,
    /// Root gives up being root; the workspace is root's.
    Nobody,
}

impl Identity {
    pub(crate) fn of(workspace: &Path) -> io::Result<Self> {
        let (uid, gid) = (
            rustix::process::geteuid().as_raw(),
            rustix::process::getegid().as_raw(),
        );
        if uid != 0 {
            return Ok(Self {
                uid,
                gid,
                change: Change::None,
            });
        }
        let facts = File::from(open::open(workspace)?).metadata()?;
        Ok(match facts.uid() {
            0 => Self {
                uid: NOBODY,
                gid: NOBODY,
                change: Change::Nobody,
            },
            owner => Self {
                uid: owner,
                gid: if facts.gid() == 0 {
                    NOBODY
                } else {
                    facts.gid()
                },
                change: Change::Owner,
            },
        })
    }

    /// Whether permission bits let it read (4), write (2) or search (1).
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

    /// Whether it can read a file, or look into a folder; what it owns it can open to itself.
    pub(crate) fn can_read(&self, path: &Path, facts: &Metadata) -> bool {
        let (right, asked) = if facts.is_dir() {
            (1, Access::EXEC_OK)
        } else {
            (4, Access::READ_OK)
        };
        if self.change != Change::None {
            return self.may(facts, right);
        }
        // It is who we are, so the kernel knows: it may be in more groups than one, and files can have lists of users.
        facts.uid() == self.uid
            || accessat(CWD, path, asked, AtFlags::EACCESS) != Err(Errno::ACCESS)
    }

    /// The numbers of owners, as a mount shows them to this identity: root's files are its own, its files root's, others as they are.
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
    fn an_ordinary_user_stays_who_it_is_and_root_does_not_stay_root() {
        let identity = Identity::of(Path::new("/")).expect("facts");
        assert_ne!(identity.uid, 0);
        assert_eq!(
            identity.change == Change::None,
            !rustix::process::geteuid().is_root()
        );
    }

    #[test]
    fn what_the_kernel_opens_to_an_ordinary_user_is_what_it_can_read() {
        let identity = Identity {
            change: Change::None,
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
        // Nobody but root opens these, and none of them belongs to an ordinary user.
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
