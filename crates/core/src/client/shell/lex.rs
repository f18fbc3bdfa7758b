//! Splits a command as a shell does: programs with their words, respecting quotes. A string passed
//! to another shell is read again there.

use super::work::{STEP, Work};

/// One program with its words.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(in super::super) struct Segment {
    pub(in super::super) words: Vec<Word>,
    /// The files that its streams are redirected to or from.
    pub(in super::super) files: Vec<Word>,
    /// The text on its standard input, if the command contains it.
    pub(in super::super) input: Option<String>,
    /// Whether it reads the output of the program before it.
    pub(in super::super) piped: bool,
    /// How many sub-shells it is nested in.
    pub(in super::super) depth: usize,
}

/// One word, without its quotes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(in super::super) struct Word {
    pub(in super::super) text: String,
    /// Whether it has unquoted wildcards.
    pub(in super::super) wild: bool,
    /// Whether it has unquoted braces.
    pub(in super::super) braced: bool,
    /// Whether it contains the output of a program.
    pub(in super::super) computed: bool,
}

/// How many nested substitutions are examined.
const MAX_DEPTH: usize = 8;
/// How many nested sub-shells are examined.
const MAX_SUBSHELLS: usize = 100;

/// The programs of a command; those in a substitution come before the program that contains it.
pub(in super::super) fn lex(text: &str, work: &Work) -> Vec<Segment> {
    let mut lexer = Lexer {
        done: Vec::new(),
        depth: 0,
        inner: 0,
        work,
    };
    if work.spend(text.len()) {
        lexer.read(&text.chars().collect::<Vec<_>>());
    }
    lexer.done
}

struct Lexer<'w> {
    done: Vec<Segment>,
    /// How many sub-shells are open.
    depth: usize,
    /// How many substitutions are open.
    inner: usize,
    work: &'w Work,
}

/// The segment and word being built.
#[derive(Default)]
struct Open {
    segment: Segment,
    word: Option<Word>,
    /// The next word is the file of a redirection.
    redirected: bool,
    /// The delimiters of the here-documents that follow on the next lines.
    texts: Vec<String>,
    /// The next word is such a delimiter.
    names_text: bool,
}

impl Open {
    fn end_word(&mut self) {
        let Some(word) = self.word.take() else { return };
        if std::mem::take(&mut self.names_text) {
            self.texts.push(word.text);
        } else if std::mem::take(&mut self.redirected) {
            self.segment.files.push(word);
        } else {
            self.segment.words.push(word);
        }
    }

    fn push(&mut self, c: char) {
        self.word.get_or_insert_default().text.push(c);
    }
}

