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

    /// The part of a value that holds the words from `span` on, when the file has them as they are; the whole value otherwise.
    fn inside(&self, value: Place, span: Span) -> Place {
        let Some(raw) = value.source.text.get(value.span.start..value.span.end) else { return value };
        let Some(words) = self.words.get(..span.end) else { return value };
        let Some(at) = raw.find(words) else { return value };
        let start = value.span.start + at;
        Place::new(&value.source, Span::new(start + span.start, start + span.end))
    }
}

fn argument_place(tool: &Tool, name: &str) -> Place {
    let written = schemas(tool).map(|(written, _)| written).find(|written| written.field != "output_schema");
    written.map_or_else(|| tool.place(tool.name_span), |written| locate(tool, written, &["properties", name, "description"], Half::Value))
}
