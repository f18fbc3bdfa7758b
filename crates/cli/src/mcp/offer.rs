//! What one version of the project offers, as the protocol lists it.

use rmcp::model::{JsonObject, ProtocolVersion, Tool, ToolAnnotations};
use serde_json::Value;
use std::collections::HashSet;
use std::sync::Arc;
use tool_harness::effect::Effects;
use tool_harness::engine::Engine;
use tool_harness::error::Error;
use tool_harness::registry::SurfaceTool;

/// How results may look, which is all that the revisions differ in here.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Revision {
    /// Before 2026-07-28: structured content is an object.
    Objects,
    /// From 2026-07-28: any JSON.
    AnyJson,
}

impl Revision {
    pub(super) fn of(version: &ProtocolVersion) -> Self {
        // Versions are dates, so their text sorts as they do.
        if version.as_str() >= ProtocolVersion::V_2026_07_28.as_str() { Self::AnyJson } else { Self::Objects }
    }
}

/// A version of the project and its listing.
pub(super) struct Offer {
    pub(super) engine: Engine,
    tools: Vec<Tool>,
    /// Tools whose output schema only the newer revision can express.
    any_json: HashSet<String>,
    with_output: HashSet<String>,
}

impl Offer {
    /// The surface of a mode; an error when the root file is broken or there is no such mode.
    pub(super) fn new(engine: Engine, mode: &str) -> Result<Self, Error> {
        let surface = engine.surface(mode)?;
        let has_output = |tool: &&SurfaceTool| tool.output_schema.as_ref().is_some_and(Value::is_object);
        let outputs = || surface.tools.iter().filter(has_output);
        let is_object = |tool: &&SurfaceTool| tool.output_schema.as_ref().and_then(|schema| schema.get("type")) == Some(&"object".into());
        Ok(Self {
            with_output: outputs().map(|tool| tool.name.clone()).collect(),
            any_json: outputs().filter(|tool| !is_object(tool)).map(|tool| tool.name.clone()).collect(),
            tools: surface.tools.iter().map(listed).collect(),
            engine,
        })
    }

    /// A version whose root file is broken: every call of it is refused.
    pub(super) fn nothing(engine: Engine) -> Self {
        Self { engine, tools: Vec::new(), any_json: HashSet::new(), with_output: HashSet::new() }
    }

    /// The listing, in the surface's order.
    pub(super) fn tools(&self, revision: Revision) -> Vec<Tool> {
        let mut tools = self.tools.clone();
        for tool in tools.iter_mut().filter(|tool| !self.promises_output(&tool.name, revision)) {
            tool.output_schema = None;
        }
        tools
    }

    /// How many tools are offered.
    pub(super) fn len(&self) -> usize {
        self.tools.len()
    }

    /// Whether the listing says what a tool's result looks like. Every result must then fit it.
    pub(super) fn promises_output(&self, name: &str, revision: Revision) -> bool {
        self.with_output.contains(name) && (revision == Revision::AnyJson || !self.any_json.contains(name))
    }

    /// Whether clients would see another listing.
    pub(super) fn lists_as(&self, other: &Self) -> bool {
        self.tools == other.tools
    }
}

fn listed(tool: &SurfaceTool) -> Tool {
    let schema = |value: &Value| Arc::new(value.as_object().cloned().unwrap_or_else(JsonObject::new));
    let mut listed = Tool::new(tool.name.clone(), tool.description.clone(), schema(&tool.input_schema)).with_annotations(hints(tool));
    listed.output_schema = tool.output_schema.as_ref().filter(|schema| schema.is_object()).map(schema);
    listed
}

/// All four hints, always: clients take a missing one for the worst.
fn hints(tool: &SurfaceTool) -> ToolAnnotations {
    let reads = Effects::READ | Effects::NET_READ;
    let read_only = tool.effects.without(reads).is_empty();
    // Processes, remote systems and desktops can undo anything; writes only when they say so.
    let has = |effects: &[Effects]| effects.iter().any(|&effect| tool.effects.contains(effect));
    let destructive = has(&[Effects::DESTRUCTIVE, Effects::EXEC, Effects::NET_WRITE, Effects::DESKTOP]);
    let open_world = has(&[Effects::NET_READ, Effects::NET_WRITE, Effects::EXEC, Effects::DESKTOP]);
    ToolAnnotations::new().read_only(read_only).destructive(destructive).idempotent(tool.idempotent || read_only).open_world(open_world)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(effects: Effects, idempotent: bool, expected: [bool; 4]) {
        let tool = SurfaceTool {
            name: "t".into(),
            description: String::new(),
            input_schema: Value::Null,
            output_schema: None,
            effects,
            idempotent,
            tags: Vec::new(),
            path: String::new(),
            has_body: true,
        };
        let hints = listed(&tool).annotations.expect("hints");
        let all = [hints.read_only_hint, hints.destructive_hint, hints.idempotent_hint, hints.open_world_hint];
        assert_eq!(all, expected.map(Some), "{effects}");
    }

    #[test]
    fn hints_follow_from_effects() {
        // Read only, destructive, idempotent, open world.
        check(Effects::NONE, false, [true, false, true, false]);
        check(Effects::READ, false, [true, false, true, false]);
        check(Effects::READ | Effects::NET_READ, false, [true, false, true, true]);
        check(Effects::READ | Effects::WRITE, false, [false, false, false, false]);
        check(Effects::READ | Effects::WRITE, true, [false, false, true, false]);
        check(Effects::READ | Effects::WRITE | Effects::DESTRUCTIVE, false, [false, true, false, false]);
        check(Effects::READ | Effects::WRITE | Effects::EXEC, false, [false, true, false, true]);
        check(Effects::NET_WRITE, false, [false, true, false, true]);
        check(Effects::SPEND, false, [false, false, false, false]);
        check(Effects::DESKTOP, false, [false, true, false, true]);
    }
}
