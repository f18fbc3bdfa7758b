//! From text to a syntax tree, with the same dialect and bounds as a check.

use super::failure::{raised, raised_at};
use crate::check::SOURCE_LIMIT;
use crate::check::dialect::dialect;
use crate::check::nesting::too_deep;
use starlark::syntax::AstModule;
use tool_harness::facts::ScriptKind;
use tool_harness::span::Source;
use tool_harness::worker::protocol::Failure;

/// What a `when` becomes; errors on its first line are shifted by the length of the prefix.
const WHEN_PREFIX: &str = "def __when(event, payload): return (";
const WHEN_SUFFIX: &str = "\n)\n";

/// The function a script of this kind is entered at.
pub(super) fn entry(kind: ScriptKind) -> &'static str {
    match kind {
        ScriptKind::Tool => "run",
        ScriptKind::Hook => "handle",
        ScriptKind::When => "__when",
    }
}

/// How many characters stand before the author's own on the first line.
pub(super) fn shift(kind: ScriptKind) -> u32 {
    match kind {
        ScriptKind::Tool | ScriptKind::Hook => 0,
        ScriptKind::When => u32::try_from(WHEN_PREFIX.len()).unwrap_or(0),
    }
}

/// Parses a source after looking at its size and nesting.
pub(super) fn parse(kind: ScriptKind, source: &str) -> Result<AstModule, Failure> {
    if source.len() > SOURCE_LIMIT {
        return Err(raised(format!("longer than {SOURCE_LIMIT} bytes")));
    }
    if let Some(at) = too_deep(source) {
        let place = Source::new("script", source).position(at);
        return Err(raised_at("nested too deeply", place.line, place.column));
    }
    let text = match kind {
        ScriptKind::Tool | ScriptKind::Hook => source.to_owned(),
        ScriptKind::When => format!("{WHEN_PREFIX}{source}{WHEN_SUFFIX}"),
    };
    AstModule::parse("script", text, &dialect()).map_err(|error| super::failure::of(&error, kind))
}
