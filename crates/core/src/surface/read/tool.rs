//! One tool of a surface, in the shape of OpenAI, Anthropic, Gemini, MCP or seed 004.

use super::{Reader, UnknownKey};
use crate::artifact::node::{Key, Kind, Node};
use crate::artifact::problem::quoted;
use crate::artifact::rule::effects_contradict::{self, contradict};
use crate::artifact::rule::tool_duplicate;
use crate::artifact::tool::Annotations;
use crate::artifact::tool::effects::declared_effects;
use crate::effect::Level;
use crate::nearest::backticked;
use crate::span::{Place, Span};
use crate::surface::entry::stated;
use crate::surface::words::{SchemaText, words};
use crate::surface::{
    AnnotationSource, Entry, Executor, Role, Text, TextOrigin, ToolSearch, ToolStatus,
};
use serde_json::{Map, Value, json};
use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};

/// Which list a tool is in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ToolList {
    /// `tools`: their executor is known.
    Tools,
    /// `native_tools`: the provider's own form.
    Native,
}

/// Where the formats have the schema of the arguments.
const SCHEMAS: [&str; 5] = [
    "parameters",
    "input_schema",
    "inputSchema",
    "parametersJsonSchema",
    "parameters_json_schema",
];

/// Where Gemini has a list of tools.
const DECLARATIONS: [&str; 2] = ["functionDeclarations", "function_declarations"];

/// The keys of all formats, to recognize typos.
const KEYS: &str = "\
    name title description parameters input_schema inputSchema parametersJsonSchema \
    parameters_json_schema outputSchema output_schema returns response responses annotations \
    executor handler handlers host_capability mcp_server _mcp_server defer_loading deferred \
    timeout_ms timeout aliases type strict format function namespace risk safety tags \
    examples example input_examples cache_control icons icon execution behavior _meta meta \
    metadata version schema source server script";

/// The executors of seed 004, and our own.
const EXECUTORS: [&str; 6] = [
    "harn",
    "harn_builtin",
    "harness",
    "host_bridge",
    "mcp_server",
    "provider_native",
];

/// Whether a map is one tool and not a surface.
pub(super) fn is_tool(node: &Node) -> bool {
    ["name", "function", "type"]
        .iter()
        .chain(&DECLARATIONS)
        .chain(&SCHEMAS)
        .any(|key| node.get(key).is_some())
}

impl Reader {
    pub(super) fn tool(&mut self, node: &Node, path: &str, list: ToolList) {
        if !node.is_map() {
            return self.wrong(node, path, "a tool");
        }
        if let Some((key, declared)) = DECLARATIONS
            .iter()
            .find_map(|key| Some((key, node.get(key)?)))
        {
            let path = format!("{path}.{key}");
            return match &declared.kind {
                Kind::List(items) => {
                    items.iter().enumerate().for_each(|(index, item)| {
                        self.tool(item, &format!("{path}[{index}]"), ToolList::Native)
                    });
                }
                _ => self.wrong(declared, &path, "a list of tools"),
            };
        }
        if let Some(kind) = node.given("type").filter(|kind| kind.text().is_none()) {
            self.wrong(kind, &format!("{path}.type"), "text");
        }
        let body = node
            .get("function")
            .filter(|function| function.is_map())
            .unwrap_or(node);
        let kind = node.get("type").and_then(Node::text).unwrap_or("function");
        let hosted = !matches!(kind, "function" | "custom")
            && SCHEMAS.iter().all(|key| body.get(key).is_none());
        let written = body
            .get("name")
            .or_else(|| node.get("name"))
            .or_else(|| node.get("type").filter(|_| hosted));
        let Some(written) = written else {
            // `{"googleSearch": {}}` is a tool that the provider runs and names.
            return match node.entries() {
                [(key, own)] if own.is_map() => self.hosted(&key.name, key.span),
                _ => self.wrong(node, path, "a tool with a `name`"),
            };
        };
        let Some(name) = written.text().filter(|name| !name.trim().is_empty()) else {
            return self.wrong(written, &format!("{path}.name"), "a name");
        };
        let searches = kind.starts_with("tool_search")
            || name == "tool_search"
            || name.starts_with("tool_search_tool_");
        if searches {
            self.surface.tool_search = ToolSearch::On;
        }
        // A search without a schema is the provider's own.
        if hosted || (searches && SCHEMAS.iter().all(|key| body.get(key).is_none())) {
            return self.hosted(name, written.span);
        }
        self.unknown_keys(node, path, KEYS, UnknownKey::WhenClose);
        let same = self
            .own
            .get(name)
            .copied()
            .filter(|_| list == ToolList::Native);
        if list == ToolList::Tools {
            self.own
                .entry(name.to_owned())
                .or_insert(self.surface.tools.len());
        }
        let texts = self.surface.texts.len();
        self.declared(node, body, name.to_owned(), written.span, path, list);
        if let Some(own) = same {
            self.same_tool(own, texts);
        }
    }

