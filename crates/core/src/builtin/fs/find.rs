//! `fs.glob` and `fs.find`: paths and lines of many files. Results are bounded and come in the order
//! of their paths, however many threads search.

use super::super::{Args, BuiltinHost, re};
use super::access::refused;
use memchr::memmem::Finder;
use memchr::{memchr, memchr_iter, memrchr};
use regex::bytes::{Regex, RegexBuilder};
use serde_json::{Value, json};
use tool_harness_sandbox::file::{
    FileKind, FirstResults, Jail, Omit, Visitor, WalkEnd, WalkedFile,
};

/// Larger files are skipped.
const MAX_FILE: usize = 16 << 20;
/// A file with a zero byte among its first bytes is binary.
const LOOKED_AT: usize = 8 << 10;
/// Characters of a line that are shown.
const SHOWN: usize = 500;
/// The largest `max_results`.
const MAX_RESULTS: usize = 10_000;

const STOPPED: &str = "the search was stopped: the time of the call is over, or it was cancelled";

pub(super) fn glob(host: &dyn BuiltinHost, args: &Args) -> Result<Value, String> {
    let max = args.count(1, "max_results", MAX_RESULTS)?;
    let (paths, more, end) = host
        .files()?
        .glob(args.text(0), omit(args, 2), max, &|| host.is_over())
        .map_err(refused(host))?;
    let cut = Cut::of(end, more, max)?;
    let narrow = "start `pattern` with a folder, as in `src/**/*.py`, or raise `max_results`";
    Ok(answer(
        host,
        "paths",
        json!(paths),
        cut,
        narrow,
        args.bool(4),
    ))
}

pub(super) fn find(host: &dyn BuiltinHost, args: &Args) -> Result<Value, String> {
    let files = host.files()?;
    let (pattern, glob, is_regex) = ordered(host, args)?;
    if pattern.is_empty() {
        return Err("`pattern` must not be empty".to_owned());
    }
    let wanted = if is_regex {
        Wanted::pattern(pattern)?
    } else {
        Wanted::Text(Box::new(Finder::new(pattern).into_owned()))
    };
    let max = args.count(3, "max_results", MAX_RESULTS)?;
    let search = Search {
        host,
        wanted,
        first: FirstResults::new(max),
    };
    let end = files
        .walk(&glob, omit(args, 4), &search)
        .map_err(refused(host))?;
    let (hits, more) = search.first.end();
    let cut = Cut::of(end, more, max)?;
    let matches = hits
        .into_iter()
        .map(|(path, hit)| json!({"path": path, "line": hit.line, "text": hit.text}))
        .collect();
    let narrow =
        "search for a longer text, narrow `path`, as in `src/**/*.py`, or raise `max_results`";
    Ok(answer(host, "matches", matches, cut, narrow, args.bool(6)))
}

