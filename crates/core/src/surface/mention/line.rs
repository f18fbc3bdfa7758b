//! The lines of a text: which ones are fenced code, and which ones a marker covers.

use super::marker::{Marker, Order, find};
use crate::span::Span;

/// One line, without its end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Line {
    pub(super) span: Span,
    /// Whether it is fenced code, or a fence.
    pub(super) fenced: bool,
    /// The marker that covers it.
    pub(super) marker: Option<usize>,
}

/// A text in lines, with its markers and what is wrong with them.
#[derive(Debug, Default)]
pub(super) struct Lines {
    pub(super) lines: Vec<Line>,
    pub(super) markers: Vec<Marker>,
    /// The fence that is never closed.
    pub(super) unclosed_fence: Option<Span>,
    /// Markers that make no pair, or say something nobody knows.
    pub(super) odd_markers: Vec<(Span, String)>,
}

/// An open fence: its character, how many of them, the column where the list item that holds it begins, and how many quotations do.
#[derive(Clone, Copy)]
struct Fence {
    mark: u8,
    length: usize,
    container: usize,
    quotes: usize,
    span: Span,
}

impl Lines {
    /// Reads a text. Inside fences a marker is code like any other.
    pub(super) fn of(text: &str) -> Self {
        let mut all = Self::default();
        let mut fence: Option<Fence> = None;
        let mut container = 0;
        let mut block: Option<usize> = None;
        let mut next: Option<usize> = None;
        let mut start = 0;
        for whole in text.split_inclusive('\n') {
            let line = whole.trim_end_matches(['\n', '\r']);
            let span = Span::new(start, start + line.len());
            start += whole.len();
            let blank = line.trim().is_empty();
            if let Some(open) = fence {
                let (indent, rest) = unindent(line);
                // A list item or a quotation that ends takes its fence with it.
                let left = (open.container > 0 && !blank && indent < open.container) || quotes(line) < open.quotes;
                if !left {
                    if quotes(line) == open.quotes && indent <= open.container + 3 && closes(rest, open) {
                        fence = None;
                    }
                    all.lines.push(Line { span, fenced: true, marker: block });
                    continue;
                }
                fence = None;
            }
            if !blank {
                container = container_of(line, container);
                fence = opens(line, container, span);
                if fence.is_some() {
                    all.lines.push(Line { span, fenced: true, marker: block });
                    continue;
                }
            }
            let mut marker = block;
            if let Some((at, order)) = find(line) {
                let at = Span::new(span.start + at.start, span.start + at.end);
                match order {
                    Order::Line => marker = marker.or_else(|| Some(all.add(at, order))),
                    Order::NextLine => next = Some(all.add(at, order)),
                    Order::Start if block.is_some() => all.odd(at, "the block before it is still open"),
                    Order::Start => block = Some(all.add(at, order)),
                    Order::End if block.is_none() => all.odd(at, "no `ignore-start` stands before it"),
                    Order::End => block = None,
                    Order::Unknown => {
                        all.odd(at, "it is none of `ignore-line`, `ignore-next-line`, `ignore-start` and `ignore-end`");
                    }
                }
            } else if !blank {
                marker = marker.or_else(|| next.take());
            }
            all.lines.push(Line { span, fenced: false, marker });
        }
        all.unclosed_fence = fence.map(|fence| fence.span);
        if let Some(open) = block.and_then(|index| all.markers.get(index)).map(|marker| marker.span) {
            all.odd(open, "no `ignore-end` closes it");
        }
        all
    }

    fn add(&mut self, span: Span, order: Order) -> usize {
        self.markers.push(Marker { span, order });
        self.markers.len() - 1
    }

    fn odd(&mut self, span: Span, why: &str) {
        self.odd_markers.push((span, why.to_owned()));
    }
}

/// The columns of indentation and what follows; quotation marks of block quotes count as indentation.
fn unindent(line: &str) -> (usize, &str) {
    let rest = line.trim_start_matches([' ', '\t', '>']);
    let columns = line[..line.len() - rest.len()].bytes().map(|byte| if byte == b'\t' { 4 } else { usize::from(byte != b'>') }).sum();
    (columns, rest)
}

/// How many quotations a line stands in.
fn quotes(line: &str) -> usize {
    let rest = line.trim_start_matches([' ', '\t', '>']);
    line[..line.len() - rest.len()].matches('>').count()
}

/// The column where the text of the innermost list item begins; zero outside lists.
fn container_of(line: &str, before: usize) -> usize {
    let (indent, rest) = unindent(line);
    let marker = list_marker(rest);
    match marker {
        Some(length) if indent < before + 4 => indent + length,
        _ if indent < before => 0,
        _ => before,
    }
}

