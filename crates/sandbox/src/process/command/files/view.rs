//! The file tree as a command sees it: what is covered, what is put back, what may be written.

use super::identity::{Identity, UserChange};
use super::mounts::SHARED_MEMORY;
use super::open;
use crate::home::{Homes, can_be_hidden};
use crate::plan::{Access, Plan};
use crate::process::command::SandboxError;
use crate::process::command::protect::ProtectedFiles;
use crate::process::command::warm::stamp::FileStamp;
use crate::tier::Tier;
use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

/// Covered on every machine.
const COVERED: &[&str] = &["/home", "/root", "/run", "/var/run"];

/// Credentials on some machines; covered if the command could read them.
const CREDENTIALS: &[&str] = &[
    "/etc/gshadow",
    "/etc/gshadow-",
    "/etc/krb5.keytab",
    "/etc/kubernetes",
    "/etc/shadow",
    "/etc/shadow-",
    "/etc/ssh/ssh_host_dsa_key",
    "/etc/ssh/ssh_host_ecdsa_key",
    "/etc/ssh/ssh_host_ed25519_key",
    "/etc/ssh/ssh_host_rsa_key",
    "/etc/ssl/private",
    "/etc/sudoers",
    "/etc/sudoers.d",
    "/var/lib/containerd",
    "/var/lib/docker",
    "/var/lib/kubelet",
    "/var/lib/cloud",
    "/var/mail",
    "/var/spool/cron",
    "/var/spool/mail",
];

/// How a path is mounted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum MountKind {
    /// As an empty folder or file.
    Hidden,
    /// As a private folder in memory.
    Private,
    /// As it is, read-only.
    Read,
    /// As it is, read-only and executable, where everything else is not.
    Run,
    /// As it is, writable.
    Write,
    /// As it is, writable, but it cannot be renamed or replaced.
    Pinned,
}

/// Mounts that need a slot in the helper, which has room for few more.
const MOST_PLACES: usize = 200;

impl MountKind {
    pub(crate) fn is_tree(self) -> bool {
        matches!(self, Self::Read | Self::Run | Self::Write | Self::Pinned)
    }
}

/// One path, and how it is mounted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct MountPoint {
    pub(crate) path: PathBuf,
    pub(crate) kind: MountKind,
    pub(crate) is_folder: bool,
    /// The nearest mount above it.
    pub(crate) within: Option<(PathBuf, MountKind)>,
    /// Identifies the file.
    pub(crate) stamp: FileStamp,
}

impl MountPoint {
    /// Whether it is in a tree that is mounted as it is.
    pub(crate) fn is_in_tree(&self) -> bool {
        self.within
            .as_ref()
            .is_some_and(|(_, above)| above.is_tree())
    }

    /// Whether it is a tree, and not in another one.
    pub(crate) fn is_outermost_tree(&self) -> bool {
        self.kind.is_tree() && !self.is_in_tree()
    }

    /// Whether it needs a slot in the helper; the others are mounted in place.
    fn needs_slot(&self) -> bool {
        self.kind == MountKind::Hidden || self.is_outermost_tree()
    }
}

/// All mounts, those above before those below.
#[derive(Debug)]
pub(crate) struct View {
    pub(crate) mounts: Vec<MountPoint>,
}

