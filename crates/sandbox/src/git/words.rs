//! The files that a command line in Git's configuration runs.
//!
//! Git hands most command lines to a shell, in the top folder of the working tree. A name without
//! `/` is looked up in `PATH`, so it is not a file of the workspace, unless an interpreter gets it.

/// More words than a person writes into a configuration.
const MOST_WORDS: usize = 500;

/// A word of a command line that can name a file that is run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct ProgramWord {
    /// A path, absolute or relative to where Git runs it.
    pub(super) path: Vec<u8>,
    /// How sure it is.
    pub(super) use_of: WordUse,
}

/// What a word is in its command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum WordUse {
    /// It is run, so a file that appears there would be run, too.
    Program,
    /// It is an argument: it counts if it is a program.
    Argument,
}

/// The words of a command line that can name programs; `None` if there are too many.
pub(super) fn programs(line: &[u8]) -> Option<Vec<ProgramWord>> {
    let mut found = Vec::new();
    add_programs(line, MOST_NESTED, &mut found)?;
    Some(found)
}

/// Command lines inside command lines: `sh -c 'sh -c …'`.
const MOST_NESTED: usize = 3;

/// What the next word of a command is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Expected {
    /// The name of a program.
    Program,
    /// A file that the interpreter before it runs.
    Script,
    /// A command line that the shell before it runs.
    Line,
    /// An argument.
    Argument,
}

fn add_programs(line: &[u8], nested: usize, found: &mut Vec<ProgramWord>) -> Option<()> {
    for command in commands(line)? {
        let mut expected = Expected::Program;
        for word in command {
            let path = after_expansion(&word);
            let mut add = |path: &[u8], use_of| {
                found.push(ProgramWord {
                    path: path.to_vec(),
                    use_of,
                });
            };
            let is_option = word.starts_with(b"-") && expected != Expected::Line;
            if is_option || expected == Expected::Program && is_assignment(&word) {
                // A path can follow the name of an option or a variable.
                if let Some(value) = word.splitn(2, |byte| *byte == b'=').nth(1) {
                    add(value, WordUse::Argument);
                }
                if expected == Expected::Script && word.contains(&b'c') && word[1] != b'-' {
                    expected = Expected::Line;
                }
                continue;
            }
            expected = match expected {
                Expected::Program if is_named(&word, RUNNERS) => Expected::Program,
                Expected::Program if is_named(&word, INTERPRETERS) => {
                    add(path, WordUse::Argument);
                    Expected::Script
                }
                Expected::Program if !path.contains(&b'/') => Expected::Argument,
                Expected::Program | Expected::Script => {
                    add(path, WordUse::Program);
                    Expected::Argument
                }
                Expected::Line => {
                    add_programs(&word, nested.checked_sub(1)?, found)?;
                    Expected::Argument
                }
                Expected::Argument => {
                    add(path, WordUse::Argument);
                    Expected::Argument
                }
            };
        }
    }
    (found.len() <= MOST_WORDS).then_some(())
}

/// What runs the command that follows.
const RUNNERS: &[&str] = &[
    "!", "command", "do", "else", "env", "eval", "exec", "if", "nice", "nohup", "setsid", "sudo",
    "then", "time", "until", "while", "xargs", "{",
];
/// What runs the file that follows.
const INTERPRETERS: &[&str] = &[
    ".", "ash", "awk", "bash", "bun", "dash", "deno", "fish", "ksh", "lua", "node", "perl", "php",
    "pwsh", "python", "ruby", "sh", "source", "tsx", "zsh",
];

/// Whether a word is one of these programs, in any folder and of any version.
fn is_named(word: &[u8], names: &[&str]) -> bool {
    let name = word.rsplit(|byte| *byte == b'/').next().unwrap_or(word);
    let is_version = |byte: &&u8| byte.is_ascii_digit() || **byte == b'.';
    let version = name.iter().rev().take_while(is_version).count();
    let stem = &name[..name.len() - version];
    let mut names = names.iter().map(|known| known.as_bytes());
    names.any(|known| known == name || known == stem)
}

fn is_assignment(word: &[u8]) -> bool {
    let end = word.iter().position(|byte| *byte == b'=').unwrap_or(0);
    let is_name = |byte: &u8| byte.is_ascii_alphanumeric() || *byte == b'_';
    end > 0 && word[..end].iter().all(is_name)
}

/// What follows the last variable or substitution of a word, which usually stands for the top folder
/// of the repository: `scripts/x` of `$(git rev-parse --show-toplevel)/scripts/x`.
fn after_expansion(word: &[u8]) -> &[u8] {
    let Some(end) = word.iter().rposition(|byte| *byte == EXPANSION) else {
        return word;
    };
    let rest = &word[end + 1..];
    rest.strip_prefix(b"/").unwrap_or(rest)
}

/// Stands for a variable or a substitution in a word. No path holds a null byte.
const EXPANSION: u8 = 0;

