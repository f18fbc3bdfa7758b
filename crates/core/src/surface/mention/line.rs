//! The lines of a text: which ones are fenced code, and which ones a marker covers.

use super::Fences;
use super::block::Blocks;
use super::marker::{Marker, MarkerKind, find};
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
    /// Markers without their other half, and unknown ones.
    pub(super) odd_markers: Vec<(Span, String)>,
}

impl Lines {
    /// Reads a text. Inside fences a marker is code like any other.
    pub(super) fn of(text: &str, fences: Fences) -> Self {
        let mut all = Self::default();
        let mut blocks = Blocks::default();
        let mut block: Option<usize> = None;
        let mut next: Option<usize> = None;
        for span in spans(text) {
            let line = &text[span.start..span.end];
            let blank = line.trim().is_empty();
            let before = blocks.is_fenced();
            let fenced = blocks.line(line, span);
            if fenced {
                let mut marker = block;
                match fences {
                    // The next line of text is not checked.
                    Fences::Skip => next = None,
                    Fences::Scan if before && !blank => marker = marker.or_else(|| next.take()),
                    Fences::Scan => {}
                }
                all.lines.push(Line {
                    span,
                    fenced,
                    marker,
                });
                continue;
            }
            let mut marker = block;
            if let Some((at, order)) = find(line) {
                let at = Span::new(span.start + at.start, span.start + at.end);
                match order {
                    MarkerKind::Line => marker = marker.or_else(|| Some(all.add(at, order))),
                    MarkerKind::NextLine => next = Some(all.add(at, order)),
                    MarkerKind::Start if block.is_some() => {
                        all.odd(at, "the block before it is still open")
                    }
                    MarkerKind::Start => block = Some(all.add(at, order)),
                    MarkerKind::End if block.is_none() => {
                        all.odd(at, "there is no `ignore-start` before it")
                    }
                    MarkerKind::End => block = None,
                    MarkerKind::Unknown => {
                        all.odd(at, "expected `ignore-line`, `ignore-next-line`, `ignore-start` or `ignore-end`");
                    }
                }
            } else if !blank {
                marker = marker.or_else(|| next.take());
            }
            all.lines.push(Line {
                span,
                fenced,
                marker,
            });
        }
        all.unclosed_fence = blocks.open_fence();
        if let Some(open) = block
            .and_then(|index| all.markers.get(index))
            .map(|marker| marker.span)
        {
            all.odd(open, "no `ignore-end` closes it");
        }
        all
    }

    fn add(&mut self, span: Span, order: MarkerKind) -> usize {
        self.markers.push(Marker { span, order });
        self.markers.len() - 1
    }

    fn odd(&mut self, span: Span, why: &str) {
        self.odd_markers.push((span, why.to_owned()));
    }
}

/// The lines of a text, which end with a line feed, a carriage return, or both.
fn spans(text: &str) -> impl Iterator<Item = Span> {
    let mut start = 0;
    std::iter::from_fn(move || {
        let rest = text.get(start..).filter(|rest| !rest.is_empty())?;
        let length = rest.find(['\n', '\r']).unwrap_or(rest.len());
        let span = Span::new(start, start + length);
        let end = if rest[length..].starts_with("\r\n") {
            2
        } else {
            usize::from(length < rest.len())
        };
        start = span.end + end;
        Some(span)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The numbers of the lines that are fenced.
    fn fenced(text: &str) -> Vec<usize> {
        let lines = Lines::of(text, Fences::Skip).lines;
        lines
            .iter()
            .enumerate()
            .filter(|(_, line)| line.fenced)
            .map(|(index, _)| index)
            .collect()
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
            ("- > ~~~\n  > b\n  > ~~~\n  > c", vec![0, 1, 2]),
            ("1. a\n\n   > ```\n   > b\n   > ```\n\nc", vec![2, 3, 4]),
            ("> - ```\n>   b\n>   ```\n>   c", vec![0, 1, 2]),
            ("-\t```\n\tb\n\t```\n\tc", vec![0, 1, 2]),
            ("- a\n\n\t```\n\tb\n\t```\nc", vec![2, 3, 4]),
            ("\t```\nb", vec![]),
            ("-      ```\n  b\n  ```\n", vec![2]),
            ("10. a\nlazy\n    ```\n    b\n    ```\nc", vec![2, 3, 4]),
            ("10. a\n\nafter\n    ```\nb", vec![]),
            ("- a\n```\nb\n```\nc", vec![1, 2, 3]),
            ("<!--\n```\n-->\nb", vec![]),
            ("<!-- a -->\n```\nb\n```", vec![1, 2, 3]),
            ("<pre>\n```\n\n</pre>\n```\nb\n```", vec![4, 5, 6]),
            ("<example>\n```\nb\n```\n</example>", vec![1, 2, 3]),
            ("- <!--\n  ```\n\n```\nb\n```", vec![3, 4, 5]),
            ("```\r\nb\r\n```\r\nc", vec![0, 1, 2]),
            ("```\rb\r```\rc\r", vec![0, 1, 2]),
        ] {
            assert_eq!(fenced(text), expected, "{text:?}");
        }
    }

    #[test]
    fn an_unclosed_fence_is_known_by_its_place() {
        let text = "a\n```py\nb\n";
        assert_eq!(
            Lines::of(text, Fences::Skip).unclosed_fence,
            Some(Span::new(2, 7))
        );
        assert_eq!(
            Lines::of("a\n```\nb\n```\n", Fences::Skip).unclosed_fence,
            None
        );
    }

    #[test]
    fn markers_cover_lines_and_a_blank_one_does_not_use_them_up() {
        let check = |text: &str, fences: Fences, expected: &[usize]| {
            let lines = Lines::of(text, fences);
            let covered: Vec<usize> = lines
                .lines
                .iter()
                .enumerate()
                .filter(|(_, line)| line.marker.is_some())
                .map(|(at, _)| at)
                .collect();
            assert_eq!(covered, expected, "{text}");
        };
        check(
            "<!-- harness: ignore-next-line -->\n\na\nb",
            Fences::Skip,
            &[2],
        );
        check(
            "a <!-- harn-tool-surface: ignore-line -->\nb",
            Fences::Skip,
            &[0],
        );
        check(
            "<!-- harness: ignore-start -->\na\n\nb\n<!-- harness: ignore-end -->\nc",
            Fences::Skip,
            &[1, 2, 3, 4],
        );
        check(
            "```\n<!-- harness: ignore-next-line -->\n```\na",
            Fences::Skip,
            &[],
        );
        check(
            "<!-- harness: ignore-next-line -->\n```\na\n```\nb",
            Fences::Skip,
            &[],
        );
        check(
            "<!-- harness: ignore-next-line -->\n```\na\nb\n```\nb",
            Fences::Scan,
            &[2],
        );
    }

    #[test]
    fn markers_without_their_other_half_are_odd() {
        for (text, expected) in [
            ("<!-- harness: ignore-end -->", 1),
            ("<!-- harness: ignore-start -->\na", 1),
            (
                "<!-- harness: ignore-start -->\n<!-- harness: ignore-start -->\na\n<!-- harness: ignore-end -->",
                1,
            ),
            ("<!-- harness: ignore-nextline -->", 1),
            (
                "<!-- harness: ignore-start -->\na\n<!-- harness: ignore-end -->",
                0,
            ),
        ] {
            assert_eq!(
                Lines::of(text, Fences::Skip).odd_markers.len(),
                expected,
                "{text}"
            );
        }
    }
}
