//! The file tree as a command sees it: what is covered, what is put back, what may be written.

use super::SandboxError;
use super::identity::{Change, Identity};
use super::protect::Protected;
use crate::plan::{Access, Plan};
use std::collections::BTreeMap;
use std::fs;
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
pub(super) enum What {
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

impl What {
    pub(super) fn is_tree(self) -> bool {
        matches!(self, Self::Read | Self::Run | Self::Write | Self::Pinned)
    }
}

/// One place that is made into something.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Placement {
    pub(super) path: PathBuf,
    pub(super) what: What,
    pub(super) is_folder: bool,
    /// What the nearest place above it is made into.
    pub(super) within: Option<(PathBuf, What)>,
}

/// Every place that is made into something, those above before those below.
#[derive(Debug)]
pub(super) struct View {
    pub(super) placements: Vec<Placement>,
}

impl View {
    pub(super) fn new(plan: &Plan, identity: &Identity, homes: &[PathBuf], protected: &Protected) -> Result<Self, SandboxError> {
        let files = &plan.files;
        let mut wanted: BTreeMap<PathBuf, What> = BTreeMap::new();
        let covered = COVERED.iter().map(PathBuf::from).chain(homes.iter().cloned());
        wanted.extend(covered.filter_map(|path| fs::canonicalize(path).ok()).map(|path| (path, What::Hidden)));
        wanted.extend(["/tmp", "/var/tmp"].into_iter().filter(|path| is_real_folder(path)).map(|path| (path.into(), What::Private)));
        let mut trees = Vec::new();
        let workspace = match files.access {
            Access::Hidden => What::Hidden,
            Access::Write if files.only.is_empty() => What::Write,
            _ => What::Read,
        };
        trees.push(("workspace", &files.workspace, workspace));
        trees.extend(files.readable.iter().map(|path| ("readable place", path, What::Read)));
        if files.access == Access::Write {
            trees.extend(files.only.iter().map(|path| ("writable place", path, What::Write)));
        }
        trees.extend(files.writable.iter().map(|path| ("writable place", path, What::Write)));
        for (what, path, made) in trees {
            let real = fs::canonicalize(path).map_err(|cause| SandboxError::BadPlace { what, path: path.clone(), cause })?;
            if real == Path::new("/") || path.components().any(|part| part.as_os_str() == "..") {
                let cause = std::io::Error::other("it would be everything");
                return Err(SandboxError::BadPlace { what, path: path.clone(), cause });
            }
            // A folder that the command's user cannot pass through is covered, so that what is below it can be put back.
            if identity.change != Change::None {
                let closed = real.ancestors().skip(1).filter(|above| *above != Path::new("/"));
                let closed = closed.filter(|above| fs::metadata(above).is_ok_and(|facts| !identity.may(&facts, 1)));
                closed.for_each(|above| {
                    wanted.entry(above.to_path_buf()).or_insert(What::Hidden);
                });
            }
            wanted.insert(real, made);
        }
        if files.access == Access::Write {
            wanted.extend(protected.pinned.iter().map(|path| (path.clone(), What::Pinned)));
            wanted.extend(protected.fixed.iter().map(|path| (path.clone(), What::Read)));
        }
        // A home in which nothing is put back is covered as a whole.
        let has_tree = |home: &PathBuf| {
            let real = fs::canonicalize(home);
            wanted
                .iter()
                .any(|(path, what)| what.is_tree() && (path.starts_with(home) || real.as_ref().is_ok_and(|real| path.starts_with(real))))
        };
        let in_homes = homes.iter().filter(|home| has_tree(home)).flat_map(|home| HOME_CREDENTIALS.iter().map(move |name| home.join(name)));
        let secrets = CREDENTIALS.iter().map(PathBuf::from).chain(in_homes);
        let secrets = secrets.filter(|path| fs::metadata(path).is_ok_and(|facts| identity.may(&facts, if facts.is_dir() { 1 } else { 4 })));
        let hidden = secrets.chain(files.hidden.iter().cloned()).filter_map(|path| fs::canonicalize(path).ok());
        let hidden: Vec<PathBuf> = hidden.collect();
        wanted.extend(hidden.into_iter().map(|path| (path, What::Hidden)));
        Ok(Self { placements: needed(wanted) })
    }

    /// Whether something that exists is also there inside.
    pub(super) fn is_visible(&self, path: &Path) -> bool {
        self.nearest(path).is_none_or(|placement| placement.what.is_tree())
    }

    fn nearest(&self, path: &Path) -> Option<&Placement> {
        self.placements.iter().rev().find(|placement| path.starts_with(&placement.path))
    }
}

/// Leaves out what changes nothing, and says for the rest what it lies in.
pub(super) fn needed(wanted: BTreeMap<PathBuf, What>) -> Vec<Placement> {
    let mut kept: Vec<Placement> = Vec::new();
    for (path, what) in wanted {
        let within = kept.iter().rev().find(|above| path.starts_with(&above.path)).map(|above| (above.path.clone(), above.what));
        let above = within.as_ref().map(|(_, what)| *what);
        let changes_nothing = match what {
            What::Hidden => matches!(above, Some(What::Hidden | What::Private)),
            What::Private | What::Pinned => false,
            What::Read => matches!(above, None | Some(What::Read)),
            What::Run => matches!(above, Some(What::Run)),
            What::Write => matches!(above, Some(What::Write)),
        };
        // Gone since it was asked for, or a link: nothing can be put there.
        let facts = fs::symlink_metadata(&path).ok().filter(|facts| !facts.is_symlink());
        if let Some(facts) = facts.filter(|_| !changes_nothing) {
            kept.push(Placement { path, what, is_folder: facts.is_dir(), within });
        }
    }
    kept
}

fn is_real_folder(path: &str) -> bool {
    fs::symlink_metadata(path).is_ok_and(|facts| facts.is_dir())
}

/// The homes of this machine's people, from the list of users: not those of services, which lie among the system's files.
pub(super) fn homes() -> Vec<PathBuf> {
    let users = fs::read_to_string("/etc/passwd").unwrap_or_default();
    let is_personal = |home: &Path| {
        let system = ["/bin", "/boot", "/dev", "/etc", "/lib", "/opt", "/proc", "/sbin", "/srv", "/sys", "/usr", "/var", "/nonexistent"];
        home.is_absolute() && home.components().count() > 1 && !system.iter().any(|folder| home.starts_with(folder))
    };
    let mut homes: Vec<PathBuf> =
        users.lines().filter_map(|line| line.split(':').nth(5)).map(PathBuf::from).filter(|home| is_personal(home)).collect();
    homes.sort();
    homes.dedup();
    homes.retain(|home| fs::symlink_metadata(home).is_ok());
    homes
}
