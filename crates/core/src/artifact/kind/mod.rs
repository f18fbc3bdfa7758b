//! The kinds of artifact. Each has its table of fields, its struct and its reader in one place.

pub(crate) mod agent;
pub mod bundle;
pub mod client;
pub(super) mod context;
pub mod hook;
pub mod layer;
mod limits;
pub mod permission;
pub mod root;
mod script;
pub(super) mod skill;
pub mod tool;

use super::shape::{Field, FieldStatus, Shape};
use crate::span::Span;
use std::sync::LazyLock;

/// The kinds of artifact that have a table of fields.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ArtifactKind {
    /// A tool.
    Tool,
    /// A hook.
    Hook,
    /// The root file.
    Root,
    /// A bundle of tools and hooks.
    Bundle,
    /// How a client's own tools appear.
    Client,
    /// The policy for all projects on a machine, or of a user.
    Layer,
    /// An agent that work is handed to.
    Agent,
    /// A skill.
    Skill,
    /// A text for the prompt.
    Context,
}

impl ArtifactKind {
    /// Every kind, in the order of the reference.
    pub const ALL: [Self; 9] = [
        Self::Tool,
        Self::Hook,
        Self::Root,
        Self::Bundle,
        Self::Client,
        Self::Layer,
        Self::Agent,
        Self::Skill,
        Self::Context,
    ];

    /// The word for it.
    #[must_use]
    pub const fn word(self) -> &'static str {
        match self {
            Self::Tool => "tool",
            Self::Hook => "hook",
            Self::Root => "root",
            Self::Bundle => "bundle",
            Self::Client => "client",
            Self::Layer => "layer",
            Self::Agent => "agent",
            Self::Skill => "skill",
            Self::Context => "context",
        }
    }
}

/// The fields of an artifact's frontmatter, in the order of the reference page.
#[must_use]
pub const fn fields_of(kind: ArtifactKind) -> &'static [Field] {
    match kind {
        ArtifactKind::Tool => tool::FIELDS,
        ArtifactKind::Hook => hook::FIELDS,
        ArtifactKind::Root => root::FIELDS,
        ArtifactKind::Bundle => bundle::FIELDS,
        ArtifactKind::Client => client::FIELDS,
        ArtifactKind::Layer => layer::FIELDS,
        ArtifactKind::Agent => agent::FIELDS,
        ArtifactKind::Skill => skill::FIELDS,
        ArtifactKind::Context => context::FIELDS,
    }
}

pub(in crate::artifact) const TEXTS: Shape = Shape::List(&Shape::Text);

/// `checks` of tools and hooks.
pub(super) const SILENCED: Field = Field::new(
    "checks",
    Shape::List(&Shape::Record(&[
        Field::new("code", Shape::Text, "required", "The code of the finding."),
        Field::new("reason", Shape::Text, "required", "Why it is fine here."),
    ])),
    "none",
    "Findings about this artifact to silence, each with a reason. An entry that silences nothing is reported.",
);

pub(super) use hook::Hook;
pub(super) use tool::Tool;

/// The name and description of an artifact; files and inline entries write them differently.
#[derive(Clone)]
pub(in crate::artifact) struct Naming {
    /// The name.
    pub(in crate::artifact) name: String,
    /// Where a reader expects it.
    pub(in crate::artifact) span: Span,
    /// The body or description.
    pub(in crate::artifact) prose: String,
    /// The place of an inline entry's description.
    pub(in crate::artifact) prose_span: Option<Span>,
}

/// Every field, as `tool.retry`, that restricts calls and that nothing enforces yet. Writing one
/// refuses the call as `tool.unsupported`.
#[must_use]
pub fn unsupported_fields() -> Vec<&'static str> {
    UNSUPPORTED.iter().map(String::as_str).collect()
}

/// The entry of [`unsupported_fields`] for a path of one kind, without the kind.
pub(in crate::artifact) fn unsupported_name(
    kind: ArtifactKind,
    path: &str,
) -> Option<&'static str> {
    UNSUPPORTED.iter().find_map(|name| {
        name.strip_prefix(kind.word())?
            .strip_prefix('.')
            .filter(|&known| known == path)
    })
}

static UNSUPPORTED: LazyLock<Vec<String>> = LazyLock::new(|| {
    let mut names = Vec::new();
    for kind in ArtifactKind::ALL {
        collect(fields_of(kind), kind.word(), &mut names);
    }
    names
});

fn collect(fields: &'static [Field], path: &str, names: &mut Vec<String>) {
    for field in fields {
        let path = format!("{path}.{}", field.name);
        match field.status {
            FieldStatus::Unsupported => names.push(path.clone()),
            FieldStatus::Partly(forms) => {
                names.extend(forms.iter().map(|form| format!("{path}{}", form.name)))
            }
            FieldStatus::Enforced | FieldStatus::Idle => {}
        }
        collect_inside(&field.shape, &path, names);
    }
}

fn collect_inside(shape: &'static Shape, path: &str, names: &mut Vec<String>) {
    match shape {
        Shape::Record(fields) => collect(fields, path, names),
        Shape::Either(shapes) => shapes
            .iter()
            .for_each(|shape| collect_inside(shape, path, names)),
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_list_of_unsupported_fields_is_exactly_this() {
        let expected = [
            "tool.requires_approval as an expression",
            "root.approval_policy",
            "root.modes",
        ];
        assert_eq!(unsupported_fields(), expected);
    }

    #[test]
    fn every_field_is_documented_and_named_once() {
        fn walk(fields: &'static [Field], path: &str) {
            let mut names: Vec<_> = fields.iter().map(|field| field.name).collect();
            names.sort_unstable();
            names.dedup();
            assert_eq!(names.len(), fields.len(), "{path}");
            for field in fields {
                assert!(
                    field.doc.ends_with('.') && !field.default.is_empty(),
                    "{path}.{}",
                    field.name
                );
                if let Shape::Record(inner) = &field.shape {
                    walk(inner, field.name);
                }
            }
        }
        for kind in ArtifactKind::ALL {
            walk(fields_of(kind), kind.word());
        }
    }
}
