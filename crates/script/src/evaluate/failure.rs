//! Turns Starlark errors into failures: a kind, a message, a place in the author's text.

use super::builtin::BuiltinError;
use super::meter::ExceededLimit;
use super::source::shift;
use starlark::ErrorKind;
use tool_harness::facts::ScriptKind;
use tool_harness::worker::protocol::{Budget, Failure, FailureKind};

/// The deepest call stack a script may have.
pub(super) const MAX_CALLS: usize = 50;

/// The longest message, in characters. Scripts can raise messages of any length.
const MAX_MESSAGE: usize = 2000;

/// An error in the script, without a place.
pub(super) fn raised(message: impl Into<String>) -> Failure {
    failure(FailureKind::Raised, message)
}

/// A result that cannot be encoded.
pub(super) fn unusable(message: impl Into<String>) -> Failure {
    failure(FailureKind::Result, message)
}

/// Classifies an error of the evaluator.
pub(super) fn from_error(error: &starlark::Error, kind: ScriptKind) -> Failure {
    let (line, column) = place(error, kind);
    let text = message(error);
    let failure = match error.kind() {
        ErrorKind::StackOverflow(_) => failure(
            FailureKind::Recursion,
            format!("calls nest deeper than {MAX_CALLS} levels"),
        ),
        ErrorKind::Other(_) if text.starts_with("Heap memory limit of") => {
            failure(FailureKind::Memory, "used too much memory")
        }
        // `fail` and built-ins raise on purpose, mostly because of what the caller asked for.
        ErrorKind::Fail(_) => raised(explain(text)),
        ErrorKind::Other(cause) if cause.is::<BuiltinError>() => raised(explain(text)),
        ErrorKind::Parser(_) | ErrorKind::Scope(_) => raised(explain(text)),
        _ => failure(FailureKind::Bug, explain(text)),
    };
    Failure {
        line,
        column,
        ..failure
    }
}

/// The failure of an evaluation that exceeded a limit.
pub(super) fn limit_exceeded(limit: ExceededLimit, budget: &Budget) -> Failure {
    match limit {
        ExceededLimit::Wall(time) => failure(
            FailureKind::Wall,
            format!("took longer than {} ms", time.as_millis()),
        ),
        ExceededLimit::Cpu => failure(
            FailureKind::Steps,
            format!("used more than {} ms of processor time", budget.cpu_ms),
        ),
    }
}

fn failure(kind: FailureKind, message: impl Into<String>) -> Failure {
    Failure {
        kind,
        message: message.into(),
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
    // `fail` joins its arguments to an empty text first.
    let text = text.trim();
    if text == "Immutable" {
        return "this value cannot be changed; copy it first, with `dict(x)` or `list(x)`; what must last between calls goes into `state`"
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
