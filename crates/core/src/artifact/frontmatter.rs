//! Splits a file into frontmatter and body.

use crate::span::Span;

/// The two halves of a file, as ranges of its text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct FrontmatterSplit {
    /// The text between the delimiter lines.
    pub(crate) yaml: Span,
    /// The text after the closing delimiter line.
    pub(crate) body: Span,
}

/// Why a file has no frontmatter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum SplitError {
    /// The first line is not `---`.
    Missing,
    /// No later line is exactly `---`.
    Unclosed,
}

/// Finds the delimiter lines. A byte order mark before the first one and CRLF line ends are
/// accepted.
pub(crate) fn split(text: &str) -> Result<FrontmatterSplit, SplitError> {
    let mut at = text.len() - text.strip_prefix('\u{feff}').unwrap_or(text).len();
    let mut opened = None;
    for line in text[at..].split_inclusive('\n') {
        let start = at;
        at += line.len();
        let delimits = is_delimiter(line);
        match opened {
            None if delimits => opened = Some(at),
            None => return Err(SplitError::Missing),
            Some(yaml) if delimits => {
                return Ok(FrontmatterSplit {
                    yaml: Span::new(yaml, start),
                    body: Span::new(at, text.len()),
                });
            }
            Some(_) => {}
        }
    }
    Err(if opened.is_some() {
        SplitError::Unclosed
    } else {
        SplitError::Missing
    })
}

/// The text of a body as a model or a reviewer reads it: LF line ends, no blank space around it.
pub(crate) fn body_text(text: &str) -> String {
    text.trim().replace("\r\n", "\n")
}

fn is_delimiter(line: &str) -> bool {
    let line = line.strip_suffix('\n').unwrap_or(line);
    line.strip_suffix('\r').unwrap_or(line) == "---"
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, expected: Result<(&str, &str), SplitError>) {
        let halves = split(text).map(|halves| {
            let part = |span: Span| &text[span.start..span.end];
            (part(halves.yaml), part(halves.body))
        });
        assert_eq!(halves, expected, "{text:?}");
    }

    #[test]
    fn loader_rule_1_a_file_must_start_with_a_delimiter_line() {
        for text in [
            "",
            "\n---\na: 1\n---\n",
            " ---\n---\n",
            "----\n---\n",
            "---x\n---\n",
            "# Title\n---\na: 1\n---\n",
            "--- \n---\n",
        ] {
            check(text, Err(SplitError::Missing));
        }
        check("---\na: 1\n---\nBody.\n", Ok(("a: 1\n", "Body.\n")));
    }

    #[test]
    fn loader_rule_2_the_frontmatter_must_be_closed_by_a_delimiter_on_its_own_line() {
        for text in [
            "---",
            "---\n",
            "---\na: 1\n",
            "---\na: 1\n----\n",
            "---\na: 1\n---x\n",
            "---\na: 1\n --- \n",
            "---\na: 1\n--- \n",
        ] {
            check(text, Err(SplitError::Unclosed));
        }
        check("---\n----\n---x\n---\nBody", Ok(("----\n---x\n", "Body")));
        check("---\n---", Ok(("", "")));
    }

    #[test]
    fn a_byte_order_mark_and_carriage_returns_are_accepted() {
        check(
            "\u{feff}---\r\na: 1\r\n---\r\nBody.\r\n",
            Ok(("a: 1\r\n", "Body.\r\n")),
        );
        check("---\r\n---", Ok(("", "")));
        assert_eq!(body_text("\r\nOne.\r\nTwo.\r\n"), "One.\nTwo.");
    }

    #[test]
    fn later_delimiter_lines_belong_to_the_body() {
        check(
            "---\na: 1\n---\n---\nb\n---\n",
            Ok(("a: 1\n", "---\nb\n---\n")),
        );
    }
}
