//! Reads JSON into a [`Surface`]. Never fails as a whole: a malformed part is a problem of the
//! surface, and an error.

mod annotations;
mod policy;
mod schema;
mod tool;

use super::json::{self, JsonError};
use super::judge::NamePatterns;
use super::rule::{malformed, no_active_tools};
use super::{
    Budget, Entry, Fences, Located, Pattern, Role, Separator, Surface, Text, TextOrigin,
    ToolSearch, ToolStatus,
};
use crate::artifact::node::{Key, Kind, Node};
use crate::artifact::problem::quoted;
use crate::artifact::rule::{
    body_empty, key_duplicate, key_unknown, secret_in_artifact, tool_duplicate,
};
use crate::diagnostic::{Diagnostic, Severity};
use crate::nearest::{did_you_mean, nearest};
use crate::span::{Place, Source, Span};
use serde_json::Value;
use std::collections::HashMap;
use std::sync::Arc;
use tool::ToolList;

/// The parts of a surface, and what listings of tools have beside them.
const PARTS: &str = "\
    tools native_tools policy approval_policy system prompt prompts tool_search options \
    _type _meta nextCursor";

/// How tools are searched.
const TOOL_SEARCH: &str = "\
    enabled mode strategy variant always_loaded budget_tokens name include_stub_listing";

/// Whether a word turns the search on or off.
fn searches(word: &str) -> Option<bool> {
    match word {
        "off" | "none" | "false" => Some(false),
        "on" | "true" | "auto" | "bm25" | "regex" | "semantic" | "host" | "native" | "client" => {
            Some(true)
        }
        _ => None,
    }
}

/// How a surface is checked.
const OPTIONS: &str = "scan_fences context_tokens";

/// Reads a surface from the text of a JSON file; `path` names it in places.
#[must_use]
pub fn read_text(name: &str, text: &str) -> Surface<'static> {
    let source = Source::new(name, text);
    let mut reader = Reader {
        source: Some(source),
        ..Reader::default()
    };
    reader.document(text);
    reader.finish()
}

/// Reads a surface from JSON values. The options fill in what the surface does not say.
#[must_use]
pub fn read(surface: &Value, options: Option<&Value>) -> Surface<'static> {
    let mut reader = Reader::default();
    let mut whole = surface.clone();
    if let (Some(given), Some(Value::Object(options))) = (whole.as_object_mut(), options) {
        for (key, value) in options {
            if has_word(OPTIONS, key) {
                let nested = given
                    .entry("options")
                    .or_insert_with(|| Value::Object(serde_json::Map::new()));
                nested
                    .as_object_mut()
                    .map(|nested| nested.entry(key.clone()).or_insert_with(|| value.clone()));
            } else {
                // `null` means absent.
                let part = given.entry(key.clone()).or_insert(Value::Null);
                if part.is_null() {
                    part.clone_from(value);
                }
            }
        }
    } else if let Some(other) = options.filter(|options| !options.is_object() && !options.is_null())
    {
        let message = format!("`options` must be a map, not {other}");
        reader.problem("options", message, Span::default());
    }
    reader.document(&whole.to_string());
    reader.finish()
}

/// How an unknown key is treated.
#[derive(Clone, Copy, PartialEq, Eq)]
enum UnknownKey {
    /// A misspelled part is not checked.
    Part,
    /// A misspelled restriction restricts nothing.
    Restricts,
    /// It changes nothing.
    Little,
    /// Other programs may have keys of their own here; only a likely typo is reported.
    WhenClose,
}

/// Whether a list of words, separated by spaces, has this one.
fn has_word(list: &str, word: &str) -> bool {
    list.split(' ').any(|known| known == word)
}

/// Whether a word is probably a typo of a known one.
fn is_slip(word: &str, known: &str) -> bool {
    let distance = strsim::osa_distance(&word.to_lowercase(), &known.to_lowercase());
    distance <= 2 && distance * 3 <= word.chars().count()
}

#[derive(Default)]
struct Reader {
    /// The file, when there is one.
    source: Option<Arc<Source>>,
    surface: Surface<'static>,
    /// `policy.tool_annotations`.
    annotations: HashMap<String, Node>,
    /// The tools in `tools`, by name.
    own: HashMap<String, usize>,
}

