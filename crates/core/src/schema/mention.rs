//! Whether a schema mentions a property. A model must neither see nor send what is injected.

use super::within;
use regex::Regex;
use serde_json::Value;

/// Whether the schema of an object declares, requires, forbids or exemplifies a property of this
/// name, itself or through any schema that it applies to the same object. Schemas of nested values
/// do not count.
pub(crate) fn mentions(schema: &Value, name: &str) -> bool {
    Search {
        root: schema,
        name,
        followed: Vec::new(),
    }
    .finds(schema)
}

struct Search<'a> {
    root: &'a Value,
    name: &'a str,
    /// References that were followed.
    followed: Vec<&'a str>,
}

impl<'a> Search<'a> {
    fn finds(&mut self, schema: &'a Value) -> bool {
        let Some(keywords) = schema.as_object() else {
            return false;
        };
        keywords
            .iter()
            .any(|(keyword, value)| match keyword.as_str() {
                "properties" => value.get(self.name).is_some(),
                // A pattern that does not compile here may match any name.
                "patternProperties" => keys(value).any(|pattern| {
                    pattern == self.name
                        || Regex::new(pattern).map_or(true, |pattern| pattern.is_match(self.name))
                }),
                "required" => self.is_in(value),
                "dependentRequired" => {
                    entries(value).any(|(of, names)| of == self.name || self.is_in(names))
                }
                "dependentSchemas" => {
                    entries(value).any(|(of, schema)| of == self.name || self.finds(schema))
                }
                // Keywords of older drafts, which a model reads as well.
                "dependencies" => entries(value)
                    .any(|(of, what)| of == self.name || self.is_in(what) || self.finds(what)),
                "propertyNames" => self.is_named(value),
                "const" | "default" => value.get(self.name).is_some(),
                "enum" | "examples" => items(value).any(|one| one.get(self.name).is_some()),
                "allOf" | "anyOf" | "oneOf" => items(value).any(|one| self.finds(one)),
                "not" | "if" | "then" | "else" => self.finds(value),
                "$ref" | "$dynamicRef" => value
                    .as_str()
                    .is_some_and(|target| self.finds_behind(target)),
                _ => false,
            })
    }

    /// Whether it is in a list of names.
    fn is_in(&self, names: &Value) -> bool {
        items(names).any(|one| one == self.name)
    }

    /// Whether a schema of property names mentions it.
    fn is_named(&self, schema: &Value) -> bool {
        match schema {
            Value::String(text) => text == self.name,
            Value::Array(items) => items.iter().any(|item| self.is_named(item)),
            Value::Object(keywords) => {
                keywords
                    .iter()
                    .any(|(keyword, value)| match keyword.as_str() {
                        "const" | "enum" | "examples" | "allOf" | "anyOf" | "oneOf" | "not"
                        | "if" | "then" | "else" => self.is_named(value),
                        _ => false,
                    })
            }
            _ => false,
        }
    }

    /// Follows a reference. One that is not a plain path may lead to any schema with a name.
    fn finds_behind(&mut self, target: &'a str) -> bool {
        if self.followed.contains(&target) {
            return false;
        }
        self.followed.push(target);
        let root = self.root;
        match within(root, target) {
            Some(found) => self.finds(found),
            None => ["$defs", "definitions"]
                .iter()
                .filter_map(|key| root.get(key))
                .flat_map(entries)
                .any(|(_, one)| self.finds(one)),
        }
    }
}

/// The JSON Pointer in a URI fragment.
pub(super) fn decoded(fragment: &str) -> String {
    let mut bytes = Vec::with_capacity(fragment.len());
    let mut rest = fragment.as_bytes();
    while let Some((&byte, after)) = rest.split_first() {
        let digits = after
            .get(..2)
            .filter(|_| byte == b'%')
            .and_then(|digits| std::str::from_utf8(digits).ok());
        match digits.and_then(|digits| u8::from_str_radix(digits, 16).ok()) {
            Some(byte) => {
                bytes.push(byte);
                rest = after.get(2..).unwrap_or_default();
            }
            None => {
                bytes.push(byte);
                rest = after;
            }
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

fn items(value: &Value) -> impl Iterator<Item = &Value> {
    value.as_array().into_iter().flatten()
}

fn entries(value: &Value) -> impl Iterator<Item = (&String, &Value)> {
    value.as_object().into_iter().flatten()
}

fn keys(value: &Value) -> impl Iterator<Item = &String> {
    entries(value).map(|(key, _)| key)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_pattern_that_cannot_be_read_here_may_mean_any_name() {
        for (pattern, is_shown) in [
            ("^(?!x)w", true),
            ("(", true),
            ("^w", true),
            ("who", true),
            ("^x", false),
        ] {
            assert_eq!(
                mentions(&json!({"patternProperties": {pattern: true}}), "who"),
                is_shown,
                "{pattern}"
            );
        }
    }
}