    /// Drops the tool read last if it repeats another one in the provider's format, and reports
    /// differences.
    fn same_tool(&mut self, own: usize, texts: usize) {
        let Some(native) = self.surface.tools.pop() else {
            return;
        };
        let Some(own) = self.surface.tools.get(own) else {
            return;
        };
        let Some(what) = differs(own, &native) else {
            self.surface.texts.truncate(texts);
            return;
        };
        let message = format!(
            "tool \"{}\" has a different {what} in `native_tools` than in `tools`",
            own.name
        );
        let finding = tool_duplicate::RULE
            .finding(message)
            .tool(&*own.name)
            .field("native_tools");
        let finding = finding.at_any(native.place.into_iter().chain(own.place.clone()));
        self.report(
            finding.help(
                "make both the same: a model sees one, and a call is checked against the other",
            ),
        );
    }

    /// A tool that the provider defines and runs.
    fn hosted(&mut self, name: &str, span: Span) {
        let place = self.place(span);
        let mut entry = plain(name.to_owned(), place);
        // Only the provider knows which arguments it takes.
        entry.schema = Some(Cow::Owned(
            json!({"type": "object", "additionalProperties": true}),
        ));
        entry.description = Some(Cow::Borrowed("A tool of the provider."));
        entry.annotated = AnnotationSource::Inferred;
        self.surface.tools.push(entry);
    }

    fn declared(
        &mut self,
        node: &Node,
        body: &Node,
        name: String,
        span: Span,
        path: &str,
        list: ToolList,
    ) {
        let mut entry = plain(name, self.place(span));
        let either = |key: &str| {
            body.get(key)
                .or_else(|| node.get(key))
                .filter(|node| !node.is_null())
        };
        let mut schemas = SCHEMAS.iter().filter_map(|key| Some((*key, either(key)?)));
        if let Some((key, schema)) = schemas.next() {
            for (key, other) in schemas.filter(|(_, other)| !other.is_map()) {
                let field = format!("{path}.{key}");
                self.wrong(other, &field, "a JSON schema of an object");
            }
            let field = format!("{path}.{key}");
            entry.schema = Some(Cow::Owned(self.schema(schema, &field, &entry.name)));
            entry
                .fields
                .extend(self.place(schema.span).map(|place| ("parameters", place)));
            self.describe_arguments(schema);
        } else if either("format").is_some()
            || node.get("type").and_then(Node::text) == Some("custom")
        {
            // A tool that takes free text.
            entry.schema = Some(Cow::Owned(json!({"type": "object"})));
        }
        if let Some(description) = either("description") {
            entry.description = self
                .text(Some(description), &format!("{path}.description"))
                .map(Cow::Owned);
            self.describe(description, Role::Description);
        }
        entry.deferred = ["defer_loading", "deferred"].into_iter().any(|key| {
            self.flag(either(key), &format!("{path}.{key}"))
                .unwrap_or(false)
        });
        self.furniture(&mut entry, either, path);
        self.annotate(&mut entry, node, body, path);
        entry.executor = self.executor(node, list, path);
        self.surface.tools.push(entry);
    }

