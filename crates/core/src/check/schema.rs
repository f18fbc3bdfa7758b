//! The keywords of JSON Schema, for the checks.

use serde_json::{Map, Value};

/// What a keyword's value holds.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Holds {
    Plain,
    Schema,
    Schemas,
    SchemaByName,
}

/// Every keyword of draft 2020-12, the ones older drafts had in their place, and what is commonly written beside them.
const KEYWORDS: &[(&str, Holds)] = &[
    ("$anchor", Holds::Plain),
    ("$comment", Holds::Plain),
    ("$defs", Holds::SchemaByName),
    ("$dynamicAnchor", Holds::Plain),
    ("$dynamicRef", Holds::Plain),
    ("$id", Holds::Plain),
    ("$ref", Holds::Plain),
    ("$schema", Holds::Plain),
    ("$vocabulary", Holds::Plain),
    ("additionalProperties", Holds::Schema),
    ("allOf", Holds::Schemas),
    ("anyOf", Holds::Schemas),
    ("const", Holds::Plain),
    ("contains", Holds::Schema),
    ("contentEncoding", Holds::Plain),
    ("contentMediaType", Holds::Plain),
    ("contentSchema", Holds::Schema),
    ("default", Holds::Plain),
    ("definitions", Holds::SchemaByName),
    ("dependentRequired", Holds::Plain),
    ("dependentSchemas", Holds::SchemaByName),
    ("deprecated", Holds::Plain),
    ("description", Holds::Plain),
    ("else", Holds::Schema),
    ("enum", Holds::Plain),
    ("examples", Holds::Plain),
    ("exclusiveMaximum", Holds::Plain),
    ("exclusiveMinimum", Holds::Plain),
    ("format", Holds::Plain),
    ("if", Holds::Schema),
    ("items", Holds::Schema),
    ("maxContains", Holds::Plain),
    ("maxItems", Holds::Plain),
    ("maxLength", Holds::Plain),
    ("maxProperties", Holds::Plain),
    ("maximum", Holds::Plain),
    ("minContains", Holds::Plain),
    ("minItems", Holds::Plain),
    ("minLength", Holds::Plain),
    ("minProperties", Holds::Plain),
    ("minimum", Holds::Plain),
    ("multipleOf", Holds::Plain),
    ("not", Holds::Schema),
    ("oneOf", Holds::Schemas),
    ("pattern", Holds::Plain),
    ("patternProperties", Holds::SchemaByName),
    ("prefixItems", Holds::Schemas),
    ("properties", Holds::SchemaByName),
    ("propertyNames", Holds::Schema),
    ("readOnly", Holds::Plain),
    ("required", Holds::Plain),
    ("then", Holds::Schema),
    ("title", Holds::Plain),
    ("type", Holds::Plain),
    ("unevaluatedItems", Holds::Schema),
    ("unevaluatedProperties", Holds::Schema),
    ("uniqueItems", Holds::Plain),
    ("writeOnly", Holds::Plain),
];

/// The known keywords.
pub(super) fn keywords() -> impl Iterator<Item = &'static str> + Clone {
    KEYWORDS.iter().map(|&(name, _)| name)
}

/// Calls `found` with the path and the name of every key that stands where a keyword should and is none. Names of properties are not
/// keywords, and neither is anything inside `const`, `default`, `enum` or `examples`.
pub(super) fn each_unknown_keyword(schema: &Value, found: &mut impl FnMut(&[String], &str)) {
    walk(schema, &mut Vec::new(), found);
}