impl Reader {
    fn document(&mut self, text: &str) {
        if let Some(source) = &self.source {
            let found = secret_in_artifact::found(source);
            self.surface.problems.extend(found);
        }
        let document = match json::parse(text) {
            Ok(document) => document,
            Err(JsonError { message, at }) => {
                let message = format!("this is not JSON: {message}");
                return self.problem("surface", message, Span::new(at, at));
            }
        };
        for key in &document.duplicates {
            let message = format!("the key {} is written twice", quoted(&key.name));
            let finding = key_duplicate::RULE
                .finding(message)
                .at_any(self.place(key.span));
            self.report(finding.help("keep one of them; the last one was read"));
        }
        self.root(&document.root);
    }

    fn root(&mut self, node: &Node) {
        let has = |key: &str| node.get(key).is_some();
        match &node.kind {
            Kind::List(_) => self.tools(node, "tools", ToolList::Tools),
            // The answer of an MCP server.
            Kind::Map(_) if has("jsonrpc") && has("result") => node
                .get("result")
                .into_iter()
                .for_each(|result| self.root(result)),
            Kind::Map(_) if PARTS.split(' ').any(has) => self.parts(node),
            Kind::Map(_) if tool::is_tool(node) => self.tools(node, "tools", ToolList::Tools),
            _ => {
                let accepted = "a surface with `tools`, a list of tools, or one tool";
                self.wrong(node, "surface", accepted);
            }
        }
    }

    fn parts(&mut self, node: &Node) {
        self.unknown_keys(node, "", PARTS, UnknownKey::Part);
        let part = |name: &str| node.given(name);
        if let Some(policy) = part("policy") {
            self.policy(policy);
        }
        if let Some(policy) = part("approval_policy") {
            self.approval_policy(policy);
        }
        for (name, list) in [
            ("tools", ToolList::Tools),
            ("native_tools", ToolList::Native),
        ] {
            if let Some(tools) = part(name) {
                self.tools(tools, name, list);
            }
        }
        for name in ["system", "prompt"] {
            if let Some(text) = part(name) {
                self.prompt(text, name);
            }
        }
        match part("prompts") {
            Some(Node {
                kind: Kind::List(items),
                ..
            }) => {
                items
                    .iter()
                    .enumerate()
                    .for_each(|(index, text)| self.prompt(text, &format!("prompts[{index}]")));
            }
            Some(other) => self.wrong(other, "prompts", "a list of strings"),
            None => {}
        }
        if let Some(search) = part("tool_search") {
            self.tool_search(search);
        }
        if let Some(options) = part("options") {
            self.options(options);
        }
    }

    fn prompt(&mut self, node: &Node, field: &str) {
        // Anthropic also takes a list of blocks, each with its text.
        if let Kind::List(blocks) = &node.kind
            && blocks.iter().all(|block| {
                block.get("type").and_then(Node::text) == Some("text")
                    && block.get("text").is_some()
            })
        {
            let texts = blocks
                .iter()
                .enumerate()
                .filter_map(|(index, block)| Some((index, block.get("text")?)));
            return texts
                .for_each(|(index, text)| self.prompt_text(text, &format!("{field}[{index}]")));
        }
        self.prompt_text(node, field);
    }

    fn prompt_text(&mut self, node: &Node, field: &str) {
        let Some(words) = node.text() else {
            return self.wrong(node, field, "text");
        };
        // A prompt has lines of its own, and people know it by them.
        let path = self.source.as_ref().map_or_else(
            || field.to_owned(),
            |source| format!("{}#{field}", source.path),
        );
        let origin = TextOrigin::File(Source::new(path, words), 0);
        self.surface.texts.push(Text {
            words: words.to_owned().into(),
            role: Role::Prompt,
            origin,
        });
    }

    fn tool_search(&mut self, node: &Node) {
        let accepted = "`true`, `false`, `off`, or how tools are searched";
        let on = match &node.kind {
            Kind::Bool(on) => Some(*on),
            Kind::Text { value, .. } => searches(value),
            Kind::Map(_) => {
                self.unknown_keys(node, "tool_search", TOOL_SEARCH, UnknownKey::Part);
                let mut on = self
                    .flag(node.get("enabled"), "tool_search.enabled")
                    .unwrap_or(true);
                for key in ["mode", "strategy", "variant"] {
                    let Some(part) = node.given(key) else {
                        continue;
                    };
                    match part.text().and_then(searches) {
                        Some(searches) => on &= searches,
                        None => self.wrong(part, &format!("tool_search.{key}"), accepted),
                    }
                }
                Some(on)
            }
            _ => None,
        };
        match on {
            Some(true) => self.surface.tool_search = ToolSearch::On,
            Some(false) => {}
            None => self.wrong(node, "tool_search", accepted),
        }
    }

