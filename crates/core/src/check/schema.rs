//! The keywords of JSON Schema, for the checks.

use serde_json::{Map, Value};
use std::collections::BTreeMap;
use std::sync::LazyLock;

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
const KEYWORDS: [(Subschemas, &str); 4] = [
    (
        Subschemas::Plain,
        "$anchor $comment $dynamicAnchor $dynamicRef $id $ref $schema $vocabulary const \
         contentEncoding contentMediaType default dependentRequired deprecated description \
         enum examples exclusiveMaximum exclusiveMinimum format maxContains maxItems \
         maxLength maxProperties maximum minContains minItems minLength minProperties minimum \
         multipleOf pattern readOnly required title type uniqueItems writeOnly",
    ),
    (
        Subschemas::Schema,
        "additionalProperties contains contentSchema else if items not propertyNames then \
         unevaluatedItems unevaluatedProperties",
    ),
    (Subschemas::Schemas, "allOf anyOf oneOf prefixItems"),
    (
        Subschemas::SchemaByName,
        "$defs definitions dependentSchemas patternProperties properties",
    ),
];

static BY_NAME: LazyLock<BTreeMap<&str, Subschemas>> = LazyLock::new(|| {
    let of =
        |(kind, names): (Subschemas, &'static str)| names.split(' ').map(move |name| (name, kind));
    KEYWORDS.into_iter().flat_map(of).collect()
});

/// The known keywords.
pub(super) fn keywords() -> impl Iterator<Item = &'static str> + Clone {
    BY_NAME.keys().copied()
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
        match BY_NAME.get(key.as_str()) {
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
        match BY_NAME.get(key.as_str()) {
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
    fn each_keyword_is_in_the_table_once() {
        let listed = KEYWORDS.map(|(_, names)| names.split(' ').count());
        assert_eq!(BY_NAME.len(), listed.iter().sum::<usize>());
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
