//! The tools of one version of the project, as the protocol lists them.

use rmcp::model::{JsonObject, ProtocolVersion, Tool, ToolAnnotations};
use serde_json::Value;
use std::collections::HashSet;
use std::sync::Arc;
use tool_harness::engine::Engine;
use tool_harness::engine::Error;
use tool_harness::registry::Hints;
use tool_harness::registry::OfferedTool;
use tool_harness::tool::READER;

/// The revisions of the protocol, as far as their results differ.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
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
    /// Tools whose output schema only the newer revision can express.
    any_json: HashSet<String>,
    with_output: HashSet<String>,
}

impl Listing {
    /// The tools of a mode. Fails if the root file is broken or the mode does not exist.
    pub(super) fn new(engine: Engine, mode: &str) -> Result<Self, Error> {
        let surface = engine.surface(mode)?;
        let has_output =
            |tool: &&OfferedTool| tool.output_schema.as_ref().is_some_and(Value::is_object);
        let outputs = || surface.tools.iter().filter(has_output);
        let is_object = |tool: &&OfferedTool| {
            tool.output_schema
                .as_ref()
                .and_then(|schema| schema.get("type"))
                == Some(&"object".into())
        };
        Ok(Self {
            with_output: outputs().map(|tool| tool.name.clone()).collect(),
            any_json: outputs()
                .filter(|tool| !is_object(tool))
                .map(|tool| tool.name.clone())
                .collect(),
            tools: surface
                .tools
                .iter()
                .map(|tool| (tool.name.clone(), listed(tool)))
                .collect(),
            engine,
        })
    }

    /// A version with a broken root file, which refuses every call.
    pub(super) fn empty(engine: Engine) -> Self {
        Self {
            engine,
            tools: Vec::new(),
            any_json: HashSet::new(),
            with_output: HashSet::new(),
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
        self.with_output.contains(name)
            && (revision == Revision::AnyJson || !self.any_json.contains(name))
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
    listed.output_schema = tool
        .output_schema
        .as_ref()
        .filter(|schema| schema.is_object())
        .map(schema);
    listed
}
