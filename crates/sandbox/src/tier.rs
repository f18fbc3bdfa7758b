//! How strongly processes are contained. A stand-in until the process branch is merged.

/// The ways to contain a process, strongest first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tier {
    /// Namespaces.
    A,
    /// Landlock and a system call filter alone.
    B,
    /// Nothing.
    None,
}
