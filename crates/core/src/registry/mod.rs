//! Stage 3: an immutable snapshot of what is loaded, and the surface for a mode.

use crate::effect::Effects;
use serde_json::Value;

/// The tools active for one mode: what a model is told about.
#[derive(Clone, Debug)]
pub struct Surface {
    /// The mode.
    pub mode: String,
    /// The tools, in a stable order: by name.
    pub tools: Vec<SurfaceTool>,
}

/// One tool as a door offers it.
#[derive(Clone, Debug)]
pub struct SurfaceTool {
    /// Canonical name.
    pub name: String,
    /// What the model reads.
    pub description: String,
    /// Schema of the arguments, injected ones left out.
    pub input_schema: Value,
    /// Schema of the result.
    pub output_schema: Option<Value>,
    /// What it can do.
    pub effects: Effects,
    /// Whether a repeat does no harm.
    pub idempotent: bool,
    /// Tags.
    pub tags: Vec<String>,
    /// The file it is defined in.
    pub path: String,
    /// Whether it has a body: a script or a registered one.
    pub has_body: bool,
}
