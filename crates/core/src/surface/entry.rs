//! One tool of a surface.

use super::rule::Check;
use crate::artifact::tool::{Annotations, DeclaredBounds, DeclaredEffects};
use crate::diagnostic::{Diagnostic, Rule};
use crate::effect::{Effects, Level};
use crate::span::Place;
use serde_json::Value;
use std::borrow::Cow;

/// A declared tool, with what is known about it.
#[derive(Clone, Debug)]
pub struct Entry<'a> {
    /// Its name.
    pub name: Cow<'a, str>,
    /// Other names under which models may know it.
    pub(crate) other_names: Vec<Cow<'a, str>>,
    /// Whether a model is told about it.
    pub status: ToolStatus,
    /// What a model reads; absent without a description.
    pub description: Option<Cow<'a, str>>,
    /// The schema of its arguments; absent if none is declared.
    pub schema: Option<Cow<'a, Value>>,
    /// Whether its author or its script says what it does.
    pub(crate) annotated: AnnotationSource,
    /// The annotations that were written.
    pub annotations: Cow<'a, Annotations>,
    /// Its effects, if known.
    pub effects: Option<Effects>,
    /// What runs it.
    pub executor: Executor,
    /// Whether a model learns of it only by searching.
    pub deferred: bool,
    /// Its cap on one call in milliseconds; absent if the surface's format has none, as in JSON.
    pub timeout_ms: Option<u64>,
    /// The place of its name.
    pub place: Option<Place>,
    /// The places of some of its fields.
    pub fields: Vec<(&'static str, Place)>,
}

/// Whether a tool is active.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ToolStatus {
    /// A model is told about it.
    Active,
    /// Policy leaves it out, for this reason.
    Denied(String),
    /// It has an error.
    Broken(String),
}

/// Who says what a tool does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum AnnotationSource {
    /// Its author.
    Written,
    /// Its author does, in an unknown word, which was reported.
    Unreadable,
    /// Its script.
    Inferred,
    /// Neither of them.
    Missing,
}

/// What runs a tool.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Executor {
    /// A known executor.
    Known,
    /// The origin of the list: a provider or a server.
    Elsewhere,
    /// Nothing.
    Missing,
}

impl Entry<'_> {
    /// Whether a model is told about it.
    #[must_use]
    pub(crate) fn is_active(&self) -> bool {
        self.status == ToolStatus::Active
    }

    /// Its side-effect level, if known.
    #[must_use]
    pub fn level(&self) -> Option<Level> {
        self.effects.map(Level::of)
    }

    /// Its kind: as written, or by its effects.
    #[must_use]
    pub fn kind(&self) -> Option<&str> {
        let inferred = || {
            (self.annotated == AnnotationSource::Inferred && self.effects == Some(Effects::READ))
                .then_some("read")
        };
        self.annotations.kind.as_deref().or_else(inferred)
    }

    /// The place of a field, or of the name.
    #[must_use]
    pub(crate) fn place_of(&self, field: &str) -> Option<Place> {
        self.fields
            .iter()
            .find(|(known, _)| *known == field)
            .map(|(_, place)| place.clone())
            .or_else(|| self.place.clone())
    }

    /// A finding about this tool, at its name.
    pub(super) fn finding(&self, rule: &Rule<Check>, message: impl Into<String>) -> Diagnostic {
        rule.finding(message)
            .at_any(self.place.clone())
            .tool(&*self.name)
    }

    /// The same, at one of its fields.
    pub(super) fn finding_at(
        &self,
        field: &str,
        rule: &Rule<Check>,
        message: impl Into<String>,
    ) -> Diagnostic {
        self.finding(rule, message).at_any(self.place_of(field))
    }

    /// The names and schemas of its arguments.
    pub fn parameters(&self) -> impl Iterator<Item = (&str, &Value)> {
        let schema = self.schema.as_deref().and_then(Value::as_object);
        let properties = schema
            .and_then(|schema| schema.get("properties"))
            .and_then(Value::as_object);
        properties
            .into_iter()
            .flatten()
            .map(|(name, schema)| (name.as_str(), schema))
    }

    /// The names that its schema requires.
    pub fn required(&self) -> impl Iterator<Item = &str> {
        let listed = self
            .schema
            .as_deref()
            .and_then(|schema| schema.get("required"))
            .and_then(Value::as_array);
        listed.into_iter().flatten().filter_map(Value::as_str)
    }

    /// Whether schema or annotations know an argument of that name.
    #[must_use]
    pub(crate) fn knows_argument(&self, key: &str) -> bool {
        let said = &self.annotations;
        let declared = said
            .path_params
            .iter()
            .chain(&said.required)
            .any(|known| known == key);
        declared
            || said
                .arg_aliases
                .iter()
                .any(|(alias, canonical)| alias == key || canonical == key)
            || self.has_parameter(key)
    }

    /// Whether the schema accepts arguments beyond its own properties.
    #[must_use]
    pub(crate) fn takes_others(&self) -> bool {
        let elsewhere = ["$ref", "allOf", "anyOf", "oneOf", "patternProperties"];
        self.schema.as_deref().is_some_and(|schema| {
            let more = schema
                .get("additionalProperties")
                .is_some_and(|more| more.is_object() || *more == Value::Bool(true));
            more || elsewhere.iter().any(|key| schema.get(key).is_some())
        })
    }

    /// The schema of the property of that name.
    #[must_use]
    pub fn parameter(&self, key: &str) -> Option<&Value> {
        self.schema.as_deref()?.get("properties")?.get(key)
    }

    /// Whether the schema has a property of that name.
    #[must_use]
    pub(crate) fn has_parameter(&self, key: &str) -> bool {
        self.parameter(key).is_some()
    }

    /// Whether a call can have an argument of that name, as far as the schema says.
    #[must_use]
    pub(crate) fn may_have(&self, key: &str) -> bool {
        self.has_parameter(key) || self.takes_others() || self.parameters().next().is_none()
    }
}

/// The effects that all spellings together declare; `None` if they do not say enough.
pub(crate) fn stated(declared: &[DeclaredEffects]) -> Option<Effects> {
    let DeclaredBounds {
        exactly,
        at_least,
        without,
    } = DeclaredBounds::of(declared);
    let changes = Effects::WRITE | Effects::EXEC | Effects::NET_WRITE;
    let said = match exactly {
        Some(exactly) => exactly | at_least,
        None if !at_least.is_empty() => at_least,
        // A tool that changes nothing reads something.
        None => return without.contains(changes).then_some(Effects::READ),
    };
    // A destructive tool changes something: files, unless it says otherwise.
    Some(if said.contains(Effects::DESTRUCTIVE) && !said.changes() {
        said | Effects::READ | Effects::WRITE
    } else {
        said
    })
}
