//! A text that a model reads, with its origin.

use crate::artifact::Tool;
use crate::artifact::locate::{EntryPart, locate, schemas};
use crate::span::{Place, Source, Span};
use std::borrow::Cow;
use std::sync::Arc;

/// One text.
#[derive(Clone, Debug)]
pub struct Text<'a> {
    /// The words.
    pub words: Cow<'a, str>,
    /// Its role.
    pub role: Role,
    /// Where they were written.
    pub origin: TextOrigin<'a>,
}

/// The role of a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// Tells a model what to do.
    Prompt,
    /// Says what a tool or an argument is; it should not give a model any other instructions.
    Description,
    /// One of the values that an argument may have.
    Value,
}

/// Where a text was written.
#[derive(Clone, Debug)]
pub enum TextOrigin<'a> {
    /// In this file, from this byte on, exactly as it is.
    File(Arc<Source>, usize),
    /// Somewhere inside this value of a file, which may be folded or quoted.
    Value(Place),
    /// In this file, with escapes: after each, the offset in the words and in the file.
    Escaped(Arc<Source>, Vec<(usize, usize)>),
    /// At this path of the schema of a tool.
    Schema(&'a Tool, Vec<String>),
    /// Unknown.
    Nowhere,
}

/// Counting scans the text once for each finding, so it is only for texts of human length.
const MOST_COUNTED: usize = 1 << 14;

impl TextOrigin<'_> {
    /// The origin of a text that is this value of a JSON file.
    pub(super) fn json(value: Place) -> Self {
        let start = value.span.start + 1;
        let raw = value
            .source
            .text
            .get(start..value.span.end.saturating_sub(1))
            .unwrap_or_default();
        if !raw.contains('\\') {
            return Self::File(value.source, start);
        }
        let (mut steps, mut words, mut file) = (vec![(0, start)], 0, 0);
        while let Some(plain) = raw.get(file..).and_then(|rest| rest.find('\\')) {
            let (unit, length) = escape(&raw[file + plain..]);
            words += plain + unit;
            file += plain + length;
            steps.push((words, start + file));
        }
        Self::Escaped(value.source, steps)
    }
}

/// How many bytes an escape decodes to, and how many it has itself.
fn escape(raw: &str) -> (usize, usize) {
    let unit = |at: usize| {
        raw.get(at..at + 6)
            .and_then(|escape| u32::from_str_radix(escape.strip_prefix("\\u")?, 16).ok())
    };
    match unit(0) {
        None => (1, raw.len().min(2)),
        // Two halves are one character.
        Some(0xd800..0xdc00) if unit(6).is_some() => (4, 12),
        Some(code) => (char::from_u32(code).map_or(3, char::len_utf8), 6),
    }
}

impl Text<'_> {
    /// The place of a part of the words.
    #[must_use]
    pub fn place(&self, span: Span) -> Option<Place> {
        let value = match &self.origin {
            TextOrigin::File(source, start) => {
                let span = Span::new(start + span.start, start + span.end);
                return Some(Place::new(source, span));
            }
            TextOrigin::Escaped(source, steps) => {
                let file = |at: usize| {
                    let step = steps
                        .partition_point(|(words, _)| *words <= at)
                        .saturating_sub(1);
                    steps
                        .get(step)
                        .map_or(at, |(words, file)| file + (at - words))
                };
                let span = Span::new(file(span.start), file(span.end));
                return Some(Place::new(source, span));
            }
            TextOrigin::Value(place) => place.clone(),
            TextOrigin::Schema(tool, path) => schema_place(tool, path),
            TextOrigin::Nowhere => return None,
        };
        Some(self.inside(value, span))
    }

    /// The part of a value that holds the words of `span`, when the file has them; the whole value
    /// otherwise.
    fn inside(&self, value: Place, span: Span) -> Place {
        let Some(raw) = value.source.text.get(value.span.start..value.span.end) else {
            return value;
        };
        let (Some(words), Some(part)) = (
            self.words.get(..span.end),
            self.words.get(span.start..span.end),
        ) else {
            return value;
        };
        // Lines may be indented, folded or escaped, but the part itself is unchanged: count its
        // occurrences from the front.
        let counted = || {
            raw.match_indices(part)
                .nth(words.matches(part).count().checked_sub(1)?)
                .map(|(at, _)| at)
        };
        let whole = raw.find(words).map(|at| at + span.start);
        let is_short = raw.len() <= MOST_COUNTED;
        match whole.or_else(|| is_short.then(counted).flatten()) {
            Some(at) if !part.is_empty() => {
                let start = value.span.start + at;
                Place::new(&value.source, Span::new(start, start + part.len()))
            }
            _ => value,
        }
    }
}

fn schema_place(tool: &Tool, path: &[String]) -> Place {
    let written = schemas(tool)
        .map(|(written, _)| written)
        .find(|written| written.field != "output_schema");
    let path: Vec<&str> = path.iter().map(String::as_str).collect();
    written.map_or_else(
        || tool.place(tool.name_span),
        |written| locate(tool, written, &path, EntryPart::Value),
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn a_part_of_a_json_text_is_where_it_was_written(words in "[a\n\"é😀\\\\/]{0,20}", escaped in any::<bool>()) {
            let raw = serde_json::Value::from(words.clone()).to_string();
            let raw = if escaped { raw.replace('é', "\\u00e9").replace('😀', "\\ud83d\\ude00").replace('/', "\\/") } else { raw };
            let source = Source::new("a.json", format!("[{raw}]"));
            let origin = TextOrigin::json(Place::new(&source, Span::new(1, 1 + raw.len())));
            let text = Text { words: Cow::Borrowed(&words), role: Role::Description, origin };
            for (at, c) in words.char_indices() {
                let place = text.place(Span::new(at, at + c.len_utf8())).expect("a place");
                let there = format!("\"{}\"", &source.text[place.span.start..place.span.end]);
                prop_assert_eq!(serde_json::from_str::<String>(&there).expect("JSON"), c.to_string());
            }
        }
    }
}
