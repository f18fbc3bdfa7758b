//! `set`: lists as sets, in the order of first appearance.

use super::{Args, Body, Builtin, Example, Module, PLAIN, Param};
use crate::number::is_integer;
use serde_json::{Number, Value, json};
use std::collections::HashSet;
use std::fmt::Write;

const TWO: &[Param] = &[Param::list("a"), Param::list("b")];

const UNIQUE: Builtin = Builtin {
    name: "unique",
    params: &[Param::list("items").also(&["s"])],
    doc: "Each item once.",
    returns: "a list",
    body: Body::Pure(|args| Ok(keep(args.list(0), |_| true))),
    examples: &[Example::new(
        "set.unique([3, 1, 3, [1], [1]])",
        "[3, 1, [1]]",
    )],
    ..PLAIN
};

const INTERSECTION: Builtin = Builtin {
    name: "intersection",
    params: TWO,
    doc: "What is in both.",
    returns: "a list",
    body: Body::Pure(|args| {
        let b = keys(args.list(1));
        Ok(keep(args.list(0), |key| b.contains(key)))
    }),
    examples: &[Example::new(
        "set.intersection([1, 2, 3], [3, 2])",
        "[2, 3]",
    )],
    ..PLAIN
};

const DIFFERENCE: Builtin = Builtin {
    name: "difference",
    params: TWO,
    doc: "What is in `a` and not in `b`.",
    returns: "a list",
    body: Body::Pure(|args| {
        let b = keys(args.list(1));
        Ok(keep(args.list(0), |key| !b.contains(key)))
    }),
    examples: &[Example::new("set.difference([1, 2, 3], [2])", "[1, 3]")],
    ..PLAIN
};

pub(super) const MODULE: Module = Module {
    name: "set",
    doc: "Lists as sets: equal items count once, in the order of their first appearance. Takes linear time.",
    constants: &[],
    calls: &[
        UNIQUE,
        Builtin {
            name: "new",
            params: &[Param::list("items").or("[]")],
            doc: "The same as `set.unique`; without items, an empty list.",
            examples: &[Example::new("set.new([1, 1])", "[1]")],
            ..UNIQUE
        },
        Builtin {
            name: "values",
            doc: "The same as `set.unique`.",
            examples: &[Example::new("set.values(set.new([2, 1]))", "[2, 1]")],
            ..UNIQUE
        },
        Builtin {
            name: "size",
            doc: "How many different items there are.",
            returns: "an integer",
            body: Body::Pure(|args| Ok(json!(keys(args.list(0)).len()))),
            examples: &[Example::new("set.size([1, 1, 2])", "2")],
            ..UNIQUE
        },
        Builtin {
            name: "union",
            params: TWO,
            doc: "What is in either.",
            returns: "a list",
            body: Body::Pure(|args| Ok(keep(args.list(0).iter().chain(args.list(1)), |_| true))),
            examples: &[Example::new("set.union([1, 2], [2, 3])", "[1, 2, 3]")],
            ..PLAIN
        },
        INTERSECTION,
        Builtin {
            name: "intersect",
            doc: "The same as `set.intersection`.",
            examples: &[Example::new("set.intersect([1, 2], [2])", "[2]")],
            ..INTERSECTION
        },
        DIFFERENCE,
        Builtin {
            name: "diff",
            doc: "The same as `set.difference`.",
            examples: &[Example::new("set.diff([1, 2], [2])", "[1]")],
            ..DIFFERENCE
        },
        Builtin {
            name: "symmetric_difference",
            params: TWO,
            doc: "What is in one and not in the other.",
            returns: "a list",
            body: Body::Pure(|args| {
                let (a, b) = (keys(args.list(0)), keys(args.list(1)));
                Ok(keep(args.list(0).iter().chain(args.list(1)), |key| {
                    a.contains(key) != b.contains(key)
                }))
            }),
            examples: &[Example::new(
                "set.symmetric_difference([1, 2], [2, 3])",
                "[1, 3]",
            )],
            ..PLAIN
        },
        Builtin {
            name: "is_subset",
            params: TWO,
            doc: "Whether everything in `a` is also in `b`.",
            returns: "True or False",
            body: Body::Pure(|args| Ok(json!(keys(args.list(0)).is_subset(&keys(args.list(1)))))),
            examples: &[
                Example::new("set.is_subset([1], [1, 2])", "true"),
                Example::new("set.is_subset([3], [1, 2])", "false"),
            ],
            ..PLAIN
        },
        Builtin {
            name: "contains",
            params: &[
                Param::list("items").also(&["s"]),
                Param::any("value").also(&["item"]),
            ],
            doc: "Whether an item equals `value`.",
            returns: "True or False",
            body: Body::Pure(contains),
            examples: &[Example::new(
                r#"set.contains([{"a": 1, "b": 2}], {"b": 2, "a": 1})"#,
                "true",
            )],
            ..PLAIN
        },
    ],
};