/// The length of a list item's mark with the space after it.
fn list_marker(rest: &str) -> Option<usize> {
    let digits = rest.bytes().take_while(u8::is_ascii_digit).count();
    let mark = match rest.as_bytes().get(digits) {
        Some(b'-' | b'*' | b'+') if digits == 0 => 1,
        Some(b'.' | b')') if (1..=9).contains(&digits) => digits + 1,
        _ => return None,
    };
    let spaces = rest.get(mark..)?.bytes().take_while(|&byte| byte == b' ').count();
    (1..=4).contains(&spaces).then_some(mark + spaces)
}

/// The fence that a line opens, by CommonMark: three or more of one kind, and no backtick after backticks.
fn opens(line: &str, container: usize, span: Span) -> Option<Fence> {
    let (mut indent, mut rest) = unindent(line);
    while let Some(length) = list_marker(rest) {
        indent += length;
        rest = rest.get(length..)?;
    }
    let mark = *rest.as_bytes().first().filter(|byte| matches!(byte, b'`' | b'~'))?;
    let length = rest.bytes().take_while(|&byte| byte == mark).count();
    let info = rest.get(length..)?;
    (length >= 3 && indent <= container + 3 && !(mark == b'`' && info.contains('`'))).then_some(Fence {
        mark,
        length,
        container,
        quotes: quotes(line),
        span,
    })
}

fn closes(rest: &str, open: Fence) -> bool {
    let length = rest.bytes().take_while(|&byte| byte == open.mark).count();
    length >= open.length && rest[length..].trim().is_empty()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The numbers of the lines that are fenced.
    fn fenced(text: &str) -> Vec<usize> {
        Lines::of(text).lines.iter().enumerate().filter(|(_, line)| line.fenced).map(|(index, _)| index).collect()
    }

    #[test]
    fn fences_follow_commonmark() {
        for (text, expected) in [
            ("a\n```\nb\n```\nc", vec![1, 2, 3]),
            ("~~~ py\n```\nb\n~~~\nc", vec![0, 1, 2, 3]),
            ("````\n```\nb\n```\n````\nc", vec![0, 1, 2, 3, 4]),
            ("```\nb\n```` \nc", vec![0, 1, 2]),
            ("```\n``` x\n```\nc", vec![0, 1, 2]),
            ("``` a`b\nc", vec![]),
            ("    ```\nb\n", vec![]),
            ("   ```\nb\n   ```\nc", vec![0, 1, 2]),
            ("- a\n\n     ```\n     b\n     ```\nc", vec![2, 3, 4]),
            ("- ```\n  b\n  ```\nc", vec![0, 1, 2]),
            ("- ```\n  b\nc", vec![0, 1]),
            ("> ```\n> b\n> ```\nc", vec![0, 1, 2]),
            ("> ```\n> b\nc", vec![0, 1]),
            ("> ```\n\nc", vec![0]),
            ("```\n> ```\nb\n```\nc", vec![0, 1, 2, 3]),
            ("  ```\nb\n     ```\nc\n```\nd", vec![0, 1, 2, 3, 4]),
            ("``\nb\n``", vec![]),
        ] {
            assert_eq!(fenced(text), expected, "{text}");
        }
    }

    #[test]
    fn an_unclosed_fence_is_known_by_its_place() {
        let text = "a\n```py\nb\n";
        assert_eq!(Lines::of(text).unclosed_fence, Some(Span::new(2, 7)));
        assert_eq!(Lines::of("a\n```\nb\n```\n").unclosed_fence, None);
    }

    #[test]
    fn markers_cover_lines_and_a_blank_one_does_not_use_them_up() {
        let check = |text: &str, expected: &[usize]| {
            let lines = Lines::of(text);
            let covered: Vec<usize> = lines.lines.iter().enumerate().filter(|(_, line)| line.marker.is_some()).map(|(at, _)| at).collect();
            assert_eq!(covered, expected, "{text}");
        };
        check("<!-- harness: ignore-next-line -->\n\na\nb", &[2]);
        check("a <!-- harn-tool-surface: ignore-line -->\nb", &[0]);
        check("<!-- harness: ignore-start -->\na\n\nb\n<!-- harness: ignore-end -->\nc", &[1, 2, 3, 4]);
        check("```\n<!-- harness: ignore-next-line -->\n```\na", &[]);
    }

    #[test]
    fn markers_without_their_other_half_are_odd() {
        for (text, expected) in [
            ("<!-- harness: ignore-end -->", 1),
            ("<!-- harness: ignore-start -->\na", 1),
            ("<!-- harness: ignore-start -->\n<!-- harness: ignore-start -->\na\n<!-- harness: ignore-end -->", 1),
            ("<!-- harness: ignore-nextline -->", 1),
            ("<!-- harness: ignore-start -->\na\n<!-- harness: ignore-end -->", 0),
        ] {
            assert_eq!(Lines::of(text).odd_markers.len(), expected, "{text}");
        }
    }
}
