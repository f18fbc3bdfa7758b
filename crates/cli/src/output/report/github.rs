//! Annotations for GitHub workflows, one workflow command a line.

use super::FileLocation;
use tool_harness::diagnostic::{Diagnostic, Severity};
use tool_harness::span::Position;

/// One finding as a workflow command and a newline.
pub(super) fn annotation(finding: &Diagnostic, prefix: &str) -> String {
    let command = match finding.severity {
        Severity::Error => "error",
        Severity::Warning => "warning",
        Severity::Note => "notice",
    };
    let mut properties = Vec::new();
    let mut message = finding.message.clone();
    if let Some(place) = &finding.place {
        let location = FileLocation::of(place, prefix);
        properties.push(format!("file={}", property(&location.file)));
        let (start, end) = (place.position(), place.source.position(place.span.end));
        match location.within {
            // GitHub cannot show lines of a text inside the file.
            Some(within) => {
                message = format!("{within}:{}:{}: {message}", start.line, start.column)
            }
            None => properties.extend(range(start, end)),
        }
    }
    properties.push(format!("title={}", property(finding.code)));
    if let Some(help) = &finding.help {
        message = format!("{message}\n{help}");
    }
    format!("::{command} {}::{}\n", properties.join(","), data(&message))
}

/// Without columns if it spans several lines: GitHub would ignore them.
fn range(start: Position, end: Position) -> Vec<String> {
    let mut parts = vec![
        format!("line={}", start.line),
        format!("endLine={}", end.line.max(start.line)),
    ];
    if start.line == end.line {
        parts.extend([
            format!("col={}", start.column),
            format!("endColumn={}", end.column.max(start.column)),
        ]);
    }
    parts
}

fn data(text: &str) -> String {
    text.replace('%', "%25")
        .replace('\r', "%0D")
        .replace('\n', "%0A")
}

fn property(text: &str) -> String {
    data(text).replace(':', "%3A").replace(',', "%2C")
}

#[cfg(test)]
mod tests {
    use super::*;
    use tool_harness::span::{Place, Source, Span};

    #[test]
    fn a_finding_is_one_command_with_everything_escaped() {
        let source = Source::new("a,b:c.md", "one\ntwo\nthree");
        let finding = |start, end| {
            Diagnostic::new("SOME_CODE", Severity::Warning, "100% wrong\nhere")
                .at(Place::new(&source, Span::new(start, end)))
                .help("fix it")
        };
        assert_eq!(
            annotation(&finding(4, 7), "sub/"),
            "::warning file=sub/a%2Cb%3Ac.md,line=2,endLine=2,col=1,endColumn=4,title=SOME_CODE::100%25 wrong%0Ahere%0Afix it\n"
        );
        assert_eq!(
            annotation(&finding(0, 7), ""),
            "::warning file=a%2Cb%3Ac.md,line=1,endLine=2,title=SOME_CODE::100%25 wrong%0Ahere%0Afix it\n"
        );
    }

    #[test]
    fn a_text_inside_a_file_is_named_in_the_message() {
        let place = Place::new(
            &Source::new("surface.json#system", "a\nbc"),
            Span::new(2, 4),
        );
        let finding = Diagnostic::new("SOME_CODE", Severity::Note, "odd").at(place);
        assert_eq!(
            annotation(&finding, ""),
            "::notice file=surface.json,title=SOME_CODE::system:2:1: odd\n"
        );
        assert_eq!(
            annotation(&Diagnostic::new("X", Severity::Error, "bad"), ""),
            "::error title=X::bad\n"
        );
    }
}
