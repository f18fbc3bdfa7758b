//! Diagnostics for people: the source line with the place marked, the code, the help.

use super::{count, paint, style};
use annotate_snippets::{AnnotationKind, Group, Level, Origin, Renderer, Snippet};
use std::time::Duration;
use tool_harness::diagnostic::{Diagnostic, Severity};
use tool_harness::redact::starred;
use tool_harness::span::{Place, Position};

/// A longer line is not shown, only its place.
const MAX_LINE_BYTES: usize = 2000;
/// The most lines of one place that are shown.
const MAX_LINES: usize = 6;

/// One diagnostic, styled.
pub(crate) fn diagnostic(finding: &Diagnostic) -> String {
    let level = match finding.severity {
        Severity::Error => Level::ERROR,
        Severity::Warning => Level::WARNING,
        Severity::Note => Level::NOTE,
    };
    let title = level.primary_title(&finding.message).id(finding.code);
    let mut group = Group::with_title(title);
    if let Some(place) = &finding.place {
        let path: &str = &place.source.path;
        let Position { line, column } = place.position();
        group = match Excerpt::around(place) {
            Some(excerpt) => group.element(
                // The output may end up in a CI log, so secrets are starred.
                Snippet::source(starred(excerpt.text))
                    .line_start(line as usize)
                    .path(path)
                    .annotation(AnnotationKind::Primary.span(excerpt.start..excerpt.end)),
            ),
            None => group.element(
                Origin::path(path)
                    .line(line as usize)
                    .char_column(column as usize),
            ),
        };
    }
    let also = elsewhere(&finding.also);
    if let Some(also) = &also {
        group = group.element(Level::NOTE.message(also));
    }
    if let Some(help) = &finding.help {
        group = group.element(Level::HELP.message(help));
    }
    Renderer::styled().render(&[group])
}

/// A list of the other places; the number of those it leaves out.
fn elsewhere(places: &[Place]) -> Option<String> {
    const MAX: usize = 8;
    let shown: Vec<String> = places.iter().take(MAX).map(ToString::to_string).collect();
    let more = match places.len().saturating_sub(MAX) {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    (!shown.is_empty()).then(|| format!("also at {}{more}", shown.join(", ")))
}

/// The lines of a place, and the place within them.
struct Excerpt<'a> {
    text: &'a str,
    start: usize,
    end: usize,
}

impl<'a> Excerpt<'a> {
    fn around(place: &'a Place) -> Option<Self> {
        let source = &place.source;
        let text: &str = &source.text;
        let Position { line, .. } = place.position();
        let first = source.offset(Position { line, column: 1 });
        let start = floor(text, place.span.start);
        let mut end = floor(text, place.span.end).max(start);
        let mut last = first;
        for count in 0..MAX_LINES {
            // No further than is shown, or many findings on one long line would each scan all of
            // it.
            let rest = text.as_bytes().get(last..)?;
            let seen = &rest[..rest.len().min(MAX_LINE_BYTES + 1)];
            let next = match seen.iter().position(|&byte| byte == b'\n') {
                Some(at) => last + at,
                None if seen.len() > MAX_LINE_BYTES => return None,
                None => text.len(),
            };
            if end <= next || count + 1 == MAX_LINES || next == text.len() {
                end = end.min(next);
                last = next;
                break;
            }
            last = next + 1;
        }
        let shown = text.get(first..last)?;
        let start = (start.checked_sub(first)?).min(shown.len());
        let end = end.saturating_sub(first).clamp(start, shown.len());
        Some(Self {
            text: shown,
            start,
            end,
        })
    }
}

/// The start of the character at `offset`, or the end of the text.
fn floor(text: &str, offset: usize) -> usize {
    (0..=offset.min(text.len()))
        .rev()
        .find(|&at| text.is_char_boundary(at))
        .unwrap_or_default()
}

