//! Finds what no provider accepts in a schema of any draft.

use super::Reader;
use crate::artifact::node::{Key, Kind, Node};
use crate::artifact::rule::schema_invalid;
use crate::surface::words::{BY_NAME, SCHEMAS};
use std::collections::HashMap;

/// The types of JSON Schema; Gemini writes them in capitals.
const TYPES: [&str; 7] = [
    "string", "number", "integer", "boolean", "object", "array", "null",
];

impl Reader {
    /// Reports each part of a schema that cannot be right.
    pub(super) fn schema_parts(&mut self, schema: &Node, field: &str, tool: &str) {
        let mut looking = SchemaWalk {
            root: schema,
            definitions: HashMap::new(),
            wrong: Vec::new(),
        };
        for keyword in ["$defs", "definitions"] {
            let named = schema.get(keyword).map(Node::entries).unwrap_or_default();
            looking.definitions.extend(
                named
                    .iter()
                    .map(|(key, node)| (format!("#/{keyword}/{}", key.name), node)),
            );
        }
        if let Some(node) = schema
            .get("type")
            .filter(|node| is_type(node) && !says_object(node))
        {
            looking.report(
                node,
                "type",
                "the arguments of a tool are an `object`, with the arguments as its properties",
            );
        }
        looking.look(schema);
        for (node, keyword, accepted) in looking.wrong {
            let shown: String = node.to_json().to_string().chars().take(80).collect();
            let finding = schema_invalid::RULE
                .finding(format!(
                    "`{field}` is not a valid JSON Schema: `{keyword}` is {shown}"
                ))
                .at_any(self.place(node.span))
                .tool(tool);
            self.report(finding.field(field).help(accepted));
        }
    }
}

/// A walk through a schema that knows its definitions.
struct SchemaWalk<'n> {
    root: &'n Node,
    definitions: HashMap<String, &'n Node>,
    /// Each part that cannot be right, with its keyword and what to write instead.
    wrong: Vec<(&'n Node, &'static str, &'static str)>,
}

/// How many references in a row are followed.
const MOST_STEPS: usize = 64;

impl<'n> SchemaWalk<'n> {
    fn report(&mut self, node: &'n Node, keyword: &'static str, accepted: &'static str) {
        self.wrong.push((node, keyword, accepted));
    }

    fn look(&mut self, schema: &'n Node) {
        if let Some(node) = schema.get("type").filter(|node| !is_type(node)) {
            self.report(node, "type", "use `string`, `number`, `integer`, `boolean`, `object`, `array`, `null`, or a list of these");
        }
        let is_wrong = |node: &&Node| !is_list_of_texts(node);
        if let Some(node) = schema.get("required").filter(is_wrong) {
            let accepted = "write a list of names beside `properties`";
            self.report(node, "required", accepted);
        }
        let is_no_list = |node: &&Node| !matches!(node.kind, Kind::List(_));
        if let Some(node) = schema.get("enum").filter(is_no_list) {
            self.report(node, "enum", "write a list of values");
        }
        if let Some(node) = schema.get("$ref") {
            self.reference(node);
        }
        for keyword in BY_NAME {
            for (_, part) in schema.get(keyword).map(Node::entries).unwrap_or_default() {
                self.look(part);
            }
        }
        for keyword in SCHEMAS {
            let Some(part) = schema.get(keyword) else {
                continue;
            };
            part.items().iter().for_each(|part| self.look(part));
            self.look(part);
        }
    }

    /// Only references into the same schema are checked.
    fn reference(&mut self, node: &'n Node) {
        let mut at = node;
        for _ in 0..MOST_STEPS {
            let Some(path) = at.text() else {
                return self.report(at, "$ref", "write a path as `#/$defs/name`");
            };
            if !path.starts_with("#/") {
                return;
            }
            let Some(target) = self.find(path) else {
                let accepted = "define what it names under `$defs`, or write the schema here";
                return self.report(node, "$ref", accepted);
            };
            // A schema with keywords of its own ends a chain of references.
            let [(Key { name, .. }, next)] = target.entries() else {
                return;
            };
            if name != "$ref" {
                return;
            }
            at = next;
        }
        let accepted = "refer to a schema: this reference leads to itself";
        self.report(node, "$ref", accepted);
    }

    fn find(&self, path: &str) -> Option<&'n Node> {
        if let Some(node) = self.definitions.get(path) {
            return Some(node);
        }
        let parts = path
            .strip_prefix("#/")?
            .split('/')
            .map(|part| part.replace("~1", "/").replace("~0", "~"));
        parts
            .into_iter()
            .try_fold(self.root, |node, part| match &node.kind {
                Kind::List(items) => items.get(part.parse::<usize>().ok()?),
                _ => node.get(&part),
            })
    }
}

fn says_object(node: &Node) -> bool {
    let is_object = |node: &Node| {
        node.text()
            .is_some_and(|word| word.eq_ignore_ascii_case("object"))
    };
    is_object(node) || node.items().iter().any(is_object)
}

fn is_type(node: &Node) -> bool {
    let is_word = |node: &Node| {
        node.text().is_some_and(|word| {
            TYPES.contains(&word) || TYPES.iter().any(|known| known.to_uppercase() == word)
        })
    };
    match &node.kind {
        Kind::List(words) => !words.is_empty() && words.iter().all(is_word),
        _ => is_word(node),
    }
}

fn is_list_of_texts(node: &Node) -> bool {
    matches!(&node.kind, Kind::List(names) if names.iter().all(|name| name.text().is_some()))
}
