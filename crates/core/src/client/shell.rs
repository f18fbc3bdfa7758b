//! Reads shell commands with suspicion: the files they name, the decisions they would make, and
//! whether they only read.

mod brace;
mod expand;
pub(super) mod git;
mod lex;
mod program;
mod work;

pub(super) use brace::braces;
pub(super) use expand::Variables;
pub(super) use lex::{Segment, lex};
pub(super) use program::{Program, program};
pub(super) use work::{ENTRY, LOOK, STEP, Work};

use brace::quoted_braces;
use lex::said;
use std::collections::HashSet;

/// Programs that only read, in the words of a refusal.
pub(super) const READERS: &str = "cat, head, tail, ls, grep, rg, wc, stat, diff, find or git";

/// Harness commands that decide in a person's place or change what a client obeys.
pub(super) const DECIDING: [&str; 6] = ["approvals", "grants", "trust", "lock", "token", "install"];
/// Harness options that take the next word.
const WITH_VALUE: [&str; 2] = ["--project", "--color"];
/// The longest word of which every beginning and end is examined. A longer one is examined piece by
/// piece.
const LONG_WORD: usize = 1024;

/// A command as flat words, without quotes and escapes, so that neither hides a name.
pub(super) struct Command {
    segments: Vec<Vec<String>>,
    expands: bool,
}

impl Command {
    /// Reads a command with these known variables.
    pub(super) fn read(text: &str, variables: &Variables<'_>) -> Self {
        let expands = text.contains(['$', '`']);
        let work = variables.work();
        // Each version is read and made once.
        if !work.spend(text.len().saturating_mul(6)) {
            let segments = Vec::new();
            return Self { segments, expands };
        }
        let text = text.replace("\\\n", "").replace("\\\r\n", "");
        // Read three versions: as written, with character codes decoded as `printf` and `$'...'`
        // do, and with the output of `echo` filled in.
        let mut texts = vec![decode(&text), with_said(&text)];
        texts.retain(|other| *other != text);
        texts.insert(0, text);
        let segments = texts
            .iter()
            .flat_map(|text| expanded(flat(text, work), variables.clone()))
            .collect();
        Self { segments, expands }
    }

    /// Every word, and the parts of words such as `--file=x`; each once.
    pub(super) fn words(&self) -> impl Iterator<Item = &str> {
        let mut seen = HashSet::new();
        self.segments
            .iter()
            .flatten()
            .flat_map(|word| parts(word))
            .map(|part| part.trim_matches(['{', '}']))
            .filter(move |part| !part.is_empty() && seen.insert(*part))
    }

    /// The part of the command that decides in a person's place.
    pub(super) fn decides(&self, work: &Work) -> Option<String> {
        let is_harness = |word: &str| word.rsplit('/').next() == Some("harness");
        let feeds = |word: &String| matches!(word.rsplit('/').next(), Some("xargs" | "parallel"));
        for segment in &self.segments {
            let feeding = segment.iter().position(feeds);
            for (index, _) in segment
                .iter()
                .enumerate()
                .filter(|(_, word)| is_harness(word))
            {
                let mut rest = segment[index + 1..].iter();
                let mut subcommand = None;
                while let Some(word) = rest.next().filter(|_| work.spend(STEP)) {
                    if WITH_VALUE.contains(&word.as_str()) {
                        rest.next();
                    } else if !word.starts_with('-') {
                        subcommand = Some(word.as_str());
                        break;
                    }
                }
                let fed = feeding.is_some_and(|at| at < index);
                match subcommand {
                    Some(word) if DECIDING.contains(&word) => {
                        return Some(format!("harness {word}"));
                    }
                    Some(word) if word.contains(['$', '{', '*', '?', '[']) => {
                        return Some(format!("harness {word}"));
                    }
                    None if fed => return Some("xargs harness".to_owned()),
                    _ => {}
                }
            }
        }
        // A name assembled from variables: both halves occur somewhere in the text.
        let all = || self.segments.iter().flatten();
        let deciding =
            all().find(|word| DECIDING.contains(&word.as_str()) && word.as_str() != "install")?;
        (self.expands && all().any(|word| word.split(['/', '=']).any(|part| part == "harness")))
            .then(|| format!("harness {deciding}"))
    }
}

