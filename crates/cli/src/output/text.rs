//! Helpers for text.

use anstyle::Style;
use serde_json::Value;
use std::borrow::Cow;
use std::fmt::Write as _;

/// Text in a style.
pub(crate) fn paint(style: Style, text: &str) -> String {
    format!("{style}{text}{style:#}")
}

/// Text from a tool, a file or a user, made safe for a terminal: it shows control characters
/// instead of obeying them.
pub(crate) fn plain(text: &str) -> Cow<'_, str> {
    let obeyed = |c: char| {
        (c.is_control() && c != '\n' && c != '\t')
            || matches!(c, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
    };
    if !text.contains(obeyed) {
        return Cow::Borrowed(text);
    }
    let mut shown = String::with_capacity(text.len() + 16);
    let mut rest = text.chars().peekable();
    while let Some(c) = rest.next() {
        if c == '\r' && rest.peek() == Some(&'\n') {
            continue;
        }
        if obeyed(c) {
            let _ = write!(shown, "\\u{{{:x}}}", c as u32);
        } else {
            shown.push(c);
        }
    }
    Cow::Owned(shown)
}

/// A word quoted for a shell.
pub(crate) fn quoted(word: &str) -> Cow<'_, str> {
    let bare = |c: char| c.is_alphanumeric() || "-_./=:,@%+".contains(c);
    if !word.is_empty() && word.chars().all(bare) {
        return Cow::Borrowed(word);
    }
    Cow::Owned(format!("'{}'", word.replace('\'', "'\\''")))
}

/// A string as it is, any other value as JSON.
pub(crate) fn value_text(value: &Value) -> String {
    value
        .as_str()
        .map_or_else(|| value.to_string(), str::to_owned)
}

/// A number of things: `1 tool`, `2 tools`.
pub(crate) fn count(number: usize, thing: &str) -> String {
    format!("{number} {thing}{}", if number == 1 { "" } else { "s" })
}

/// Every line of `text` indented by `depth` columns; empty lines stay empty.
pub(crate) fn indented(depth: usize, text: &str) -> String {
    let indent = |line: &str| match line {
        "" => String::new(),
        line => format!("{:depth$}{line}", ""),
    };
    text.lines().map(indent).collect::<Vec<_>>().join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn control_characters_are_shown_and_not_obeyed() {
        for (input, expected) in [
            ("plain\ttext\n", "plain\ttext\n"),
            ("a\u{1b}[31mred", "a\\u{1b}[31mred"),
            ("line\r\nline", "line\nline"),
            ("over\rwritten", "over\\u{d}written"),
            ("\u{202e}txt.exe", "\\u{202e}txt.exe"),
            ("\u{9b}2J", "\\u{9b}2J"),
        ] {
            assert_eq!(plain(input), expected);
        }
    }

    #[test]
    fn a_quoted_word_is_one_word_to_a_shell() {
        for (word, expected) in [
            ("a=b", "a=b"),
            ("a b", "'a b'"),
            ("", "''"),
            ("it's", "'it'\\''s'"),
            ("$(x)", "'$(x)'"),
            ("é.md", "é.md"),
        ] {
            assert_eq!(quoted(word), expected);
        }
    }

    #[test]
    fn every_line_is_indented_and_empty_ones_stay_empty() {
        assert_eq!(indented(2, "a\n\nb"), "  a\n\n  b");
    }
}