fn keep<'a>(items: impl IntoIterator<Item = &'a Value>, wanted: impl Fn(&str) -> bool) -> Value {
    let mut seen = HashSet::new();
    let fresh = |item: &&Value| {
        let key = key(item);
        wanted(&key) && seen.insert(key)
    };
    Value::Array(items.into_iter().filter(fresh).cloned().collect())
}

fn keys(items: &[Value]) -> HashSet<String> {
    items.iter().map(key).collect()
}

fn contains(args: &Args) -> Result<Value, String> {
    let wanted = key(args.get(1));
    Ok(json!(args.list(0).iter().any(|item| key(item) == wanted)))
}

/// A text that two values share exactly if a script finds them equal: keys sorted, `1` and `1.0`
/// the same.
pub(super) fn key(value: &Value) -> String {
    let mut text = String::new();
    write_key(value, &mut text);
    text
}

fn write_key(value: &Value, text: &mut String) {
    match value {
        Value::Number(number) => write_number(number, text),
        Value::Array(items) => {
            text.push('[');
            for item in items {
                write_key(item, text);
                text.push(',');
            }
            text.push(']');
        }
        Value::Object(map) => {
            let mut entries: Vec<_> = map.iter().collect();
            entries.sort_unstable_by_key(|(name, _)| *name);
            text.push('{');
            for (name, value) in entries {
                let _ = write!(text, "{name:?}:");
                write_key(value, text);
                text.push(',');
            }
            text.push('}');
        }
        Value::String(string) => {
            let _ = write!(text, "{string:?}");
        }
        Value::Null | Value::Bool(_) => {
            let _ = write!(text, "{value}");
        }
    }
}

fn write_number(number: &Number, text: &mut String) {
    let written = number.as_str();
    let _ = match number.as_f64().filter(|_| !is_integer(written)) {
        Some(float) if float.to_bits() << 1 == 0 => write!(text, "0"),
        Some(float) if float.fract() == 0.0 => write!(text, "{float:.0}"),
        Some(float) => write!(text, "{float:?}"),
        None if written == "-0" => write!(text, "0"),
        None => write!(text, "{written}"),
    };
}

#[cfg(test)]
mod tests {
    use super::super::tests::call;
    use super::key;
    use serde_json::json;

    #[test]
    fn items_are_equal_as_scripts_find_them_equal() {
        let items = json!([1, 1.0, true, "1", "True", null, "None", {"a": 1, "b": [2]}, {"b": [2.0], "a": 1}, -0.0, 0]);
        let unique = json!([1, true, "1", "True", null, "None", {"a": 1, "b": [2]}, -0.0]);
        assert_eq!(call("set.unique", json!([items])), unique);
        assert_ne!(
            key(&json!(9_007_199_254_740_993_i64)),
            key(&json!(9_007_199_254_740_992_i64))
        );
        assert_ne!(key(&json!(["a,", "b"])), key(&json!(["a", ",b"])));
    }

    #[test]
    fn many_items_take_little_time() {
        let items: Vec<i64> = (0..200_000).collect();
        assert_eq!(call("set.is_subset", json!([items, items])), json!(true));
    }
}
