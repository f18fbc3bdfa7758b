//! Calls and names in backticks, found in one pass over the lines of a text.

use super::line::Line;
use super::word::{is_word, may_be_a_tool, name_end, without_namespace};
use super::{DeclaredNames, NameUse, Uses};
use crate::span::Span;
use std::collections::HashMap;

/// An open bracket.
#[derive(Default)]
struct Bracket {
    /// The tool whose arguments it holds.
    tool: Option<usize>,
    /// Braces that are open inside.
    depth: u32,
    /// The names of arguments in it, where the tool has several for one.
    given: Vec<NameUse>,
}

/// Finds calls. An open bracket ends with its paragraph, so that a stray one swallows nothing.
pub(super) struct Calls<'a, 'n> {
    text: &'a str,
    names: &'a DeclaredNames<'n>,
    open: Vec<Bracket>,
    uses: Uses,
}

impl<'a, 'n> Calls<'a, 'n> {
    pub(super) fn new(text: &'a str, names: &'a DeclaredNames<'n>) -> Self {
        Self {
            text,
            names,
            open: Vec::new(),
            uses: Uses::default(),
        }
    }

    /// Takes the next line; `None` for one that is not checked.
    pub(super) fn line(&mut self, line: Option<&Line>) {
        match line
            .map(|line| line.span)
            .filter(|line| !self.text[line.start..line.end].trim().is_empty())
        {
            Some(line) => {
                self.code_spans(line);
                self.calls(line);
            }
            None => self.close_all(),
        }
    }

    pub(super) fn finish(mut self) -> Uses {
        self.close_all();
        self.uses
    }

    fn close_all(&mut self) {
        std::mem::take(&mut self.open)
            .into_iter()
            .for_each(|bracket| self.close(bracket));
    }

    fn close(&mut self, bracket: Bracket) {
        if let Some(tool) = bracket.tool.filter(|_| !bracket.given.is_empty()) {
            self.uses
                .arguments(self.text, self.names, tool, bracket.given);
        }
    }

    fn calls(&mut self, line: Span) {
        let mut at = line.start;
        // Once a quotation is not closed on this line, no later one is: every mark is looked for
        // once.
        let (mut double_closes, mut single_closes) = (true, true);
        while let Some(c) = self.text[at..line.end].chars().next() {
            if let Some(end) = name_end(self.text, at, line.end) {
                self.key(Span::new(at, end), end, line);
                at = match self.call(Span::new(at, end), line) {
                    Some(tool) => {
                        self.open.push(Bracket {
                            tool,
                            ..Bracket::default()
                        });
                        end + 1
                    }
                    None => end,
                };
                continue;
            }
            let closing = match c {
                '"' if double_closes => {
                    let closing = double_closing(&self.text[at + 1..line.end]);
                    double_closes = closing.is_some();
                    closing
                }
                '\'' if single_closes && !self.text[line.start..at].ends_with(is_word) => {
                    let closing = self.text[at + 1..line.end].find('\'');
                    single_closes = closing.is_some();
                    closing.filter(|closing| {
                        !self.text[at + closing + 2..line.end].starts_with(is_word)
                    })
                }
                _ => None,
            };
            match (c, closing) {
                (_, Some(length)) => {
                    let inside = Span::new(at + 1, at + 1 + length);
                    self.quoted(inside, line);
                    at = inside.end;
                }
                ('(', _) => self.open.push(Bracket {
                    tool: self.open.last().and_then(|open| open.tool),
                    ..Bracket::default()
                }),
                (')', _) => {
                    if let Some(bracket) = self.open.pop() {
                        self.close(bracket);
                    }
                }
                ('{' | '[', _) => self.nest(1),
                ('}' | ']', _) => self.nest(-1),
                _ => {}
            }
            at += c.len_utf8();
        }
    }

    fn nest(&mut self, by: i32) {
        if let Some(open) = self.open.last_mut() {
            open.depth = open.depth.saturating_add_signed(by);
        }
    }

    /// Skips quoted text, whose brackets do not pair with any outside.
    fn quoted(&mut self, inside: Span, line: Span) {
        let mut at = inside.start;
        while at < inside.end {
            at = match name_end(self.text, at, inside.end) {
                Some(end) => {
                    let span = Span::new(at, end);
                    if span == inside {
                        self.key(span, end + 1, line);
                    }
                    self.call(span, Span::new(line.start, inside.end));
                    end
                }
                None => at + self.text[at..].chars().next().map_or(1, char::len_utf8),
            };
        }
    }

