//! The tools of one version of the project, as the protocol lists them.

use rmcp::model::{JsonObject, ProtocolVersion, Tool, ToolAnnotations};
use serde_json::Value;
use std::collections::HashMap;
use std::sync::Arc;
use tool_harness::engine::{Engine, Error};
use tool_harness::registry::{Hints, OfferedTool};
use tool_harness::tool::READER;

/// The revisions of the protocol, as far as their results differ.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Revision {
    /// Before 2025-06-18: results have no links.
    Early,
    /// Before 2026-07-28: structured content is an object.
    Objects,
    /// From 2026-07-28: any JSON.
    AnyJson,
}

impl Revision {
    pub(super) fn of(version: &ProtocolVersion) -> Self {
        // Versions are dates, which sort as text.
        if version.as_str() >= ProtocolVersion::V_2026_07_28.as_str() {
            Self::AnyJson
        } else if version.as_str() >= ProtocolVersion::V_2025_06_18.as_str() {
            Self::Objects
        } else {
            Self::Early
        }
    }
}

/// A version of the project and its tools.
pub(super) struct Listing {
    pub(super) engine: Engine,
    /// By canonical name.
    tools: Vec<(String, Tool)>,
    /// The first revision that can express a tool's output schema, for tools that have one.
    outputs: HashMap<String, Revision>,
}

impl Listing {
    /// The tools of a mode. Fails if the root file is broken or the mode does not exist.
    pub(super) fn new(engine: Engine, mode: &str) -> Result<Self, Error> {
        let surface = engine.surface(mode)?;
        let output = |tool: &OfferedTool| {
            let schema = tool.output_schema.as_ref()?.as_object()?;
            let since = match schema.get("type").and_then(Value::as_str) {
                Some("object") => Revision::Early,
                _ => Revision::AnyJson,
            };
            Some((tool.name.clone(), since))
        };
        let entry = |tool: &OfferedTool| (tool.name.clone(), listed(tool));
        Ok(Self {
            outputs: surface.tools.iter().filter_map(output).collect(),
            tools: surface.tools.iter().map(entry).collect(),
            engine,
        })
    }

    /// A version with a broken root file, which refuses every call.
    pub(super) fn empty(engine: Engine) -> Self {
        Self {
            engine,
            tools: Vec::new(),
            outputs: HashMap::new(),
        }
    }

    /// The tools, in the order of the surface.
    pub(super) fn tools(&self, revision: Revision) -> Vec<Tool> {
        let listed = |(name, tool): &(String, Tool)| {
            let mut tool = tool.clone();
            tool.output_schema = tool
                .output_schema
                .filter(|_| self.promises_output(name, revision));
            tool
        };
        self.tools.iter().map(listed).collect()
    }

    /// The number of the project's tools.
    pub(super) fn len(&self) -> usize {
        self.tools.iter().filter(|(name, _)| name != READER).count()
    }

    /// Whether the listing has a tool's output schema, which every result must then match.
    pub(super) fn promises_output(&self, name: &str, revision: Revision) -> bool {
        let since = self.outputs.get(name);
        since.is_some_and(|since| revision >= *since)
    }

    /// Whether clients see the same tools in both.
    pub(super) fn lists_as(&self, other: &Self) -> bool {
        self.tools == other.tools
    }
}

fn listed(tool: &OfferedTool) -> Tool {
    let schema =
        |value: &Value| Arc::new(value.as_object().cloned().unwrap_or_else(JsonObject::new));
    let Hints {
        read_only,
        destructive,
        idempotent,
        open_world,
    } = tool.hints;
    let hints = ToolAnnotations::new()
        .read_only(read_only)
        .destructive(destructive)
        .idempotent(idempotent)
        .open_world(open_world);
    let name = tool.name_for("mcp").to_owned();
    let mut listed = Tool::new(name, tool.description.clone(), schema(&tool.input_schema))
        .with_annotations(hints);
    let output = tool.output_schema.as_ref();
    listed.output_schema = output.filter(|schema| schema.is_object()).map(schema);
    listed
}
