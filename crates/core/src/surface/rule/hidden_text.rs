//! `TOOL_SURFACE_HIDDEN_TEXT`.

use super::Check;
use crate::diagnostic::{Rule, Severity};
use crate::span::Span;
use crate::surface::words::{SchemaText, words};
use crate::surface::{Findings, Subject};

pub(crate) const RULE: Rule<Check> = Rule {
    code: "TOOL_SURFACE_HIDDEN_TEXT",
    severity: Severity::Warning,
    why: "A model reads what a reviewer does not see: zero-width characters, marks that change \
          the direction of writing, terminal codes, or words pushed out of sight by spaces.",
    bad: &[(
        "surface.json",
        "{\"tools\": [{\"name\": \"read_note\", \"description\": \"Reads one note.\\u200b\", \"executor\": \"harn\",\n  \"parameters\": {}, \"annotations\": {\"side_effect_level\": \"read_only\"}}]}\n",
    )],
    good: &[(
        "surface.json",
        "{\"tools\": [{\"name\": \"read_note\", \"description\": \"Reads one note.\", \"executor\": \"harn\",\n  \"parameters\": {}, \"annotations\": {\"side_effect_level\": \"read_only\"}}]}\n",
    )],
    check,
};

/// How many spaces in a row push the text after them out of sight.
const MANY_SPACES: usize = 40;

/// The limit within a table row, whose columns are aligned.
const MANY_IN_A_ROW: usize = 200;

const PLAINLY: &str = "write the name in plain letters";

fn check(subject: &Subject<'_>, findings: &mut Findings) {
    for entry in &subject.surface.tools {
        if let Some((_, what)) = hidden(&entry.name).first() {
            let name = entry.name.escape_unicode();
            let finding = RULE
                .finding(format!("the name of tool \"{name}\" has {what}"))
                .at_any(entry.place.clone());
            findings.add(finding.field("name").help(PLAINLY));
        }
        let mut report = |name: &str| {
            let Some((_, what)) = hidden(name).into_iter().next() else {
                return;
            };
            let message = format!(
                "the name of argument \"{}\" of tool \"{}\" has {what}",
                name.escape_unicode(),
                entry.name
            );
            let finding = entry.finding_at("parameters", &RULE, message);
            findings.add(finding.field("parameters").help(PLAINLY));
        };
        if let Some(schema) = entry.schema.as_deref() {
            words(schema, &mut |_, what, path| {
                if let (SchemaText::Name, Some(name)) = (what, path.last()) {
                    report(name);
                }
            });
        }
    }
    for text in &subject.surface.texts {
        let found = hidden(&text.words);
        let Some((_, what)) = found.first() else {
            continue;
        };
        let finding = RULE
            .finding(format!("the text has {what}"))
            .at_any(found.iter().filter_map(|(span, _)| text.place(*span)));
        findings.add(
            finding.help(
                "remove the invisible text; a person must be able to read what a model reads",
            ),
        );
    }
}

/// Everything in a text that a reader does not see.
fn hidden(text: &str) -> Vec<(Span, String)> {
    let mut found = Vec::new();
    let (mut before, mut spaces, mut first) = (' ', 0, None);
    for (at, c) in text.char_indices() {
        let many = if first == Some('|') {
            MANY_IN_A_ROW
        } else {
            MANY_SPACES
        };
        let goes_on = found
            .last()
            .is_some_and(|(span, _): &(Span, String)| span.end == at);
        let what = match c {
            // Scripts and emoji are joined by these on purpose.
            '\u{200c}' | '\u{200d}' if !before.is_ascii() => None,
            // The flags of some regions are written with tags.
            '\u{e0020}'..='\u{e007f}' if before == '\u{1f3f4}' || (is_tag(before) && !goes_on) => {
                None
            }
            // One of these chooses how a sign looks; several in a row, or after plain letters,
            // carry words.
            _ if is_selector(c)
                && !(is_selector(before) || before.is_ascii_alphabetic() || before == ' ') =>
            {
                None
            }
            _ if is_selector(c) || is_invisible(c) => {
                Some(format!("the invisible character {}", c.escape_unicode()))
            }
            '\u{1b}' | '\u{9b}' => Some("a terminal code".to_owned()),
            c if !c.is_whitespace() && spaces >= many => {
                Some(format!("{spaces} spaces in a row before more text"))
            }
            _ => None,
        };
        if let Some(what) = what {
            found.push((Span::new(at, at + c.len_utf8()), what));
        }
        match c {
            '\n' | '\r' => (spaces, first) = (0, None),
            c if c.is_whitespace() => spaces += 1,
            c => (spaces, first) = (0, first.or(Some(c))),
        }
        // A flag goes on as long as its tags do.
        before = c;
    }
    found
}

fn is_tag(c: char) -> bool {
    matches!(c, '\u{e0000}'..='\u{e007f}')
}

fn is_selector(c: char) -> bool {
    matches!(c, '\u{fe00}'..='\u{fe0f}' | '\u{e0100}'..='\u{e01ef}')
}

/// Whether a character has no width or turns the direction of writing.
pub(super) fn is_invisible(c: char) -> bool {
    let zero_width = matches!(c, '\u{200b}'..='\u{200d}' | '\u{2060}'..='\u{2064}' | '\u{feff}' | '\u{180e}' | '\u{ad}');
    // Letters and signs that are drawn blank.
    let blank = matches!(
        c,
        '\u{115f}' | '\u{1160}' | '\u{3164}' | '\u{ffa0}' | '\u{2800}'
    );
    zero_width
        || blank
        || is_tag(c)
        || matches!(c, '\u{61c}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' | '\u{200e}' | '\u{200f}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn invisible_characters_are_found_and_joiners_of_letters_are_not() {
        for text in [
            "a\u{200b}b",
            "a\u{202e}b",
            "a\u{e0041}",
            "a\u{1b}[8mb",
            "\u{feff}a",
            "a\u{200d}b",
            "a\u{fe01}",
            "☀\u{fe0f}\u{fe01}",
            "\u{61c}a",
            "a\u{2800}b",
        ] {
            assert!(!hidden(text).is_empty(), "{text:?}");
        }
        assert!(
            !hidden(&format!("a{}b", " ".repeat(60))).is_empty()
                && !hidden(&format!("a\t{}b", "\u{a0}".repeat(60))).is_empty()
        );
        assert!(!hidden(&format!("a{}b", "\u{3000}".repeat(60))).is_empty());
        // The columns of a table are aligned, and not by hundreds.
        assert!(
            hidden(&format!("| a{}| b |", " ".repeat(60))).is_empty()
                && !hidden(&format!("| a{}| b |", " ".repeat(300))).is_empty()
        );
        assert_eq!(hidden("a\u{200b}b\u{200b}\nc\u{202e}").len(), 3);
        assert_eq!(hidden("a\u{e0041}\u{e0042}").len(), 2);
        let england = "\u{1f3f4}\u{e0067}\u{e0062}\u{e0065}\u{e006e}\u{e0067}\u{e007f}";
        for text in [
            "plain",
            "👩\u{200d}🔬",
            "می\u{200c}خواهم",
            england,
            "☀\u{fe0f}",
            "1\u{fe0f}\u{20e3}",
            "葛\u{e0100}",
            "a\n    b",
            "| a |        | b |",
        ] {
            assert!(hidden(text).is_empty(), "{text:?}");
        }
    }
}
