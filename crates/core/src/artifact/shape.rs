//! The fields of frontmatter, as data: the check, the JSON Schema and the reference page come from
//! it.

use super::node::Node;
use crate::span::Span;

/// One key of a map that authors write.
pub struct Field {
    /// The key.
    pub name: &'static str,
    /// What it may hold.
    pub shape: Shape,
    /// The default, as text for the reference page.
    pub default: &'static str,
    /// One sentence for the reference page.
    pub doc: &'static str,
    /// Whether the harness acts on it yet.
    pub status: FieldStatus,
}

/// Whether a field has its effect.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FieldStatus {
    /// It does what the reference says.
    Enforced,
    /// It restricts calls and is not enforced yet, so a call under it is refused as
    /// `tool.unsupported`.
    Unsupported,
    /// It concerns a part that does not exist yet, and restricts nothing.
    Idle,
    /// It does what the reference says, except for these forms, each of which refuses the call as
    /// `tool.unsupported`.
    Partly(&'static [UnsupportedForm]),
}

/// A form of a field that is not enforced yet.
#[derive(Clone, Copy, Debug)]
pub struct UnsupportedForm {
    /// Its name in refusals and in the reference, after the field's path.
    pub name: &'static str,
    /// Where the written value has this form, if it does.
    pub find: fn(&Node) -> Option<Span>,
}

impl PartialEq for UnsupportedForm {
    fn eq(&self, other: &Self) -> bool {
        self.name == other.name
    }
}

impl Eq for UnsupportedForm {}

/// What a value may look like.
pub enum Shape {
    /// Any value.
    Any,
    /// `true` or `false`.
    Bool,
    /// An integer of at least this.
    Integer(i64),
    /// Any number.
    Number,
    /// Text.
    Text,
    /// One of these words.
    Word(&'static [&'static str]),
    /// A list of one shape.
    List(&'static Shape),
    /// A map from any key to one shape.
    Map(&'static Shape),
    /// A map with known keys.
    Record(&'static [Field]),
    /// One of several shapes; the first that fits the value's kind is used.
    Either(&'static [Shape]),
    /// A tool or hook written inside another file: the fields that name it, then the fields of its
    /// own file.
    Inline(&'static [Field], &'static [Field]),
    /// A JSON Schema of draft 2020-12.
    JsonSchema,
    /// One parameter: a JSON Schema with `required: bool`.
    Parameter,
}

impl Field {
    /// A field that has its effect.
    pub(super) const fn new(
        name: &'static str,
        shape: Shape,
        default: &'static str,
        doc: &'static str,
    ) -> Self {
        Self {
            name,
            shape,
            default,
            doc,
            status: FieldStatus::Enforced,
        }
    }

    /// Marks the field as not enforced yet.
    pub(super) const fn unsupported(mut self) -> Self {
        self.status = FieldStatus::Unsupported;
        self
    }

    /// Marks the field as without effect yet.
    pub(super) const fn idle(mut self) -> Self {
        self.status = FieldStatus::Idle;
        self
    }

    /// Marks forms of the field as not enforced yet.
    pub(super) const fn partly(mut self, forms: &'static [UnsupportedForm]) -> Self {
        self.status = FieldStatus::Partly(forms);
        self
    }
}

impl Shape {
    /// Whether a value is of the right kind, without looking inside lists and maps. `null` counts
    /// as an empty list or map.
    pub(super) fn takes(&self, node: &Node) -> bool {
        use super::node::Kind;
        match self {
            Self::Any => true,
            Self::Bool => node.bool().is_some(),
            Self::Integer(least) => node.integer().is_some_and(|value| value >= *least),
            Self::Number => matches!(node.kind, Kind::Number(_)),
            Self::Text => node.text().is_some(),
            Self::Word(words) => node.text().is_some_and(|text| words.contains(&text)),
            Self::List(_) => matches!(node.kind, Kind::List(_) | Kind::Null),
            Self::Map(_) | Self::Record(_) => matches!(node.kind, Kind::Map(_) | Kind::Null),
            Self::Inline(..) | Self::Parameter => matches!(node.kind, Kind::Map(_)),
            Self::JsonSchema => matches!(node.kind, Kind::Map(_) | Kind::Bool(_)),
            Self::Either(shapes) => shapes.iter().any(|shape| shape.takes(node)),
        }
    }

    /// What is accepted, for messages and the reference page.
    #[must_use]
    pub fn accepted(&self) -> String {
        let or = |shapes: &[String]| shapes.join(" or ");
        match self {
            Self::Any => "any value".into(),
            Self::Bool => "`true` or `false`".into(),
            Self::Integer(i64::MIN) => "an integer".into(),
            Self::Integer(least) => format!("an integer of at least {least}"),
            Self::Number => "a number".into(),
            Self::Text => "text".into(),
            Self::Word(words) => or(&words
                .iter()
                .map(|word| format!("`{word}`"))
                .collect::<Vec<_>>()),
            Self::List(Self::Any | Self::Record(_) | Self::Inline(..)) => "a list of maps".into(),
            Self::List(Self::Word(words)) => format!("a list of {}", Self::Word(words).accepted()),
            Self::List(Self::Text) => "a list of strings".into(),
            Self::List(_) => "a list".into(),
            Self::Map(Self::Text) => "a map from names to strings".into(),
            Self::Map(_) | Self::Record(_) | Self::Inline(..) => "a map".into(),
            Self::Either(shapes) => or(&shapes.iter().map(Self::accepted).collect::<Vec<_>>()),
            Self::JsonSchema => "a json schema".into(),
            Self::Parameter => "a map with a `type`".into(),
        }
    }
}
