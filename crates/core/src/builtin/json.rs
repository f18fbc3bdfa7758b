//! `json`: text to values and back. Integers stay exact, dicts keep their order.

use super::bound::BoundedBytes;
use super::{Args, Body, Builtin, Example, Module, PLAIN, Param};
use crate::depth::MAX_DEPTH;
use crate::number::is_integer;
use serde::Serialize;
use serde_json::Value;
use serde_json::ser::{PrettyFormatter, Serializer};

/// Digits of one number. Converting more takes disproportionate time.
const MAX_DIGITS: usize = 4300;

pub(super) const MODULE: Module = Module {
    name: "json",
    doc: "JSON text to values and back. Integers of any size stay exact and dicts keep their order.",
    constants: &[],
    calls: &[
        Builtin {
            name: "encode",
            params: &[Param::any("value"), Param::int("indent").or("0")],
            doc: "The JSON text of a value; with `indent` spaces for each level, one entry to a line.",
            returns: "a string",
            body: Body::Pure(encode),
            examples: &[
                Example::new(
                    r#"json.encode({"b": [1, None], "a": True})"#,
                    r#""{\"b\":[1,null],\"a\":true}""#,
                ),
                Example::new(r#"json.encode([1], indent=2)"#, r#""[\n  1\n]""#),
            ],
            ..PLAIN
        },
        Builtin {
            name: "decode",
            params: &[Param::text("text"), Param::any("default").or("null")],
            doc: "The value of a JSON text. A text that is not JSON raises, with line and column, unless a `default` other than \
                None is given.",
            returns: "the value, or `default`",
            body: Body::Pure(decode),
            examples: &[
                Example::new(
                    r#"json.decode("[12345678901234567890, 1.5]")"#,
                    "[12345678901234567890, 1.5]",
                ),
                Example::new(r#"json.decode("{oops", default={})"#, "{}"),
                Example::new(r#"json.decode("[1,")"#, "error: line 1 column 3"),
            ],
            ..PLAIN
        },
    ],
};

fn encode(args: &Args) -> Result<Value, String> {
    let indent = " ".repeat(args.count(1, "indent", 16)?);
    let mut bytes = BoundedBytes::default();
    let written = if indent.is_empty() {
        serde_json::to_writer(&mut bytes, args.get(0))
    } else {
        let formatter = PrettyFormatter::with_indent(indent.as_bytes());
        args.get(0)
            .serialize(&mut Serializer::with_formatter(&mut bytes, formatter))
    };
    written.map_err(|error| error.to_string())?;
    String::from_utf8(bytes.0)
        .map(Value::String)
        .map_err(|error| error.to_string())
}

fn decode(args: &Args) -> Result<Value, String> {
    match (parse(args.text(0)), args.get(1)) {
        (Err(message), Value::Null) => Err(message),
        (Err(_), default) => Ok(default.clone()),
        (Ok(value), _) => Ok(value),
    }
}

/// The value of a JSON text, if a script could hold it.
pub(super) fn parse(text: &str) -> Result<Value, String> {
    shallow(text)?;
    let value = serde_json::from_str(text).map_err(|error| format!("not JSON: {error}"))?;
    representable(&value)?;
    Ok(value)
}

/// Counts brackets outside strings, to refuse depth before anything recurses into it.
fn shallow(text: &str) -> Result<(), String> {
    let (mut depth, mut in_string, mut escaped) = (0_usize, false, false);
    let (mut line, mut line_start) = (1, 0);
    for (at, byte) in text.bytes().enumerate() {
        match byte {
            _ if escaped => escaped = false,
            b'\\' if in_string => escaped = true,
            b'"' => in_string = !in_string,
            b'\n' => (line, line_start) = (line + 1, at + 1),
            _ if in_string => {}
            b'[' | b'{' => {
                depth += 1;
                if depth > MAX_DEPTH {
                    return Err(format!(
                        "nested deeper than {MAX_DEPTH} levels at line {line} column {}",
                        at - line_start + 1
                    ));
                }
            }
            b']' | b'}' => depth = depth.saturating_sub(1),
            _ => {}
        }
    }
    Ok(())
}

fn representable(value: &Value) -> Result<(), String> {
    match value {
        Value::Number(number) => {
            let text = number.as_str();
            if text.len() > MAX_DIGITS {
                return Err(format!(
                    "a number has {} characters, at most {MAX_DIGITS} are accepted",
                    text.len()
                ));
            }
            if !is_integer(text) && number.as_f64().is_none_or(|float| !float.is_finite()) {
                return Err(format!("no float can hold the number {text}"));
            }
            Ok(())
        }
        Value::Array(items) => items.iter().try_for_each(representable),
        Value::Object(map) => map.values().try_for_each(representable),
        Value::Null | Value::Bool(_) | Value::String(_) => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::{call, refused};
    use super::*;
    use proptest::prelude::*;
    use serde_json::json;

    #[test]
    fn integers_stay_exact_and_keys_keep_their_order() {
        let text = r#"{"z":123456789012345678901234567890,"a":-9007199254740993,"m":1.0}"#;
        let value = call("json.decode", json!([text]));
        assert_eq!(call("json.encode", json!([value])), json!(text));
    }

    #[test]
    fn text_that_is_not_json_is_refused_with_its_place() {
        for (text, part) in [
            ("", "line 1 column 0"),
            ("{\"a\":\n 1,}", "line 2 column 4"),
            ("1e400", "no float can hold"),
            (r#""\ud800""#, "line 1"),
            ("[1] 2", "trailing characters at line 1 column 5"),
        ] {
            assert!(
                refused("json.decode", json!([text])).contains(part),
                "{text}: {}",
                refused("json.decode", json!([text]))
            );
        }
    }

    #[test]
    fn depth_is_bounded_and_brackets_in_text_do_not_count() {
        let nested = |depth: usize| format!("{}{}", "[".repeat(depth), "]".repeat(depth));
        assert!(call("json.decode", json!([nested(MAX_DEPTH)])).is_array());
        assert!(
            refused("json.decode", json!([nested(100_000)]))
                .contains("deeper than 64 levels at line 1 column 65")
        );
        let text = format!("\"{}\\\"{}\"", "[".repeat(1000), "{".repeat(1000));
        assert!(call("json.decode", json!([text])).is_string());
    }

    #[test]
    fn a_number_with_too_many_digits_is_refused() {
        assert!(call("json.decode", json!(["9".repeat(400)])).is_number());
        assert!(
            refused("json.decode", json!(["9".repeat(MAX_DIGITS + 1)])).contains("at most 4300")
        );
    }

    fn values() -> impl Strategy<Value = Value> {
        let leaf = prop_oneof![
            Just(Value::Null),
            any::<bool>().prop_map(Value::from),
            any::<i64>().prop_map(Value::from),
            any::<u64>().prop_map(Value::from),
            proptest::num::f64::NORMAL.prop_map(Value::from),
            any::<String>().prop_map(Value::from),
        ];
        leaf.prop_recursive(4, 40, 6, |inner| {
            prop_oneof![
                proptest::collection::vec(inner.clone(), 0..6).prop_map(Value::from),
                proptest::collection::vec((any::<String>(), inner), 0..6)
                    .prop_map(|entries| entries.into_iter().collect()),
            ]
        })
    }

    proptest! {
        #[test]
        fn encoded_text_decodes_to_the_same_text(value in values(), indent in 0..5) {
            let text = call("json.encode", json!([value, indent]));
            prop_assert_eq!(call("json.decode", json!([text])), value);
        }

        #[test]
        fn no_text_makes_decode_panic(text in any::<String>()) {
            let _ = parse(&text);
        }
    }
}
