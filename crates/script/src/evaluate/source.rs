//! Parses a script with the same dialect and limits as the check.

use super::failure::{from_error, raised};
use crate::check::bounds;
use crate::check::dialect::dialect;
use starlark::syntax::AstModule;
use tool_harness::facts::ScriptKind;
use tool_harness::worker::protocol::Failure;

/// Wrapped around a `when`. Errors on its first line are shifted by the length of the prefix.
const WHEN_PREFIX: &str = "def __when(event, payload): return (";
/// Wrapped around a `condition`, which is true or false whatever its value is.
const CONDITION_PREFIX: &str = "def __condition(_): return bool(";
const EXPRESSION_SUFFIX: &str = "\n)\n";

/// The name of the entry function.
pub(super) fn entry(kind: ScriptKind) -> &'static str {
    match kind {
        ScriptKind::Tool => "run",
        ScriptKind::Hook => "handle",
        ScriptKind::When => "__when",
        ScriptKind::Condition => "__condition",
    }
}

/// What is put before an expression, to make it a function.
fn prefix(kind: ScriptKind) -> Option<&'static str> {
    match kind {
        ScriptKind::Tool | ScriptKind::Hook => None,
        ScriptKind::When => Some(WHEN_PREFIX),
        ScriptKind::Condition => Some(CONDITION_PREFIX),
    }
}

/// How many characters precede the author's text on the first line.
pub(super) fn shift(kind: ScriptKind) -> u32 {
    u32::try_from(prefix(kind).map_or(0, str::len)).unwrap_or(0)
}

pub(super) fn parse(kind: ScriptKind, source: &str) -> Result<AstModule, Failure> {
    bounds(source).map_err(|why| Failure {
        line: why.line,
        column: why.column,
        ..raised(why.name)
    })?;
    let text = match prefix(kind) {
        None => source.to_owned(),
        Some(prefix) => format!("{prefix}{source}{EXPRESSION_SUFFIX}"),
    };
    AstModule::parse("script", text, &dialect()).map_err(|error| from_error(&error, kind))
}
