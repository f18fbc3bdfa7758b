//! `--fix`: what findings say to write instead, written.

use std::collections::{BTreeMap, HashSet};
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use tool_harness::diagnostic::Diagnostic;
use tool_harness::span::{Place, Span};

/// So often what was mended is looked at again: a key that is right may show what is wrong below it.
pub(crate) const ROUNDS: usize = 8;

/// What was mended in earlier rounds, and is not tried again: a fix that does not help would be written again and again.
#[derive(Default)]
pub(crate) struct Tried {
    known: HashSet<(&'static str, String)>,
    /// How many places were changed.
    pub(crate) places: usize,
}

impl Tried {
    /// The findings that can be mended and were not yet.
    pub(crate) fn fresh(&mut self, findings: Vec<Diagnostic>) -> Vec<Diagnostic> {
        let mut fresh = findings;
        fresh.retain(|finding| {
            finding.fix.is_some()
                && !self
                    .known
                    .contains(&(finding.code, finding.message.clone()))
        });
        self.known.extend(
            fresh
                .iter()
                .map(|finding| (finding.code, finding.message.clone())),
        );
        fresh
    }
}

/// Mends the files of the project in `folder`; says how many places were changed. Files above the project are not its to change.
pub(crate) fn mend(folder: &Path, findings: &[Diagnostic]) -> std::io::Result<usize> {
    mend_each(findings, |path| {
        Path::new(path).is_relative().then(|| folder.join(path))
    })
}

/// Mends one file, whose places are given by `name`. Texts inside it have places of their own and are left alone.
pub(crate) fn mend_file(
    file: &Path,
    name: &str,
    findings: &[Diagnostic],
) -> std::io::Result<usize> {
    mend_each(findings, |path| (path == name).then(|| file.to_owned()))
}

/// Mends the files that the paths of findings stand for. A file that is no longer what was checked is left alone.
fn mend_each(
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
            let spans = edits
                .iter()
                .map(|(place, words)| (place.span, *words))
                .collect();
            let (text, count) = edited(&place.source.text, spans);
            replace(&file, &text)?;
            changed += count;
        }
    }
    Ok(changed)
}

/// The text with each place replaced, and how many were. Of two that overlap the first counts.
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

/// Puts the whole text in the place of a file, or leaves the file as it is.
fn replace(file: &Path, text: &str) -> std::io::Result<()> {
    let folder = file.parent().unwrap_or(Path::new("."));
    let mut fresh = tempfile::NamedTempFile::new_in(folder)?;
    fresh.write_all(text.as_bytes())?;
    fresh
        .as_file()
        .set_permissions(fs::metadata(file)?.permissions())?;
    fresh
        .persist(file)
        .map(drop)
        .map_err(|problem| problem.error)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_are_replaced_in_order_and_overlaps_once() {
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
