//! From the scanner's lines and columns to bytes of the file, in constant time.

use crate::span::Span;

/// A byte offset is stored for every this many characters.
const STRIDE: usize = 64;

/// Line and column to byte offset, for one part of a file.
pub(super) struct Offsets {
    base: usize,
    length: usize,
    /// Index of the first character of each line.
    lines: Vec<usize>,
    /// Byte offset of every [`STRIDE`]th character; empty for ASCII, where characters are bytes.
    strides: Vec<usize>,
}

impl Offsets {
    /// A table for the part `span` of `text`.
    pub(super) fn new(text: &str, span: Span) -> Self {
        let part = &text[span.start..span.end];
        let mut lines = vec![0];
        let mut strides = Vec::new();
        if part.is_ascii() {
            lines.extend(
                part.bytes()
                    .enumerate()
                    .filter(|&(_, byte)| byte == b'\n')
                    .map(|(at, _)| at + 1),
            );
        } else {
            for (index, (at, c)) in part.char_indices().enumerate() {
                if index % STRIDE == 0 {
                    strides.push(at);
                }
                if c == '\n' {
                    lines.push(index + 1);
                }
            }
        }
        Self {
            base: span.start,
            length: part.len(),
            lines,
            strides,
        }
    }

    /// The byte of the whole text at a line (from one) and column (from zero) of the part.
    pub(super) fn byte(&self, text: &str, line: usize, column: usize) -> usize {
        let Some(&start) = self.lines.get(line.max(1) - 1) else {
            return self.base + self.length;
        };
        let mut index = start + column;
        if let Some(&next) = self.lines.get(line.max(1)) {
            index = index.min(next - 1);
        }
        let within = if self.strides.is_empty() {
            index
        } else {
            self.walk(text, index)
        };
        self.base + within.min(self.length)
    }

    fn walk(&self, text: &str, index: usize) -> usize {
        let Some(&stride) = self.strides.get(index / STRIDE) else {
            return self.length;
        };
        let rest = &text[self.base + stride..self.base + self.length];
        rest.char_indices()
            .nth(index % STRIDE)
            .map_or(self.length, |(at, _)| stride + at)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_character_of_a_part_maps_to_its_byte() {
        for part in [
            "ab: 1\nc: [x, y]\n",
            &format!("é: ü\n{}\n{}é: 1", "ж".repeat(200), "a".repeat(130)),
            "",
        ] {
            let text = format!("---\n{part}---\n");
            let offsets = Offsets::new(&text, Span::new(4, 4 + part.len()));
            let (mut line, mut column) = (1, 0);
            for (at, c) in part.char_indices() {
                assert_eq!(offsets.byte(&text, line, column), 4 + at);
                if c == '\n' {
                    (line, column) = (line + 1, 0);
                } else {
                    column += 1;
                }
            }
            assert_eq!(offsets.byte(&text, line, column), 4 + part.len());
            assert_eq!(offsets.byte(&text, 99, 0), 4 + part.len());
        }
    }

    #[test]
    fn a_column_past_its_line_stays_on_the_line() {
        let offsets = Offsets::new("a\nb", Span::new(0, 3));
        assert_eq!(offsets.byte("a\nb", 1, 50), 1);
    }
}
