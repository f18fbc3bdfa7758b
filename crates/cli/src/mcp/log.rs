//! What the operator reads: standard error, which clients keep as the server's log.

use crate::output::{self, look, paint, plain};
use serde_json::Value;
use std::io::Write;
use tool_harness::diagnostic::{Diagnostic, Severity};
use tool_harness::event::{Delivery, EventRef, Sink};

/// Writes a line; nobody reading it is no reason to stop.
pub(super) fn say(text: &str) {
    let _ = writeln!(anstream::stderr().lock(), "{text}");
}

/// Writes errors and warnings with their place; notes are for `harness validate`.
pub(super) fn diagnostics<'a>(found: impl IntoIterator<Item = &'a Diagnostic>) {
    for finding in found
        .into_iter()
        .filter(|finding| finding.severity >= Severity::Warning)
    {
        say(&output::diagnostic(finding));
    }
}

/// A file broke while it was in use.
pub(super) fn kept(path: &str) {
    say(&format!(
        "{}: `{path}` broke; its last good version stays in use",
        paint(look::CAREFUL, "kept")
    ));
}

/// Shows what scripts log and print. A client that does not read it keeps no call waiting.
pub struct Log;

impl Sink for Log {
    fn record(&self, event: &EventRef<'_>) {
        if event.name == "log" {
            script(event);
        }
    }

    fn delivery(&self) -> Delivery {
        Delivery::Counting
    }
}

fn script(event: &EventRef<'_>) {
    let text = |key: &str| {
        event
            .fields()
            .get(key)
            .and_then(Value::as_str)
            .unwrap_or_default()
    };
    let fields = event
        .fields()
        .get("fields")
        .filter(|fields| fields.as_object().is_some_and(|map| !map.is_empty()));
    let fields = fields
        .map(|fields| format!(" {fields}"))
        .unwrap_or_default();
    say(&plain(&format!(
        "{}: {}: {}{fields}",
        text("level"),
        text("source"),
        text("message")
    )));
}
