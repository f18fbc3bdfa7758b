//! A tool as a door offers it to a model.

use super::RegisteredTool;
use super::hints::{Hints, hints};
use crate::effect::Effects;
use crate::span::Place;
use serde_json::Value;

/// One tool as a door offers it.
#[derive(Clone, Debug)]
pub struct OfferedTool {
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
    /// What an MCP client is told about its effects.
    pub hints: Hints,
    /// Other names, by provider.
    pub aliases: Vec<(String, String)>,
    /// Whether extra arguments are refused.
    pub strict: bool,
    /// Tags.
    pub tags: Vec<String>,
    /// The file it is defined in.
    pub path: String,
    /// Where a reader would look for it.
    pub place: Place,
    /// Whether it has a body: a script or a registered one.
    pub has_body: bool,
}

impl OfferedTool {
    /// Its name for a provider: an alias where it has one.
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
