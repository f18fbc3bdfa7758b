//! Output as text for a terminal or a model.

use std::str::Chars;

/// Bytes as valid text without terminal escapes and control characters; newlines and tabs stay.
pub fn printable(bytes: &[u8]) -> String {
    let text = String::from_utf8_lossy(bytes);
    if !text.chars().any(|c| c.is_control() && !is_layout(c)) {
        return text.into_owned();
    }
    let mut clean = String::with_capacity(text.len());
    let mut rest = text.chars();
    while let Some(c) = rest.next() {
        match c {
            '\u{1b}' => skip_escape(&mut rest),
            '\u{9b}' => skip_sequence(&mut rest),
            '\u{90}' | '\u{98}' | '\u{9d}' | '\u{9e}' | '\u{9f}' => skip_string(&mut rest),
            c if is_layout(c) || !c.is_control() => clean.push(c),
            _ => {}
        }
    }
    clean
}

fn is_layout(c: char) -> bool {
    matches!(c, '\n' | '\t' | '\r')
}

fn skip_escape(rest: &mut Chars<'_>) {
    let mut ahead = rest.clone();
    match ahead.next() {
        Some('[') => {
            *rest = ahead;
            skip_sequence(rest);
        }
        Some(']' | 'P' | 'X' | '^' | '_') => {
            *rest = ahead;
            skip_string(rest);
        }
        // Intermediate characters, then a final one.
        Some(' '..='/') => {
            *rest = ahead;
            skip_escape(rest);
        }
        Some('0'..='~') => *rest = ahead,
        _ => {}
    }
}

/// Parameters and intermediate characters, then a final one. Anything else is not part of it.
fn skip_sequence(rest: &mut Chars<'_>) {
    let mut ahead = rest.clone();
    while let Some(c) = ahead.next() {
        match c {
            ' '..='?' => *rest = ahead.clone(),
            '@'..='~' => {
                *rest = ahead;
                return;
            }
            _ => return,
        }
    }
}

/// A title, a link, a palette: up to its terminator. A newline also ends it, so that a lone opener
/// hides at most one line.
fn skip_string(rest: &mut Chars<'_>) {
    let mut ahead = rest.clone();
    while let Some(c) = ahead.next() {
        match c {
            '\n' => return,
            '\u{7}' | '\u{9c}' => {
                *rest = ahead;
                return;
            }
            '\u{1b}' => {
                if ahead.clone().next() == Some('\\') {
                    ahead.next();
                    *rest = ahead;
                }
                return;
            }
            _ => *rest = ahead.clone(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn escapes_of_every_kind_are_removed_and_text_stays() {
        for (bytes, expected) in [
            (&b"plain\ttext\r\n"[..], "plain\ttext\r\n"),
            (b"\x1b[31mred\x1b[0m", "red"),
            (b"\x1b]0;title\x07after", "after"),
            (b"\x1b]8;;http://x\x1b\\link\x1b]8;;\x1b\\", "link"),
            (b"\x1bPq#0;2\x1b\\after", "after"),
            (b"\x1b(Bafter", "after"),
            (b"\x1bcafter", "after"),
            (b"a\x08b\x7fc\x00d", "abcd"),
            ("\u{9b}31mred \u{9d}0;t\u{9c}on".as_bytes(), "red on"),
            (b"\x1b]0;never ended\nnext", "\nnext"),
            (b"\x1b[", ""),
            (b"\x1b", ""),
            (b"bad \xff\xfe bytes", "bad \u{fffd}\u{fffd} bytes"),
            ("gr\u{fc}n \u{4e16}".as_bytes(), "gr\u{fc}n \u{4e16}"),
        ] {
            assert_eq!(printable(bytes), expected, "{bytes:?}");
        }
    }

    proptest::proptest! {
        #[test]
        fn no_output_leaves_a_control_character(bytes: Vec<u8>) {
            assert!(printable(&bytes).chars().all(|c| !c.is_control() || is_layout(c)));
        }
    }
}
