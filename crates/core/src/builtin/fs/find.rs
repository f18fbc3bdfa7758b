//! `fs.find`: lines of many files.

use super::super::{Args, BuiltinHost, re};
use super::access::refused;
use regex::Regex;
use serde_json::{Value, json};
use tool_harness_sandbox::file::{FileKind, Jail};

/// Larger files are skipped.
const MAX_FILE: u64 = 1 << 20;
/// Files per search.
const MAX_FILES: usize = 10_000;
/// Bytes per search.
const MAX_TOTAL: u64 = 256 << 20;
/// Characters of a line that are shown.
const SHOWN: usize = 500;
/// The largest `max_results`.
const MAX_RESULTS: usize = 10_000;

/// The text or pattern to find.
enum Wanted<'a> {
    Text(&'a str),
    Pattern(Regex),
}

impl Wanted<'_> {
    fn is_in(&self, line: &str) -> bool {
        match self {
            Self::Text(text) => line.contains(text),
            Self::Pattern(pattern) => pattern.is_match(line),
        }
    }
}

pub(super) fn find(host: &dyn BuiltinHost, args: &Args) -> Result<Value, String> {
    let files = host.files()?;
    let (pattern, glob, is_regex) = ordered(files, args)?;
    if pattern.is_empty() {
        return Err("`pattern` must not be empty".to_owned());
    }
    let wanted = if is_regex {
        Wanted::Pattern(re::compile(pattern)?)
    } else {
        Wanted::Text(pattern)
    };
    let max = args.count(3, "max_results", MAX_RESULTS)?;
    let mut found = Vec::new();
    let mut total = 0;
    for path in files.glob(&glob, MAX_FILES).map_err(refused(host))? {
        if found.len() >= max {
            break;
        }
        // A file that vanished or changed since the listing is skipped like one that is too large.
        let Some(size) = files
            .stat(&path)
            .ok()
            .flatten()
            .map(|stat| stat.size)
            .filter(|&size| size <= MAX_FILE)
        else {
            continue;
        };
        total += size;
        if total > MAX_TOTAL {
            return Err(format!(
                "more than {} MiB to search; narrow `path`",
                MAX_TOTAL >> 20
            ));
        }
        let Ok(bytes) = files.read(&path, MAX_FILE) else {
            continue;
        };
        let Ok(text) = String::from_utf8(bytes) else {
            continue;
        };
        found.extend(
            lines(&wanted, &text, max - found.len())
                .map(|(line, text)| json!({"path": path, "line": line, "text": text})),
        );
    }
    Ok(Value::Array(found))
}

/// The pattern, the glob of the files, and whether the pattern is a regular expression. Other
/// harnesses take the path first; what is meant shows in which of the two exists.
fn ordered<'a>(files: &Jail, args: &'a Args) -> Result<(&'a str, String, bool), String> {
    let (first, second) = (args.text(0), args.text(1));
    if let Some(glob) = place(files, second) {
        return Ok((first, glob, args.bool(2)));
    }
    match place(files, first).filter(|_| !has_signs(first)) {
        Some(glob) => Ok((second, glob, true)),
        None => Err(format!(
            "there is no file or directory `{second}`; write `fs.find(pattern, path)`, where `path` may be a glob such as `**/*.md`"
        )),
    }
}

/// A path as a glob; `None` if it is plain and nothing is there.
fn place(files: &Jail, path: &str) -> Option<String> {
    if has_signs(path) {
        return Some(path.to_owned());
    }
    match files.stat(path).ok()?? {
        stat if stat.kind == FileKind::Directory => {
            let folder = path.trim_end_matches('/');
            Some(match folder.strip_prefix("./").unwrap_or(folder) {
                "" | "." => "**/*".to_owned(),
                folder => format!("{folder}/**/*"),
            })
        }
        _ => Some(path.to_owned()),
    }
}

/// Whether a text has signs that only a glob has. A regular expression may have them, too.
fn has_signs(text: &str) -> bool {
    text.contains(['*', '?', '[', '{'])
}

fn lines<'a>(
    wanted: &'a Wanted<'a>,
    text: &'a str,
    max: usize,
) -> impl Iterator<Item = (usize, String)> + use<'a> {
    (1..)
        .zip(text.lines())
        .filter(|(_, line)| wanted.is_in(line))
        .take(max)
        .map(|(number, line)| (number, line.chars().take(SHOWN).collect()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_found_by_text_and_by_pattern() {
        let text = "one\nt.o\ntwo\n";
        let numbers = |wanted: &Wanted<'_>, max| {
            lines(wanted, text, max)
                .map(|(line, _)| line)
                .collect::<Vec<_>>()
        };
        assert_eq!(numbers(&Wanted::Text("t.o"), 9), [2]);
        assert_eq!(
            numbers(&Wanted::Pattern(Regex::new("^t.o$").expect("a pattern")), 9),
            [2, 3]
        );
        assert_eq!(numbers(&Wanted::Text("o"), 2), [1, 2]);
        let long = "x".repeat(5000);
        assert_eq!(
            lines(&Wanted::Text("x"), &long, 1)
                .next()
                .map(|(_, line)| line.len()),
            Some(SHOWN)
        );
    }
}
