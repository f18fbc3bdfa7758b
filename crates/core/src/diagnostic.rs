//! Something wrong with an artifact, with a stable code and a place in a file.

use crate::span::{Place, Position};
use serde_json::{Map, Value, json};
use std::fmt;

/// How much a diagnostic matters. Only errors take a tool out of the surface.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Severity {
    /// Worth knowing; changes nothing.
    Note,
    /// Probably a mistake; changes nothing.
    Warning,
    /// The artifact cannot be used.
    Error,
}

impl fmt::Display for Severity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Note => "note",
            Self::Warning => "warning",
            Self::Error => "error",
        })
    }
}

/// One finding. Collected, never an `Err`.
#[derive(Clone, Debug, PartialEq)]
pub struct Diagnostic {
    /// Stable code, never reused.
    pub code: &'static str,
    /// How much it matters.
    pub severity: Severity,
    /// One line: lower case, no full stop, the user's words in backticks.
    pub message: String,
    /// Where.
    pub place: Option<Place>,
    /// Further places of the same problem.
    pub also: Vec<Place>,
    /// The tool it concerns.
    pub tool: Option<String>,
    /// The frontmatter field it concerns, as `annotations.kind`.
    pub field: Option<String>,
    /// What would be accepted, or what to do.
    pub help: Option<String>,
    /// What to write at each of its places instead, where that is safe.
    pub fix: Option<String>,
}

impl Diagnostic {
    /// A finding without a place yet.
    pub fn new(code: &'static str, severity: Severity, message: impl Into<String>) -> Self {
        Self {
            code,
            severity,
            message: message.into(),
            place: None,
            also: Vec::new(),
            tool: None,
            field: None,
            help: None,
            fix: None,
        }
    }

    /// Says how much this one matters, where findings of a rule differ.
    #[must_use]
    pub(crate) fn severity(mut self, severity: Severity) -> Self {
        self.severity = severity;
        self
    }

    /// Says where.
    #[must_use]
    pub fn at(mut self, place: Place) -> Self {
        self.place = Some(place);
        self
    }

    /// Says where, if that is known.
    #[must_use]
    pub(crate) fn at_any(mut self, places: impl IntoIterator<Item = Place>) -> Self {
        let mut places = places.into_iter();
        self.place = places.next();
        self.also = places.collect();
        self
    }

    /// Says which tool.
    #[must_use]
    pub fn tool(mut self, name: impl Into<String>) -> Self {
        self.tool = Some(name.into());
        self
    }

    /// Says which field.
    #[must_use]
    pub fn field(mut self, field: impl Into<String>) -> Self {
        self.field = Some(field.into());
        self
    }

    /// Says what would be accepted.
    #[must_use]
    pub fn help(mut self, help: impl Into<String>) -> Self {
        self.help = Some(help.into());
        self
    }

    /// Says what to write instead.
    #[must_use]
    pub fn fix(mut self, words: impl Into<String>) -> Self {
        self.fix = Some(words.into());
        self
    }

    /// The form reports use; unknown parts are left out.
    #[must_use]
    pub fn to_json(&self) -> Value {
        let mut object = Map::new();
        object.insert("code".into(), json!(self.code));
        object.insert("severity".into(), json!(self.severity.to_string()));
        object.insert("message".into(), json!(self.message));
        if let Some(Value::Object(place)) = self.place.as_ref().map(place_json) {
            object.extend(place);
        }
        if !self.also.is_empty() {
            object.insert("also".into(), self.also.iter().map(place_json).collect());
        }
        for (key, value) in [
            ("tool", &self.tool),
            ("field", &self.field),
            ("help", &self.help),
            ("fix", &self.fix),
        ] {
            if let Some(text) = value {
                object.insert(key.into(), json!(text));
            }
        }
        Value::Object(object)
    }
}

/// One code: what it means, why it matters, an example of each side, and how it is found.
///
/// `Check` is what a stage runs to find it; `()` for a code that a stage reports while it does
/// something else. A rule lives in the stage that finds it.
#[derive(Clone, Copy, Debug)]
pub struct Rule<Check = ()> {
    /// Stable code, never reused.
    pub code: &'static str,
    /// How much it matters.
    pub severity: Severity,
    /// Why it matters, in a sentence or two.
    pub why: &'static str,
    /// A project, as paths and texts, that yields this code and no other.
    pub bad: &'static [(&'static str, &'static str)],
    /// The same project, fixed: it yields nothing.
    pub good: &'static [(&'static str, &'static str)],
    /// How it is found.
    pub check: Check,
}

impl<Check> Rule<Check> {
    /// A finding of this rule.
    pub(crate) fn finding(&self, message: impl Into<String>) -> Diagnostic {
        Diagnostic::new(self.code, self.severity, message)
    }

    /// The rule with another way to find it.
    pub(crate) const fn with<Other: Copy>(&self, check: Other) -> Rule<Other> {
        Rule {
            code: self.code,
            severity: self.severity,
            why: self.why,
            bad: self.bad,
            good: self.good,
            check,
        }
    }

    /// The rule as documents show it.
    pub(crate) const fn described(&self) -> Rule {
        self.with(())
    }
}

/// The text with control characters escaped and its length bounded, because names come from files
/// and scripts and may hold anything.
pub(crate) fn one_line(text: &str) -> String {
    const LONGEST: usize = 1000;
    let shown = |c: char| {
        if c.is_control() {
            c.escape_default().collect::<String>()
        } else {
            c.to_string()
        }
    };
    let mut line: String = text.chars().take(LONGEST).map(shown).collect();
    if text.chars().nth(LONGEST).is_some() {
        line.push('…');
    }
    line
}

fn place_json(place: &Place) -> Value {
    let Position { line, column } = place.position();
    json!({"file": &*place.source.path, "line": line, "column": column})
}