impl View {
    pub(crate) fn new(
        plan: &Plan,
        identity: &Identity,
        homes: &Homes,
        protected: &ProtectedFiles,
        tier: Tier,
    ) -> Result<Self, SandboxError> {
        let files = &plan.files;
        let mut wanted: BTreeMap<PathBuf, MountKind> = BTreeMap::new();
        let real_homes = homes.real(files.home.as_deref());
        let covered = COVERED
            .iter()
            .filter_map(|path| fs::canonicalize(path).ok())
            .chain(real_homes.iter().cloned())
            .filter(|path| can_be_hidden(path));
        wanted.extend(covered.map(|path| (path, MountKind::Hidden)));
        wanted.extend(
            ["/tmp", "/var/tmp"]
                .into_iter()
                .filter(|path| is_real_folder(path))
                .map(|path| (path.into(), MountKind::Private)),
        );
        let workspace = match files.access {
            Access::Hidden => MountKind::Hidden,
            Access::Write if files.only.is_empty() => MountKind::Write,
            _ => MountKind::Read,
        };
        let only = if files.access == Access::Write {
            &files.only[..]
        } else {
            &[]
        };
        let readable = files.readable.iter();
        let writable = only.iter().chain(&files.writable);
        let trees = std::iter::once(("workspace", &files.workspace, workspace))
            .chain(readable.map(|path| ("readable place", path, MountKind::Read)))
            .chain(writable.map(|path| ("writable place", path, MountKind::Write)));
        for (what, path, made) in trees {
            let bad = |cause| SandboxError::bad_place(what, path, cause);
            open::open_exact(path).map_err(bad)?;
            if path == Path::new("/") || path.components().any(|part| part.as_os_str() == "..") {
                return Err(bad(io::Error::other("it would cover everything")));
            }
            if tier == Tier::A && path.starts_with("/dev") && !path.starts_with(SHARED_MEMORY) {
                return Err(bad(io::Error::other(format!(
                    "a command has its own `/dev`; use a folder in `{SHARED_MEMORY}` or outside `/dev`"
                ))));
            }
            // A folder that the command's user cannot pass is covered, so that what is below it can
            // be put back.
            if identity.change != UserChange::None {
                for above in path.ancestors().skip(1) {
                    if above != Path::new("/")
                        && fs::metadata(above).is_ok_and(|facts| !identity.may(&facts, 1))
                    {
                        wanted
                            .entry(above.to_path_buf())
                            .or_insert(MountKind::Hidden);
                    }
                }
            }
            wanted.insert(path.clone(), made);
        }
        let credentials = CREDENTIALS
            .iter()
            .map(PathBuf::from)
            .filter(|path| fs::metadata(path).is_ok_and(|facts| identity.can_read(path, &facts)));
        // A home in which nothing is put back is covered entirely.
        let trees = wanted.iter().filter(|(_, what)| what.is_tree());
        let in_trees = trees.flat_map(|(tree, _)| {
            let private = |home: &PathBuf| homes.private_in(tree, home);
            real_homes.iter().flat_map(private).collect::<Vec<_>>()
        });
        let hidden = credentials
            .chain(in_trees)
            .chain(files.hidden.iter().cloned())
            .filter_map(|path| fs::canonicalize(path).ok());
        let hidden: Vec<PathBuf> = hidden.collect();
        wanted.extend(hidden.into_iter().map(|path| (path, MountKind::Hidden)));
        let pinned = protected
            .pinned
            .iter()
            .map(|path| (path, MountKind::Pinned));
        for (path, what) in pinned.chain(protected.fixed.iter().map(|path| (path, MountKind::Read)))
        {
            // Hidden files stay hidden.
            let above = path.ancestors().find_map(|above| wanted.get(above));
            if above.is_some_and(|above| above.is_tree()) {
                wanted.insert(path.clone(), what);
            }
        }
        for path in files
            .read_only
            .iter()
            .filter_map(|path| fs::canonicalize(path).ok())
        {
            close(&mut wanted, &path);
        }
        // Without namespaces, no name can be created or removed in a folder that holds something
        // closed.
        if tier == Tier::A {
            pin_parents(&mut wanted, &protected.ways);
        }
        let mounts = mount_points(wanted);
        if mounts.iter().filter(|mount| mount.needs_slot()).count() > MOST_PLACES {
            let cause = format!("more than {MOST_PLACES} places are hidden or put back");
            return Err(SandboxError::bad_place(
                "workspace",
                &files.workspace,
                io::Error::other(cause),
            ));
        }
        Ok(Self { mounts })
    }

    /// Whether an existing path is visible inside.
    pub(crate) fn is_visible(&self, path: &Path) -> bool {
        let mut mounts = self.mounts.iter().rev();
        mounts
            .find(|mount| path.starts_with(&mount.path))
            .is_none_or(|nearest| nearest.kind.is_tree())
    }
}

/// Makes a place read-only, and everything in it that would be writable. What is hidden stays
/// hidden.
fn close(wanted: &mut BTreeMap<PathBuf, MountKind>, path: &Path) {
    let is_writable = |what: &MountKind| matches!(what, MountKind::Write | MountKind::Pinned);
    let mut above = path.ancestors();
    let nearest = above.find_map(|above| wanted.get(above)).copied();
    for (_, what) in wanted
        .iter_mut()
        .filter(|(below, _)| is_within(below, path))
    {
        if is_writable(what) {
            *what = MountKind::Read;
        }
    }
    if nearest.is_some_and(|what| is_writable(&what)) {
        wanted.insert(path.to_owned(), MountKind::Read);
    }
}