impl Lexer<'_> {
    fn end(&mut self, open: &mut Open, piped: bool) {
        open.end_word();
        let segment = std::mem::take(&mut open.segment);
        let words = segment.words.len() + segment.files.len();
        if words > 0 && self.work.spend((words + 2) * STEP) {
            self.done.push(segment);
        }
        open.segment = Segment {
            piped,
            depth: self.depth,
            ..Segment::default()
        };
    }

    fn read(&mut self, text: &[char]) {
        let mut open = Open {
            segment: Segment {
                depth: self.depth,
                ..Segment::default()
            },
            ..Open::default()
        };
        let (outer, mut at) = (self.depth, 0);
        while let Some(&c) = text.get(at) {
            at += 1;
            match c {
                '\\' => {
                    match text.get(at) {
                        Some('\n') | None => {}
                        Some(&c) => open.push(c),
                    }
                    at += 1;
                }
                '\'' => at = quoted(text, at, &mut open),
                '"' => at = self.in_quotes(text, at, &mut open),
                '$' | '`' => at = self.dollar(text, at, c, &mut open),
                '#' if open.word.is_none() => at = line_end(text, at),
                '\n' => {
                    self.end(&mut open, false);
                    at = self.texts(text, at, &mut open);
                }
                ';' => self.end(&mut open, false),
                '|' | '&' => {
                    let next = text.get(at).copied();
                    if c == '&' && next == Some('>') {
                        continue;
                    }
                    let doubled = next == Some(c);
                    at += usize::from(doubled || (c == '|' && next == Some('&')));
                    self.end(&mut open, c == '|' && !doubled);
                }
                '(' => {
                    self.end(&mut open, false);
                    self.depth += 1;
                    if self.depth > outer + MAX_SUBSHELLS {
                        self.work.give_up("its sub-shells are nested too deeply");
                        break;
                    }
                    open.segment.depth = self.depth;
                }
                ')' => {
                    self.end(&mut open, false);
                    self.depth = self.depth.saturating_sub(1).max(outer);
                    open.segment.depth = self.depth;
                }
                '<' | '>' => at = self.redirection(text, at, c, &mut open),
                c if c.is_whitespace() => open.end_word(),
                c => {
                    open.push(c);
                    if let Some(word) = &mut open.word {
                        word.wild |= matches!(c, '*' | '?' | '[');
                        word.braced |= c == '{';
                    }
                }
            }
        }
        self.end(&mut open, false);
        self.depth = outer;
    }

    fn redirection(&mut self, text: &[char], mut at: usize, c: char, open: &mut Open) -> usize {
        // A number before a redirection names the stream and is not a word.
        if open
            .word
            .as_ref()
            .is_some_and(|word| word.text.chars().all(|c| c.is_ascii_digit()))
        {
            open.word = None;
        }
        open.end_word();
        if text.get(at) == Some(&'(') {
            return self.substitution(text, at + 1, ')', open);
        }
        let rest: String = text[at..].iter().take(2).collect();
        if c == '<' && rest.starts_with("<<") {
            at += 2;
        } else if c == '<' && rest.starts_with('<') {
            open.names_text = true;
            return at + 1 + usize::from(rest == "<-");
        } else if matches!(rest.chars().next(), Some('>' | '|' | '&')) {
            at += 1;
        }
        open.redirected = true;
        at
    }

    /// Reads the here-documents that the previous line announced.
    fn texts(&mut self, text: &[char], mut at: usize, open: &mut Open) -> usize {
        for end in std::mem::take(&mut open.texts) {
            let mut body = String::new();
            while at < text.len() {
                let next = line_end(text, at);
                let line: String = text[at..next].iter().collect();
                at = (next + 1).min(text.len());
                if line.trim_start_matches('\t') == end {
                    break;
                }
                body.push_str(&line);
                body.push('\n');
            }
            if let Some(last) = self.done.last_mut() {
                last.input.get_or_insert_default().push_str(&body);
            }
        }
        at
    }

    fn in_quotes(&mut self, text: &[char], mut at: usize, open: &mut Open) -> usize {
        open.word.get_or_insert_default();
        while let Some(&c) = text.get(at) {
            at += 1;
            match c {
                '"' => break,
                '\\' => {
                    match text.get(at) {
                        Some('\n') | None => {}
                        Some(&c) => {
                            if !matches!(c, '$' | '`' | '"' | '\\') {
                                open.push('\\');
                            }
                            open.push(c);
                        }
                    }
                    at += 1;
                }
                '$' | '`' => at = self.dollar(text, at, c, open),
                c => open.push(c),
            }
        }
        at
    }

    /// Reads what follows a `$` or a backquote.
    fn dollar(&mut self, text: &[char], at: usize, c: char, open: &mut Open) -> usize {
        match text.get(at) {
            _ if c == '`' => self.substitution(text, at, '`', open),
            Some('(') if text.get(at + 1) != Some(&'(') => {
                self.substitution(text, at + 1, ')', open)
            }
            Some('\'') => {
                let word = open.word.get_or_insert_default();
                let before = std::mem::take(&mut word.text);
                let end = quoted(text, at + 1, open);
                if let Some(word) = &mut open.word {
                    word.text = before + &super::decode(&word.text);
                }
                end
            }
            Some('{') => {
                // Skip to the end in one piece, whatever it contains.
                let end = text[at..]
                    .iter()
                    .position(|c| *c == '}')
                    .map_or(text.len(), |end| at + end + 1);
                open.push('$');
                text[at..end].iter().for_each(|c| open.push(*c));
                end
            }
            _ => {
                open.push('$');
                at
            }
        }
    }

    /// Reads the programs of a substitution, and adds its output to the word if it can be known.
    fn substitution(&mut self, text: &[char], from: usize, close: char, open: &mut Open) -> usize {
        let mut depth = 0_usize;
        let (mut at, mut quote) = (from, None);
        while let Some(&c) = text.get(at) {
            match (quote, c) {
                (_, '\\') => at += 1,
                (Some(open), c) if open == c => quote = None,
                (None, '\'' | '"') => quote = Some(c),
                (None, c) if c == close && depth == 0 => break,
                (None, '(') if close == ')' => depth += 1,
                (None, ')') if close == ')' => depth -= 1,
                _ => {}
            }
            at += 1;
        }
        let inner = text.get(from..at.min(text.len())).unwrap_or_default();
        if !self.work.spend(inner.len()) {
            return text.len();
        }
        let word = open.word.get_or_insert_default();
        let shown: String = inner.iter().collect();
        match said(&shown) {
            Some(said) => word.text.push_str(&said),
            None => {
                word.text.push_str("$()");
                word.computed = true;
            }
        }
        if self.inner < MAX_DEPTH {
            self.inner += 1;
            self.depth += 1;
            self.read(inner);
            self.depth -= 1;
            self.inner -= 1;
        } else {
            self.work.give_up("its substitutions are nested too deeply");
        }
        at + 1
    }
}

