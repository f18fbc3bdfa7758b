//! What scripts log.

use super::plain;
use tool_harness::event::{EventKind, EventName, EventRef, LogLevel};

/// One line that a script logged or printed.
pub(crate) struct LogLine {
    pub(crate) level: LogLevel,
    /// The tool or hook.
    pub(crate) source: String,
    /// The message and its fields, safe for a terminal.
    pub(crate) message: String,
}

impl LogLine {
    /// The line of an event, if it is one.
    pub(crate) fn of(event: &EventRef<'_>) -> Option<Self> {
        if event.name != EventName::Log {
            return None;
        }
        let EventKind::Log {
            level,
            message,
            fields,
            source,
        } = event.kind()
        else {
            return None;
        };
        let more = match fields.as_object() {
            Some(map) if !map.is_empty() => format!(" {fields}"),
            _ => String::new(),
        };
        Some(Self {
            level: *level,
            source: source.clone(),
            message: plain(&format!("{message}{more}")).into_owned(),
        })
    }
}
