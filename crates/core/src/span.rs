//! A place in a file.

use std::fmt;
use std::sync::{Arc, OnceLock};

/// A line and a column, both counted from one; columns count characters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Position {
    /// Line, from one.
    pub line: u32,
    /// Column in characters, from one.
    pub column: u32,
}

/// A half-open range of bytes in one file.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Span {
    /// First byte.
    pub start: usize,
    /// One past the last byte.
    pub end: usize,
}

impl Span {
    /// A range from `start` up to, not including, `end`.
    #[must_use]
    pub fn new(start: usize, end: usize) -> Self {
        Self {
            start,
            end: end.max(start),
        }
    }
}

/// The text of one file, with the path people know it by.
pub struct Source {
    /// Path relative to the project, with forward slashes.
    pub path: Arc<str>,
    /// The whole text.
    pub text: Arc<str>,
    line_starts: Vec<usize>,
    /// How many characters come before each step of [`STEP`] bytes; counted when a long line first
    /// needs it.
    steps: OnceLock<Vec<usize>>,
}

/// Bytes of a line that are counted for each place in it.
const STEP: usize = 1024;

impl Source {
    /// A file's text under the path that diagnostics show.
    pub fn new(path: impl Into<Arc<str>>, text: impl Into<Arc<str>>) -> Arc<Self> {
        let text: Arc<str> = text.into();
        let mut line_starts = vec![0];
        line_starts.extend(
            text.bytes()
                .enumerate()
                .filter(|&(_, byte)| byte == b'\n')
                .map(|(at, _)| at + 1),
        );
        Arc::new(Self {
            path: path.into(),
            text,
            line_starts,
            steps: OnceLock::new(),
        })
    }

    /// The line and column of a byte offset; an offset past the end counts as the end.
    #[must_use]
    pub fn position(&self, offset: usize) -> Position {
        let mut offset = offset.min(self.text.len());
        while !self.text.is_char_boundary(offset) {
            offset -= 1;
        }
        let line = self
            .line_starts
            .partition_point(|&start| start <= offset)
            .saturating_sub(1);
        let start = self.line_starts[line];
        let before = if offset - start <= STEP {
            characters(&self.text.as_bytes()[start..offset])
        } else {
            self.before(offset) - self.before(start)
        };
        Position {
            line: count(line + 1),
            column: count(before + 1),
        }
    }

    /// How many characters come before a byte, so that places on a long line are not each counted
    /// from its start.
    fn before(&self, offset: usize) -> usize {
        let bytes = self.text.as_bytes();
        let steps = self.steps.get_or_init(|| {
            let sums = bytes.chunks(STEP).scan(0, |sum, part| {
                let before = *sum;
                *sum += characters(part);
                Some(before)
            });
            sums.collect()
        });
        let step = (offset / STEP).min(steps.len().saturating_sub(1));
        steps
            .get(step)
            .map_or(0, |before| before + characters(&bytes[step * STEP..offset]))
    }

    /// The byte offset of a line and column; clamped to the line, and to the text.
    #[must_use]
    pub fn offset(&self, position: Position) -> usize {
        let line = (position.line.max(1) - 1) as usize;
        let Some(&start) = self.line_starts.get(line) else {
            return self.text.len();
        };
        let end = self
            .line_starts
            .get(line + 1)
            .map_or(self.text.len(), |next| next - 1);
        let column = (position.column.max(1) - 1) as usize;
        self.text[start..end]
            .char_indices()
            .nth(column)
            .map_or(end, |(at, _)| start + at)
    }
}

impl fmt::Debug for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Source({}, {} bytes)", self.path, self.text.len())
    }
}

/// A span in a known file.
#[derive(Clone, Debug)]
pub struct Place {
    /// The file.
    pub source: Arc<Source>,
    /// The bytes meant.
    pub span: Span,
}

impl Place {
    /// A span of `source`.
    #[must_use]
    pub fn new(source: &Arc<Source>, span: Span) -> Self {
        Self {
            source: Arc::clone(source),
            span,
        }
    }

    /// Line and column of the first byte.
    #[must_use]
    pub fn position(&self) -> Position {
        self.source.position(self.span.start)
    }
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Position { line, column } = self.position();
        write!(f, "{}:{line}:{column}", self.source.path)
    }
}

impl PartialEq for Place {
    fn eq(&self, other: &Self) -> bool {
        self.source.path == other.source.path && self.span == other.span
    }
}

/// How many characters begin among these bytes.
fn characters(bytes: &[u8]) -> usize {
    bytes.iter().filter(|&&byte| byte & 0xc0 != 0x80).count()
}

fn count(value: usize) -> u32 {
    u32::try_from(value).unwrap_or(u32::MAX)
}

/// A value with its place in the artifact's file.
#[derive(Clone, Debug)]
pub struct Spanned<T> {
    /// The value.
    pub value: T,
    /// Its place.
    pub span: Span,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn offsets_and_positions_are_inverse_and_count_characters() {
        let source = Source::new("a.md", "é=1\nb\n\n");
        for (offset, line, column) in [
            (0, 1, 1),
            (2, 1, 2),
            (4, 1, 4),
            (5, 2, 1),
            (7, 3, 1),
            (8, 4, 1),
        ] {
            let position = Position { line, column };
            assert_eq!(source.position(offset), position);
            assert_eq!(source.offset(position), offset);
        }
        assert_eq!(
            source.position(1),
            Position { line: 1, column: 1 },
            "inside a character counts as its start"
        );
        assert_eq!(source.position(99), Position { line: 4, column: 1 });
        assert_eq!(
            source.offset(Position {
                line: 99,
                column: 1
            }),
            8
        );
    }

    #[test]
    fn columns_of_a_long_line_are_counted_in_steps() {
        let line = "é=1😀".repeat(3 * STEP);
        let source = Source::new("a.md", format!("ab\n{line}\nc"));
        for (column, (at, _)) in line.char_indices().enumerate().step_by(97) {
            assert_eq!(
                source.position(3 + at),
                Position {
                    line: 2,
                    column: count(column + 1)
                }
            );
        }
        assert_eq!(
            source.position(3 + line.len()),
            Position {
                line: 2,
                column: count(line.chars().count() + 1)
            }
        );
        assert_eq!(
            source.position(4 + line.len()),
            Position { line: 3, column: 1 }
        );
    }

    #[test]
    fn many_places_on_one_line_are_no_slower_than_on_many() {
        // The product of both would take minutes.
        let source = Source::new("a.md", "a(1) ".repeat(400_000));
        let last = (0..100_000).map(|at| source.position(at * 20).column).max();
        assert_eq!(last, Some(1_999_981));
    }
}