/// A word, and what a program may take out of it.
fn parts(word: &str) -> Vec<&str> {
    let separators = ['=', ':', ',', '@'];
    let mut parts = vec![word];
    // An option of one letter with its value attached.
    let glued = word
        .strip_prefix('-')
        .is_some_and(|rest| rest.len() > 1 && rest.starts_with(|c: char| c.is_ascii_alphabetic()));
    parts.extend(glued.then(|| &word[2..]));
    if word.len() > LONG_WORD {
        parts.extend(word.split(separators));
    } else {
        let after = |(at, _)| &word[at + 1..];
        parts.extend(word.match_indices(separators).map(after));
        parts.extend(word.match_indices([':', ',']).map(|(at, _)| &word[..at]));
    }
    parts
}

/// A word without its quotes.
#[derive(Default)]
struct FlatWord {
    text: String,
    /// Whether it has braces outside of quotes.
    braced: bool,
}

/// Expands variables and braces as far as the command itself defines them.
fn expanded(segments: Vec<Vec<FlatWord>>, mut variables: Variables<'_>) -> Vec<Vec<String>> {
    let work = variables.work();
    let mut expand = |words: Vec<FlatWord>| -> Vec<String> {
        let mut made = Vec::with_capacity(words.len());
        for word in words {
            variables.assign(&word.text);
            let spread = if word.braced { braces } else { quoted_braces };
            let values = variables.expand(&word.text);
            made.extend(values.iter().flat_map(|value| spread(value, work)));
        }
        made
    };
    segments.into_iter().map(&mut expand).collect()
}

/// The text with substitutions of `echo` and similar commands replaced by their output.
fn with_said(text: &str) -> String {
    let mut made = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find("$(").into_iter().chain(rest.find('`')).min() {
        let (open, close) = if rest[at..].starts_with('`') {
            (1, '`')
        } else {
            (2, ')')
        };
        let inner = &rest[at + open..];
        let (shown, used) = match inner
            .find(close)
            .and_then(|end| Some((said(&inner[..end])?, open + end + 1)))
        {
            Some(found) => found,
            None => (rest[at..at + open].to_owned(), open),
        };
        made.push_str(&rest[..at]);
        made.push_str(&shown);
        rest = &rest[at + used..];
    }
    made + rest
}

/// The words of a command by segment, without quotes and escapes.
fn flat(text: &str, work: &Work) -> Vec<Vec<FlatWord>> {
    let mut segments = vec![Vec::new()];
    let (mut word, mut quote) = (FlatWord::default(), None);
    let end = |word: &mut FlatWord, segments: &mut Vec<Vec<FlatWord>>, separates: bool| {
        if word.text.is_empty() || !work.spend(STEP) {
            *word = FlatWord::default();
        } else if let Some(last) = segments.last_mut() {
            last.push(std::mem::take(word));
        }
        if separates && segments.last().is_some_and(|last| !last.is_empty()) {
            segments.push(Vec::new());
        }
    };
    for c in text.chars() {
        match c {
            '\'' | '"' => {
                quote = match quote {
                    None => Some(c),
                    Some(open) if open == c => None,
                    open => open,
                };
            }
            '\\' => {}
            ';' | '|' | '&' | '\n' | '\r' | '(' | ')' | '`' => end(&mut word, &mut segments, true),
            '<' | '>' => end(&mut word, &mut segments, false),
            c if c.is_whitespace() => end(&mut word, &mut segments, false),
            c => {
                word.braced |= c == '{' && quote.is_none();
                word.text.push(c);
            }
        }
    }
    end(&mut word, &mut segments, false);
    segments
}

