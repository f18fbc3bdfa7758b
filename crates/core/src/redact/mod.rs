//! Removes secrets from everything that leaves a call: known values in their usual encodings,
//! tokens with a known shape, and the fields and patterns that people name.
//!
//! A text without secrets costs one pass and no allocation. If values are known and the text has
//! escapes, it costs a second pass over its decoded pieces.

mod decode;
mod encoding;
mod field;
mod key;
mod matcher;
mod needles;
mod patterns;
mod shape;
mod stream;
mod token;
mod values;

pub(crate) use patterns::RedactionPatterns;
pub use stream::Stream;
pub(crate) use token::{tokens, written_tokens};
pub(crate) use values::SecretValues;

use crate::control::Control;
use crate::refusal::{Grounds, Refusal};
use matcher::MatcherRef;
use serde_json::{Map, Value};
use std::borrow::Cow;
use std::sync::Arc;

/// Replaces a secret.
pub(crate) const MARK: &str = "[redacted]";

/// The text with tokens of a known shape replaced by as many stars, so that offsets and lines stay
/// valid.
#[must_use]
pub fn starred(text: &str) -> Cow<'_, str> {
    let found = tokens(text);
    if found.is_empty() {
        return Cow::Borrowed(text);
    }
    let (mut out, mut at) = (String::with_capacity(text.len()), 0);
    for (range, _) in found {
        out.push_str(&text[at..range.start]);
        let star = |byte| if byte == b'\n' { '\n' } else { '*' };
        out.extend(text.as_bytes()[range.clone()].iter().copied().map(star));
        at = range.end;
    }
    out.push_str(&text[at..]);
    Cow::Owned(out)
}

/// Bytes that a value must have. Shorter ones occur in any text by chance.
pub(crate) const MIN_VALUE: usize = 4;

/// Finds and replaces secrets. Cheap to clone; clones learn values together.
#[derive(Clone, Debug, Default)]
pub struct Redactor(Arc<Inner>);

#[derive(Debug, Default)]
struct Inner {
    values: Arc<SecretValues>,
    patterns: Arc<RedactionPatterns>,
}

impl Redactor {
    /// A redactor for tokens with a known shape, for values as they are learned, and for these
    /// patterns.
    pub(crate) fn new(values: Arc<SecretValues>, patterns: RedactionPatterns) -> Self {
        Self(Arc::new(Inner {
            values,
            patterns: Arc::new(patterns),
        }))
    }

    /// The text without its secrets; borrowed if it has none.
    #[must_use]
    pub fn text<'a>(&self, text: &'a str) -> Cow<'a, str> {
        self.pass(None)
            .clean(text)
            .map_or(Cow::Borrowed(text), Cow::Owned)
    }

    /// A redactor for bytes that come in pieces.
    #[must_use]
    pub fn stream(&self) -> Stream {
        self.pass(None).stream()
    }

    /// A pass over one result or event, with the patterns of a tool in addition to the general
    /// ones.
    pub(crate) fn pass<'a>(&'a self, of_tool: Option<&'a Arc<RedactionPatterns>>) -> Pass<'a> {
        let NamedFields(patterns) = self.named(of_tool);
        Pass {
            matcher: self.0.values.matcher(),
            patterns,
            count: 0,
        }
    }

    /// The named fields alone, those of a tool in addition to the general ones.
    pub(crate) fn named<'a>(
        &'a self,
        of_tool: Option<&'a Arc<RedactionPatterns>>,
    ) -> NamedFields<'a> {
        NamedFields(
            [Some(&self.0.patterns), of_tool]
                .map(|patterns| patterns.filter(|patterns| !patterns.is_empty())),
        )
    }
}

/// The fields that people named.
pub(crate) struct NamedFields<'a>([Option<&'a Arc<RedactionPatterns>>; 2]);

