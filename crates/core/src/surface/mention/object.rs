//! Finds tool calls written as JSON or in `<tool_call>` tags, in one pass.

use super::line::Line;
use super::word::{is_word, name_end};
use super::{DeclaredNames, NameUse, Uses};
use crate::span::Span;

/// What a key means to a tool call.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Key {
    Name,
    Arguments,
    Function,
    Type,
    Description,
    Other,
}

impl Key {
    fn of(key: &str) -> Self {
        match key {
            "name" | "tool" | "tool_name" => Self::Name,
            "arguments" | "args" | "input" | "parameters" => Self::Arguments,
            "function" | "function_call" | "functionCall" => Self::Function,
            "type" => Self::Type,
            "description" => Self::Description,
            _ => Self::Other,
        }
    }
}

/// An object that is still open.
#[derive(Default)]
struct Object {
    /// The key of the object around it that it is the value of.
    under: Option<Key>,
    /// The last key, whose value comes next.
    key: Option<Key>,
    name: Option<NameUse>,
    /// Whether it says itself that it is a call.
    is_call: bool,
    has_arguments: bool,
    /// Definitions of tools have one, calls do not.
    has_description: bool,
    keys: Vec<NameUse>,
    /// The keys of its arguments.
    given: Vec<NameUse>,
}

/// A tag that opens a call.
struct Tag {
    /// The end of it.
    end: usize,
    /// The name that it has as an attribute.
    name: Option<Span>,
}

impl Tag {
    /// The tag that begins at `at`. It ends before the next one begins, which keeps the scan
    /// linear.
    fn at(text: &str, at: usize, end: usize) -> Option<Self> {
        let inside = text.get(at + 1..end)?;
        let is = |word: &&str| {
            inside
                .get(..word.len())
                .is_some_and(|start| start.eq_ignore_ascii_case(word))
        };
        let word = ["tool_call", "toolcall"].into_iter().find(is)?;
        let rest = &inside[word.len()..];
        let length = rest
            .find(['>', '<'])
            .filter(|&length| rest[length..].starts_with('>'))?;
        let attributes = Span::new(at + 1 + word.len(), at + 1 + word.len() + length);
        let own = length == 0 || rest.starts_with([' ', '\t', '/']);
        own.then(|| Self {
            end: attributes.end + 1,
            name: attribute(text, attributes),
        })
    }
}

/// The name that `name="..."` gives.
fn attribute(text: &str, attributes: Span) -> Option<Span> {
    let written = &text[attributes.start..attributes.end];
    let (at, _) = written
        .match_indices("name")
        .find(|(at, _)| written[..*at].ends_with([' ', '\t']))?;
    let value = written[at + 4..]
        .trim_start()
        .strip_prefix('=')?
        .trim_start();
    let quote = value.chars().next().filter(|c| matches!(c, '"' | '\''))?;
    let start = attributes.end - value.len() + 1;
    let end = start + value[1..].find(quote)?;
    (name_end(text, start, end) == Some(end)).then_some(Span::new(start, end))
}

/// Looks for tags and objects.
pub(super) struct Objects<'a, 'n> {
    text: &'a str,
    names: &'a DeclaredNames<'n>,
    open: Vec<Object>,
    /// A tag was opened, and nothing has followed it yet.
    tagged: bool,
    uses: Uses,
}

impl<'a, 'n> Objects<'a, 'n> {
    pub(super) fn new(text: &'a str, names: &'a DeclaredNames<'n>) -> Self {
        Self {
            text,
            names,
            open: Vec::new(),
            tagged: false,
            uses: Uses::default(),
        }
    }

    /// Takes the next line; `None` for one that is not checked.
    pub(super) fn line(&mut self, line: Option<&Line>) {
        let Some(line) = line.map(|line| line.span) else {
            self.close_all();
            return;
        };
        let mut at = line.start;
        while let Some(c) = self.text[at..line.end].chars().next() {
            at = self.step(c, at, line.end);
        }
    }

    pub(super) fn finish(mut self) -> Uses {
        self.close_all();
        self.uses
    }

    fn close_all(&mut self) {
        self.tagged = false;
        while let Some(object) = self.open.pop() {
            self.close(object);
        }
    }

    fn step(&mut self, c: char, at: usize, end: usize) -> usize {
        let next = at + c.len_utf8();
        if c == '<' {
            let tag = Tag::at(self.text, at, end);
            let name = tag.as_ref().and_then(|tag| tag.name);
            name.into_iter().for_each(|name| self.uses.reference(name));
            self.tagged = tag.is_some() && name.is_none();
            return tag.map_or(next, |tag| tag.end);
        }
        if self.tagged && !c.is_whitespace() && c != '{' {
            self.tagged = false;
            if is_word(c) {
                let stop = name_end(self.text, at, end).unwrap_or(next);
                self.uses.reference(Span::new(at, stop));
                return stop;
            }
        }
        match c {
            '{' => {
                let under = self.open.last_mut().and_then(|around| around.key.take());
                let is_call = std::mem::take(&mut self.tagged) || under == Some(Key::Function);
                self.open.push(Object {
                    under,
                    is_call,
                    ..Object::default()
                });
            }
            '}' => {
                if let Some(object) = self.open.pop() {
                    self.close(object);
                }
            }
            ',' => {
                if let Some(object) = self.open.last_mut() {
                    object.key = None;
                }
            }
            '"' if !self.open.is_empty() => return self.quoted(at + 1, end),
            _ => {}
        }
        next
    }

    /// A key or a value of the innermost object; the rest of the line when it is not closed, since
    /// JSON has no text over several lines.
    fn quoted(&mut self, start: usize, end: usize) -> usize {
        let mut escaped = false;
        let closing = self.text[start..end].bytes().position(|byte| {
            let ends = byte == b'"' && !escaped;
            escaped = byte == b'\\' && !escaped;
            ends
        });
        let Some(length) = closing else { return end };
        let span = Span::new(start, start + length);
        let after = span.end + 1;
        let raw = &self.text[span.start..span.end];
        // Invalid escapes are left as written.
        let decoded = if raw.contains('\\') {
            serde_json::from_str::<Box<str>>(&self.text[start - 1..after]).ok()
        } else {
            None
        };
        let name = NameUse {
            decoded,
            ..NameUse::plain(span)
        };
        let words = name.name(self.text);
        let Some(object) = self.open.last_mut() else {
            return after;
        };
        if self.text[after..end].trim_start().starts_with(':') {
            let key = Key::of(words);
            object.key = Some(key);
            object.has_arguments |= key == Key::Arguments;
            object.has_description |= key == Key::Description;
            object.keys.push(name);
        } else {
            match object.key.take() {
                Some(Key::Name) if !words.is_empty() => object.name = Some(name),
                Some(Key::Type) => {
                    object.is_call |= matches!(words, "function_call" | "tool_call" | "tool_use")
                }
                _ => {}
            }
        }
        after
    }

    fn close(&mut self, object: Object) {
        if object.under == Some(Key::Arguments)
            && let Some(around) = self.open.last_mut()
        {
            around.given = object.keys;
        }
        let is_call = object.is_call || (object.has_arguments && !object.has_description);
        let Some(name) = object.name.filter(|_| is_call) else {
            return;
        };
        let named = name.name(self.text);
        // Text that is not shaped like a name is a placeholder, such as `<function-name>`.
        if name_end(named, 0, named.len()) != Some(named.len()) {
            return;
        }
        if let Some(tool) = self.names.find(named) {
            self.uses
                .arguments(self.text, self.names, tool, object.given);
        }
        self.uses.references.push(name);
    }
}
