//! Whether the operating system contains processes.

/// Whether processes are contained.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Containment {
    /// By the strongest tier the machine has, or not started at all.
    #[default]
    On,
    /// A person turned it off.
    Off,
}