/// The output of a program that only prints, such as `echo`.
pub(in super::super) fn said(command: &str) -> Option<String> {
    let command = command.trim();
    if command == "pwd" {
        return Some("$PWD".to_owned());
    }
    let looked_up = ["which ", "command -v ", "type -P ", "type -p "]
        .iter()
        .find_map(|look| command.strip_prefix(look));
    if looked_up.is_some_and(|name| name.trim() == "harness") {
        return Some("$HARNESS_PROGRAM".to_owned());
    }
    let words = command
        .strip_prefix("echo ")
        .or_else(|| command.strip_prefix("printf "))?
        .trim();
    let words = words
        .strip_prefix("-n ")
        .or_else(|| words.strip_prefix("%s "))
        .unwrap_or(words);
    (!words.contains(['|', ';', '&', '<', '>', '(', ')', '`']))
        .then(|| words.replace(['\'', '"', '\\'], ""))
}

fn quoted(text: &[char], from: usize, open: &mut Open) -> usize {
    let word = open.word.get_or_insert_default();
    let end = text[from.min(text.len())..]
        .iter()
        .position(|c| *c == '\'')
        .map_or(text.len(), |end| from + end);
    word.text.extend(text.get(from..end).unwrap_or_default());
    end + 1
}

fn line_end(text: &[char], from: usize) -> usize {
    text[from.min(text.len())..]
        .iter()
        .position(|c| *c == '\n')
        .map_or(text.len(), |end| from + end)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Vec<Segment> {
        lex(text, &Work::on(text))
    }

    #[test]
    fn programs_come_apart_where_a_shell_takes_them_apart() {
        let words = |text: &str| {
            let line = |segment: Segment| {
                segment
                    .words
                    .into_iter()
                    .map(|word| word.text)
                    .collect::<Vec<_>>()
                    .join(" ")
            };
            read(text).into_iter().map(line).collect::<Vec<_>>()
        };
        for (text, expected) in [
            ("a b; c && d | e", &["a b", "c", "d", "e"][..]),
            (
                "git commit -m 'x; rm -rf .'",
                &["git commit -m x; rm -rf ."],
            ),
            ("echo \"a $(rm -rf .) b\"", &["rm -rf .", "echo a $() b"]),
            (
                "rm \"$(echo harness).md\"",
                &["echo harness", "rm harness.md"],
            ),
            ("cd `pwd`", &["pwd", "cd $PWD"]),
            ("a > b 2>&1 c", &["a c"]),
            ("sh <<'E'\nrm x\nE\nls", &["sh", "ls"]),
            ("(cd x; ls)", &["cd x", "ls"]),
            ("rm har\\\nness.md # x; y", &["rm harness.md"]),
            ("$'\\x2eharness'", &[".harness"]),
            ("cat <(rm x)", &["rm x", "cat $()"]),
            ("a ${x:-b c} 'd", &["a ${x:-b c} d"]),
            ("", &[]),
        ] {
            assert_eq!(words(text), expected, "{text}");
        }
        assert_eq!(
            read("sh <<E\nrm x\nE\n")[0].input.as_deref(),
            Some("rm x\n")
        );
        assert_eq!(
            read("(a); b")
                .iter()
                .map(|segment| segment.depth)
                .collect::<Vec<_>>(),
            [1, 0]
        );
        assert!(read("a | b")[1].piped && !read("a || b")[1].piped);
        assert!(read("rm *")[0].words[1].wild && !read("rm '*'")[0].words[1].wild);
    }

    #[test]
    fn what_is_nested_too_deeply_is_unknown() {
        for (open, close, fits) in [("$(", ")", MAX_DEPTH), ("(", ")", MAX_SUBSHELLS)] {
            let excess = |depth: usize| {
                let text = format!("{}rm x{}", open.repeat(depth), close.repeat(depth));
                let work = Work::on(&text);
                lex(&text, &work);
                work.excess()
            };
            assert_eq!(excess(fits), None);
            assert!(excess(fits + 1).is_some(), "{open}");
        }
    }

    proptest::proptest! {
        #[test]
        fn no_text_makes_it_panic(text in "[ a-z$`'\"\\\\{}()|;&<>#=\né*-]{0,60}") {
            read(&text);
        }
    }
}