/// The pattern, the glob of the files, and whether the pattern is a regular expression. Other
/// harnesses take the path first; what is meant shows in which of the two exists.
fn ordered<'a>(host: &dyn BuiltinHost, args: &'a Args) -> Result<(&'a str, String, bool), String> {
    let files = host.files()?;
    let (first, second) = (args.text(0), args.text(1));
    let other = place(files, first).filter(|_| !has_signs(first));
    // A regular expression looks like a glob; the second argument is one if it leads to a file.
    let is_expression = |glob: &str| {
        let leads_nowhere = || {
            let found = files.glob(glob, Omit::default(), 1, &|| host.is_over());
            found.is_ok_and(|(paths, ..)| paths.is_empty())
        };
        other.is_some() && has_signs(glob) && leads_nowhere()
    };
    let glob = place(files, second).filter(|glob| !is_expression(glob));
    match (glob, other) {
        (Some(glob), _) => Ok((first, glob, args.bool(2))),
        (None, Some(glob)) => Ok((second, glob, true)),
        (None, None) => Err(format!(
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

/// What `ignored` and `dotfiles` leave out; they are the parameters at `index` and after it.
fn omit(args: &Args, index: usize) -> Omit {
    Omit {
        ignored: !args.bool(index),
        dotfiles: !args.bool(index + 1),
    }
}

/// Why results are missing.
enum Cut {
    Results(usize),
    Entries,
}

impl Cut {
    fn of(end: WalkEnd, more: bool, max: usize) -> Result<Option<Self>, String> {
        match end {
            WalkEnd::Stopped => Err(STOPPED.to_owned()),
            WalkEnd::TooManyEntries => Ok(Some(Self::Entries)),
            WalkEnd::Complete => Ok(more.then_some(Self::Results(max))),
        }
    }

    fn hint(&self, narrow: &str) -> String {
        let what = match self {
            Self::Results(max) => format!("these are the first {max} results, and there are more"),
            Self::Entries => "the workspace has too many entries to look at all of them".to_owned(),
        };
        format!("{what}; {narrow}")
    }
}

/// The results as a list, or as a dict that also says whether some are missing. The log says it if
/// the script does not ask.
fn answer(
    host: &dyn BuiltinHost,
    name: &str,
    results: Value,
    cut: Option<Cut>,
    narrow: &str,
    details: bool,
) -> Value {
    let hint = cut.map(|cut| cut.hint(narrow));
    if details {
        return json!({name: results, "truncated": hint.is_some(), "hint": hint});
    }
    // Whoever asks for few results wants few.
    if let Some(hint) = hint.filter(|_| results.as_array().is_some_and(|all| all.len() >= 100)) {
        host.warn(&hint);
    }
    results
}

/// One search, shared by its threads.
struct Search<'a> {
    host: &'a dyn BuiltinHost,
    wanted: Wanted,
    first: FirstResults<Hit>,
}

/// A line that was found.
#[derive(Debug, PartialEq, Eq)]
struct Hit {
    line: usize,
    text: String,
}

/// What a thread keeps from file to file.
#[derive(Default)]
struct Scratch {
    buffer: Vec<u8>,
    /// A copy of its own: threads that share a regular expression wait for each other.
    wanted: Option<Wanted>,
}

impl Visitor for Search<'_> {
    type Scratch = Scratch;

    fn is_over(&self) -> bool {
        self.host.is_over()
    }

    fn wants(&self, path: &str) -> bool {
        self.first.wants(path)
    }

    fn visit(&self, scratch: &mut Scratch, file: &WalkedFile<'_>) {
        let wanted = scratch.wanted.get_or_insert_with(|| self.wanted.clone());
        // A file that vanished or changed since the listing is skipped like one that is too large.
        let Some(bytes) = file.read(MAX_FILE, &mut scratch.buffer) else {
            return;
        };
        let head = bytes.get(..LOOKED_AT).unwrap_or(bytes);
        if memchr(0, head).is_none() {
            self.first
                .add(file.path(), wanted.hits(bytes, self.first.room()));
        }
    }
}

/// The text or pattern to find.
#[derive(Clone)]
enum Wanted {
    Text(Box<Finder<'static>>),
    Pattern {
        /// Judges one line.
        line: Regex,
        /// Finds where a line may match, in a whole file at once; none if that could miss one.
        anywhere: Option<Regex>,
    },
}

impl Wanted {
    fn pattern(pattern: &str) -> Result<Self, String> {
        // The limits and the errors are those of `re`.
        re::compile(pattern)?;
        let build = |builder: &mut RegexBuilder| {
            let built = builder.size_limit(re::MAX_COMPILED).build();
            built.map_err(|error| format!("`{pattern}` cannot be searched for: {error}"))
        };
        Ok(Self::Pattern {
            line: build(&mut RegexBuilder::new(pattern))?,
            anywhere: if is_tied_to_a_text(pattern) {
                None
            } else {
                Some(build(
                    RegexBuilder::new(pattern).multi_line(true).crlf(true),
                )?)
            },
        })
    }

    fn is_in(&self, line: &[u8]) -> bool {
        match self {
            Self::Text(text) => text.find(line).is_some(),
            Self::Pattern { line: pattern, .. } => pattern.is_match(line),
        }
    }

    /// Where the next line that may match has its match, from `at`, the start of a line.
    fn next(&self, bytes: &[u8], at: usize) -> Option<usize> {
        match self {
            Self::Text(text) => text.find(bytes.get(at..)?).map(|found| at + found),
            Self::Pattern { anywhere, .. } => match anywhere {
                Some(pattern) => pattern.find_at(bytes, at).map(|found| found.start()),
                None => Some(at),
            },
        }
    }

    /// The first lines that match.
    fn hits(&self, bytes: &[u8], most: usize) -> Vec<Hit> {
        let mut hits = Vec::new();
        let (mut at, mut number, mut counted) = (0, 1, 0);
        while hits.len() < most
            && at < bytes.len()
            && let Some(found) = self.next(bytes, at)
        {
            let start = memrchr(b'\n', bytes.get(..found).unwrap_or_default()).map_or(0, |n| n + 1);
            let end = memchr(b'\n', bytes.get(found..).unwrap_or_default())
                .map_or(bytes.len(), |n| found + n);
            if start >= bytes.len() {
                break;
            }
            let line = bytes.get(start..end).unwrap_or_default();
            let line = line.strip_suffix(b"\r").unwrap_or(line);
            if self.is_in(line) {
                number += memchr_iter(b'\n', bytes.get(counted..start).unwrap_or_default()).count();
                counted = start;
                let text = String::from_utf8_lossy(line).chars().take(SHOWN).collect();
                hits.push(Hit { line: number, text });
            }
            at = end + 1;
        }
        hits
    }
}

/// Whether a pattern says something about the start or the end of the whole text, or switches off
/// what makes `^` and `$` match at lines.
fn is_tied_to_a_text(pattern: &str) -> bool {
    let switches_off = |rest: &str| {
        let flags = rest.split([':', ')']).next().unwrap_or_default();
        flags.contains('-') && flags.chars().all(|c| c.is_ascii_alphabetic() || c == '-')
    };
    pattern.contains("\\A")
        || pattern.contains("\\z")
        || pattern.split("(?").skip(1).any(switches_off)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn text(text: &str) -> Wanted {
        Wanted::Text(Box::new(Finder::new(text).into_owned()))
    }

    fn numbers(wanted: &Wanted, bytes: &str, most: usize) -> Vec<usize> {
        let hits = wanted.hits(bytes.as_bytes(), most);
        hits.into_iter().map(|hit| hit.line).collect()
    }

    #[test]
    fn lines_are_found_by_text_and_by_pattern() {
        let lines = "one\nt.o\ntwo\n";
        let pattern = |text| Wanted::pattern(text).expect("a pattern");
        assert_eq!(numbers(&text("t.o"), lines, 9), [2]);
        assert_eq!(numbers(&pattern("^t.o$"), lines, 9), [2, 3]);
        assert_eq!(numbers(&text("o"), lines, 2), [1, 2]);
        assert_eq!(numbers(&pattern("^$"), "a\n\nb\n", 9), [2]);
        assert_eq!(numbers(&pattern("o$"), "one\r\ntwo\r\n", 9), [2]);
        assert_eq!(numbers(&pattern("\\Atwo\\z"), lines, 9), [3]);
        // A match over two lines is none.
        assert!(numbers(&pattern("one\\st"), lines, 9).is_empty());
        assert!(numbers(&text("one\nt"), lines, 9).is_empty());
        let long = "x".repeat(5000);
        let hits = text("x").hits(long.as_bytes(), 1);
        assert_eq!(hits.first().map(|hit| hit.text.len()), Some(SHOWN));
        let latin = text("caf").hits(b"caf\xe9\n", 1);
        assert_eq!(
            latin.first().map(|hit| hit.text.as_str()),
            Some("caf\u{fffd}")
        );
    }

    proptest! {
        /// Searching a whole file finds what judging each line finds.
        #[test]
        fn a_file_and_its_lines_agree(
            // A carriage return inside a line is the one thing that a dot or a class may miss.
            parts in prop::collection::vec(prop::sample::select(vec!["a", "b", " ", "\n", "\r\n"]), 0..40),
            pattern in prop::sample::select(vec![
                "a", "^a", "b$", "a\\s+b", "^$", "a*", "(?m)^b", "\\ba", "\\Aa", "(?-m)^a", "[^a]b", "a|\\s$",
            ]),
        ) {
            let wanted = Wanted::pattern(pattern).expect("a pattern");
            let line = regex::Regex::new(pattern).expect("a pattern");
            let lines = parts.concat();
            let expected: Vec<usize> = (1..)
                .zip(lines.lines())
                .filter(|(_, text)| line.is_match(text))
                .map(|(number, _)| number)
                .collect();
            prop_assert_eq!(numbers(&wanted, &lines, 100), expected);
        }
    }
}
