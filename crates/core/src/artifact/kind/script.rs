//! A script of a tool or hook.

use crate::artifact::Origin;
use crate::artifact::node::{Block, Kind, Node};
use crate::span::{Place, Position, Span};
use std::sync::Arc;

/// A script with the way back to its file.
#[derive(Clone, Debug)]
pub struct Script {
    /// The Starlark source.
    pub text: Arc<str>,
    /// The whole value in the file.
    pub place: Place,
    /// How its lines map to the file; absent for quoted and folded text, where every position is
    /// the value's start.
    pub block: Option<Block>,
}

impl Script {
    /// The place in the file of a position in the script (both from one).
    #[must_use]
    pub(crate) fn place_of(&self, position: Position) -> Place {
        let Some(block) = self.block else {
            return self.place.clone();
        };
        let source = &self.place.source;
        // The position comes from a worker and cannot be trusted.
        let line = block.first_line.saturating_add(position.line.max(1) - 1);
        let start = source.offset(Position {
            line,
            column: position.column.saturating_add(block.indent),
        });
        Place::new(
            source,
            Span::new(start, start + token_length(&source.text[start..])),
        )
    }

    /// The place of so many bytes from a position on, but no further than to the end of its line.
    pub(crate) fn place_of_length(&self, position: Position, length: u32) -> Place {
        let place = self.place_of(position);
        if self.block.is_none() {
            return place;
        }
        let rest = &place.source.text[place.span.start..];
        let line = rest.lines().next().unwrap_or_default();
        let length = usize::try_from(length)
            .unwrap_or(usize::MAX)
            .min(line.len());
        let end = place.span.start + line.floor_char_boundary(length);
        Place::new(&place.source, Span::new(place.span.start, end))
    }
}

/// The bytes worth marking at the start of a text: a quoted string on one line, a dotted name, or
/// one character.
fn token_length(text: &str) -> usize {
    let line = text.lines().next().unwrap_or_default();
    let first = line.chars().next();
    if let Some(quote @ ('"' | '\'')) = first
        && let Some(end) = line[1..].find(quote)
    {
        return end + 2;
    }
    let word = line
        .find(|c: char| !(c.is_alphanumeric() || c == '_' || c == '.'))
        .unwrap_or(line.len());
    word.max(first.map_or(0, char::len_utf8))
}

/// A script value; empty text is no script.
pub(super) fn script(origin: &Origin, node: Option<&Node>) -> Option<Script> {
    let node = node?;
    let text = node.text().filter(|text| !text.trim().is_empty())?;
    let block = if let Kind::Text { block, .. } = node.kind {
        block
    } else {
        None
    };
    Some(Script {
        text: text.into(),
        place: Place::new(&origin.source, node.span),
        block,
    })
}
