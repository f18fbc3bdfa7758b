//! A text that a model reads, and the way back to where it was written.

use crate::artifact::Tool;
use crate::check::locate::{Half, locate, schemas};
use crate::span::{Place, Source, Span};
use std::borrow::Cow;
use std::sync::Arc;

/// One text.
#[derive(Clone, Debug)]
pub struct Text<'a> {
    /// The words.
    pub words: Cow<'a, str>,
    /// What they are for.
    pub role: Role,
    /// Where they were written.
    pub home: Home<'a>,
}

/// What a text is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// Tells a model what to do.
    Prompt,
    /// Says what a tool or an argument is; nothing in it should tell a model what to do otherwise.
    Description,
}

/// Where a text was written.
#[derive(Clone, Debug)]
pub enum Home<'a> {
    /// In this file, from this byte on, exactly as it is.
    File(Arc<Source>, usize),
    /// Somewhere inside this value of a file, which may have escapes.
    Value(Place),
    /// In the description of this argument of a tool.
    Argument(&'a Tool, Cow<'a, str>),
    /// Nowhere that is known.
    Nowhere,
}

/// Counting goes through the text once for each finding, which is for texts that people write.
const MOST_COUNTED: usize = 1 << 14;

impl Text<'_> {
    /// The place of a part of the words.
    #[must_use]
    pub fn place(&self, span: Span) -> Option<Place> {
        let value = match &self.home {
            Home::File(source, start) => return Some(Place::new(source, Span::new(start + span.start, start + span.end))),
            Home::Value(place) => place.clone(),
            Home::Argument(tool, name) => argument_place(tool, name),
            Home::Nowhere => return None,
        };
        Some(self.inside(value, span))
    }

    /// The part of a value that holds the words of `span`, when the file has them; the whole value otherwise.
    fn inside(&self, value: Place, span: Span) -> Place {
        let Some(raw) = value.source.text.get(value.span.start..value.span.end) else { return value };
        let (Some(words), Some(part)) = (self.words.get(..span.end), self.words.get(span.start..span.end)) else { return value };
        // Where lines are indented, folded or escaped, the part itself is still as it is: it is the same one of its kind, counted from the front.
        let counted = || raw.match_indices(part).nth(words.matches(part).count().checked_sub(1)?).map(|(at, _)| at);
        let Some(at) = raw
            .find(words)
            .map(|at| at + span.start)
            .or_else(|| if raw.len() <= MOST_COUNTED { counted() } else { None })
            .filter(|_| !part.is_empty())
        else {
            return value;
        };
        Place::new(&value.source, Span::new(value.span.start + at, value.span.start + at + part.len()))
    }
}

fn argument_place(tool: &Tool, name: &str) -> Place {
    let written = schemas(tool).map(|(written, _)| written).find(|written| written.field != "output_schema");
    written.map_or_else(|| tool.place(tool.name_span), |written| locate(tool, written, &["properties", name, "description"], Half::Value))
}
