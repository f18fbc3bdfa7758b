//! Secrets taken out of whatever leaves a call: known values in their usual forms, tokens known by their shape, and what people name.
//!
//! A text in which nothing is found costs one pass and no memory; where values are known and the text has escapes, one more pass over pieces
//! of it.

mod declared;
mod extent;
mod field;
mod form;
mod header;
mod key;
mod known;
mod read;
mod shape;
mod stream;
mod tag;
mod words;

pub(crate) use known::Values;
pub(crate) use shape::tokens;
pub use stream::Stream;
pub use words::Words;

use crate::control::Control;
use crate::refusal::{Grounds, Refusal};
use known::Held;
use serde_json::{Map, Value};
use std::borrow::Cow;
use std::sync::Arc;

/// What stands where a secret was.
pub const MARK: &str = "[redacted]";

/// A text with stars where tokens are that are known by their shape: as long as it was, so that places in it stay where they are.
#[must_use]
pub fn starred(text: &str) -> Cow<'_, str> {
    let found = tokens(text);
    if found.is_empty() {
        return Cow::Borrowed(text);
    }
    let (mut out, mut at) = (String::with_capacity(text.len()), 0);
    for (range, _) in found {
        out.push_str(&text[at..range.start]);
        out.push_str(&"*".repeat(range.len()));
        at = range.end;
    }
    out.push_str(&text[at..]);
    Cow::Owned(out)
}

/// Bytes that a value must have: shorter ones are in every text by chance.
pub(crate) const LEAST_VALUE: usize = 4;

/// Finds and takes out what must not leave. Cheap to clone; clones learn together.
#[derive(Clone, Debug, Default)]
pub struct Redactor(Arc<Sought>);

#[derive(Debug, Default)]
struct Sought {
    values: Arc<Values>,
    words: Arc<Words>,
}

impl Redactor {
    /// One that knows the tokens with a shape of their own, values as they are learned, and these words.
    pub(crate) fn new(values: Arc<Values>, words: Words) -> Self {
        Self(Arc::new(Sought {
            values,
            words: Arc::new(words),
        }))
    }

    /// A text without its secrets; the same text when it has none.
    #[must_use]
    pub fn text<'a>(&self, text: &'a str) -> Cow<'a, str> {
        self.pass(None)
            .clean(text)
            .map_or(Cow::Borrowed(text), Cow::Owned)
    }

    /// For bytes that come in pieces.
    #[must_use]
    pub fn stream(&self) -> Stream {
        self.pass(None).stream()
    }

    /// For one result or event, with the words of one tool beside those of all.
    pub(crate) fn pass<'a>(&'a self, of_tool: Option<&'a Arc<Words>>) -> Pass<'a> {
        let Named(words) = self.named(of_tool);
        Pass {
            known: self.0.values.known(),
            words,
            count: 0,
        }
    }

    /// The names of fields alone, those of one tool beside those of all.
    pub(crate) fn named<'a>(&'a self, of_tool: Option<&'a Arc<Words>>) -> Named<'a> {
        Named([Some(&self.0.words), of_tool].map(|words| words.filter(|words| !words.is_empty())))
    }
}

/// The fields that somebody named.
pub(crate) struct Named<'a>([Option<&'a Arc<Words>>; 2]);

impl Named<'_> {
    /// Whether a field of this name, or one anywhere below it, must not leave.
    pub(crate) fn holds(&self, name: &str, value: &Value) -> bool {
        if let [None, None] = self.0 {
            return false;
        }
        self.0.iter().flatten().any(|words| words.names(name)) || self.is_below(value)
    }

    fn is_below(&self, value: &Value) -> bool {
        match value {
            Value::Array(items) => items.iter().any(|item| self.is_below(item)),
            Value::Object(object) => {
                is_pair(&self.0, object)
                    || object.iter().any(|(name, value)| self.holds(name, value))
            }
            _ => false,
        }
    }
}

/// Whether an object says the name of a field that must not leave, and beside that what it holds: `{"name": "password", "value": …}`.
fn is_pair(words: &[Option<&Arc<Words>>; 2], object: &Map<String, Value>) -> bool {
    let names = |text: &str| words.iter().flatten().any(|words| words.names(text));
    let is_name = |key: &str| {
        ["name", "key"]
            .iter()
            .any(|name| key.eq_ignore_ascii_case(name))
    };
    words.iter().any(Option::is_some)
        && object
            .iter()
            .any(|(key, value)| is_name(key) && value.as_str().is_some_and(names))
}

/// Takes secrets out of the parts of one thing, and counts them.
pub(crate) struct Pass<'a> {
    known: Held,
    words: [Option<&'a Arc<Words>>; 2],
    pub(crate) count: u64,
}

