//! One tool of a surface, in the shape of OpenAI, Anthropic, Gemini, MCP or seed 004.

use super::Reader;
use crate::artifact::node::{Key, Kind, Node};
use crate::artifact::read_effects::declared_effects;
use crate::artifact::tool::Annotations;
use crate::check::effects_contradict;
use crate::effect::Level;
use crate::span::{Place, Span};
use crate::surface::entry::stated;
use crate::surface::{Annotated, Entry, Executor, Home, Role, Standing, Text, ToolSearch};
use serde_json::{Map, Value, json};
use std::borrow::Cow;

/// Which list a tool stands in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum List {
    /// `tools`: whoever runs them is known.
    Tools,
    /// `native_tools`: the provider's own form.
    Native,
}

/// Where shapes have the schema of the arguments.
const SCHEMAS: [&str; 5] = ["parameters", "input_schema", "inputSchema", "parametersJsonSchema", "parameters_json_schema"];

/// Where Gemini has a list of tools.
const DECLARATIONS: [&str; 2] = ["functionDeclarations", "function_declarations"];

/// What may run a tool of seed 004.
const EXECUTORS: [&str; 5] = ["harn", "harn_builtin", "host_bridge", "mcp_server", "provider_native"];

/// Whether a map is one tool and not a surface.
pub(super) fn is_tool(node: &Node) -> bool {
    ["name", "function", "type"].iter().chain(&DECLARATIONS).chain(&SCHEMAS).any(|key| node.get(key).is_some())
}

impl Reader {
    pub(super) fn tool(&mut self, node: &Node, path: &str, list: List) {
        if !matches!(node.kind, Kind::Map(_)) {
            return self.wrong(node, path, "a tool");
        }
        if let Some((key, declared)) = DECLARATIONS.iter().find_map(|key| Some((key, node.get(key)?))) {
            let path = format!("{path}.{key}");
            return match &declared.kind {
                Kind::List(items) => {
                    items.iter().enumerate().for_each(|(index, item)| self.tool(item, &format!("{path}[{index}]"), List::Native));
                }
                _ => self.wrong(declared, &path, "a list of tools"),
            };
        }
        let body = node.get("function").filter(|function| matches!(function.kind, Kind::Map(_))).unwrap_or(node);
        let kind = node.get("type").and_then(Node::text).unwrap_or("function");
        let hosted = !matches!(kind, "function" | "custom") && SCHEMAS.iter().all(|key| body.get(key).is_none());
        let written = body.get("name").or_else(|| node.get("name")).or_else(|| node.get("type").filter(|_| hosted));
        let Some(written) = written else {
            // `{"googleSearch": {}}` is a tool that the provider runs and names.
            if let [(key, Node { kind: Kind::Map(_), .. })] = node.entries() {
                return self.hosted(&key.name.clone(), key.span);
            }
            return self.wrong(node, path, "a tool with a `name`");
        };
        let Some(name) = written.text().filter(|name| !name.trim().is_empty()) else {
            return self.wrong(written, &format!("{path}.name"), "a name");
        };
        if kind.starts_with("tool_search") || name == "tool_search" || name.starts_with("tool_search_tool_") {
            self.surface.tool_search = ToolSearch::On;
            return;
        }
        if hosted {
            return self.hosted(name, written.span);
        }
        // The same tool in the provider's words.
        if list == List::Native && self.own.contains(name) {
            return;
        }
        if list == List::Tools {
            self.own.insert(name.to_owned());
        }
        self.declared(node, body, name.to_owned(), written.span, path, list);
    }

    /// A tool that the provider defines and runs.
    fn hosted(&mut self, name: &str, span: Span) {
        let place = self.place(span);
        let mut entry = plain(name.to_owned(), place);
        // Only the provider knows which arguments it takes.
        entry.schema = Some(Cow::Owned(json!({"type": "object", "additionalProperties": true})));
        entry.description = Some(Cow::Borrowed("A tool of the provider."));
        entry.annotated = Annotated::Inferred;
        self.surface.tools.push(entry);
    }

    fn declared(&mut self, node: &Node, body: &Node, name: String, span: Span, path: &str, list: List) {
        let mut entry = plain(name, self.place(span));
        let either = |key: &str| body.get(key).or_else(|| node.get(key)).filter(|node| !matches!(node.kind, Kind::Null));
        if let Some((key, schema)) = SCHEMAS.iter().find_map(|key| Some((*key, either(key)?))) {
            entry.schema = Some(Cow::Owned(self.schema(schema, &format!("{path}.{key}"), &entry.name)));
            entry.fields.extend(self.place(schema.span).map(|place| ("parameters", place)));
            self.describe_arguments(schema);
        } else if either("format").is_some() {
            // A tool that takes free text.
            entry.schema = Some(Cow::Owned(json!({"type": "object"})));
        }
        if let Some(description) = either("description") {
            entry.description = self.text(Some(description), &format!("{path}.description")).map(Cow::Owned);
            self.describe(description);
        }
        entry.deferred =
            ["defer_loading", "deferred"].into_iter().any(|key| self.flag(either(key), &format!("{path}.{key}")).unwrap_or(false));
        self.annotate(&mut entry, node, body, path);
        entry.executor = self.executor(node, list, path);
        self.surface.tools.push(entry);
    }