fn walk(schema: &Value, path: &mut Vec<String>, found: &mut impl FnMut(&[String], &str)) {
    let Some(object) = schema.as_object() else {
        return;
    };
    for (key, value) in object {
        path.push(key.clone());
        match KEYWORDS
            .binary_search_by(|(known, _)| (*known).cmp(key))
            .ok()
            .map(|at| KEYWORDS[at].1)
        {
            None if key.starts_with("x-") => {}
            None => found(path, key),
            Some(Holds::Plain) => {}
            Some(Holds::Schema) => walk(value, path, found),
            Some(Holds::Schemas) => {
                for (index, one) in value.as_array().into_iter().flatten().enumerate() {
                    path.push(index.to_string());
                    walk(one, path, found);
                    path.pop();
                }
            }
            Some(Holds::SchemaByName) => {
                for (name, one) in value.as_object().into_iter().flatten() {
                    path.push(name.clone());
                    walk(one, path, found);
                    path.pop();
                }
            }
        }
        path.pop();
    }
}

/// Calls `each` with every schema in `schema`, the outer ones first, and with its path. What `each` leaves of one is then gone through.
pub(crate) fn edit_schemas(
    schema: &mut Value,
    path: &mut Vec<String>,
    each: &mut impl FnMut(&[String], &mut Value),
) {
    each(path, schema);
    let Some(object) = schema.as_object_mut() else {
        return;
    };
    for (key, value) in object {
        path.push(key.clone());
        match KEYWORDS
            .binary_search_by(|(known, _)| (*known).cmp(key))
            .ok()
            .map(|at| KEYWORDS[at].1)
        {
            None | Some(Holds::Plain) => {}
            Some(Holds::Schema) => edit_schemas(value, path, each),
            Some(Holds::Schemas) => {
                for (index, one) in value.as_array_mut().into_iter().flatten().enumerate() {
                    path.push(index.to_string());
                    edit_schemas(one, path, each);
                    path.pop();
                }
            }
            Some(Holds::SchemaByName) => {
                for (name, one) in value
                    .as_object_mut()
                    .map(Map::iter_mut)
                    .into_iter()
                    .flatten()
                {
                    path.push(name.clone());
                    edit_schemas(one, path, each);
                    path.pop();
                }
            }
        }
        path.pop();
    }
}

/// A path as a JSON pointer.
pub(crate) fn pointer(path: &[String]) -> String {
    path.iter()
        .map(|part| format!("/{}", crate::schema::escaped(part)))
        .collect()
}

/// The path of a JSON pointer.
pub(super) fn parts(pointer: &str) -> Vec<String> {
    pointer
        .split('/')
        .skip(1)
        .map(|part| part.replace("~1", "/").replace("~0", "~"))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::schema::compile;
    use serde_json::json;

    fn check(schema: &Value, expected: &[&str]) {
        let mut found = Vec::new();
        each_unknown_keyword(schema, &mut |path, _| found.push(pointer(path)));
        assert_eq!(found, expected, "{schema}");
    }

    #[test]
    fn the_keyword_table_is_sorted_for_the_search() {
        assert!(KEYWORDS.windows(2).all(|pair| pair[0].0 < pair[1].0));
    }

    #[test]
    fn only_keys_in_the_place_of_keywords_are_judged() {
        check(
            &json!({"type": "object", "properties": {"requierd": {"type": "string"}}}),
            &[],
        );
        check(&json!({"requierd": [], "x-mine": 1}), &["/requierd"]);
        check(
            &json!({"properties": {"a": {"minlength": 1}}}),
            &["/properties/a/minlength"],
        );
        check(
            &json!({"anyOf": [true, {"enums": []}], "default": {"enums": 1}}),
            &["/anyOf/1/enums"],
        );
        check(
            &json!({"$defs": {"a/b": {"items": {"tipe": 1}}}}),
            &["/$defs/a~1b/items/tipe"],
        );
    }

    #[test]
    fn patterns_are_linear_and_references_stay_inside() {
        assert!(compile(&json!({"pattern": "^a+$"})).is_ok());
        assert!(compile(&json!({"pattern": "(?=a)b"})).is_err());
        assert!(compile(&json!({"$ref": "https://example.com/schema.json"})).is_err());
        assert!(compile(&json!({"$ref": "#/$defs/a", "$defs": {"a": {"type": "string"}}})).is_ok());
    }
}
