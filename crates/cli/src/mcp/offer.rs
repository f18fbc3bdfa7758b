//! What one version of the project offers, as the protocol lists it.

use rmcp::model::{JsonObject, ProtocolVersion, Tool, ToolAnnotations};
use serde_json::Value;
use std::collections::HashSet;
use std::sync::Arc;
use tool_harness::engine::Engine;
use tool_harness::error::Error;
use tool_harness::registry::{Hints, OfferedTool};
use tool_harness::tool::READER;

/// How results may look, which is all that the revisions differ in here.
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
        // Versions are dates, so their text sorts as they do.
        if version.as_str() >= ProtocolVersion::V_2026_07_28.as_str() {
            Self::AnyJson
        } else if version.as_str() >= ProtocolVersion::V_2025_06_18.as_str() {
            Self::Objects
        } else {
            Self::Early
        }
    }
}

/// A version of the project and its listing.
pub(super) struct Offer {
    pub(super) engine: Engine,
    /// By canonical name.
    tools: Vec<(String, Tool)>,
    /// Tools whose output schema only the newer revision can express.
    any_json: HashSet<String>,
    with_output: HashSet<String>,
}

impl Offer {
    /// The surface of a mode; an error when the root file is broken or there is no such mode.
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

    /// A version whose root file is broken: every call of it is refused.
    pub(super) fn nothing(engine: Engine) -> Self {
        Self {
            engine,
            tools: Vec::new(),
            any_json: HashSet::new(),
            with_output: HashSet::new(),
        }
    }

    /// The listing, in the surface's order.
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

    /// How many tools of the project are offered.
    pub(super) fn len(&self) -> usize {
        self.tools.iter().filter(|(name, _)| name != READER).count()
    }

    /// Whether the listing says what a tool's result looks like. Every result must then fit it.
    pub(super) fn promises_output(&self, name: &str, revision: Revision) -> bool {
        self.with_output.contains(name)
            && (revision == Revision::AnyJson || !self.any_json.contains(name))
    }

    /// Whether clients would see another listing.
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