    fn annotate(&mut self, entry: &mut Entry<'static>, node: &Node, body: &Node, path: &str) {
        let inline = node.get("annotations").or_else(|| body.get("annotations")).filter(|node| !matches!(node.kind, Kind::Null)).cloned();
        let written = inline.or_else(|| self.annotations.get(&*entry.name).cloned());
        let says = |key: &str| node.get(key).is_some_and(|node| !matches!(node.kind, Kind::Null));
        let spelled = with_annotations(node, written.as_ref());
        let effects = declared_effects(&spelled);
        for (earlier, later) in effects_contradict::among(&effects) {
            let message = format!("`{}` contradicts `{}`", later.spelling, earlier.spelling);
            let finding = effects_contradict::RULE.finding(message).at_any(self.place(later.span)).tool(&*entry.name);
            self.surface.problems.push(finding.field(path).help("keep the one that is true and remove the other"));
        }
        entry.effects = stated(&effects);
        if let Some(node) = &written {
            entry.annotations = Cow::Owned(self.annotations(node, path));
            entry.fields.extend(self.place(node.span).map(|place| ("annotations", place)));
            for (field, value) in [("result_readers", node.get("result_readers")), ("side_effect_level", node.get("side_effect_level"))] {
                entry.fields.extend(value.and_then(|value| self.place(value.span)).map(|place| (field, place)));
            }
        }
        let level = written.as_ref().and_then(|node| node.get("side_effect_level")).filter(|node| !matches!(node.kind, Kind::Null));
        entry.annotated = match &written {
            Some(_) if level.is_some_and(|node| node.text().and_then(Level::named).is_none()) => Annotated::Unreadable,
            None if !says("risk") && !says("safety") => Annotated::Missing,
            _ => Annotated::Written,
        };
    }

    fn executor(&mut self, node: &Node, list: List, path: &str) -> Executor {
        let of_provider = node.get("function").is_some()
            || node.get("type").and_then(Node::text).is_some()
            || ["input_schema", "inputSchema"].iter().any(|key| node.get(key).is_some());
        let named = ["handler", "host_capability", "mcp_server", "_mcp_server"];
        if let Some(executor) = node.get("executor").filter(|node| !matches!(node.kind, Kind::Null)) {
            if executor.text().is_none_or(|word| !EXECUTORS.contains(&word)) {
                let words = EXECUTORS.map(|word| format!("`{word}`")).join(", ");
                self.wrong(executor, &format!("{path}.executor"), &format!("one of {words}"));
            }
            return Executor::Known;
        }
        if named.iter().any(|key| node.get(key).is_some_and(|node| !matches!(node.kind, Kind::Null))) {
            Executor::Known
        } else if of_provider || list == List::Native {
            Executor::Elsewhere
        } else {
            Executor::Missing
        }
    }

    /// The schema of the arguments. Seed 004 also writes a map from name to schema.
    fn schema(&mut self, node: &Node, field: &str, tool: &str) -> Value {
        let Kind::Map(entries) = &node.kind else {
            self.wrong(node, field, "a JSON schema of an object");
            return json!({"type": "object"});
        };
        if let Some(properties) = node.get("properties").filter(|node| !matches!(node.kind, Kind::Map(_))) {
            self.wrong(properties, &format!("{field}.properties"), "a map from argument to schema");
        }
        let keywords = ["type", "properties", "$ref", "anyOf", "oneOf", "allOf", "$schema", "additionalProperties"];
        let is_schema = entries.is_empty()
            || node.get("properties").is_some()
            || keywords.iter().any(|key| node.get(key).is_some_and(|node| !matches!(node.kind, Kind::Map(_))));
        if is_schema {
            self.schema_parts(node, field, tool);
            return node.to_json();
        }
        let (mut properties, mut required) = (Map::new(), Vec::new());
        for (key, value) in entries.iter().filter(|(key, _)| !matches!(key.name.as_str(), "required" | "description")) {
            let mut schema = match &value.kind {
                Kind::Map(_) => value.to_json(),
                Kind::Text { value, .. } => json!({"type": value}),
                _ => {
                    self.wrong(value, &format!("{field}.{}", key.name), "the schema of an argument");
                    continue;
                }
            };
            if let Some(object) = schema.as_object_mut()
                && matches!(object.get("required"), Some(Value::Bool(_)))
                && object.shift_remove("required") == Some(Value::Bool(true))
            {
                required.push(Value::from(key.name.clone()));
            }
            properties.insert(key.name.clone(), schema);
        }
        json!({"type": "object", "properties": properties, "required": required})
    }

    fn describe_arguments(&mut self, schema: &Node) {
        let properties = schema.get("properties").unwrap_or(schema).entries();
        let described: Vec<&Node> = properties.iter().filter_map(|(_, property)| property.get("description")).collect();
        described.into_iter().for_each(|description| self.describe(description));
    }

    fn describe(&mut self, node: &Node) {
        let Some(words) = node.text() else { return };
        let home = self.place(node.span).map_or(Home::Nowhere, Home::Value);
        self.surface.texts.push(Text { words: Cow::Owned(words.to_owned()), role: Role::Description, home });
    }
}

fn plain(name: String, place: Option<Place>) -> Entry<'static> {
    Entry {
        name: Cow::Owned(name),
        other_names: Vec::new(),
        standing: Standing::Active,
        description: None,
        schema: None,
        annotated: Annotated::Missing,
        annotations: Cow::Owned(Annotations::default()),
        effects: None,
        executor: Executor::Elsewhere,
        deferred: false,
        timeout_ms: None,
        place,
        fields: Vec::new(),
    }
}

/// A tool's map with these annotations in it, wherever they were written.
fn with_annotations(node: &Node, annotations: Option<&Node>) -> Node {
    let mut entries: Vec<(Key, Node)> =
        node.entries().iter().filter(|(key, _)| matches!(key.name.as_str(), "risk" | "safety")).cloned().collect();
    entries.extend(annotations.map(|node| (Key { name: "annotations".to_owned(), span: node.span }, node.clone())));
    Node { span: node.span, kind: Kind::Map(entries) }
}
