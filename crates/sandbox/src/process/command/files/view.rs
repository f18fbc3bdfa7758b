//! The file tree as a command sees it: what is covered, what is put back, what may be written.

use super::homes;
use super::identity::{Change, Identity};
use super::mounts::SHARED_MEMORY;
use super::open;
use crate::plan::{Access, Plan};
use crate::process::command::SandboxError;
use crate::process::command::protect::Protected;
use crate::process::command::warm::stamp::Stamp;
use crate::tier::Tier;
use std::collections::BTreeMap;
use std::fs;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

/// Covered on every machine.
const COVERED: &[&str] = &["/home", "/root", "/run", "/var/run"];

/// Holds credentials on some machines; covered where the command could read it.
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

/// Credentials in a home that is visible, because the workspace or a readable place is in it or around it.
const HOME_CREDENTIALS: &[&str] = &[
    ".aws",
    ".azure",
    ".bash_history",
    ".cargo/credentials",
    ".cargo/credentials.toml",
    ".config/gcloud",
    ".config/gh",
    ".docker/config.json",
    ".git-credentials",
    ".gnupg",
    ".kube",
    ".netrc",
    ".npmrc",
    ".password-store",
    ".pypirc",
    ".ssh",
];

/// What a place is made into.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum What {
    /// An empty folder, or a file without content.
    Hidden,
    /// A private folder in memory.
    Private,
    /// What it is, to be read.
    Read,
    /// What it is, to be read, and run where a list keeps everything else from it.
    Run,
    /// What it is, to be read and written.
    Write,
    /// What it is, to be written, but it cannot be renamed or replaced.
    Pinned,
}

/// Results that are kept while the places are laid: the helper has room for few more.
const MOST_PLACES: usize = 200;

impl What {
    pub(crate) fn is_tree(self) -> bool {
        matches!(self, Self::Read | Self::Run | Self::Write | Self::Pinned)
    }
}

/// One place that is made into something.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Placement {
    pub(crate) path: PathBuf,
    pub(crate) what: What,
    pub(crate) is_folder: bool,
    /// What the nearest place above it is made into.
    pub(crate) within: Option<(PathBuf, What)>,
    /// Which file it is.
    pub(crate) stamp: Stamp,
}

impl Placement {
    /// Whether it is made out of what is there already, so that nothing is kept for it meanwhile.
    fn is_in_place(&self) -> bool {
        self.what == What::Private
            || self.what.is_tree() && self.within.as_ref().is_some_and(|(_, what)| what.is_tree())
    }
}

/// Every place that is made into something, those above before those below.
#[derive(Debug)]
pub(crate) struct View {
    pub(crate) placements: Vec<Placement>,
}

impl View {
    pub(crate) fn new(
        plan: &Plan,
        identity: &Identity,
        homes: &[PathBuf],
        protected: &Protected,
        tier: Tier,
    ) -> Result<Self, SandboxError> {
        let files = &plan.files;
        let homes = || homes.iter().chain(&files.home);
        let mut wanted: BTreeMap<PathBuf, What> = BTreeMap::new();
        let real_homes: Vec<Option<PathBuf>> =
            homes().map(|home| fs::canonicalize(home).ok()).collect();
        let covered = COVERED
            .iter()
            .filter_map(|path| fs::canonicalize(path).ok())
            .chain(real_homes.iter().flatten().cloned());
        wanted.extend(
            covered
                .filter(|path| homes::is_home(path))
                .map(|path| (path, What::Hidden)),
        );
        wanted.extend(
            ["/tmp", "/var/tmp"]
                .into_iter()
                .filter(|path| is_real_folder(path))
                .map(|path| (path.into(), What::Private)),
        );
        let mut trees = Vec::new();
        let workspace = match files.access {
            Access::Hidden => What::Hidden,
            Access::Write if files.only.is_empty() => What::Write,
            _ => What::Read,
        };
        trees.push(("workspace", &files.workspace, workspace));
        trees.extend(
            files
                .readable
                .iter()
                .map(|path| ("readable place", path, What::Read)),
        );
        if files.access == Access::Write {
            trees.extend(
                files
                    .only
                    .iter()
                    .map(|path| ("writable place", path, What::Write)),
            );
        }
        trees.extend(
            files
                .writable
                .iter()
                .map(|path| ("writable place", path, What::Write)),
        );
        for (what, path, made) in trees {
            open::open(path).map_err(|cause| SandboxError::BadPlace {
                what,
                path: path.clone(),
                cause,
            })?;
            if path == Path::new("/") || path.components().any(|part| part.as_os_str() == "..") {
                let cause = std::io::Error::other("it would be everything");
                return Err(SandboxError::BadPlace {
                    what,
                    path: path.clone(),
                    cause,
                });
            }
            if tier == Tier::A && path.starts_with("/dev") && !path.starts_with(SHARED_MEMORY) {
                let cause = format!(
                    "a command has a `/dev` of its own; a folder in `{SHARED_MEMORY}` or outside of `/dev` can be used"
                );
                return Err(SandboxError::BadPlace {
                    what,
                    path: path.clone(),
                    cause: std::io::Error::other(cause),
                });
            }
            // A folder that the command's user cannot pass through is covered, so that what is below it can be put back.
            if identity.change != Change::None {
                let closed = path
                    .ancestors()
                    .skip(1)
                    .filter(|above| *above != Path::new("/"));
                let closed = closed.filter(|above| {
                    fs::metadata(above).is_ok_and(|facts| !identity.may(&facts, 1))
                });
                closed.for_each(|above| {
                    wanted.entry(above.to_path_buf()).or_insert(What::Hidden);
                });
            }
            wanted.insert(path.clone(), made);
        }
        // A home in which nothing is put back is covered as a whole.
        let has_tree = |(home, real): &(&PathBuf, &Option<PathBuf>)| {
            let is_in = |path: &Path| {
                path.starts_with(home) || real.as_ref().is_some_and(|real| path.starts_with(real))
            };
            wanted
                .iter()
                .any(|(path, what)| what.is_tree() && is_in(path))
        };
        let with_trees = homes().zip(&real_homes).filter(has_tree);
        let in_homes = with_trees
            .flat_map(|(home, _)| HOME_CREDENTIALS.iter().map(move |name| home.join(name)));
        let secrets = CREDENTIALS.iter().map(PathBuf::from).chain(in_homes);
        let secrets = secrets
            .filter(|path| fs::metadata(path).is_ok_and(|facts| identity.can_read(path, &facts)));
        let hidden = secrets
            .chain(files.hidden.iter().cloned())
            .filter_map(|path| fs::canonicalize(path).ok());
        let hidden: Vec<PathBuf> = hidden.collect();
        wanted.extend(hidden.into_iter().map(|path| (path, What::Hidden)));
        let pinned = protected.pinned.iter().map(|path| (path, What::Pinned));
        for (path, what) in pinned.chain(protected.fixed.iter().map(|path| (path, What::Read))) {
            // What is hidden stays hidden.
            let above = path.ancestors().find_map(|above| wanted.get(above));
            if above.is_some_and(|above| above.is_tree()) {
                wanted.insert(path.clone(), what);
            }
        }
        // Without namespaces no name is made or removed in a folder that has something closed in it.
        if tier == Tier::A {
            pin_ways(&mut wanted, &protected.ways);
        }
        let placements = needed(wanted);
        if placements
            .iter()
            .filter(|placement| !placement.is_in_place())
            .count()
            > MOST_PLACES
        {
            let cause = std::io::Error::other(format!(
                "more than {MOST_PLACES} places are hidden or put back"
            ));
            return Err(SandboxError::BadPlace {
                what: "workspace",
                path: files.workspace.clone(),
                cause,
            });
        }
        Ok(Self { placements })
    }

