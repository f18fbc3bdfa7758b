//! What is not an answer: the run shall go another way.

/// Control flow of a run. It is never made into a message for the model: a loop asks
/// [`crate::ToolResult::message`], and gets this instead.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Control {
    /// The run ends here.
    Stop(String),
    /// The run halts until somebody goes on with it.
    Pause(String),
}

impl Control {
    /// Why.
    #[must_use]
    pub fn reason(&self) -> &str {
        match self {
            Self::Stop(reason) | Self::Pause(reason) => reason,
        }
    }
}
