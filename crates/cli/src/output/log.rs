//! What scripts log.

use super::plain;
use serde_json::Value;
use tool_harness::event::EventRef;

/// One line that a script logged or printed.
pub(crate) struct LogLine {
    pub(crate) level: String,
    /// The tool or hook.
    pub(crate) source: String,
    /// The message and its fields, safe for a terminal.
    pub(crate) message: String,
}

impl LogLine {
    /// The line of an event, if it is one.
    pub(crate) fn of(event: &EventRef<'_>) -> Option<Self> {
        if event.name != "log" {
            return None;
        }
        let fields = event.fields();
        let text = |key: &str| fields.get(key).and_then(Value::as_str).unwrap_or_default();
        let more = fields
            .get("fields")
            .filter(|more| more.as_object().is_some_and(|map| !map.is_empty()))
            .map_or_else(String::new, |more| format!(" {more}"));
        Some(Self {
            level: text("level").to_owned(),
            source: text("source").to_owned(),
            message: plain(&format!("{}{more}", text("message"))).into_owned(),
        })
    }
}
