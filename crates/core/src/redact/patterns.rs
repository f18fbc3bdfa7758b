//! The fields and patterns that people want redacted.

use super::MARK;
use super::field::{MAX_LINE, fields, head};
use regex::bytes::{Regex, RegexBuilder};
use std::borrow::Cow;

/// Memory that one compiled pattern may need.
const MAX_PATTERN: usize = 1 << 20;

/// What to redact besides secrets and tokens. An entry between slashes is a regular expression, any
/// other the name of a field, in which `*` matches anything.
#[derive(Debug, Default)]
pub(crate) struct RedactionPatterns {
    /// Match the whole name of a field.
    names: Vec<Regex>,
    /// Match the name of a field in free text, up to its value.
    heads: Vec<Regex>,
    /// Match free text.
    patterns: Vec<Regex>,
}

impl RedactionPatterns {
    /// Compiles the entries. The error says what is wrong with the first invalid one.
    pub(crate) fn new<'a>(entries: impl IntoIterator<Item = &'a str>) -> Result<Self, String> {
        let mut patterns = Self::default();
        for entry in entries {
            patterns.add(entry)?;
        }
        Ok(patterns)
    }

    fn add(&mut self, entry: &str) -> Result<(), String> {
        if let Some(pattern) = entry
            .strip_prefix('/')
            .and_then(|rest| rest.strip_suffix('/'))
        {
            let pattern = compiled(pattern, entry)?;
            let matches_empty = |text: &&str| {
                pattern
                    .find(text.as_bytes())
                    .is_some_and(|found| found.is_empty())
            };
            if ["", "a", "a b", " .-"].iter().any(matches_empty) {
                return Err(format!(
                    "`{entry}` matches an empty text, so it would redact everything"
                ));
            }
            self.patterns.push(pattern);
            return Ok(());
        }
        let is_name = |c: char| c.is_alphanumeric() || "_-.*".contains(c);
        if entry.chars().all(|c| c == '*') || !entry.chars().all(is_name) {
            return Err(format!(
                "expected the name of a field or a pattern between slashes, got `{entry}`"
            ));
        }
        let name = regex::escape(entry).replace(r"\*", "[A-Za-z0-9_.-]*");
        self.names.push(compiled(&format!("(?i)^{name}$"), entry)?);
        self.heads.push(compiled(&head(&name), entry)?);
        Ok(())
    }

    /// Whether there are no entries.
    pub(super) fn is_empty(&self) -> bool {
        self.heads.is_empty() && self.patterns.is_empty()
    }

    /// Whether a field of this name is redacted.
    pub(super) fn names(&self, field: &str) -> bool {
        self.names
            .iter()
            .any(|name| name.is_match(field.as_bytes()))
    }

    /// Whether a text contains something to redact.
    pub(super) fn is_match(&self, text: &[u8]) -> bool {
        let holds = |head: &Regex| fields(head, text).any(|field| !field.value.is_empty());
        self.patterns.iter().any(|pattern| pattern.is_match(text)) || self.heads.iter().any(holds)
    }

    /// Redacts all matches, and returns how many there were.
    pub(super) fn redact(&self, text: &mut Vec<u8>) -> u64 {
        let mut until = text.len();
        self.redact_until(text, &mut until)
    }

    /// Redacts the matches that begin before `until`, which moves with the replacements. The text
    /// after it only shows where a value ends.
    pub(super) fn redact_until(&self, text: &mut Vec<u8>, until: &mut usize) -> u64 {
        let mut count = self
            .heads
            .iter()
            .map(|head| redact_values(head, text, until))
            .sum();
        for pattern in &self.patterns {
            let replaced =
                pattern.replace_all(&text[..*until], |_: &regex::bytes::Captures<'_>| {
                    count += 1;
                    MARK.as_bytes()
                });
            if let Cow::Owned(mut replaced) = replaced {
                let length = replaced.len();
                replaced.extend_from_slice(&text[*until..]);
                (*text, *until) = (replaced, length);
            }
        }
        count
    }

    /// The matches that begin before `until`. A match ends at `usize::MAX` if more of it may come.
    pub(super) fn matches<'a>(
        &'a self,
        text: &'a [u8],
        until: usize,
    ) -> impl Iterator<Item = Match> + 'a {
        let patterns = self.patterns.iter().flat_map(move |pattern| {
            let found = pattern
                .find_iter(text)
                .take_while(move |found| found.start() < until);
            found.map(|found| Match {
                from: found.start(),
                start: found.start(),
                end: found.end(),
            })
        });
        let heads = self.heads.iter().flat_map(move |head| {
            let found = fields(head, text).take_while(move |field| field.start < until);
            found.map(|field| {
                let end = if field.is_open {
                    usize::MAX
                } else {
                    field.value.end
                };
                Match {
                    from: line_of(text, field.start),
                    start: field.start,
                    end,
                }
            })
        });
        patterns.chain(heads)
    }
}

/// A stretch of text that must be redacted as one.
pub(super) struct Match {
    /// Where to cut the text before it; for a field, the start of its line.
    from: usize,
    start: usize,
    end: usize,
}

/// How much of the text can be redacted by itself: less than `ready` if a match may go on beyond
/// it. A cut before one match may lie within another, and then moves before that one.
pub(super) fn whole_until(mut matches: Vec<Match>, ready: usize) -> usize {
    // From the last to the first, so that each match is visited once.
    matches.sort_unstable_by_key(|found| std::cmp::Reverse(found.start));
    matches.iter().fold(ready, |cut, found| {
        if found.start < cut && found.end > cut {
            found.from
        } else {
            cut
        }
    })
}

/// The start of the line of a field, whose indentation decides which lines below belong to its
/// value.
fn line_of(text: &[u8], field: usize) -> usize {
    let before = &text[field.saturating_sub(MAX_LINE)..field];
    memchr::memrchr(b'\n', before).map_or(if before.len() < MAX_LINE { 0 } else { field }, |end| {
        field - before.len() + end + 1
    })
}

/// Redacts the values of fields that begin before `until`. Values that are already redacted do not
/// count.
fn redact_values(head: &Regex, text: &mut Vec<u8>, until: &mut usize) -> u64 {
    let (mut out, mut done, mut count) = (Vec::new(), 0, 0);
    let begun = fields(head, text).take_while(|field| field.start < *until);
    for field in begun.filter(|field| !field.value.is_empty() && !field.is(text, MARK)) {
        out.extend_from_slice(&text[done..field.value.start]);
        out.extend(field.quoted(text, MARK));
        (done, count) = (field.value.end, count + 1);
    }
    if count > 0 {
        let after = text.len() - done.max(*until);
        out.extend_from_slice(&text[done..]);
        *until = out.len() - after;
        *text = out;
    }
    count
}

fn compiled(pattern: &str, entry: &str) -> Result<Regex, String> {
    RegexBuilder::new(pattern)
        .size_limit(MAX_PATTERN)
        .build()
        .map_err(|error| {
            let reason = error.to_string();
            let reason = reason
                .lines()
                .last()
                .unwrap_or_default()
                .trim_start_matches("error: ");
            format!("`{entry}` is not a pattern: {reason}")
        })
}
