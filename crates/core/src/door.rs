//! The ways into the engine.

/// The door that a call came through.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Door {
    /// A Rust program.
    Library,
    /// The command line.
    Cli,
    /// `harness test`.
    Test,
    /// An MCP client.
    Mcp,
    /// A client's hook.
    Hook,
}

impl Door {
    /// The door's word in events.
    #[must_use]
    pub const fn word(self) -> &'static str {
        match self {
            Self::Library => "library",
            Self::Cli => "cli",
            Self::Test => "test",
            Self::Mcp => "mcp",
            Self::Hook => "hook",
        }
    }
}
