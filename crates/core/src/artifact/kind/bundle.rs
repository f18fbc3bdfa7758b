//! The fields of a bundle.

use super::TEXTS;
use super::root::{HOOKS, TOOLS};
use crate::artifact::shape::{Field, Shape};

pub(in crate::artifact) const FIELDS: &[Field] = &[
    Field::new(
        "tools",
        TOOLS,
        "none",
        "Tools of the bundle, each with a `name`.",
    ),
    Field::new(
        "hooks",
        HOOKS,
        "none",
        "Hooks of the bundle, each with a `name`.",
    ),
    Field::new(
        "condition",
        Shape::Text,
        "always",
        "When the bundle counts.",
    )
    .unsupported(),
    Field::new("depends_on", TEXTS, "none", "Bundles that must exist too.").unsupported(),
    Field::new(
        "version",
        Shape::Either(&[Shape::Text, Shape::Number]),
        "none",
        "The bundle's version.",
    )
    .idle(),
    Field::new(
        "description",
        Shape::Text,
        "none",
        "What the bundle is for.",
    )
    .idle(),
    Field::new("author", Shape::Text, "none", "Who wrote it.").idle(),
    Field::new("tags", TEXTS, "none", "Words for policy and search.").idle(),
];
