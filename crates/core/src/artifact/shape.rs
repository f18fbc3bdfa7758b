//! What frontmatter may look like, as data: the check, the JSON Schema and the reference page all come from it.

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
    /// Whether anything acts on it yet.
    pub status: Status,
}

/// Whether a field has its effect.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Status {
    /// It does what the reference says.
    Enforced,
    /// It restricts calls and nothing enforces it yet, so a call under it is refused as `tool.unsupported`.
    Unsupported,
    /// It concerns a part that does not exist yet and restricts nothing here.
    Idle,
}

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
    /// A JSON Schema of draft 2020-12.
    JsonSchema,
    /// One parameter: a JSON Schema with `required: bool`.
    Parameter,
}