/// The text with `\x2e`, `\056` and `\u002e` decoded.
fn decode(text: &str) -> String {
    let mut decoded = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find('\\') {
        decoded.push_str(&rest[..at]);
        let code = &rest[at + 1..];
        let digits = |from: usize, most: usize, radix: u32| {
            let end = code[from..]
                .char_indices()
                .take(most)
                .take_while(|(_, c)| c.is_digit(radix))
                .count();
            let value = u32::from_str_radix(code.get(from..from + end)?, radix)
                .ok()
                .and_then(char::from_u32)?;
            Some((value, from + end))
        };
        let found = match code.chars().next() {
            Some('x') => digits(1, 2, 16),
            Some('u') => digits(1, 4, 16),
            Some('U') => digits(1, 8, 16),
            Some(c) if c.is_digit(8) => digits(0, 4, 8),
            _ => None,
        };
        let (shown, used) = found.unwrap_or(('\\', 0));
        decoded.push(shown);
        rest = &code[used..];
    }
    decoded.push_str(rest);
    decoded
}

/// The first part of a path that contains wildcards or variables, and the folder before it. `None`
/// for a part of only wildcards, which could be anything.
pub(super) fn wild_part(word: &str) -> Option<(&str, &str)> {
    let wild = |c: char| matches!(c, '*' | '?' | '[' | '$' | '{');
    let at = word.find(wild)?;
    let start = word[..at].rfind('/').map_or(0, |slash| slash + 1);
    let part = word[start..].split('/').next()?;
    let says = part.starts_with('.')
        || literals(part)
            .iter()
            .any(|literal| literal.chars().any(|c| c != '.'));
    says.then_some((&word[..start], part))
}

/// The first part of a path that contains wildcards, the folder before it, and the rest.
pub(super) fn wildcard(word: &str) -> Option<(&str, &str, &str)> {
    let at = word.find(['*', '?', '['])?;
    let start = word[..at].rfind('/').map_or(0, |slash| slash + 1);
    let end = word[at..].find('/').map_or(word.len(), |slash| at + slash);
    Some((&word[..start], &word[start..end], &word[end..]))
}

/// The literal pieces of a part with wildcards or variables.
fn literals(pattern: &str) -> Vec<String> {
    let mut literals = Vec::new();
    let (mut literal, mut depth, mut chars) = (String::new(), 0_usize, pattern.chars().peekable());
    while let Some(c) = chars.next() {
        match c {
            '{' | '[' => depth += 1,
            '}' | ']' => depth = depth.saturating_sub(1),
            '*' | '?' if depth == 0 => {}
            '$' => {
                while chars
                    .next_if(|c| c.is_alphanumeric() || *c == '_')
                    .is_some()
                {}
            }
            c if depth == 0 => {
                literal.push(c);
                continue;
            }
            _ => continue,
        }
        literals.push(std::mem::take(&mut literal).to_lowercase());
    }
    literals.push(literal.to_lowercase());
    literals
}

/// Whether a part with wildcards or variables could match a name: the name contains its pieces in
/// order.
pub(super) fn could_be(pattern: &str, name: &str) -> bool {
    let (literals, name) = (literals(pattern), name.to_lowercase());
    let mut rest = name.as_str();
    for (index, literal) in literals.iter().enumerate() {
        let found = if index == 0 {
            rest.starts_with(literal).then_some(0)
        } else {
            rest.find(literal)
        };
        let Some(at) = found else { return false };
        rest = &rest[at + literal.len()..];
    }
    literals.last().is_some_and(|last| name.ends_with(last))
}

/// Whether a whole command clearly only reads: programs from a short list, one after the other,
/// with nothing that could do more.
pub(super) fn is_plain_read(text: &str) -> bool {
    segments(text).is_some_and(|segments| segments.iter().all(|words| reads(words)))
}

