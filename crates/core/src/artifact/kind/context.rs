//! A context: a text for the prompt, with an optional condition. Nothing adds contexts to a prompt
//! yet.

use super::script::{Script, script};
use super::{ArtifactKind, fields_of};
use crate::artifact::fit::fit;
use crate::artifact::node::Node;
use crate::artifact::problem::Problems;
use crate::artifact::shape::{Field, Shape};
use crate::artifact::{Form, Layer, Origin};
use std::sync::Arc;

pub(in crate::artifact) const FIELDS: &[Field] = &[Field::new(
    "when",
    Shape::Text,
    "always",
    "One Starlark expression of values, operators, `ctx.get`, `ctx.has` and `env`; the text is added where it is true.",
)
.idle()];

/// Reports what is wrong with the fields; returns `when`, for the checks.
pub(in crate::artifact) fn read_context(
    problems: &mut Problems<'_>,
    node: &Node,
) -> Option<Script> {
    fit(problems, &[], fields_of(ArtifactKind::Context), node);
    let origin = Origin {
        source: Arc::clone(problems.source),
        layer: Layer::Project,
        form: Form::File,
    };
    script(&origin, node.get("when"))
}
