//! Control flow: a tool or middleware stops or pauses the run instead of answering.

/// Control flow of a run. It never becomes a message for the model: a loop calls
/// [`crate::ToolResult::message`] and gets this instead.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Control {
    /// The run ends.
    Stop(String),
    /// The run pauses until it is resumed.
    Pause(String),
}

impl Control {
    /// The reason.
    #[must_use]
    pub fn reason(&self) -> &str {
        match self {
            Self::Stop(reason) | Self::Pause(reason) => reason,
        }
    }
}