/// Pins the folders above closed or hidden paths: a command that renamed one would free the name
/// for something else, and would expose what was hidden to the next command.
fn pin_parents(wanted: &mut BTreeMap<PathBuf, MountKind>, links: &[PathBuf]) {
    let mut ways = Vec::new();
    let closed = wanted
        .iter()
        .filter(|(_, what)| {
            matches!(
                what,
                MountKind::Hidden | MountKind::Read | MountKind::Pinned
            )
        })
        .map(|(path, _)| path.as_path());
    // A link cannot be mounted over; it is a name in its folder.
    let links = links
        .iter()
        .map(|folder| folder.join("link"))
        .collect::<Vec<_>>();
    for path in closed.chain(links.iter().map(PathBuf::as_path)) {
        let above = path
            .ancestors()
            .skip(1)
            .take_while(|above| !wanted.contains_key(*above));
        let folders: Vec<&Path> = above.collect();
        let nearest = folders
            .last()
            .unwrap_or(&path)
            .parent()
            .and_then(|nearest| wanted.get(nearest));
        if matches!(nearest, Some(MountKind::Write | MountKind::Pinned)) {
            ways.extend(folders.into_iter().map(Path::to_path_buf));
        }
    }
    for way in ways {
        wanted.entry(way).or_insert(MountKind::Pinned);
    }
}

/// Drops mounts that change nothing, and finds the mount above each of the rest.
pub(crate) fn mount_points(wanted: BTreeMap<PathBuf, MountKind>) -> Vec<MountPoint> {
    let mut kept: Vec<MountPoint> = Vec::new();
    for (path, what) in wanted {
        let path: PathBuf = path.components().collect();
        let within = kept
            .iter()
            .rev()
            .find(|above| is_within(&path, &above.path))
            .map(|above| (above.path.clone(), above.kind));
        let above = within.as_ref().map(|(_, what)| *what);
        let changes_nothing = match what {
            MountKind::Hidden => matches!(above, Some(MountKind::Hidden | MountKind::Private)),
            MountKind::Private | MountKind::Pinned => false,
            MountKind::Read => matches!(above, None | Some(MountKind::Read)),
            MountKind::Run => matches!(above, Some(MountKind::Run)),
            MountKind::Write => matches!(above, Some(MountKind::Write)),
        };
        if changes_nothing {
            continue;
        }
        // Removed since, or a link: nothing can be mounted there.
        if let Some((stamp, kind)) =
            FileStamp::and_kind(&path).filter(|(_, kind)| !kind.is_symlink())
        {
            kept.push(MountPoint {
                path,
                kind: what,
                is_folder: kind.is_dir(),
                within,
                stamp,
            });
        }
    }
    kept
}

/// Whether a path is a folder or lies in it. Both are absolute and normalised, so comparing bytes
/// is enough: this runs thousands of times per command, and comparing components takes ten times as
/// long.
pub(crate) fn is_within(path: &Path, folder: &Path) -> bool {
    let (path, folder) = (path.as_os_str().as_bytes(), folder.as_os_str().as_bytes());
    let rest = path.strip_prefix(folder);
    rest.is_some_and(|rest| rest.is_empty() || rest[0] == b'/' || folder == b"/")
}

fn is_real_folder(path: &str) -> bool {
    fs::symlink_metadata(path).is_ok_and(|facts| facts.is_dir())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn is_within_agrees_with_comparing_components() {
        let paths = ["/", "/a", "/ab", "/a/b", "/a/bc", "/a/b/c", "/b"].map(Path::new);
        for path in paths {
            for folder in paths {
                assert_eq!(
                    is_within(path, folder),
                    path.starts_with(folder),
                    "{path:?} in {folder:?}"
                );
            }
        }
        let odd = BTreeMap::from([
            (PathBuf::from("//usr/./share/"), MountKind::Hidden),
            (PathBuf::from("/usr//share/doc"), MountKind::Hidden),
        ]);
        let placed = mount_points(odd);
        assert_eq!(
            placed
                .iter()
                .map(|mount| mount.path.as_os_str())
                .collect::<Vec<_>>(),
            ["/usr/share"]
        );
    }
}
