//! Turns Starlark errors into failures: a kind, a message, a place in the author's text.

use super::meter::ExceededLimit;
use super::source::shift;
use starlark::ErrorKind;
use tool_harness::facts::ScriptKind;
use tool_harness::worker::protocol::{Budget, Failure, FailureKind};

/// The deepest call stack a script may have.
pub(super) const MAX_CALLS: usize = 50;

/// The longest message, in characters. Scripts can raise messages of any length.
const MAX_MESSAGE: usize = 2000;

/// A failure without a place.
pub(super) fn raised(message: impl Into<String>) -> Failure {
    raised_at(message, 0, 0)
}

/// A failure at a place.
pub(super) fn raised_at(message: impl Into<String>, line: u32, column: u32) -> Failure {
    Failure {
        kind: FailureKind::Raised,
        message: message.into(),
        line,
        column,
    }
}

/// A result that cannot be encoded.
pub(super) fn unusable(message: impl Into<String>) -> Failure {
    Failure {
        kind: FailureKind::Result,
        message: message.into(),
        line: 0,
        column: 0,
    }
}

/// Classifies an error of the evaluator.
pub(super) fn from_error(error: &starlark::Error, kind: ScriptKind) -> Failure {
    let (line, column) = place(error, kind);
    let text = message(error);
    let (kind, message) = match error.kind() {
        ErrorKind::StackOverflow(_) => (
            FailureKind::Recursion,
            format!("calls nest deeper than {MAX_CALLS} levels"),
        ),
        ErrorKind::Other(_) if text.starts_with("Heap memory limit of") => {
            (FailureKind::Memory, "used too much memory".to_owned())
        }
        _ => (FailureKind::Raised, explain(text)),
    };
    Failure {
        kind,
        message,
        line,
        column,
    }
}

/// The failure of an evaluation that exceeded a limit.
pub(super) fn limit_exceeded(limit: ExceededLimit, budget: &Budget) -> Failure {
    let (kind, message) = match limit {
        ExceededLimit::Wall(time) => (
            FailureKind::Wall,
            format!("took longer than {} ms", time.as_millis()),
        ),
        ExceededLimit::Cpu => (
            FailureKind::Steps,
            format!("used more than {} ms of processor time", budget.cpu_ms),
        ),
    };
    Failure {
        kind,
        message,
        line: 0,
        column: 0,
    }
}

fn message(error: &starlark::Error) -> String {
    match error.kind() {
        ErrorKind::Fail(inner) => inner.to_string(),
        _ => error.without_diagnostic().to_string(),
    }
}

/// Rewords messages of the evaluator that say too little to act on, and bounds the rest.
fn explain(text: String) -> String {
    let text = text.trim_end();
    if text == "Immutable" {
        return "this value cannot be changed; copy it first, with `dict(payload)` or `list(items)`"
            .to_owned();
    }
    match text.char_indices().nth(MAX_MESSAGE) {
        Some((end, _)) => format!("{}…", text.get(..end).unwrap_or_default()),
        None => text.to_owned(),
    }
}

fn place(error: &starlark::Error, kind: ScriptKind) -> (u32, u32) {
    let Some(span) = error.span() else {
        return (0, 0);
    };
    let begin = span.resolve_span().begin;
    let (line, column) = (number(begin.line), number(begin.column));
    let column = if line == 0 {
        column.saturating_sub(shift(kind))
    } else {
        column
    };
    (line + 1, column + 1)
}

fn number(value: usize) -> u32 {
    u32::try_from(value).unwrap_or(u32::MAX - 1)
}