/// The number of findings by severity, and how long the check took.
pub(crate) fn summary(findings: &[Diagnostic], elapsed: Duration) -> String {
    format!("{} in {} ms", counts(findings), elapsed.as_millis())
}

/// The number of errors.
pub(crate) fn error_count(findings: &[Diagnostic]) -> usize {
    number_of(findings, Severity::Error)
}

fn number_of(findings: &[Diagnostic], severity: Severity) -> usize {
    let found = findings
        .iter()
        .filter(|finding| finding.severity == severity);
    found.count()
}

/// The number of findings by severity.
pub(crate) fn counts(findings: &[Diagnostic]) -> String {
    let mut parts = Vec::new();
    for (severity, style) in [
        (Severity::Error, style::BAD),
        (Severity::Warning, style::CAREFUL),
        (Severity::Note, style::QUIET),
    ] {
        let number = number_of(findings, severity);
        if number > 0 {
            parts.push(paint(style, &count(number, &severity.to_string())));
        }
    }
    if parts.is_empty() {
        paint(style::GOOD, "no problems")
    } else {
        parts.join(", ")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tool_harness::span::{Source, Span};

    fn check(text: &str, marked: &str) -> String {
        let source = Source::new(".harness/tools/x.md", text);
        let start = text.find(marked).expect("the marked text");
        let finding = Diagnostic::new("UNKNOWN_KEY", Severity::Warning, "unknown key `timout_ms`")
            .at(Place::new(&source, Span::new(start, start + marked.len())))
            .help("did you mean `timeout_ms`?");
        anstream::adapter::strip_str(&diagnostic(&finding)).to_string()
    }

    #[test]
    fn the_place_is_marked_in_its_line() {
        insta::assert_snapshot!(check("---\ntimout_ms: 1\n---\n", "timout_ms"), @r"
        warning[UNKNOWN_KEY]: unknown key `timout_ms`
         --> .harness/tools/x.md:2:1
          |
        2 | timout_ms: 1
          | ^^^^^^^^^
          |
          = help: did you mean `timeout_ms`?
        ");
    }

    #[test]
    fn many_marked_lines_are_cut() {
        let text = "a: |\n  1\n  2\n  3\n  4\n  5\n  6\n  7\n  8\n";
        let shown = check(text, "1\n  2\n  3\n  4\n  5\n  6\n  7\n  8");
        assert!(shown.contains('6') && !shown.contains('8'), "{shown}");
    }

    #[test]
    fn an_overlong_line_is_not_shown() {
        let shown = check(&format!("---\nx: {}!\n", "y".repeat(5000)), "!");
        assert!(
            shown.contains(".harness/tools/x.md:2:5004") && shown.len() < 300,
            "{shown}"
        );
    }

    #[test]
    fn places_at_and_beyond_the_end_are_shown_as_the_end() {
        for (text, start, end) in [
            ("", 0, 0),
            ("", 5, 9),
            ("a", 1, 1),
            ("a\n", 2, 2),
            ("é", 1, 2),
            ("a\nb", 0, 99),
            ("\n\n", 1, 2),
        ] {
            let source = Source::new("x.md", text);
            let finding = Diagnostic::new("X", Severity::Error, "wrong")
                .at(Place::new(&source, Span { start, end }));
            assert!(
                diagnostic(&finding).contains("x.md"),
                "{text:?} {start} {end}"
            );
        }
    }

    #[test]
    fn the_summary_counts_by_severity() {
        let finding = |severity| Diagnostic::new("X", severity, "wrong");
        let some = [
            finding(Severity::Error),
            finding(Severity::Note),
            finding(Severity::Note),
        ];
        let line = |findings: &[Diagnostic]| {
            anstream::adapter::strip_str(&summary(findings, Duration::from_millis(12))).to_string()
        };
        assert_eq!(line(&some), "1 error, 2 notes in 12 ms");
        assert_eq!(line(&[]), "no problems in 12 ms");
    }
}
