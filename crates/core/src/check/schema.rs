//! The keywords of JSON Schema, for the checks.

use serde_json::{Map, Value};

/// What a keyword's value holds.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Subschemas {
    Plain,
    Schema,
    Schemas,
    SchemaByName,
}

/// Every keyword of draft 2020-12, the ones older drafts had in their place, and what is commonly
/// written beside them.
const KEYWORDS: &[(&str, Subschemas)] = &[
    ("$anchor", Subschemas::Plain),
    ("$comment", Subschemas::Plain),
    ("$defs", Subschemas::SchemaByName),
    ("$dynamicAnchor", Subschemas::Plain),
    ("$dynamicRef", Subschemas::Plain),
    ("$id", Subschemas::Plain),
    ("$ref", Subschemas::Plain),
    ("$schema", Subschemas::Plain),
    ("$vocabulary", Subschemas::Plain),
    ("additionalProperties", Subschemas::Schema),
    ("allOf", Subschemas::Schemas),
    ("anyOf", Subschemas::Schemas),
    ("const", Subschemas::Plain),
    ("contains", Subschemas::Schema),
    ("contentEncoding", Subschemas::Plain),
    ("contentMediaType", Subschemas::Plain),
    ("contentSchema", Subschemas::Schema),
    ("default", Subschemas::Plain),
    ("definitions", Subschemas::SchemaByName),
    ("dependentRequired", Subschemas::Plain),
    ("dependentSchemas", Subschemas::SchemaByName),
    ("deprecated", Subschemas::Plain),
    ("description", Subschemas::Plain),
    ("else", Subschemas::Schema),
    ("enum", Subschemas::Plain),
    ("examples", Subschemas::Plain),
    ("exclusiveMaximum", Subschemas::Plain),
    ("exclusiveMinimum", Subschemas::Plain),
    ("format", Subschemas::Plain),
    ("if", Subschemas::Schema),
    ("items", Subschemas::Schema),
    ("maxContains", Subschemas::Plain),
    ("maxItems", Subschemas::Plain),
    ("maxLength", Subschemas::Plain),
    ("maxProperties", Subschemas::Plain),
    ("maximum", Subschemas::Plain),
    ("minContains", Subschemas::Plain),
    ("minItems", Subschemas::Plain),
    ("minLength", Subschemas::Plain),
    ("minProperties", Subschemas::Plain),
    ("minimum", Subschemas::Plain),
    ("multipleOf", Subschemas::Plain),
    ("not", Subschemas::Schema),
    ("oneOf", Subschemas::Schemas),
    ("pattern", Subschemas::Plain),
    ("patternProperties", Subschemas::SchemaByName),
    ("prefixItems", Subschemas::Schemas),
    ("properties", Subschemas::SchemaByName),
    ("propertyNames", Subschemas::Schema),
    ("readOnly", Subschemas::Plain),
    ("required", Subschemas::Plain),
    ("then", Subschemas::Schema),
    ("title", Subschemas::Plain),
    ("type", Subschemas::Plain),
    ("unevaluatedItems", Subschemas::Schema),
    ("unevaluatedProperties", Subschemas::Schema),
    ("uniqueItems", Subschemas::Plain),
    ("writeOnly", Subschemas::Plain),
];

/// The known keywords.
pub(super) fn keywords() -> impl Iterator<Item = &'static str> + Clone {
    KEYWORDS.iter().map(|&(name, _)| name)
}

/// Calls `found` with the path and name of every unknown key in a keyword's place. Property names
/// are not keywords, and neither is anything inside `const`, `default`, `enum` or `examples`.
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
            Some(Subschemas::Plain) => {}
            Some(Subschemas::Schema) => walk(value, path, found),
            Some(Subschemas::Schemas) => {
                for (index, one) in value.as_array().into_iter().flatten().enumerate() {
                    path.push(index.to_string());
                    walk(one, path, found);
                    path.pop();
                }
            }
            Some(Subschemas::SchemaByName) => {
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

/// Calls `each` with every schema in `schema` and its path, the outer ones first, then descends
/// into what `each` left.
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
            None | Some(Subschemas::Plain) => {}
            Some(Subschemas::Schema) => edit_schemas(value, path, each),
            Some(Subschemas::Schemas) => {
                for (index, one) in value.as_array_mut().into_iter().flatten().enumerate() {
                    path.push(index.to_string());
                    edit_schemas(one, path, each);
                    path.pop();
                }
            }
            Some(Subschemas::SchemaByName) => {
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