    /// The smaller fields, each checked on its own.
    fn furniture<'n>(
        &mut self,
        entry: &mut Entry<'static>,
        either: impl Fn(&str) -> Option<&'n Node>,
        path: &str,
    ) {
        let field = |name: &str| format!("{path}.{name}");
        entry.other_names = self
            .texts(either("aliases"), &field("aliases"))
            .into_iter()
            .map(Cow::Owned)
            .collect();
        self.flag(either("strict"), &field("strict"));
        if let Some(cap) =
            either("timeout_ms").filter(|cap| cap.number().is_none_or(|number| number < 0.0))
        {
            self.wrong(
                cap,
                &field("timeout_ms"),
                "a number of milliseconds, at least 0",
            );
        }
        if let Some(handler) = either("handler")
            .filter(|handler| !matches!(handler.kind, Kind::Text { .. } | Kind::Map(_)))
        {
            self.wrong(handler, &field("handler"), "text or a map");
        }
        if let Some(title) = either("title") {
            self.text(Some(title), &field("title"));
            self.describe(title, Role::Description);
        }
    }

    fn annotate(&mut self, entry: &mut Entry<'static>, node: &Node, body: &Node, path: &str) {
        let inline = node
            .get("annotations")
            .or_else(|| body.get("annotations"))
            .filter(|node| !node.is_null())
            .cloned();
        let of_policy = self.annotations.get(&*entry.name).cloned();
        if let (Some(inline), Some(of_policy)) = (&inline, &of_policy) {
            self.compare(entry, inline, of_policy);
        }
        let written = inline.or(of_policy);
        let spelled = with_annotations(node, written.as_ref());
        let effects = declared_effects(&spelled);
        for (earlier, later) in effects_contradict::contradictions(&effects) {
            let message = format!("`{}` contradicts `{}`", later.spelling, earlier.spelling);
            self.contradiction(entry, message, later.span, path);
        }
        entry.effects = stated(&effects);
        if let Some(node) = &written {
            entry.annotations = Cow::Owned(self.annotations(node, path));
            entry
                .fields
                .extend(self.place(node.span).map(|place| ("annotations", place)));
            for field in ["result_readers", "side_effect_level"] {
                let place = node.get(field).and_then(|value| self.place(value.span));
                entry.fields.extend(place.map(|place| (field, place)));
            }
        }
        let level = written
            .as_ref()
            .and_then(|node| node.given("side_effect_level"));
        entry.annotated = match &written {
            Some(_) if level.is_some_and(|node| node.text().and_then(Level::named).is_none()) => {
                AnnotationSource::Unreadable
            }
            None if node.given("risk").or(node.given("safety")).is_none() => {
                AnnotationSource::Missing
            }
            _ => AnnotationSource::Written,
        };
    }

    /// Reports where the policy and the tool itself disagree.
    fn compare(&mut self, entry: &Entry<'_>, inline: &Node, of_policy: &Node) {
        let none = Node {
            span: inline.span,
            kind: Kind::Map(Vec::new()),
        };
        let own = declared_effects(&with_annotations(&none, Some(inline)));
        let others = declared_effects(&with_annotations(&none, Some(of_policy)));
        let differing = others.iter().find_map(|other| {
            let own = own.iter().find(|own| contradict(own.claim, other.claim))?;
            let message = format!(
                "`{}` of the policy contradicts `{}` of tool \"{}\"",
                other.spelling, own.spelling, entry.name
            );
            Some((other.span, message))
        });
        let kinds = || {
            let (own, other) = (inline.get("kind")?, of_policy.get("kind")?);
            let message = format!(
                "the policy calls tool \"{}\" {}, but the tool calls itself {}",
                entry.name,
                quoted(other.text()?),
                quoted(own.text()?)
            );
            (own.text() != other.text()).then_some((other.span, message))
        };
        let Some((span, message)) = differing.or_else(kinds) else {
            return;
        };
        self.contradiction(entry, message, span, "policy.tool_annotations");
    }

    fn contradiction(&mut self, entry: &Entry<'_>, message: String, span: Span, field: &str) {
        let finding = effects_contradict::RULE
            .finding(message)
            .at_any(self.place(span))
            .tool(&*entry.name)
            .field(field);
        self.report(finding.help("keep the one that is true and remove the other"));
    }

    fn executor(&mut self, node: &Node, list: ToolList, path: &str) -> Executor {
        let of_provider = node.get("function").is_some()
            || node.get("type").and_then(Node::text).is_some()
            || ["input_schema", "inputSchema"]
                .iter()
                .any(|key| node.get(key).is_some());
        let named = ["handler", "host_capability", "mcp_server", "_mcp_server"];
        if let Some(executor) = node.given("executor") {
            if executor
                .text()
                .is_none_or(|word| !EXECUTORS.contains(&word))
            {
                let accepted = format!("one of {}", backticked(EXECUTORS));
                self.wrong(executor, &format!("{path}.executor"), &accepted);
            }
            return Executor::Known;
        }
        if named.iter().any(|key| node.given(key).is_some()) {
            Executor::Known
        } else if of_provider || list == ToolList::Native {
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
        if let Some(properties) = node.get("properties").filter(|node| !node.is_map()) {
            let field = format!("{field}.properties");
            self.wrong(properties, &field, "a map from argument to schema");
        }
        let keywords = [
            "type",
            "properties",
            "$ref",
            "anyOf",
            "oneOf",
            "allOf",
            "$schema",
            "additionalProperties",
        ];
        let is_schema = entries.is_empty()
            || node.get("properties").is_some()
            || keywords
                .iter()
                .any(|key| node.get(key).is_some_and(|node| !node.is_map()));
        if is_schema {
            self.schema_parts(node, field, tool);
            return node.to_json();
        }
        let (mut properties, mut required) = (Map::new(), Vec::new());
        for (key, value) in entries
            .iter()
            .filter(|(key, _)| !matches!(key.name.as_str(), "required" | "description"))
        {
            let mut schema = match &value.kind {
                Kind::Map(_) => value.to_json(),
                Kind::Text { value, .. } => json!({"type": value}),
                _ => {
                    let field = format!("{field}.{}", key.name);
                    self.wrong(value, &field, "the schema of an argument");
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

    /// Collects what a model reads in a schema. Seed 004's map from name to schema has it one level
    /// higher.
    fn describe_arguments(&mut self, schema: &Node) {
        let mut each = |node: &Node, what: SchemaText, _: &[String]| {
            if let SchemaText::Words(role) = what {
                self.describe(node, role);
            }
        };
        words(schema, &mut each);
        if schema.get("properties").is_none() {
            schema
                .entries()
                .iter()
                .for_each(|(_, part)| words(part, &mut each));
        }
    }

    fn describe(&mut self, node: &Node, role: Role) {
        let Some(words) = node.text() else { return };
        let origin = self
            .place(node.span)
            .map_or(TextOrigin::Nowhere, TextOrigin::json);
        self.surface.texts.push(Text {
            words: Cow::Owned(words.to_owned()),
            role,
            origin,
        });
    }
}

/// The first difference between two forms of a tool.
fn differs(one: &Entry<'_>, other: &Entry<'_>) -> Option<&'static str> {
    let [here, there] = [one, other].map(|entry| entry.description.as_deref().map(str::trim));
    if there.is_some() && here != there {
        return Some("description");
    }
    // Providers write the words for types in capitals, and add keywords of their own.
    let word = |kind: &Value| kind.to_string().to_lowercase();
    let arguments = |entry: &Entry<'_>| -> BTreeMap<String, Option<String>> {
        entry
            .parameters()
            .map(|(name, schema)| (name.to_owned(), schema.get("type").map(word)))
            .collect()
    };
    let required =
        |entry: &Entry<'_>| -> BTreeSet<String> { entry.required().map(str::to_owned).collect() };
    let schema = other.schema.is_some()
        && (arguments(one) != arguments(other) || required(one) != required(other));
    if schema {
        return Some("schema");
    }
    (one.effects.is_some() && other.effects.is_some() && one.effects != other.effects)
        .then_some("effect")
}

fn plain(name: String, place: Option<Place>) -> Entry<'static> {
    Entry {
        name: Cow::Owned(name),
        other_names: Vec::new(),
        status: ToolStatus::Active,
        description: None,
        schema: None,
        annotated: AnnotationSource::Missing,
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
    let mut entries: Vec<(Key, Node)> = node
        .entries()
        .iter()
        .filter(|(key, _)| matches!(key.name.as_str(), "risk" | "safety"))
        .cloned()
        .collect();
    entries.extend(annotations.map(|node| {
        (
            Key {
                name: "annotations".to_owned(),
                span: node.span,
            },
            node.clone(),
        )
    }));
    Node {
        span: node.span,
        kind: Kind::Map(entries),
    }
}
