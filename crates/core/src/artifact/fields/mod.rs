//! The tables of what authors may write. One file per kind of artifact.

mod bundle;
mod client;
mod hook;
mod root;
mod tool;

use super::ArtifactKind;
use super::shape::{Field, FieldStatus, Shape};
use std::sync::LazyLock;

pub(super) use hook::INLINE as INLINE_HOOK;
pub(super) use tool::INLINE as INLINE_TOOL;

/// The fields of an artifact's frontmatter, in the order of the reference page.
#[must_use]
pub const fn fields_of(kind: ArtifactKind) -> &'static [Field] {
    match kind {
        ArtifactKind::Tool => tool::FIELDS,
        ArtifactKind::Hook => hook::FIELDS,
        ArtifactKind::Root => root::FIELDS,
        ArtifactKind::Bundle => bundle::FIELDS,
        ArtifactKind::Client => client::FIELDS,
        ArtifactKind::Layer => root::LAYER,
    }
}

/// Every field, as `tool.retry`, that restricts calls and that nothing enforces yet. Writing one
/// refuses the call as `tool.unsupported`.
#[must_use]
pub fn unsupported_fields() -> Vec<&'static str> {
    UNSUPPORTED.iter().map(String::as_str).collect()
}

/// The entry of [`unsupported_fields`] for a path of one kind, without the kind.
pub(super) fn unsupported_name(kind: ArtifactKind, path: &str) -> Option<&'static str> {
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
            "tool.async",
            "tool.requires_approval as an expression",
            "root.approval_policy",
            "root.modes",
            "bundle.condition",
            "bundle.depends_on",
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
