//! Frontmatter as a tree in which every value knows its place.

use crate::span::{Span, Spanned};
use serde_json::{Map, Number, Value};

/// One YAML value.
#[derive(Clone, Debug)]
pub struct Node {
    /// Its place in the file.
    pub span: Span,
    /// Its kind.
    pub kind: Kind,
}

/// The kinds of YAML value that frontmatter may hold.
#[derive(Clone, Debug)]
pub enum Kind {
    /// `null`, `~` or nothing.
    Null,
    /// `true` or `false`.
    Bool(bool),
    /// A number, exactly as written.
    Number(Number),
    /// Text. `block` is set for a literal block (`|`), whose lines can be traced back to lines of
    /// the file.
    Text {
        /// The text, indentation removed.
        value: String,
        /// How lines of the text map to the file.
        block: Option<Block>,
    },
    /// A sequence.
    List(Vec<Node>),
    /// A mapping, in the order written, keys unique.
    Map(Vec<(Key, Node)>),
}

/// A key of a mapping.
#[derive(Clone, Debug)]
pub struct Key {
    /// The key.
    pub name: String,
    /// Its place.
    pub span: Span,
}

/// Maps a literal block's text back to its file: line `n` of the text (from zero) is line
/// `first_line + n` of the file, `indent` columns in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Block {
    /// The file's line, from one, that holds the first line of the text.
    pub first_line: u32,
    /// Columns of indentation that YAML removed.
    pub indent: u32,
}

impl Node {
    /// The value under `key`, if this is a map that has it.
    #[must_use]
    pub fn get(&self, key: &str) -> Option<&Self> {
        self.entries()
            .iter()
            .find(|(known, _)| known.name == key)
            .map(|(_, node)| node)
    }

    /// The value under `key`, unless it is `null`.
    #[must_use]
    pub fn given(&self, key: &str) -> Option<&Self> {
        self.get(key).filter(|node| !node.is_null())
    }

    /// Whether this is `null`.
    #[must_use]
    pub fn is_null(&self) -> bool {
        matches!(self.kind, Kind::Null)
    }

    /// Whether this is a map.
    #[must_use]
    pub(crate) fn is_map(&self) -> bool {
        matches!(self.kind, Kind::Map(_))
    }

    /// The entries of a map; none for anything else.
    #[must_use]
    pub fn entries(&self) -> &[(Key, Self)] {
        if let Kind::Map(entries) = &self.kind {
            entries
        } else {
            &[]
        }
    }

    /// The items of a list; none for anything else.
    #[must_use]
    pub fn items(&self) -> &[Self] {
        if let Kind::List(items) = &self.kind {
            items
        } else {
            &[]
        }
    }

    /// The text of a text node.
    #[must_use]
    pub fn text(&self) -> Option<&str> {
        if let Kind::Text { value, .. } = &self.kind {
            Some(value)
        } else {
            None
        }
    }

    /// The value of a boolean.
    #[must_use]
    pub fn bool(&self) -> Option<bool> {
        if let Kind::Bool(value) = self.kind {
            Some(value)
        } else {
            None
        }
    }

    /// The value of an integer that fits.
    #[must_use]
    pub fn integer(&self) -> Option<i64> {
        self.as_number()?.as_i64()
    }

    /// The number, when it is one.
    #[must_use]
    pub fn number(&self) -> Option<f64> {
        self.as_number()?.as_f64()
    }

    fn as_number(&self) -> Option<&Number> {
        if let Kind::Number(number) = &self.kind {
            Some(number)
        } else {
            None
        }
    }

    /// A value that was read from this node, with its place.
    pub(super) fn spanned<T>(&self, value: T) -> Spanned<T> {
        Spanned {
            value,
            span: self.span,
        }
    }

    /// The items of the list under `key`; none without one.
    pub(super) fn items_of(&self, key: &str) -> &[Self] {
        self.get(key).map(Self::items).unwrap_or_default()
    }

    /// The value at a path of keys.
    pub(super) fn at(&self, path: &[&str]) -> Option<&Self> {
        path.iter().try_fold(self, |node, key| node.get(key))
    }

    /// The word for this kind of value in messages.
    #[must_use]
    pub(crate) fn kind_word(&self) -> &'static str {
        match &self.kind {
            Kind::Null => "nothing",
            Kind::Bool(_) => "a boolean",
            Kind::Number(_) => "a number",
            Kind::Text { .. } => "text",
            Kind::List(_) => "a list",
            Kind::Map(_) => "a map",
        }
    }

    /// The same value as JSON, order kept.
    #[must_use]
    pub fn to_json(&self) -> Value {
        match &self.kind {
            Kind::Null => Value::Null,
            Kind::Bool(value) => Value::Bool(*value),
            Kind::Number(number) => Value::Number(number.clone()),
            Kind::Text { value, .. } => Value::String(value.clone()),
            Kind::List(items) => items.iter().map(Self::to_json).collect(),
            Kind::Map(entries) => {
                let map: Map<_, _> = entries
                    .iter()
                    .map(|(key, node)| (key.name.clone(), node.to_json()))
                    .collect();
                Value::Object(map)
            }
        }
    }
}
