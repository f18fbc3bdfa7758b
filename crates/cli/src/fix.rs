//! `--fix`: applies the fixes that findings suggest.

use crate::replace::replace;
use std::collections::{BTreeMap, HashSet};
use std::fs;
use std::path::{Path, PathBuf};
use tool_harness::diagnostic::Diagnostic;
use tool_harness::span::{Place, Span};

/// How often the result is checked and fixed again: a corrected key may reveal errors below it.
pub(crate) const ROUNDS: usize = 8;

/// The findings fixed in earlier rounds. Each is tried once, because a fix may not help.
#[derive(Default)]
pub(crate) struct FixHistory {
    known: HashSet<(&'static str, String)>,
    /// How many places were changed.
    pub(crate) places: usize,
}

impl FixHistory {
    /// The findings that have a fix and were not tried yet.
    pub(crate) fn fresh(&mut self, findings: Vec<Diagnostic>) -> Vec<Diagnostic> {
        let key = |finding: &Diagnostic| (finding.code, finding.message.clone());
        let mut fresh = findings;
        fresh.retain(|finding| finding.fix.is_some() && !self.known.contains(&key(finding)));
        self.known.extend(fresh.iter().map(key));
        fresh
    }
}

/// Fixes the files of the project in `folder`, not those above it; returns how many places changed.
pub(crate) fn fix_project(folder: &Path, findings: &[Diagnostic]) -> std::io::Result<usize> {
    fix_each(findings, |path| {
        Path::new(path).is_relative().then(|| folder.join(path))
    })
}

/// Fixes one file, which findings call `name`. Texts inside it have names of their own and stay.
pub(crate) fn fix_file(file: &Path, name: &str, findings: &[Diagnostic]) -> std::io::Result<usize> {
    fix_each(findings, |path| (path == name).then(|| file.to_owned()))
}

/// Fixes the files of findings. A file that changed since it was checked stays as it is.
fn fix_each(
    findings: &[Diagnostic],
    file_of: impl Fn(&str) -> Option<PathBuf>,
) -> std::io::Result<usize> {
    let mut edits: BTreeMap<&str, Vec<(&Place, &str)>> = BTreeMap::new();
    for finding in findings {
        let Some(words) = finding.fix.as_deref() else {
            continue;
        };
        for place in finding.place.iter().chain(&finding.also) {
            edits
                .entry(&place.source.path)
                .or_default()
                .push((place, words));
        }
    }
    let mut changed = 0;
    for (path, edits) in edits {
        let Some(file) = file_of(path).filter(|file| file.is_file() && !file.is_symlink()) else {
            continue;
        };
        if let Some((place, _)) = edits.first()
            && fs::read_to_string(&file)? == *place.source.text
        {
            let spans = edits.iter().map(|(place, words)| (place.span, *words));
            let (text, count) = edited(&place.source.text, spans.collect());
            replace(&file, &text)?;
            changed += count;
        }
    }
    Ok(changed)
}

/// The text with each place replaced, and how many were. Of two that overlap, the first wins.
fn edited(text: &str, mut edits: Vec<(Span, &str)>) -> (String, usize) {
    edits.sort_by_key(|(span, _)| span.start);
    let (mut out, mut at, mut count) = (String::with_capacity(text.len()), 0, 0);
    for (span, words) in edits {
        if span.start < at {
            continue;
        }
        let Some(between) = text
            .get(at..span.start)
            .filter(|_| text.get(span.start..span.end).is_some())
        else {
            continue;
        };
        out.push_str(between);
        out.push_str(words);
        at = span.end;
        count += 1;
    }
    out.push_str(text.get(at..).unwrap_or_default());
    (out, count)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_are_replaced_in_order_and_of_two_overlapping_the_first_wins() {
        let text = "a: 1\nbb: 2\né: 3\n";
        let edits = vec![
            (Span::new(5, 7), "c"),
            (Span::new(0, 1), "long"),
            (Span::new(6, 7), "never"),
            (Span::new(11, 13), "e"),
        ];
        assert_eq!(edited(text, edits), ("long: 1\nc: 2\ne: 3\n".to_owned(), 3));
        assert_eq!(
            edited("é", vec![(Span::new(1, 2), "x")]),
            ("é".to_owned(), 0)
        );
    }
}