    fn options(&mut self, node: &Node) {
        if !node.is_map() {
            return self.wrong(node, "options", "a map");
        }
        self.unknown_keys(node, "options", OPTIONS, UnknownKey::Little);
        for (key, value) in node.entries() {
            match (key.name.as_str(), value.bool()) {
                ("scan_fences", Some(true)) => self.surface.fences = Fences::Scan,
                ("scan_fences", Some(false)) => {}
                ("scan_fences", None) => {
                    self.wrong(value, "options.scan_fences", "`true` or `false`")
                }
                ("context_tokens", _) => match value
                    .integer()
                    .and_then(|number| u64::try_from(number).ok())
                {
                    Some(context_tokens @ Budget::LEAST..) => {
                        self.surface.budget = Budget { context_tokens }
                    }
                    _ => self.wrong(
                        value,
                        "options.context_tokens",
                        "a number of tokens, at least 1000",
                    ),
                },
                _ => {}
            }
        }
    }

    fn tools(&mut self, node: &Node, field: &str, list: ToolList) {
        match &node.kind {
            Kind::List(items) => items
                .iter()
                .enumerate()
                .for_each(|(index, item)| self.tool(item, &format!("{field}[{index}]"), list)),
            Kind::Map(_)
                if node
                    .get("tools")
                    .is_some_and(|tools| matches!(tools.kind, Kind::List(_))) =>
            {
                node.get("tools")
                    .into_iter()
                    .for_each(|tools| self.tools(tools, &format!("{field}.tools"), list));
            }
            Kind::Map(_) if tool::is_tool(node) => self.tool(node, field, list),
            _ => self.wrong(
                node,
                field,
                "a list of tools, a registry with `tools`, or one tool",
            ),
        }
    }

    /// One finding for each name that several tools have.
    fn duplicates(&mut self) {
        let mut by_name: HashMap<&str, Vec<Option<Place>>> = HashMap::new();
        for entry in &self.surface.tools {
            by_name
                .entry(&entry.name)
                .or_default()
                .push(entry.place.clone());
        }
        let mut found = Vec::new();
        for entry in &self.surface.tools {
            let Some(mut places) = by_name
                .remove(&*entry.name)
                .filter(|places| places.len() > 1)
            else {
                continue;
            };
            let finding = tool_duplicate::RULE
                .finding(format!("tool \"{}\" is defined more than once", entry.name))
                .tool(&*entry.name);
            // The first one may be the right one.
            places.swap(0, 1);
            let finding = finding.at_any(places.into_iter().flatten());
            found.push(
                finding.help("rename or remove one: it is unclear which one a call would run"),
            );
        }
        self.surface.problems.extend(found);
    }

