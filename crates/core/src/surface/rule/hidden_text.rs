//! `TOOL_SURFACE_HIDDEN_TEXT`.

use crate::check::{Check, Rule};
use crate::diagnostic::Severity;
use crate::span::Span;
use crate::surface::{Findings, Subject};

pub(crate) const RULE: Rule = Rule {
    code: "TOOL_SURFACE_HIDDEN_TEXT",
    severity: Severity::Warning,
    why: "A model reads what a reviewer does not see: characters without width, marks that turn the direction of writing, terminal codes, or words pushed out of sight by spaces.",
    bad: &[(
        "surface.json",
        "{\"tools\": [{\"name\": \"read_note\", \"description\": \"Reads one note.\\u200b\", \"executor\": \"harn\",\n  \"parameters\": {}, \"annotations\": {\"side_effect_level\": \"read_only\"}}]}\n",
    )],
    good: &[(
        "surface.json",
        "{\"tools\": [{\"name\": \"read_note\", \"description\": \"Reads one note.\", \"executor\": \"harn\",\n  \"parameters\": {}, \"annotations\": {\"side_effect_level\": \"read_only\"}}]}\n",
    )],
    check: Check::Surface(check),
};

/// Spaces in a row, before more text, that push it out of sight.
const MANY_SPACES: usize = 40;

fn check(subject: &Subject<'_>, findings: &mut Findings) {
    for entry in &subject.surface.tools {
        if let Some((_, what)) = hidden(&entry.name) {
            let finding =
                RULE.finding(format!("the name of tool \"{}\" has {what}", entry.name.escape_unicode())).at_any(entry.place.clone());
            findings.add(finding.field("name").help("write the name in plain letters"));
        }
        for (name, what) in entry.parameters().filter_map(|(name, _)| Some((name, hidden(name)?.1))) {
            let message = format!("the name of argument \"{}\" of tool \"{}\" has {what}", name.escape_unicode(), entry.name);
            let finding = RULE.finding(message).at_any(entry.place_of("parameters")).tool(&*entry.name);
            findings.add(finding.field("parameters").help("write the name in plain letters"));
        }
    }
    for text in &subject.surface.texts {
        let Some((span, what)) = hidden(&text.words) else { continue };
        let finding = RULE.finding(format!("the text has {what}")).at_any(text.place(span));
        findings.add(finding.help("remove what cannot be seen; whatever a model should read, a person should"));
    }
}

/// The first thing that a reader does not see.
fn hidden(text: &str) -> Option<(Span, String)> {
    let mut before = ' ';
    let mut spaces = 0;
    for (at, c) in text.char_indices() {
        let what = match c {
            // Scripts and emoji are joined by these on purpose.
            '\u{200c}' | '\u{200d}' if !before.is_ascii() => None,
            // The flags of some regions are written with tags.
            '\u{e0020}'..='\u{e007f}' if before == '\u{1f3f4}' || is_tag(before) => None,
            // One of these chooses how a sign looks; several in a row, or after plain letters, carry words.
            _ if is_selector(c) && !(is_selector(before) || before.is_ascii_alphabetic() || before == ' ') => None,
            _ if is_selector(c) || is_invisible(c) => Some(format!("the invisible character {}", c.escape_unicode())),
            '\u{1b}' | '\u{9b}' => Some("a terminal code".to_owned()),
            '\n' | '\r' => {
                spaces = 0;
                None
            }
            c if !c.is_whitespace() && spaces >= MANY_SPACES => Some(format!("{spaces} spaces in a row before more text")),
            _ => None,
        };
        if let Some(what) = what {
            return Some((Span::new(at, at + c.len_utf8()), what));
        }
        spaces = if c.is_whitespace() && !matches!(c, '\n' | '\r') { spaces + 1 } else { 0 };
        // A flag goes on as long as its tags do.
        before = c;
    }
    None
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
    // Letters and signs that are drawn as nothing.
    let blank = matches!(c, '\u{115f}' | '\u{1160}' | '\u{3164}' | '\u{ffa0}' | '\u{2800}');
    zero_width || blank || is_tag(c) || matches!(c, '\u{61c}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' | '\u{200e}' | '\u{200f}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_cannot_be_seen_is_found_and_what_joins_letters_is_not() {
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
            assert!(hidden(text).is_some(), "{text:?}");
        }
        assert!(hidden(&format!("a{}b", " ".repeat(60))).is_some() && hidden(&format!("a\t{}b", "\u{a0}".repeat(60))).is_some());
        assert!(hidden(&format!("a{}b", "\u{3000}".repeat(60))).is_some());
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
            assert!(hidden(text).is_none(), "{text:?}");
        }
    }
}