    /// Records the name if it is called, and returns the tool whose arguments follow.
    fn call(&mut self, span: Span, line: Span) -> Option<Option<usize>> {
        let arguments = self.text[span.end..line.end].strip_prefix('(')?;
        let (name, span) = self.named(span);
        let tool = self.names.find(name);
        // "the file(s)" and "each user_id(s)" are plurals, not calls.
        let plural = arguments.starts_with("s)") || arguments.starts_with("es)");
        let counts = match tool {
            _ if plural => false,
            Some(_) => true,
            None if says_something_else(arguments) => false,
            None => {
                name.trim_matches('_').contains('_')
                    && may_be_a_tool(name)
                    && !self.is_method_or_definition(span.start, line.start)
            }
        };
        counts.then(|| {
            self.uses.reference(span);
            tool
        })
    }

    /// The name meant by a word, and its place.
    fn named(&self, span: Span) -> (&'a str, Span) {
        let name = &self.text[span.start..span.end];
        match without_namespace(name).filter(|_| self.names.find(name).is_none()) {
            Some(rest) => (rest, Span::new(span.end - rest.len(), span.end)),
            None => (name, span),
        }
    }

    fn is_method_or_definition(&self, start: usize, line_start: usize) -> bool {
        let before = &self.text[line_start..start];
        if before.ends_with(['.', ':', '/', '\\', '@', '$', '#', '&', '>']) {
            return true;
        }
        let word = before
            .trim_end()
            .rsplit(|c: char| !is_word(c))
            .next()
            .unwrap_or_default();
        before.ends_with(' ') && ["class", "def", "fn", "func", "function", "sub"].contains(&word)
    }

    /// Records a name in the position of an argument's name, in calls of tools that have argument
    /// aliases.
    fn key(&mut self, span: Span, after: usize, line: Span) {
        let (text, names) = (self.text, self.names);
        let Some(Bracket {
            tool: Some(tool),
            depth: 0 | 1,
            given,
        }) = self.open.last_mut()
        else {
            return;
        };
        if names
            .canonical(*tool, &text[span.start..span.end])
            .is_none()
        {
            return;
        }
        let next = text.get(after..line.end).unwrap_or_default().trim_start();
        let assigned = (next.starts_with(':') && !next.starts_with("::"))
            || (next.starts_with('=') && !next.starts_with("=="));
        let alone = text[line.start..span.start]
            .trim_end()
            .ends_with(['(', ','])
            && next.starts_with([',', ')']);
        if assigned || alone {
            given.push(NameUse::plain(span));
        }
    }

    /// Names in backticks: a declared one by itself, and any that is called.
    fn code_spans(&mut self, line: Span) {
        let mut runs: Vec<Span> = Vec::new();
        for (at, _) in self.text[line.start..line.end].match_indices('`') {
            let at = line.start + at;
            match runs.last_mut().filter(|run| run.end == at) {
                Some(run) => run.end += 1,
                None => runs.push(Span::new(at, at + 1)),
            }
        }
        // For each run the next one of the same length, which closes it.
        let mut following: HashMap<usize, usize> = HashMap::new();
        let mut closing = vec![None; runs.len()];
        for (index, run) in runs.iter().enumerate().rev() {
            closing[index] = following.insert(run.end - run.start, index);
        }
        let mut index = 0;
        while index < runs.len() {
            if let Some(close) = closing[index] {
                self.code(Span::new(runs[index].end, runs[close].start));
                index = close;
            }
            index += 1;
        }
    }

    fn code(&mut self, code: Span) {
        let inside = &self.text[code.start..code.end];
        let start = code.start + inside.len() - inside.trim_start().len();
        let end = code.start + inside.trim_end().len();
        let Some(name) = name_end(self.text, start, end) else {
            return;
        };
        let (known, span) = self.named(Span::new(start, name));
        let declared = self.names.find(known).is_some();
        let called = self.text[name..end].starts_with('(') && self.text[..end].ends_with(')');
        if (declared && name == end) || (called && (declared || may_be_a_tool(known))) {
            self.uses.reference(span);
        }
    }
}

/// Whether what follows a name in brackets says something about it, or is part of an address.
fn says_something_else(arguments: &str) -> bool {
    let said = ["optional)", "required)", "deprecated)", "default)"]
        .iter()
        .any(|word| arguments.starts_with(word));
    said || ["at)", "dot)"].iter().any(|word| {
        arguments
            .strip_prefix(word)
            .is_some_and(|after| after.starts_with(is_word))
    })
}

/// Where a double quotation ends, a backslash taking the next character with it.
fn double_closing(text: &str) -> Option<usize> {
    let mut escaped = false;
    text.bytes().position(|byte| {
        let ends = byte == b'"' && !escaped;
        escaped = byte == b'\\' && !escaped;
        ends
    })
}
