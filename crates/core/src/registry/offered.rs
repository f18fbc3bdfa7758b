//! A tool as a door offers it to a model.

use super::RegisteredTool;
use super::hints::{Hints, hints};
use crate::effect::Effects;
use crate::span::Place;
use serde_json::Value;

/// One tool as a door offers it.
#[derive(Clone, Debug)]
pub struct OfferedTool {
    /// The canonical name.
    pub name: String,
    /// What the model reads.
    pub description: String,
    /// The schema of the arguments, without the injected ones.
    pub input_schema: Value,
    /// The schema of the result.
    pub output_schema: Option<Value>,
    /// What the tool can do.
    pub effects: Effects,
    /// Whether a repeated call is harmless.
    pub idempotent: bool,
    /// What an MCP client is told about the effects.
    pub hints: Hints,
    /// Other names, by provider.
    pub aliases: Vec<(String, String)>,
    /// Whether extra arguments are refused.
    pub strict: bool,
    /// The tool's tags.
    pub tags: Vec<String>,
    /// The file that defines the tool.
    pub path: String,
    /// The place in that file to show a reader.
    pub place: Place,
    /// Whether the tool has a body: a script or Rust code.
    pub has_body: bool,
}

impl OfferedTool {
    /// The tool's name for a provider: its alias, or else its own name.
    #[must_use]
    pub fn name_for(&self, provider: &str) -> &str {
        let alias = self.aliases.iter().find(|(known, _)| known == provider);
        alias.map_or(self.name.as_str(), |(_, alias)| alias.as_str())
    }
}

impl RegisteredTool {
    /// The tool as a door offers it.
    pub(crate) fn offer(&self) -> OfferedTool {
        let tool = &self.tool;
        OfferedTool {
            name: tool.name.clone(),
            description: tool.description.clone(),
            input_schema: tool.input_schema.clone(),
            output_schema: tool
                .output_schema
                .as_ref()
                .map(|schema| schema.value.clone()),
            effects: self.effects,
            idempotent: tool.idempotent,
            hints: hints(self),
            aliases: tool
                .aliases
                .iter()
                .map(|(provider, alias)| (provider.clone(), alias.value.clone()))
                .collect(),
            strict: tool.strict,
            tags: tool.tags.clone(),
            path: self.path().to_owned(),
            place: tool.place(tool.name_span),
            has_body: self.has_body(),
        }
    }
}