/// The commands of a line, each as its words. Operators, substitutions and lines end a command; what
/// is substituted is a command of its own.
fn commands(line: &[u8]) -> Option<Vec<Vec<Vec<u8>>>> {
    let mut splitter = Splitter::default();
    let mut at = 0;
    while let Some(byte) = line.get(at).copied() {
        at += 1;
        match (splitter.quote, byte) {
            (Some(b'\''), b'\'') => splitter.quote = None,
            (Some(b'\''), _) => splitter.word.push(byte),
            (_, b'\\') => {
                let next = line.get(at).filter(|next| **next != b'\n');
                splitter.word.extend(next);
                at += 1;
            }
            (_, b'$') if line.get(at) == Some(&b'(') => {
                at += 1;
                splitter.begin_substitution();
            }
            (_, b'$') => {
                splitter.word.push(EXPANSION);
                at += variable(&line[at..]);
            }
            (Some(b'"'), b'"') => splitter.quote = None,
            (Some(_), _) => splitter.word.push(byte),
            (None, b'\'' | b'"') => (splitter.quote, splitter.has_word) = (Some(byte), true),
            (None, b')') if !splitter.outer.is_empty() => splitter.end_substitution(),
            (None, b';' | b'&' | b'|' | b'(' | b')' | b'\n' | b'`') => splitter.end_command(),
            (None, b'<' | b'>' | b' ' | b'\t' | b'\r') => splitter.end_word(),
            (None, _) => splitter.word.push(byte),
        }
        if splitter.count > MOST_WORDS {
            return None;
        }
    }
    // A substitution that does not end: its words count, too.
    while !splitter.outer.is_empty() {
        splitter.end_substitution();
    }
    splitter.end_command();
    Some(splitter.done)
}

/// Splits a line.
#[derive(Default)]
struct Splitter {
    done: Vec<Vec<Vec<u8>>>,
    /// The command that is being read.
    command: Vec<Vec<u8>>,
    word: Vec<u8>,
    /// Whether there is a word although it is empty.
    has_word: bool,
    quote: Option<u8>,
    /// Commands that wait for the end of a substitution.
    outer: Vec<OuterCommand>,
    count: usize,
}

/// A command that is being read, and one of its words is being substituted.
struct OuterCommand {
    command: Vec<Vec<u8>>,
    word: Vec<u8>,
    quote: Option<u8>,
}

impl Splitter {
    fn end_word(&mut self) {
        if std::mem::take(&mut self.has_word) || !self.word.is_empty() {
            self.count += 1;
            self.command.push(std::mem::take(&mut self.word));
        }
    }

    fn end_command(&mut self) {
        self.end_word();
        self.done.push(std::mem::take(&mut self.command));
        self.count += 1;
    }

    fn begin_substitution(&mut self) {
        self.word.push(EXPANSION);
        self.count += 1;
        self.outer.push(OuterCommand {
            command: std::mem::take(&mut self.command),
            word: std::mem::take(&mut self.word),
            quote: self.quote.take(),
        });
    }

    fn end_substitution(&mut self) {
        self.end_command();
        if let Some(outer) = self.outer.pop() {
            (self.command, self.word, self.quote) = (outer.command, outer.word, outer.quote);
        }
    }
}

/// How many bytes the name of a variable has: `NAME` or `{NAME...}`.
fn variable(rest: &[u8]) -> usize {
    if rest.first() == Some(&b'{') {
        let end = rest.iter().position(|byte| *byte == b'}');
        return end.map_or(rest.len(), |end| end + 1);
    }
    let is_name = |byte: &&u8| byte.is_ascii_alphanumeric() || **byte == b'_';
    rest.iter().take_while(is_name).count()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(line: &str, run: &[&str]) {
        let words = programs(line.as_bytes()).expect("few words");
        let found: Vec<String> = words
            .iter()
            .filter(|word| word.use_of == WordUse::Program)
            .map(|word| String::from_utf8_lossy(&word.path).into_owned())
            .collect();
        assert_eq!(found, run, "{line}");
    }

    #[test]
    fn what_is_run_is_found_and_what_is_looked_up_is_not() {
        check("./scripts/x", &["./scripts/x"]);
        check("git-lfs clean -- %f", &[]);
        check("tools/clean.sh %f", &["tools/clean.sh"]);
        check("sh tools/clean.sh", &["tools/clean.sh"]);
        check("'my tools/x' && \"b/y\"|c/z", &["my tools/x", "b/y", "c/z"]);
        check("f() { ./a/b; }; f", &["./a/b"]);
        check(
            "$(git rev-parse --show-toplevel)/scripts/x y",
            &["scripts/x"],
        );
        check(
            "\"$(git rev-parse --show-toplevel)\"/scripts/x",
            &["scripts/x"],
        );
        check("${TOP:-.}/scripts/x", &["scripts/x"]);
        check("A=b /usr/bin/env python3.11 tools/x", &["tools/x"]);
        check("`./a/b`", &["./a/b"]);
        check("less docs/README.md", &[]);
        check("sh -c 'x/y; bash -ec \"z/w\"' a/b", &["x/y", "z/w"]);
        check("exec git log | ./f", &["./f"]);
        check("$(unended/x", &["unended/x"]);
        check("", &[]);
    }

    #[test]
    fn an_interpreter_runs_its_argument_and_other_arguments_may_be_programs() {
        let words = programs(b"python3 clean.py --with=a/b x").expect("few words");
        let found: Vec<_> = words
            .iter()
            .map(|word| {
                (
                    String::from_utf8_lossy(&word.path).into_owned(),
                    word.use_of,
                )
            })
            .collect();
        assert_eq!(
            found,
            [
                ("python3".to_owned(), WordUse::Argument),
                ("clean.py".to_owned(), WordUse::Program),
                ("a/b".to_owned(), WordUse::Argument),
                ("x".to_owned(), WordUse::Argument),
            ]
        );
        assert!(programs(&b"x ".repeat(MOST_WORDS + 1)).is_none());
    }
}