/// The words of each program of a command; `None` if it contains redirection, substitution or
/// anything else but words.
fn segments(text: &str) -> Option<Vec<Vec<String>>> {
    // Remove the only redirections that cannot change a file.
    let text = text.replace("2>/dev/null", " ").replace("2>&1", " ");
    let (mut segments, mut word, mut chars) =
        (vec![Vec::new()], None::<String>, text.chars().peekable());
    while let Some(c) = chars.next() {
        match c {
            '\'' => {
                let word = word.get_or_insert_default();
                loop {
                    match chars.next()? {
                        '\'' => break,
                        c => word.push(c),
                    }
                }
            }
            '"' => {
                let word = word.get_or_insert_default();
                loop {
                    match chars.next()? {
                        '"' => break,
                        '$' | '`' => return None,
                        '\\' => word.push(chars.next()?),
                        c => word.push(c),
                    }
                }
            }
            '\\' => word
                .get_or_insert_default()
                .push(chars.next().filter(|c| *c != '\n')?),
            '<' | '>' | '$' | '`' | '(' | ')' | '{' | '}' | '!' | '#' | '\r' => return None,
            '|' | ';' | '&' | '\n' => {
                let doubled = chars.next_if_eq(&c).is_some();
                if c == '&' && !doubled {
                    return None;
                }
                segments.last_mut()?.extend(word.take());
                segments.push(Vec::new());
            }
            c if c.is_whitespace() => segments.last_mut()?.extend(word.take()),
            c => word.get_or_insert_default().push(c),
        }
    }
    segments.last_mut()?.extend(word);
    segments.retain(|words| !words.is_empty());
    Some(segments)
}

/// Whether a program with these arguments only reads.
fn reads(words: &[String]) -> bool {
    let Some((program, args)) = words.split_first() else {
        return true;
    };
    let none_of = |refused: &[&str]| {
        !args
            .iter()
            .any(|arg| refused.iter().any(|option| arg.starts_with(option)))
    };
    match program.as_str() {
        "cat" | "head" | "tail" | "ls" | "grep" | "wc" | "stat" | "diff" | "cmp" | "file"
        | "cd" | "pwd" | "echo" | "true" | "jq" => true,
        "rg" => none_of(&["--pre", "--hostname-bin", "--search-zip", "-z"]),
        "sort" => none_of(&["-o", "--output", "--compress-program", "-T", "-S"]),
        "tree" => none_of(&["-o", "--output"]),
        "find" => none_of(&["-exec", "-ok", "-delete", "-fprint", "-fls"]),
        "git" => reads_git(args),
        "harness" => {
            let read = [
                "validate",
                "list",
                "inspect",
                "explain",
                "tools",
                "test",
                "version",
                "doctor",
                "log",
                "diff",
                "--version",
                "--help",
            ];
            args.first()
                .is_some_and(|word| read.contains(&word.as_str()))
        }
        _ => false,
    }
}

/// Whether a git command leaves the working tree and its settings alone. `add` and `commit` only
/// record what was written before.
fn reads_git(args: &[String]) -> bool {
    let mut rest = args.iter().skip_while(|word| word.as_str() == "--no-pager");
    let known = [
        "status",
        "diff",
        "log",
        "show",
        "blame",
        "grep",
        "ls-files",
        "ls-tree",
        "rev-parse",
        "add",
        "commit",
        "check-ignore",
    ];
    let refused = [
        "--output",
        "-O",
        "--open-files-in-pager",
        "--ext-diff",
        "--textconv",
        "-e",
        "--edit",
        "--exec",
    ];
    let glued = |option: &str, arg: &str| {
        (option.starts_with("--") || option == "-O") && arg.starts_with(option)
    };
    rest.next()
        .is_some_and(|word| known.contains(&word.as_str()))
        && !args.iter().any(|arg| {
            refused
                .iter()
                .any(|option| arg == option || glued(option, arg))
        })
}

#[cfg(test)]
mod tests;
