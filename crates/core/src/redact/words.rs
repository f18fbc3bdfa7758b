//! What people name to be taken out: fields by their name, and patterns.

use super::MARK;
use regex::bytes::{Regex, RegexBuilder};
use std::borrow::Cow;

/// Memory that one pattern may need.
const MOST_PATTERN: usize = 1 << 20;

/// What somebody wants taken out. An entry between slashes is a pattern, any other the name of a field, where `*` stands for anything.
#[derive(Debug, Default)]
pub struct Words {
    /// Names of fields, as a whole.
    names: Vec<Regex>,
    /// Patterns over text: those that are written, and those that find a field in text.
    patterns: Vec<Regex>,
}

impl Words {
    /// Reads the entries; the first that means nothing is an error that says why.
    pub fn new<'a>(entries: impl IntoIterator<Item = &'a str>) -> Result<Self, String> {
        let mut words = Self::default();
        for entry in entries {
            words.add(entry)?;
        }
        Ok(words)
    }

    fn add(&mut self, entry: &str) -> Result<(), String> {
        if let Some(pattern) = entry.strip_prefix('/').and_then(|rest| rest.strip_suffix('/')) {
            let pattern = compiled(pattern, entry)?;
            let matches_nothing = |text: &&str| pattern.find(text.as_bytes()).is_some_and(|found| found.is_empty());
            if ["", "a", "a b", " .-"].iter().any(matches_nothing) {
                return Err(format!("`{entry}` matches where nothing is; it would take out everything"));
            }
            self.patterns.push(pattern);
            return Ok(());
        }
        let is_name = |c: char| c.is_alphanumeric() || "_-.*".contains(c);
        if entry.chars().all(|c| c == '*') || !entry.chars().all(is_name) {
            return Err(format!("`{entry}` is neither the name of a field nor a pattern between slashes"));
        }
        let name = regex::escape(entry).replace(r"\*", "[A-Za-z0-9_.-]*");
        self.names.push(compiled(&format!("(?i)^{name}$"), entry)?);
        // The value after a field's name in JSON (also inside a JSON text), in settings, headers and addresses.
        let value = r#"\\"(?:[^"\\]|\\[^"])*\\"|"(?:[^"\\]|\\.)*"|'[^']*'|[^\s,;&"'{}\[\]\\]+"#;
        let named =
            format!(r#"(?i)(?:^|[^A-Za-z0-9_-]){name}(?:\\?["'])?\s*(?:=>|:|=)\s*(?:(?:Bearer|Basic|Token)\s+)?(?P<value>{value})"#);
        self.patterns.push(compiled(&named, entry)?);
        Ok(())
    }

    /// Whether nothing is named.
    pub(super) fn is_empty(&self) -> bool {
        self.patterns.is_empty()
    }

    /// Whether a field of this name is to be taken out.
    pub(super) fn names(&self, field: &str) -> bool {
        self.names.iter().any(|name| name.is_match(field.as_bytes()))
    }

    /// Whether a text holds something to be taken out.
    pub(super) fn is_in(&self, text: &[u8]) -> bool {
        self.patterns.iter().any(|pattern| pattern.is_match(text))
    }

    /// Takes out what matches; says how often.
    pub(super) fn take_out(&self, text: &mut Vec<u8>) -> u64 {
        let mut count = 0;
        for pattern in &self.patterns {
            let replaced = pattern.replace_all(text, |found: &regex::bytes::Captures<'_>| {
                let whole = found.get(0).map(|whole| (whole.start(), whole.as_bytes())).unwrap_or_default();
                match found.name("value") {
                    // Only what a field holds goes, and what went already is not counted twice.
                    Some(value) if bare(value.as_bytes()) == MARK.as_bytes() => whole.1.to_vec(),
                    Some(value) => {
                        count += 1;
                        let before = &whole.1[..value.start() - whole.0];
                        [before, quoted(value.as_bytes()).as_bytes()].concat()
                    }
                    None => {
                        count += 1;
                        MARK.as_bytes().to_vec()
                    }
                }
            });
            if let Cow::Owned(replaced) = replaced {
                *text = replaced;
            }
        }
        count
    }

    /// How much of the text may be looked at by itself: less than `ready` where a match goes on beyond it.
    pub(super) fn whole_until(&self, text: &[u8], ready: usize) -> usize {
        let crossing = |pattern: &Regex| {
            pattern.find_iter(text).take_while(|found| found.start() < ready).find(|found| found.end() > ready).map(|found| found.start())
        };
        self.patterns.iter().filter_map(crossing).fold(ready, usize::min)
    }
}

/// Without its quotes.
fn bare(value: &[u8]) -> &[u8] {
    let is_quote = |byte: &u8| b"\\\"'".contains(byte);
    let start = value.iter().position(|byte| !is_quote(byte)).unwrap_or(value.len());
    let end = value.iter().rposition(|byte| !is_quote(byte)).map_or(start, |last| last + 1);
    &value[start..end]
}

/// The mark in the quotes that the value had, so that JSON stays JSON.
fn quoted(value: &[u8]) -> String {
    match value {
        [b'\\', b'"', ..] => format!("\\\"{MARK}\\\""),
        [b'"', ..] => format!("\"{MARK}\""),
        [b'\'', ..] => format!("'{MARK}'"),
        _ => MARK.to_owned(),
    }
}

fn compiled(pattern: &str, entry: &str) -> Result<Regex, String> {
    RegexBuilder::new(pattern).size_limit(MOST_PATTERN).build().map_err(|error| {
        let reason = error.to_string();
        let reason = reason.lines().last().unwrap_or_default().trim_start_matches("error: ");
        format!("`{entry}` is not a pattern: {reason}")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_and_patterns_are_taken_out_of_text_and_nothing_else_is() {
        let words = Words::new(["password", "*_token", "/CUS-[0-9]{4}/"]).expect("words");
        for (text, expected) in [
            ("a CUS-1234 b CUS-12", "a [redacted] b CUS-12"),
            ("password: hunter2, user: me", "password: [redacted], user: me"),
            (r#"{"Password": "a\"b", "user": "me"}"#, r#"{"Password": "[redacted]", "user": "me"}"#),
            (r#""{\"password\": \"ab\"}""#, r#""{\"password\": \"[redacted]\"}""#),
            ("?api_token=abc&x=1", "?api_token=[redacted]&x=1"),
            ("API_TOKEN='a b'", "API_TOKEN='[redacted]'"),
            ("x_token: Bearer abc.def", "x_token: Bearer [redacted]"),
            ("the password is not here", "the password is not here"),
        ] {
            let mut bytes = text.as_bytes().to_vec();
            words.take_out(&mut bytes);
            assert_eq!(String::from_utf8_lossy(&bytes), expected);
        }
        let mut gone = b"password: \"[redacted]\"".to_vec();
        assert_eq!((words.take_out(&mut gone), gone.as_slice()), (0, &b"password: \"[redacted]\""[..]), "counted before");
        assert!(words.names("PASSWORD") && words.names("github_token") && !words.names("passwords"));
    }

    #[test]
    fn what_would_take_out_everything_or_means_nothing_is_refused() {
        for entry in ["*", "", "/a*/", "/(/", "two words", "//"] {
            assert!(Words::new([entry]).is_err(), "{entry}");
        }
    }
}