    /// Whether something that exists is also there inside.
    pub(crate) fn is_visible(&self, path: &Path) -> bool {
        self.nearest(path)
            .is_none_or(|placement| placement.what.is_tree())
    }

    fn nearest(&self, path: &Path) -> Option<&Placement> {
        self.placements
            .iter()
            .rev()
            .find(|placement| path.starts_with(&placement.path))
    }
}

/// Keeps the folders above what is closed or hidden where they are: a command that renamed one would leave the name free for something else,
/// and would show what was hidden to whoever comes next.
fn pin_ways(wanted: &mut BTreeMap<PathBuf, What>, links: &[PathBuf]) {
    let mut ways = Vec::new();
    let closed = wanted
        .iter()
        .filter(|(_, what)| matches!(what, What::Hidden | What::Read | What::Pinned))
        .map(|(path, _)| path.as_path());
    // A link cannot be closed itself; it is a name in the folder.
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
        if matches!(nearest, Some(What::Write | What::Pinned)) {
            ways.extend(folders.into_iter().map(Path::to_path_buf));
        }
    }
    for way in ways {
        wanted.entry(way).or_insert(What::Pinned);
    }
}

/// Leaves out what changes nothing, and says for the rest what it lies in.
pub(crate) fn needed(wanted: BTreeMap<PathBuf, What>) -> Vec<Placement> {
    let mut kept: Vec<Placement> = Vec::new();
    for (path, what) in wanted {
        let path: PathBuf = path.components().collect();
        let within = kept
            .iter()
            .rev()
            .find(|above| is_within(&path, &above.path))
            .map(|above| (above.path.clone(), above.what));
        let above = within.as_ref().map(|(_, what)| *what);
        let changes_nothing = match what {
            What::Hidden => matches!(above, Some(What::Hidden | What::Private)),
            What::Private | What::Pinned => false,
            What::Read => matches!(above, None | Some(What::Read)),
            What::Run => matches!(above, Some(What::Run)),
            What::Write => matches!(above, Some(What::Write)),
        };
        if changes_nothing {
            continue;
        }
        // Gone since it was asked for, or a link: nothing can be put there.
        if let Some((stamp, kind)) = Stamp::and_kind(&path).filter(|(_, kind)| !kind.is_symlink()) {
            kept.push(Placement {
                path,
                what,
                is_folder: kind.is_dir(),
                within,
                stamp,
            });
        }
    }
    kept
}

/// Whether a path is a folder or leads to something in it. Both are absolute and spelled in the shortest way, so their bytes tell: this is
/// asked thousands of times for one command, and going part by part takes ten times as long.
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
    fn what_is_within_is_what_going_part_by_part_says() {
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
            (PathBuf::from("//usr/./share/"), What::Hidden),
            (PathBuf::from("/usr//share/doc"), What::Hidden),
        ]);
        let placed = needed(odd);
        assert_eq!(
            placed
                .iter()
                .map(|placement| placement.path.as_os_str())
                .collect::<Vec<_>>(),
            ["/usr/share"]
        );
    }
}
