//! The tools a mode offers.

use super::hints::{Hints, hints};
use super::{RegisteredTool, Registry};
use crate::effect::Effects;
use crate::rule::{self, Action, Subject};
use crate::span::Place;
use serde_json::Value;

/// The tools active for one mode: what a model is told about. What is wrong with them, [`crate::surface`] finds.
#[derive(Clone, Debug)]
pub struct Offered {
    /// The mode.
    pub mode: String,
    /// The tools, in a stable order: by name.
    pub tools: Vec<OfferedTool>,
}

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

impl Registry {
    /// The tools a mode offers: usable, not deferred, not denied by name.
    pub(crate) fn surface(&self, mode: &str) -> Offered {
        let mut tools: Vec<_> = self
            .all_tools()
            .filter(|tool| self.is_offered(tool))
            .map(|tool| offer(tool))
            .collect();
        tools.sort_by(|a, b| a.name.cmp(&b.name));
        Offered {
            mode: mode.to_owned(),
            tools,
        }
    }

    /// Whether a listing shows the tool.
    pub(crate) fn is_offered(&self, tool: &RegisteredTool) -> bool {
        tool.unusable.is_none()
            && !tool.tool.deferred
            && !rule::matches(&self.rules, &Subject::Name(tool.name()))
                .iter()
                .any(|found| found.rule.action == Action::Deny)
    }
}

fn offer(registered: &RegisteredTool) -> OfferedTool {
    let tool = &registered.tool;
    OfferedTool {
        name: tool.name.clone(),
        description: tool.description.clone(),
        input_schema: tool.input_schema.clone(),
        output_schema: tool
            .output_schema
            .as_ref()
            .map(|schema| schema.value.clone()),
        effects: registered.effects,
        idempotent: tool.idempotent,
        hints: hints(registered),
        aliases: tool
            .aliases
            .iter()
            .map(|(provider, alias)| (provider.clone(), alias.value.clone()))
            .collect(),
        strict: tool.strict,
        tags: tool.tags.clone(),
        path: registered.path().to_owned(),
        place: tool.place(tool.name_span),
        has_body: registered.script.is_some() || registered.body.is_some(),
    }
}
