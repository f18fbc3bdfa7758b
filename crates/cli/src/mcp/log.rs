//! Standard error, which clients keep as the server's log.

use crate::output::{self, LogLine, paint, style};
use std::io::Write;
use tool_harness::diagnostic::{Diagnostic, Severity};
use tool_harness::event::{Delivery, EventRef, Sink};

/// Writes a line. The server goes on if it cannot.
pub(super) fn say(text: &str) {
    let _ = writeln!(anstream::stderr().lock(), "{text}");
}

/// Writes errors and warnings; notes are for `harness validate`.
pub(super) fn diagnostics<'a>(found: impl IntoIterator<Item = &'a Diagnostic>) {
    for finding in found
        .into_iter()
        .filter(|finding| finding.severity >= Severity::Warning)
    {
        say(&output::diagnostic(finding));
    }
}

/// Says that a file in use broke.
pub(super) fn kept(path: &str) {
    say(&format!(
        "{}: `{path}` broke; its last good version stays in use",
        paint(style::CAREFUL, "kept")
    ));
}

/// Prints what scripts log. A client that does not read it delays no call.
pub struct ScriptLog;

impl Sink for ScriptLog {
    fn record(&self, event: &EventRef<'_>) {
        if let Some(line) = LogLine::of(event) {
            let (level, source) = (line.level.word(), line.source);
            say(&format!("{level}: {source}: {}", line.message));
        }
    }

    fn delivery(&self) -> Delivery {
        Delivery::Counting
    }
}
