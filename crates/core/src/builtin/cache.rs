//! `cache`, `ctx` and `state`: one store with three lifetimes.

use super::number::Num;
use super::set::key as equality;
use super::{Args, Body, Builtin, Example, Module, PLAIN, Param, Scope};
use crate::store::{KeyValue, StoreScope};
use serde_json::{Value, json};

/// Bytes of a key.
const MAX_KEY: usize = 512;

const KEY: Param = Param::text("key");

/// One module of the three; `$writers` says which scripts may change it.
macro_rules! module {
    ($name:literal, $scope:expr, $writers:expr, $doc:literal) => {
        Module {
            name: $name,
            doc: $doc,
            constants: &[],
            calls: &[
                Builtin {
                    name: "get",
                    params: &[KEY, Param::any("default").or("null")],
                    doc: "The value of a key.",
                    returns: "the value, or `default` when the key is not set",
                    body: Body::Host(|host, args| get(host.store($scope), args)),
                    examples: &[
                        Example::new(concat!("[", $name, ".set(\"a\", [1]), ", $name, ".get(\"a\")][1]"), "[1]"),
                        Example::new(concat!($name, ".get(\"a\", 0)"), "0"),
                    ],
                    ..PLAIN
                },
                Builtin {
                    name: "has",
                    params: &[KEY],
                    doc: "Whether a key is set.",
                    returns: "True or False",
                    body: Body::Host(|host, args| has(host.store($scope), args)),
                    examples: &[Example::new(concat!($name, ".has(\"a\")"), "false")],
                    ..PLAIN
                },
                Builtin {
                    name: "snapshot",
                    doc: "Every key and value, in the order they were set.",
                    returns: "a dict",
                    body: Body::Host(|host, args| snapshot(host.store($scope), args)),
                    examples: &[Example::new(concat!("[", $name, ".set(\"a\", 1), ", $name, ".snapshot()][1]"), r#"{"a": 1}"#)],
                    ..PLAIN
                },
                Builtin {
                    name: "set",
                    params: &[KEY, Param::any("value")],
                    doc: "Sets a key. Raises when the store would grow beyond its bound.",
                    scope: $writers,
                    body: Body::Host(|host, args| set(host.store($scope), args)),
                    examples: &[Example::new(concat!("[", $name, ".set(\"a\", None), ", $name, ".has(\"a\")][1]"), "true")],
                    ..PLAIN
                },
                Builtin {
                    name: "delete",
                    params: &[KEY],
                    doc: "Removes a key.",
                    returns: "whether it was set",
                    scope: $writers,
                    body: Body::Host(|host, args| delete(host.store($scope), args)),
                    examples: &[Example::new(concat!($name, ".delete(\"a\")"), "false")],
                    ..PLAIN
                },
                Builtin {
                    name: "clear",
                    doc: "Removes every key.",
                    scope: $writers,
                    body: Body::Host(|host, args| clear(host.store($scope), args)),
                    examples: &[Example::new(
                        concat!("[", $name, ".set(\"a\", 1), ", $name, ".clear(), ", $name, ".has(\"a\")][2]"),
                        "false",
                    )],
                    ..PLAIN
                },
                Builtin {
                    name: "increment",
                    params: &[KEY, Param::number("by").or("1")],
                    doc: "Adds to a number in one step; a key that is not set counts as 0.",
                    returns: "the new number",
                    scope: $writers,
                    body: Body::Host(|host, args| increment(host.store($scope), args)),
                    examples: &[
                        Example::new(concat!("[", $name, ".increment(\"n\"), ", $name, ".increment(\"n\", 2)]"), "[1, 3]"),
                        Example::new(
                            concat!("[", $name, ".set(\"n\", \"x\"), ", $name, ".increment(\"n\")]"),
                            "error: `n` must be a number",
                        ),
                    ],
                    ..PLAIN
                },
                Builtin {
                    name: "append",
                    params: &[KEY, Param::any("value")],
                    doc: "Adds to the end of a list in one step; a key that is not set counts as an empty list.",
                    returns: "how many items the list has now",
                    scope: $writers,
                    body: Body::Host(|host, args| append(host.store($scope), args)),
                    examples: &[Example::new(
                        concat!("[", $name, ".append(\"l\", 1), ", $name, ".append(\"l\", 2), ", $name, ".get(\"l\")]"),
                        "[1, 2, [1, 2]]",
                    )],
                    ..PLAIN
                },
                Builtin {
                    name: "compare_and_set",
                    params: &[KEY, Param::any("expected"), Param::any("value")],
                    doc: "Sets a key in one step if its value equals `expected`; None also stands for a key that is not set.",
                    returns: "whether it was set",
                    scope: $writers,
                    body: Body::Host(|host, args| compare_and_set(host.store($scope), args)),
                    examples: &[Example::new(
                        concat!(
                            "[",
                            $name,
                            ".compare_and_set(\"a\", None, 1), ",
                            $name,
                            ".compare_and_set(\"a\", None, 2), ",
                            $name,
                            ".get(\"a\")]"
                        ),
                        "[true, false, 1]",
                    )],
                    ..PLAIN
                },
                Builtin {
                    name: "update",
                    params: &[Param::dict("values")],
                    doc: "Sets every key of a dict and leaves the others; each key is set in one step.",
                    scope: $writers,
                    body: Body::Host(|host, args| update(host.store($scope), args)),
                    examples: &[Example::new(
                        concat!("[", $name, ".set(\"a\", 1), ", $name, ".update({\"a\": 2, \"b\": 3}), ", $name, ".snapshot()][2]"),
                        r#"{"a": 2, "b": 3}"#,
                    )],
                    ..PLAIN
                },
            ],
        }
    };
}

pub(super) const CACHE: Module = module!(
    "cache",
    StoreScope::Run,
    Scope::Both,
    "Values that live as long as the run: one prompt with all its turns and the calls inside them. Over MCP, where nobody says when a \
        prompt ends, it is the connection. Each `harness call` and each call of a client's own tools is a run of its own."
);
pub(super) const CTX: Module = module!(
    "ctx",
    StoreScope::Turn,
    Scope::Both,
    "Values that live as long as the turn: one answer of the model with all its calls. Where there is no loop, as over MCP, a turn is \
        one call with the calls inside it."
);
pub(super) const STATE: Module = module!(
    "state",
    StoreScope::Session,
    Scope::Tools,
    "Values that live as long as the session: a conversation, such as one connection of an MCP client. Each `harness call` is a session of \
        its own. Hooks may read them, tools may change them."
);

fn checked(key: &str) -> Result<&str, String> {
    match key.len() {
        1..=MAX_KEY => Ok(key),
        bytes => Err(format!("a key must have 1 to {MAX_KEY} bytes, got {bytes}")),
    }
}

fn get(store: &dyn KeyValue, args: &Args) -> Result<Value, String> {
    Ok(store
        .get(args.text(0))
        .unwrap_or_else(|| args.get(1).clone()))
}

fn has(store: &dyn KeyValue, args: &Args) -> Result<Value, String> {
    Ok(json!(store.get(args.text(0)).is_some()))
}

fn snapshot(store: &dyn KeyValue, _: &Args) -> Result<Value, String> {
    Ok(Value::Object(store.snapshot()))
}

fn set(store: &dyn KeyValue, args: &Args) -> Result<Value, String> {
    store.set(checked(args.text(0))?, args.get(1).clone())?;
    Ok(Value::Null)
}

fn delete(store: &dyn KeyValue, args: &Args) -> Result<Value, String> {
    Ok(json!(store.delete(args.text(0))))
}

fn clear(store: &dyn KeyValue, _: &Args) -> Result<Value, String> {
    store.clear();
    Ok(Value::Null)
}

fn increment(store: &dyn KeyValue, args: &Args) -> Result<Value, String> {
    let key = checked(args.text(0))?;
    let by = Num::of(args.get(1), "by")?;
    let made = store.update(key, &mut |old| {
        let old = old.map_or(Ok(Num::Int(0)), |old| Num::of(old, key))?;
        old.plus(by)?.value().map(Some)
    })?;
    Ok(made.unwrap_or(Value::Null))
}

fn append(store: &dyn KeyValue, args: &Args) -> Result<Value, String> {
    let key = checked(args.text(0))?;
    let made = store.update(key, &mut |old| {
        let mut items = match old {
            None => Vec::new(),
            Some(Value::Array(items)) => items.clone(),
            Some(other) => {
                return Err(format!(
                    "`{key}` must be a list, but it is {}",
                    super::bind::describe(other)
                ));
            }
        };
        items.push(args.get(1).clone());
        Ok(Some(Value::Array(items)))
    })?;
    Ok(json!(made.as_ref().and_then(Value::as_array).map(Vec::len)))
}

fn compare_and_set(store: &dyn KeyValue, args: &Args) -> Result<Value, String> {
    let expected = equality(args.get(1));
    let mut equal = false;
    store.update(checked(args.text(0))?, &mut |old| {
        equal = equality(old.unwrap_or(&Value::Null)) == expected;
        Ok(if equal {
            Some(args.get(2).clone())
        } else {
            old.cloned()
        })
    })?;
    Ok(json!(equal))
}

fn update(store: &dyn KeyValue, args: &Args) -> Result<Value, String> {
    let mut values = args.get(0).as_object().into_iter().flatten();
    values
        .clone()
        .try_for_each(|(key, _)| checked(key).map(|_| ()))?;
    values.try_for_each(|(key, value)| store.set(key, value.clone()))?;
    Ok(Value::Null)
}

#[cfg(test)]
mod tests {
    use super::super::tests::{TestHost, call_on, refused_on};
    use serde_json::json;

    #[test]
    fn the_three_stores_are_apart() {
        let host = TestHost::default();
        for name in ["cache", "ctx", "state"] {
            call_on(&host, &format!("{name}.set"), json!(["who", name]));
        }
        for name in ["cache", "ctx", "state"] {
            assert_eq!(
                call_on(&host, &format!("{name}.snapshot"), json!([])),
                json!({"who": name})
            );
        }
    }

    #[test]
    fn no_update_is_lost_between_threads() {
        let host = TestHost::default();
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    for n in 0..250 {
                        call_on(&host, "state.increment", json!(["n"]));
                        call_on(&host, "state.append", json!(["l", n]));
                    }
                });
            }
        });
        assert_eq!(call_on(&host, "state.get", json!(["n"])), json!(1000));
        assert_eq!(
            call_on(&host, "state.get", json!(["l"]))
                .as_array()
                .map(Vec::len),
            Some(1000)
        );
    }

    #[test]
    fn comparing_is_by_value_and_a_refusal_changes_nothing() {
        let host = TestHost::default();
        call_on(&host, "cache.set", json!(["a", {"x": 1, "y": 2}]));
        assert_eq!(
            call_on(
                &host,
                "cache.compare_and_set",
                json!(["a", {"y": 2, "x": 1.0}, 5])
            ),
            json!(true)
        );
        assert_eq!(
            call_on(&host, "cache.compare_and_set", json!(["a", 6, 7])),
            json!(false)
        );
        assert_eq!(
            call_on(&host, "cache.compare_and_set", json!(["b", 6, 7])),
            json!(false)
        );
        refused_on(&host, "cache.append", json!(["a", 1]));
        refused_on(&host, "cache.set", json!(["", 1]));
        refused_on(&host, "cache.update", json!([{"c": 1, "": 2}]));
        assert_eq!(call_on(&host, "cache.snapshot", json!([])), json!({"a": 5}));
    }

    #[test]
    fn a_store_is_bounded() {
        let host = TestHost::default();
        assert!(
            refused_on(&host, "cache.set", json!(["big", "x".repeat(9 << 20)]))
                .contains("more than")
        );
        call_on(&host, "cache.set", json!(["small", "x"]));
    }
}
