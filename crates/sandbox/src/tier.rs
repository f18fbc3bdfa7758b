//! How strongly this machine contains a command, and what was enforced in one run.

use std::fmt;

/// How strongly a command is contained.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tier {
    /// Namespaces, with Landlock and a system call filter inside.
    A,
    /// No namespaces: Landlock, a system call filter, no network.
    B,
    /// Not at all.
    None,
}

impl fmt::Display for Tier {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::A => "A",
            Self::B => "B",
            Self::None => "none",
        })
    }
}

/// What enforced a limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mechanism {
    /// A cgroup v2: all processes together.
    Cgroup2,
    /// A cgroup v1: all processes together.
    Cgroup1,
    /// Resource limits, which count each process separately.
    Rlimit,
    /// A file system of limited size.
    Tmpfs,
    /// Nothing.
    None,
}

impl fmt::Display for Mechanism {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Cgroup2 => "cgroup2",
            Self::Cgroup1 => "cgroup1",
            Self::Rlimit => "rlimit",
            Self::Tmpfs => "tmpfs",
            Self::None => "none",
        })
    }
}

/// What the kernel enforced for one command.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Enforcement {
    /// The tier.
    pub tier: Tier,
    /// What confined it to its files: `namespaces, landlock`, `landlock`, `none`.
    pub files: &'static str,
    /// What cut it off from the network: `namespace`, `relay` (a namespace whose traffic the
    /// harness judges), `seccomp`, `none`.
    pub network: &'static str,
    /// What limited memory.
    pub memory: Mechanism,
    /// What limited processor time.
    pub cpu: Mechanism,
    /// What limited the number of processes.
    pub processes: Mechanism,
    /// What limited the private `/tmp`.
    pub tmp: Mechanism,
    /// The user it ran as.
    pub user: u32,
    /// What the plan asked for and this machine could not give, as sentences.
    pub weaker: Vec<String>,
}

/// What this machine offers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SandboxReport {
    /// The tier in use.
    pub tier: Tier,
    /// Each layer, strongest first.
    pub layers: Vec<LayerReport>,
}

/// One mechanism of containment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LayerReport {
    /// Its name.
    pub name: &'static str,
    /// Whether it works here.
    pub works: bool,
    /// What it gives, or which step failed and how.
    pub detail: String,
    /// What a person can do about it.
    pub fix: Option<String>,
}