impl NamedFields<'_> {
    /// Whether this field, or one anywhere below it, must be redacted.
    pub(crate) fn holds(&self, name: &str, value: &Value) -> bool {
        if let [None, None] = self.0 {
            return false;
        }
        self.0.iter().flatten().any(|patterns| patterns.names(name)) || self.is_below(value)
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

/// Whether an object pairs the name of such a field with its value: `{"name": "password", "value":
/// …}`.
fn is_pair(patterns: &[Option<&Arc<RedactionPatterns>>; 2], object: &Map<String, Value>) -> bool {
    let names = |text: &str| {
        patterns
            .iter()
            .flatten()
            .any(|patterns| patterns.names(text))
    };
    let is_name = |key: &str| {
        ["name", "key"]
            .iter()
            .any(|name| key.eq_ignore_ascii_case(name))
    };
    patterns.iter().any(Option::is_some)
        && object
            .iter()
            .any(|(key, value)| is_name(key) && value.as_str().is_some_and(names))
}

/// Redacts the parts of one result or event, and counts the secrets.
pub(crate) struct Pass<'a> {
    matcher: MatcherRef,
    patterns: [Option<&'a Arc<RedactionPatterns>>; 2],
    pub(crate) count: u64,
}

impl Pass<'_> {
    /// Whether fields or patterns are named. If so, a value must be walked; its JSON text is not
    /// enough.
    pub(crate) fn has_patterns(&self) -> bool {
        self.patterns.iter().any(Option::is_some)
    }

    /// Whether people named this field, so that its value is redacted whatever it is.
    pub(crate) fn names(&self, field: &str) -> bool {
        let mut patterns = self.patterns.iter().flatten();
        patterns.any(|patterns| patterns.names(field))
    }

    /// A stream with the same values and patterns.
    pub(crate) fn stream(&self) -> Stream {
        Stream::new(
            self.matcher.clone(),
            self.patterns
                .iter()
                .flatten()
                .map(|patterns| Arc::clone(patterns))
                .collect(),
        )
    }

    /// Whether a text certainly has no secret.
    pub(crate) fn is_clean(&self, text: &str) -> bool {
        self.matcher.is_clean(text.as_bytes())
            && !self
                .patterns
                .iter()
                .flatten()
                .any(|patterns| patterns.is_match(text.as_bytes()))
    }

    /// Whether a clean JSON text means that the value is clean. With escapes in it, JSON's own
    /// quotes may be decoded together with the content, and the text says nothing about the value.
    pub(crate) fn is_told_by(&self, json: &str) -> bool {
        !self.matcher.has_values || !json.bytes().any(decode::may_differ)
    }

    /// The text without its secrets; `None` if it has none.
    fn clean(&mut self, text: &str) -> Option<String> {
        if self.is_clean(text) {
            return None;
        }
        let mut out = Vec::with_capacity(text.len());
        let mut stream = Stream::new(self.matcher.clone(), Vec::new());
        stream.push(text.as_bytes(), &mut out);
        let mut count = stream.finish(&mut out);
        for patterns in self.patterns.iter().flatten() {
            count += patterns.redact(&mut out);
        }
        self.count += count;
        // A binary value may have been cut out of the middle of a character.
        (count > 0).then(|| {
            String::from_utf8(out)
                .unwrap_or_else(|error| String::from_utf8_lossy(error.as_bytes()).into_owned())
        })
    }

    /// Redacts a text.
    pub(crate) fn string(&mut self, text: &mut String) {
        if let Some(clean) = self.clean(text) {
            *text = clean;
        }
    }

    /// Redacts bytes of any kind.
    pub(crate) fn bytes(&mut self, bytes: &mut Vec<u8>) {
        let (mut stream, mut clean) = (self.stream(), Vec::with_capacity(bytes.len()));
        stream.push(bytes, &mut clean);
        self.count += stream.finish(&mut clean);
        *bytes = clean;
    }

    /// Redacts every text in a value, including the names of fields.
    pub(crate) fn value(&mut self, value: &mut Value) {
        match value {
            Value::String(text) => self.string(text),
            Value::Array(items) => items.iter_mut().for_each(|item| self.value(item)),
            Value::Object(object) => self.object(object),
            Value::Number(number)
                if (self.matcher.has_values || self.has_patterns())
                    && !self.is_clean(number.as_str()) =>
            {
                self.count += 1;
                *value = MARK.into();
            }
            Value::Number(_) | Value::Bool(_) | Value::Null => {}
        }
    }

    /// Redacts the entries of an object.
    pub(crate) fn object(&mut self, object: &mut Map<String, Value>) {
        let mut dirty = false;
        let is_pair = is_pair(&self.patterns, object);
        for (name, value) in object.iter_mut() {
            if is_pair && name.eq_ignore_ascii_case("value") || self.names(name) {
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
                // Names that differ only in their secrets stay different: each gets a number.
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

    /// Redacts a refusal, whose message may quote the input.
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

    /// Replaces the messages about fields that people named, since they quote the value.
    fn violations(&mut self, refusal: &mut Refusal) {
        let Grounds {
            message, details, ..
        } = &mut **refusal;
        let Some(Value::Array(errors)) = details.get_mut("errors").filter(|_| self.has_patterns())
        else {
            return;
        };
        for error in errors {
            let names = |part: &str| self.names(part);
            // The stage that read the arguments knows what is below the path, and may have redacted
            // the message.
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
