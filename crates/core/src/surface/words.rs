//! Finds what a model reads in a schema, at any depth.

use super::Role;
use crate::artifact::node::Node;
use serde_json::Value;

/// Keywords that hold schemas by name, and those that hold a schema or several.
pub(super) const BY_NAME: [&str; 5] = [
    "properties",
    "$defs",
    "definitions",
    "patternProperties",
    "dependentSchemas",
];
pub(super) const SCHEMAS: [&str; 14] = [
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

/// A text in a schema.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum SchemaText {
    /// Words in this role.
    Words(Role),
    /// The name of a property.
    Name,
}

/// A schema, read with its places or without.
pub(crate) trait Tree: Sized {
    fn named(&self) -> Vec<(&str, &Self)>;
    fn listed(&self) -> Vec<&Self>;
    fn words(&self) -> Option<&str>;
}

impl Tree for Node {
    fn named(&self) -> Vec<(&str, &Self)> {
        self.entries()
            .iter()
            .map(|(key, node)| (key.name.as_str(), node))
            .collect()
    }

    fn listed(&self) -> Vec<&Self> {
        self.items().iter().collect()
    }

    fn words(&self) -> Option<&str> {
        self.text()
    }
}

impl Tree for Value {
    fn named(&self) -> Vec<(&str, &Self)> {
        self.as_object()
            .into_iter()
            .flatten()
            .map(|(key, value)| (key.as_str(), value))
            .collect()
    }

    fn listed(&self) -> Vec<&Self> {
        self.as_array().into_iter().flatten().collect()
    }

    fn words(&self) -> Option<&str> {
        self.as_str()
    }
}

/// Gives each description, title and value of a schema, and each name of a property, with the path
/// to it.
pub(crate) fn words<'t, T: Tree>(
    schema: &'t T,
    each: &mut impl FnMut(&'t T, SchemaText, &[String]),
) {
    look(schema, &mut Vec::new(), each);
}

fn look<'t, T: Tree>(
    schema: &'t T,
    path: &mut Vec<String>,
    each: &mut impl FnMut(&'t T, SchemaText, &[String]),
) {
    for (key, part) in schema.named() {
        path.push(key.to_owned());
        match key {
            "description" | "title" if part.words().is_some() => {
                each(part, SchemaText::Words(Role::Description), path)
            }
            "default" | "const" | "enum" | "examples" | "example" => values(part, path, each),
            _ if BY_NAME.contains(&key) => {
                for (name, schema) in part.named() {
                    path.push(name.to_owned());
                    each(schema, SchemaText::Name, path);
                    look(schema, path, each);
                    path.pop();
                }
            }
            _ if SCHEMAS.contains(&key) => {
                look(part, path, each);
                for (index, schema) in part.listed().into_iter().enumerate() {
                    path.push(index.to_string());
                    look(schema, path, each);
                    path.pop();
                }
            }
            _ => {}
        }
        path.pop();
    }
}

/// The texts of a value, which may be a list or a map.
fn values<'t, T: Tree>(
    value: &'t T,
    path: &mut Vec<String>,
    each: &mut impl FnMut(&'t T, SchemaText, &[String]),
) {
    if value.words().is_some() {
        each(value, SchemaText::Words(Role::Value), path);
    }
    let listed = value
        .listed()
        .into_iter()
        .enumerate()
        .map(|(index, part)| (index.to_string(), part));
    let named = value
        .named()
        .into_iter()
        .map(|(key, part)| (key.to_owned(), part));
    for (key, part) in listed.chain(named) {
        path.push(key);
        values(part, path, each);
        path.pop();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn words_are_found_at_every_depth_and_properties_are_not_keywords() {
        let schema = json!({
            "description": "a",
            "properties": {
                "description": {"type": "string", "description": "b", "enum": ["c", 1], "default": {"x": ["d"]}},
                "list": {"items": {"title": "e", "properties": {"deep": {"description": "f"}}}, "anyOf": [{"description": "g"}]},
            },
            "$defs": {"one": {"description": "h"}},
        });
        let (mut said, mut names) = (Vec::new(), Vec::new());
        words(&schema, &mut |value, what, path| match what {
            SchemaText::Words(role) => said.push((
                value.as_str().expect("words").to_owned(),
                role,
                path.join("/"),
            )),
            SchemaText::Name => names.push(path.join("/")),
        });
        let (description, value) = (Role::Description, Role::Value);
        let expected = [
            ("a", description, "description"),
            ("b", description, "properties/description/description"),
            ("c", value, "properties/description/enum/0"),
            ("d", value, "properties/description/default/x/0"),
            ("e", description, "properties/list/items/title"),
            (
                "f",
                description,
                "properties/list/items/properties/deep/description",
            ),
            ("g", description, "properties/list/anyOf/0/description"),
            ("h", description, "$defs/one/description"),
        ];
        assert_eq!(
            said,
            expected.map(|(words, role, path)| (words.to_owned(), role, path.to_owned()))
        );
        assert_eq!(
            names,
            [
                "properties/description",
                "properties/list",
                "properties/list/items/properties/deep",
                "$defs/one"
            ]
        );
    }
}
