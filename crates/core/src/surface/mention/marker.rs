//! Markers in a text that silence the check: seed 004's spelling, and our own.

use crate::span::Span;

/// A marker that can silence something.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Marker {
    /// Its place.
    pub(crate) span: Span,
    /// Its settings.
    pub(crate) order: MarkerKind,
}

/// What a marker silences.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum MarkerKind {
    /// This line.
    Line,
    /// The next line that is not blank.
    NextLine,
    /// From here on.
    Start,
    /// Up to here.
    End,
    /// An unknown word.
    Unknown,
}

/// The first marker of a line and its place in it. The seed's spelling counts anywhere; ours only
/// in a comment, because ordinary sentences may contain `harness:`.
pub(super) fn find(line: &str) -> Option<(Span, MarkerKind)> {
    let seed = line
        .find("harn-tool-surface:")
        .map(|at| (at, at + "harn-tool-surface:".len()));
    let (start, after) = seed.or_else(|| ours(line))?;
    let rest = line.get(after..)?;
    let word = rest.trim_start();
    // A comment may end without a space.
    let word = word.find("-->").map_or(word, |end| &word[..end]);
    let from = after + rest.len() - rest.trim_start().len();
    let length = word
        .find(|c: char| !(c.is_ascii_alphanumeric() || matches!(c, '-' | '_')))
        .unwrap_or(word.len());
    let order = match &word[..length] {
        "ignore-line" => MarkerKind::Line,
        "ignore-next-line" => MarkerKind::NextLine,
        "ignore-start" => MarkerKind::Start,
        "ignore-end" => MarkerKind::End,
        _ => MarkerKind::Unknown,
    };
    Some((Span::new(start, from + length), order))
}

fn ours(line: &str) -> Option<(usize, usize)> {
    let comment = line.find("<!--")?;
    let inside = line.get(comment + 4..)?;
    let said = inside.trim_start();
    let after = said.strip_prefix("harness:")?;
    // Other comments may begin with the name; an order begins with `ignore`.
    after.trim_start().starts_with("ignore").then(|| {
        (
            comment + 4 + inside.len() - said.len(),
            line.len() - after.len(),
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_spellings_are_found_and_prose_is_not() {
        for (line, expected) in [
            (
                "<!-- harn-tool-surface: ignore-line -->",
                Some(MarkerKind::Line),
            ),
            (
                "<!-- harn-tool-surface:ignore-start -->",
                Some(MarkerKind::Start),
            ),
            ("# harn-tool-surface:   ignore-end", Some(MarkerKind::End)),
            (
                "<!-- harness: ignore-next-line -->",
                Some(MarkerKind::NextLine),
            ),
            ("<!--harness:ignore-nothing-->", Some(MarkerKind::Unknown)),
            (
                "<!--harness:ignore-next-line-->",
                Some(MarkerKind::NextLine),
            ),
            (
                "<!--harn-tool-surface:ignore-start-->",
                Some(MarkerKind::Start),
            ),
            ("<!-- harness: see the guide -->", None),
            ("say `harness: ignore-line` in a comment", None),
            ("", None),
        ] {
            assert_eq!(find(line).map(|(_, order)| order), expected, "{line}");
        }
    }
}
