//! How deep values nest. Code that walks a value needs stack for each level, so a value that a host
//! hands over is checked once, here, and one that is too deep is dropped level by level.

use serde_json::{Map, Value};

/// How many levels a value may have, wherever it comes from.
pub const MAX_DEPTH: usize = 64;

/// What is said about a value that is too deep.
pub(crate) fn too_deep() -> String {
    format!("nested deeper than {MAX_DEPTH} levels")
}

/// Whether a value has more levels than anybody has to walk.
pub(crate) fn is_deep(value: &Value) -> bool {
    deeper_than(value, MAX_DEPTH)
}

/// Whether a value nests deeper than this. It goes no deeper itself.
pub(crate) fn deeper_than(value: &Value, most: usize) -> bool {
    match value {
        Value::Array(items) => items
            .iter()
            .any(|item| most == 0 || deeper_than(item, most - 1)),
        Value::Object(map) => map
            .values()
            .any(|item| most == 0 || deeper_than(item, most - 1)),
        _ => false,
    }
}

/// Drops a value of any depth.
pub(crate) fn let_go(value: Value) {
    let mut rest = vec![value];
    while let Some(value) = rest.pop() {
        match value {
            Value::Array(items) => rest.extend(items),
            Value::Object(map) => rest.extend(map.into_iter().map(|(_, value)| value)),
            _ => {}
        }
    }
}

/// The entries of an object; those that are too deep become a text that says so.
pub(crate) fn shallow(mut object: Map<String, Value>) -> Map<String, Value> {
    for value in object.values_mut().filter(|value| is_deep(value)) {
        let_go(std::mem::replace(value, too_deep().into()));
    }
    object
}
