//! The one message made from a result or refusal. Every door encodes it in its own protocol and
//! adds nothing.

use crate::content::ContentBlock;
use crate::content::joined;
use crate::control::Control;
use crate::id::{ToolCallId, ToolName};
use crate::refusal::Refusal;
use crate::result::ToolResult;
use serde_json::{Map, Value, json};

/// What a model is told about a call.
#[derive(Clone, Debug, PartialEq)]
pub struct ToolMessage {
    /// The call it answers.
    pub call_id: ToolCallId,
    /// The tool's canonical name, or the requested name if no such tool exists.
    pub name: ToolName,
    /// Whether the call failed or was refused.
    pub is_error: bool,
    /// What the model reads. It includes the value, because many models are shown nothing else.
    pub content: Vec<ContentBlock>,
    /// What the tool returned.
    pub value: Option<Value>,
    /// Details for programs: `error`, `artifacts`, `refs`, `metadata`, `provider`; empty ones are
    /// left out.
    pub about: Map<String, Value>,
}

impl ToolMessage {
    /// The text of all text blocks.
    #[must_use]
    pub fn text(&self) -> String {
        joined(&self.content)
    }
}

impl ToolResult {
    /// The message for the model, or the control flow of the run instead.
    pub fn message(self) -> Result<ToolMessage, Control> {
        match self.error.as_ref().and_then(|error| error.control.clone()) {
            Some(control) => Err(control),
            None => Ok(self.into()),
        }
    }
}

impl From<ToolResult> for ToolMessage {
    fn from(result: ToolResult) -> Self {
        let mut about = Map::new();
        let mut add = |key: &str, value: Option<Value>| {
            about.extend(value.map(|value| (key.to_owned(), value)))
        };
        add("error", result.error.as_ref().map(Refusal::to_json));
        add("artifacts", result.artifacts_json());
        add(
            "refs",
            (!result.refs.is_empty()).then(|| json!(result.refs)),
        );
        add(
            "metadata",
            (!result.metadata.is_empty()).then(|| Value::Object(result.metadata.clone())),
        );
        add(
            "provider",
            (!result.provider.is_empty()).then(|| Value::Object(result.provider.clone())),
        );
        let mut content = result.content;
        if let Some(value) = &result.value {
            let text = value
                .as_str()
                .map_or_else(|| value.to_string(), str::to_owned);
            if content.iter().all(|block| block.as_text() != Some(&*text)) {
                content.push(ContentBlock::Text(text));
            }
        }
        Self {
            call_id: result.call_id,
            name: result.name,
            is_error: result.is_error,
            content,
            value: result.value,
            about,
        }
    }
}
