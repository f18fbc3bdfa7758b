//! What no provider takes in a schema, whatever draft it is of.

use super::Reader;
use crate::artifact::node::{Kind, Node};
use crate::check::schema_invalid;

/// The words of JSON Schema; Gemini writes them in capitals.
const TYPES: [&str; 7] = ["string", "number", "integer", "boolean", "object", "array", "null"];

/// Keywords that hold schemas by name, a schema, or a schema or several.
const BY_NAME: [&str; 5] = ["properties", "$defs", "definitions", "patternProperties", "dependentSchemas"];
const SCHEMAS: [&str; 14] = [
    "items",
    "additionalProperties",
    "not",
    "if",
    "then",
    "else",
    "contains",
    "propertyNames",
    "anyOf",
    "allOf",
    "oneOf",
    "prefixItems",
    "unevaluatedItems",
    "unevaluatedProperties",
];

/// A part of a schema that cannot be right.
struct Wrong<'n> {
    node: &'n Node,
    keyword: &'static str,
    accepted: &'static str,
}

impl Reader {
    /// Reports each part of a schema that cannot be right.
    pub(super) fn schema_parts(&mut self, schema: &Node, field: &str, tool: &str) {
        let mut wrong = Vec::new();
        look(schema, &mut wrong);
        for Wrong { node, keyword, accepted } in wrong {
            let shown: String = node.to_json().to_string().chars().take(80).collect();
            let finding = schema_invalid::RULE.finding(format!("`{field}` is not a valid JSON Schema: `{keyword}` is {shown}"));
            self.surface.problems.push(finding.at_any(self.place(node.span)).tool(tool).field(field).help(accepted));
        }
    }
}

fn look<'n>(schema: &'n Node, wrong: &mut Vec<Wrong<'n>>) {
    let mut report = |node, keyword, accepted| wrong.push(Wrong { node, keyword, accepted });
    if let Some(node) = schema.get("type").filter(|node| !is_type(node)) {
        report(node, "type", "use `string`, `number`, `integer`, `boolean`, `object`, `array`, `null`, or a list of these");
    }
    if let Some(node) = schema.get("required").filter(|node| !is_list_of_texts(node)) {
        report(node, "required", "write a list of names beside `properties`");
    }
    if let Some(node) = schema.get("enum").filter(|node| !matches!(node.kind, Kind::List(_))) {
        report(node, "enum", "write a list of values");
    }
    for keyword in BY_NAME {
        for (_, part) in schema.get(keyword).map(Node::entries).unwrap_or_default() {
            look(part, wrong);
        }
    }
    for keyword in SCHEMAS {
        let Some(part) = schema.get(keyword) else { continue };
        part.items().iter().for_each(|part| look(part, wrong));
        look(part, wrong);
    }
}

fn is_type(node: &Node) -> bool {
    let is_word =
        |node: &Node| node.text().is_some_and(|word| TYPES.contains(&word) || TYPES.iter().any(|known| known.to_uppercase() == word));
    match &node.kind {
        Kind::List(words) => !words.is_empty() && words.iter().all(is_word),
        _ => is_word(node),
    }
}

fn is_list_of_texts(node: &Node) -> bool {
    matches!(&node.kind, Kind::List(names) if names.iter().all(|name| name.text().is_some()))
}
