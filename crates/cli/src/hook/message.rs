//! One hook message. The clients so far use one form.

use anyhow::{Context as _, bail};
use serde_json::{Map, Value};
use std::io::Read;
use std::path::PathBuf;

/// A longer message is refused.
const MAX_MESSAGE_BYTES: u64 = 16 << 20;

/// What a client sends to a hook.
#[derive(Debug)]
pub(crate) struct Message {
    pub(super) event: String,
    pub(super) session: Option<String>,
    pub(super) cwd: Option<PathBuf>,
    fields: Map<String, Value>,
}

/// The part of a message that is about one call.
pub(super) struct ToolUse {
    pub(super) tool: String,
    pub(super) input: Value,
    pub(super) id: Option<String>,
}

impl Message {
    /// Reads all of the input, which must be one message.
    pub(super) fn read(input: impl Read) -> anyhow::Result<Self> {
        let mut bytes = Vec::new();
        input
            .take(MAX_MESSAGE_BYTES + 1)
            .read_to_end(&mut bytes)
            .context("cannot read the client's message")?;
        if bytes.len() as u64 > MAX_MESSAGE_BYTES {
            bail!(
                "the client's message is longer than {MAX_MESSAGE_BYTES} bytes, so the call cannot be judged"
            );
        }
        if bytes.iter().all(u8::is_ascii_whitespace) {
            bail!(
                "the client's message is empty; a hook expects one JSON object on standard input"
            );
        }
        let value = serde_json::from_slice(&bytes).context("the client's message is not JSON")?;
        let Value::Object(fields) = value else {
            bail!("the client's message is not a JSON object")
        };
        let text = |key| text(&fields, key);
        let event =
            text("hook_event_name").context("the client's message has no `hook_event_name`")?;
        let cwd = text("cwd").map(PathBuf::from);
        if let Some(cwd) = cwd.as_deref().filter(|cwd| !cwd.is_absolute()) {
            bail!(
                "the `cwd` of the client's message, `{}`, is not an absolute path",
                cwd.display()
            );
        }
        Ok(Self {
            event,
            session: text("session_id"),
            cwd,
            fields,
        })
    }

    /// The call that the message is about.
    pub(super) fn tool_use(&mut self) -> anyhow::Result<ToolUse> {
        let tool = self
            .text("tool_name")
            .with_context(|| format!("the client's `{}` message has no `tool_name`", self.event))?;
        let id = self.text("tool_use_id");
        Ok(ToolUse {
            tool,
            input: self.fields.remove("tool_input").unwrap_or_default(),
            id,
        })
    }

    /// The result of the call.
    pub(super) fn response(&mut self) -> Value {
        self.fields.remove("tool_response").unwrap_or_default()
    }

    /// The text under a key.
    pub(super) fn text(&self, key: &str) -> Option<String> {
        text(&self.fields, key)
    }
}

fn text(fields: &Map<String, Value>, key: &str) -> Option<String> {
    fields.get(key)?.as_str().map(str::to_owned)
}