    /// Marks the active tools, now that all are known.
    fn finish(mut self) -> Surface<'static> {
        if self.surface.tools.is_empty() && self.surface.problems.is_empty() {
            let place = self.place(Span::default());
            let finding = no_active_tools::RULE
                .finding("there is no tool")
                .at_any(place)
                .field("tools");
            self.report(finding.help("give `tools`, a list"));
        }
        self.duplicates();
        let lists = self
            .surface
            .policies
            .iter()
            .filter_map(|policy| policy.tools.as_ref());
        let listed: Vec<NamePatterns<'_>> = lists
            .map(|list| NamePatterns::new(list.iter().map(|written| &written.value)))
            .collect();
        for entry in self.surface.tools.iter().filter(|entry| {
            entry
                .description
                .as_deref()
                .is_none_or(|words| words.trim().is_empty())
        }) {
            if status(entry, &listed) == ToolStatus::Active {
                let message = format!(
                    "tool \"{}\" has no description: the model only sees the name",
                    entry.name
                );
                let finding = body_empty::RULE
                    .finding(message)
                    .at_any(entry.place.clone())
                    .tool(&*entry.name)
                    .field("description");
                self.surface.problems.push(
                    finding.help("say in `description` what the tool does and when to use it"),
                );
            }
        }
        for entry in &mut self.surface.tools {
            entry.status = status(entry, &listed);
        }
        self.surface
    }

    fn place(&self, span: Span) -> Option<Place> {
        Some(Place::new(self.source.as_ref()?, span))
    }

    fn located<T>(&self, value: T, node: &Node) -> Located<T> {
        Located {
            value,
            place: self.place(node.span),
        }
    }

    fn report(&mut self, finding: Diagnostic) {
        self.surface.problems.push(finding);
    }

    fn problem(&mut self, field: &str, message: String, span: Span) {
        let finding = malformed::RULE
            .finding(message)
            .at_any(self.place(span))
            .field(field);
        self.report(finding.help("fix it: a part that cannot be read is not checked"));
    }

    fn not_a_glob(&mut self, text: &str, field: &str, why: &str, span: Span) {
        let message = format!("{} is not a glob: {why}", quoted(text));
        self.problem(field, message, span);
    }

    fn wrong(&mut self, node: &Node, field: &str, accepted: &str) {
        let shown = match (&node.kind, node.text()) {
            (_, Some(text)) => quoted(text),
            (Kind::Number(number), _) => format!("`{number}`"),
            (Kind::Bool(value), _) => format!("`{value}`"),
            _ => node.kind_word().to_owned(),
        };
        let message = format!("{} must be {accepted}, not {shown}", quoted(field));
        self.problem(field, message, node.span);
    }

    /// Reports each key of a map that is not one of the words of `known`, with a replacement unless that would
    /// duplicate a key.
    fn unknown_keys(&mut self, node: &Node, path: &str, known: &str, matters: UnknownKey) {
        let unknown = node
            .entries()
            .iter()
            .map(|(key, _)| key)
            .filter(|key| !has_word(known, &key.name));
        let meant: Vec<(&Key, Option<&str>)> = unknown
            .map(|key| (key, nearest(&key.name, known.split(' '))))
            .collect();
        let mut written: HashMap<&str, usize> = HashMap::new();
        let there = node.entries().iter().map(|(key, _)| key.name.as_str());
        there
            .chain(meant.iter().filter_map(|(_, close)| *close))
            .for_each(|name| *written.entry(name).or_default() += 1);
        for (key, close) in meant {
            let severity = match (matters, close) {
                (UnknownKey::WhenClose, close)
                    if close.is_none_or(|close| !is_slip(&key.name, close)) =>
                {
                    continue;
                }
                (UnknownKey::Restricts, _) | (UnknownKey::Part, Some(_)) => Severity::Error,
                _ => Severity::Warning,
            };
            let path = if path.is_empty() {
                key.name.clone()
            } else {
                format!("{path}.{}", key.name)
            };
            let mut finding =
                key_unknown::RULE.finding(format!("{} is not a part of a surface", quoted(&path)));
            finding.severity = severity;
            let help = did_you_mean(close, "remove it");
            finding.fix = close
                .filter(|close| written.get(close) == Some(&1))
                .map(|close| format!("\"{close}\""));
            let place = self.place(key.span);
            self.report(finding.at_any(place).field(path).help(help));
        }
    }

    /// A pattern over names; an invalid one is reported.
    fn pattern(&mut self, node: &Node, field: &str) -> Option<Located<Pattern>> {
        let Some(text) = node.text() else {
            self.wrong(node, field, "a name or glob");
            return None;
        };
        match Pattern::new(text, Separator::Ordinary) {
            Ok(value) => Some(self.located(value, node)),
            Err(why) => {
                self.not_a_glob(text, field, &why, node.span);
                None
            }
        }
    }

    /// The globs of a list over paths or values; invalid ones are reported and left out.
    fn globs(&mut self, node: Option<&Node>, field: &str) -> Vec<String> {
        let span = node.map_or(Span::default(), |node| node.span);
        let mut globs = self.texts(node, field);
        globs.retain(|text| match Pattern::new(text, Separator::Literal) {
            Ok(_) => true,
            Err(why) => {
                self.not_a_glob(text, field, &why, span);
                false
            }
        });
        globs
    }

    /// The strings of a list; anything else is reported.
    fn texts(&mut self, node: Option<&Node>, field: &str) -> Vec<String> {
        let Some(node) = node.filter(|node| !node.is_null()) else {
            return Vec::new();
        };
        let Kind::List(items) = &node.kind else {
            self.wrong(node, field, "a list of strings");
            return Vec::new();
        };
        let mut texts = Vec::new();
        for item in items {
            match item.text() {
                Some(text) => texts.push(text.to_owned()),
                None => self.wrong(item, field, "a list of strings"),
            }
        }
        texts
    }
}

fn status(entry: &Entry<'_>, listed: &[NamePatterns<'_>]) -> ToolStatus {
    if listed.iter().all(|list| list.has(&entry.name)) {
        ToolStatus::Active
    } else {
        ToolStatus::Denied("`policy.tools` does not list it".to_owned())
    }
}