impl Pass<'_> {
    /// Whether fields or patterns are named: then a value has to be looked at as it is, and not as its text alone.
    pub(crate) fn has_words(&self) -> bool {
        self.words.iter().any(Option::is_some)
    }

    /// The same for bytes that come in pieces.
    pub(crate) fn stream(&self) -> Stream {
        Stream::new(
            self.known.clone(),
            self.words
                .iter()
                .flatten()
                .map(|words| Arc::clone(words))
                .collect(),
        )
    }

    /// Whether there is nothing in a text that must not leave, as far as one look tells.
    pub(crate) fn is_clean(&self, text: &str) -> bool {
        self.known.is_clean(text.as_bytes())
            && !self
                .words
                .iter()
                .flatten()
                .any(|words| words.is_in(text.as_bytes()))
    }

    /// Whether a value in JSON is as clean as its text. Where that is written other than it reads, the marks of JSON and what stands in the
    /// value may be taken together, and then the text says nothing about the value.
    pub(crate) fn is_told_by(&self, json: &str) -> bool {
        !self.known.has_values || !json.bytes().any(read::may_differ)
    }

    /// The text without its secrets; nothing when it has none.
    fn clean(&mut self, text: &str) -> Option<String> {
        if self.is_clean(text) {
            return None;
        }
        let mut out = Vec::with_capacity(text.len());
        let mut stream = Stream::new(self.known.clone(), Vec::new());
        stream.push(text.as_bytes(), &mut out);
        let mut count = stream.finish(&mut out);
        for words in self.words.iter().flatten() {
            count += words.take_out(&mut out);
        }
        self.count += count;
        // A value that is no text may have been cut out of the middle of a character.
        (count > 0).then(|| {
            String::from_utf8(out)
                .unwrap_or_else(|error| String::from_utf8_lossy(error.as_bytes()).into_owned())
        })
    }

    /// Takes the secrets out of a text.
    pub(crate) fn string(&mut self, text: &mut String) {
        if let Some(clean) = self.clean(text) {
            *text = clean;
        }
    }

    /// The same for bytes of any kind.
    pub(crate) fn bytes(&mut self, bytes: &mut Vec<u8>) {
        let (mut stream, mut clean) = (self.stream(), Vec::with_capacity(bytes.len()));
        stream.push(bytes, &mut clean);
        self.count += stream.finish(&mut clean);
        *bytes = clean;
    }

    /// Takes the secrets out of every text in a value, names of fields included.
    pub(crate) fn value(&mut self, value: &mut Value) {
        match value {
            Value::String(text) => self.string(text),
            Value::Array(items) => items.iter_mut().for_each(|item| self.value(item)),
            Value::Object(object) => self.object(object),
            Value::Number(number)
                if (self.known.has_values || self.has_words())
                    && !self.is_clean(number.as_str()) =>
            {
                self.count += 1;
                *value = MARK.into();
            }
            Value::Number(_) | Value::Bool(_) | Value::Null => {}
        }
    }

    /// The same for the entries of an object.
    pub(crate) fn object(&mut self, object: &mut Map<String, Value>) {
        let mut dirty = false;
        let is_pair = is_pair(&self.words, object);
        for (name, value) in object.iter_mut() {
            if is_pair && name.eq_ignore_ascii_case("value")
                || self.words.iter().flatten().any(|words| words.names(name))
            {
                if !value.is_null() && value.as_str() != Some(MARK) {
                    *value = MARK.into();
                    self.count += 1;
                }
            } else {
                self.value(value);
            }
            dirty |= !self.is_clean(name);
        }
        if dirty {
            for (name, value) in std::mem::take(object) {
                let mut clean = self.clean(&name).unwrap_or(name);
                // Names that differ only in what was taken out stay different: each gets its place.
                let (alone, mut place) = (clean.len(), object.len());
                while object.contains_key(&clean) {
                    place += 1;
                    clean.truncate(alone);
                    clean.push_str(&format!(" {place}"));
                }
                object.insert(clean, value);
            }
        }
    }

    /// The same for a refusal, whose words may quote what was sent.
    pub(crate) fn refusal(&mut self, refusal: &mut Refusal) {
        self.violations(refusal);
        self.string(&mut refusal.message);
        if let Some(help) = &mut refusal.help {
            self.string(help);
        }
        self.object(&mut refusal.details);
        if let Some(Control::Stop(reason) | Control::Pause(reason)) = &mut refusal.control {
            self.string(reason);
        }
    }

    /// What is wrong with a field that somebody named is said in words that quote it.
    fn violations(&mut self, refusal: &mut Refusal) {
        let Grounds {
            message, details, ..
        } = &mut **refusal;
        let Some(Value::Array(errors)) = details.get_mut("errors").filter(|_| self.has_words())
        else {
            return;
        };
        for error in errors {
            let names = |part: &str| self.words.iter().flatten().any(|words| words.names(part));
            // Whoever read the arguments knows what is below the path, and may have taken the words out.
            let is_out = error.get("message").and_then(Value::as_str) == Some(MARK);
            if (is_out
                || error
                    .get("path")
                    .and_then(Value::as_str)
                    .is_some_and(|path| path.split('/').any(names)))
                && let Some(Value::String(said)) = error.get_mut("message")
            {
                *message = message.replace(&**said, MARK);
                MARK.clone_into(said);
                self.count += 1;
            }
        }
    }
}

#[cfg(test)]
mod tests;
