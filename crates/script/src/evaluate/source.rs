//! Parses a script with the same dialect and limits as the check.

use super::failure::{from_error, raised};
use crate::check::bounds;
use crate::check::dialect::dialect;
use starlark::syntax::AstModule;
use tool_harness::facts::ScriptKind;
use tool_harness::worker::protocol::Failure;

/// Wrapped around a `when`. Errors on its first line are shifted by the length of the prefix.
const WHEN_PREFIX: &str = "def __when(event, payload): return (";
const WHEN_SUFFIX: &str = "\n)\n";

/// The name of the entry function.
pub(super) fn entry(kind: ScriptKind) -> &'static str {
    match kind {
        ScriptKind::Tool => "run",
        ScriptKind::Hook => "handle",
        ScriptKind::When => "__when",
    }
}

/// How many characters precede the author's text on the first line.
pub(super) fn shift(kind: ScriptKind) -> u32 {
    match kind {
        ScriptKind::Tool | ScriptKind::Hook => 0,
        ScriptKind::When => u32::try_from(WHEN_PREFIX.len()).unwrap_or(0),
    }
}

pub(super) fn parse(kind: ScriptKind, source: &str) -> Result<AstModule, Failure> {
    bounds(source).map_err(|why| Failure {
        line: why.line,
        column: why.column,
        ..raised(why.name)
    })?;
    let text = match kind {
        ScriptKind::Tool | ScriptKind::Hook => source.to_owned(),
        ScriptKind::When => format!("{WHEN_PREFIX}{source}{WHEN_SUFFIX}"),
    };
    AstModule::parse("script", text, &dialect()).map_err(|error| from_error(&error, kind))
}
