//! The list of hosts that may be reached.

/// Hosts that may be reached, as `network.allowed_domains` names them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Domains {
    patterns: Vec<String>,
}

impl Domains {
    /// Whether no host may be reached.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.patterns.is_empty()
    }
}
