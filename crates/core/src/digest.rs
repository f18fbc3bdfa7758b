//! Digests that differ for different values, and fresh ids.

use crate::number::is_integer;
use serde_json::{Map, Number, Value};
use std::cell::RefCell;

/// The digest of a JSON value. Equal values share it, different ones do not.
///
/// Keys are sorted, integers keep every digit, floats are compared by value, and every part is
/// tagged with its kind and length, so that no two values have the same bytes.
#[must_use]
pub fn of(value: &Value) -> String {
    let mut hasher = blake3::Hasher::new();
    feed(&mut hasher, value, canonical_number);
    text(&hasher)
}

/// The digest of a value in which numbers count by value, not by spelling: `1`, `1.0` and `10e-1`
/// are equal.
#[must_use]
pub(crate) fn of_worth(value: &Value) -> String {
    let mut hasher = blake3::Hasher::new();
    feed(&mut hasher, value, worth);
    text(&hasher)
}

/// The digest of a JSON object, equal to that of [`of`].
#[must_use]
pub(crate) fn of_object(object: &Map<String, Value>) -> String {
    let mut hasher = blake3::Hasher::new();
    feed_object(&mut hasher, object, canonical_number);
    text(&hasher)
}

fn text(hasher: &blake3::Hasher) -> String {
    format!("blake3:{}", hasher.finalize().to_hex())
}

/// The canonical text of a number, and a letter for its kind.
type Canonical = fn(&Number) -> (u8, String);

fn feed(hasher: &mut blake3::Hasher, value: &Value, canonical: Canonical) {
    match value {
        Value::Null => drop(hasher.update(b"n")),
        Value::Bool(false) => drop(hasher.update(b"f")),
        Value::Bool(true) => drop(hasher.update(b"t")),
        Value::Number(number) => {
            let (tag, text) = canonical(number);
            sized(hasher, tag, text.as_bytes());
        }
        Value::String(text) => sized(hasher, b's', text.as_bytes()),
        Value::Array(items) => {
            hasher
                .update(b"a")
                .update(&(items.len() as u64).to_le_bytes());
            items.iter().for_each(|item| feed(hasher, item, canonical));
        }
        Value::Object(object) => feed_object(hasher, object, canonical),
    }
}

fn feed_object(hasher: &mut blake3::Hasher, object: &Map<String, Value>, canonical: Canonical) {
    hasher
        .update(b"o")
        .update(&(object.len() as u64).to_le_bytes());
    let mut entries: Vec<_> = object.iter().collect();
    entries.sort_unstable_by_key(|(key, _)| *key);
    for (key, value) in entries {
        sized(hasher, b'k', key.as_bytes());
        feed(hasher, value, canonical);
    }
}

fn sized(hasher: &mut blake3::Hasher, tag: u8, bytes: &[u8]) {
    hasher
        .update(&[tag])
        .update(&(bytes.len() as u64).to_le_bytes())
        .update(bytes);
}

/// An integer as its digits, a float as the shortest text that parses to it.
fn canonical_number(number: &Number) -> (u8, String) {
    let text = number.as_str();
    if is_integer(text) {
        return (
            b'i',
            if text == "-0" {
                "0".to_owned()
            } else {
                text.to_owned()
            },
        );
    }
    match text.parse::<f64>() {
        Ok(value) if value.is_finite() => (b'd', format!("{value:?}")),
        _ => (b'x', text.to_owned()),
    }
}

/// A number as its digits, without zeros at either end, and a power of ten.
fn worth(number: &Number) -> (u8, String) {
    let text = number.as_str();
    let (mantissa, power) = text.split_once(['e', 'E']).unwrap_or((text, "0"));
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let (sign, whole) = whole
        .strip_prefix('-')
        .map_or(("", whole), |whole| ("-", whole));
    // A power that overflows belongs to a number that nothing can hold, which equals only itself.
    let Ok(power) = power.parse::<i64>() else {
        return (b'x', text.to_owned());
    };
    let digits = [whole, fraction].concat();
    let shortest = digits.trim_end_matches('0');
    let zeros = digits.len() - shortest.len();
    let power = power
        .saturating_sub(fraction.len() as i64)
        .saturating_add(zeros as i64);
    match shortest.trim_start_matches('0') {
        "" => (b'w', "0".to_owned()),
        digits => (b'w', format!("{sign}{digits}e{power}")),
    }
}

/// A fresh id: `call_` and 32 hexadecimal digits.
#[must_use]
pub fn fresh_id(prefix: &str) -> String {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    let bytes = random_bytes();
    let digits: [u8; 32] = std::array::from_fn(|index| {
        DIGITS[usize::from(bytes[index / 2] >> (4 * (1 - index % 2)) & 15)]
    });
    [
        prefix,
        "_",
        std::str::from_utf8(&digits).unwrap_or_default(),
    ]
    .concat()
}

/// Bytes that cannot be guessed, if the system has randomness.
fn random_bytes() -> [u8; 16] {
    thread_local! {
        static DRAWN: RefCell<Drawn> = const { RefCell::new(Drawn { process: 0, left: Vec::new() }) };
    }
    let taken = DRAWN.try_with(|drawn| drawn.try_borrow_mut().ok()?.take(std::process::id()));
    // While a thread ends, its random bytes are gone before the last of its other locals.
    taken
        .ok()
        .flatten()
        .or_else(|| {
            Drawn {
                process: 0,
                left: Vec::new(),
            }
            .take(std::process::id())
        })
        .unwrap_or_else(fallback_bytes)
}

/// Random bytes for the next ids of a thread, since asking the system takes longer than making an
/// id. A forked process has the same bytes, and does not use them.
#[derive(Clone)]
struct Drawn {
    process: u32,
    left: Vec<[u8; 16]>,
}

impl Drawn {
    fn take(&mut self, process: u32) -> Option<[u8; 16]> {
        const MANY: usize = 64;
        if self.left.is_empty() || self.process != process {
            self.process = process;
            self.left.clear();
            self.left.resize(MANY, [0; 16]);
            if getrandom::fill(self.left.as_flattened_mut()).is_err() {
                self.left.clear();
            }
        }
        self.left.pop()
    }
}

/// Unique in this process even if the system has no randomness: a clock and a counter.
fn fallback_bytes() -> [u8; 16] {
    use std::sync::atomic::{AtomicU64, Ordering};
    static COUNTER: AtomicU64 = AtomicU64::new(0);
    let clock = std::time::SystemTime::now()
        .duration_since(std::time::UNIX_EPOCH)
        .unwrap_or_default()
        .as_nanos();
    let mut bytes = clock.to_le_bytes();
    bytes[8..].copy_from_slice(&COUNTER.fetch_add(1, Ordering::Relaxed).to_le_bytes());
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn parse(text: &str) -> Value {
        serde_json::from_str(text).expect("JSON")
    }

    #[test]
    fn no_id_comes_twice_in_one_process_or_in_two_that_were_one() {
        let ids: std::collections::HashSet<String> = (0..1000).map(|_| fresh_id("call")).collect();
        let is_id = |id: &String| {
            id.strip_prefix("call_").is_some_and(|digits| {
                digits.len() == 32 && digits.bytes().all(|digit| digit.is_ascii_hexdigit())
            })
        };
        assert!(
            ids.len() == 1000 && ids.iter().all(is_id),
            "{:?}",
            ids.iter().find(|id| !is_id(id))
        );
        let mut here = Drawn {
            process: 0,
            left: Vec::new(),
        };
        here.take(1).expect("randomness");
        let mut forked = here.clone();
        assert_eq!(
            here.clone().take(1),
            forked.clone().take(1),
            "they would be the same"
        );
        assert_ne!(here.take(1), forked.take(2));
    }

    #[test]
    fn an_id_that_is_minted_while_its_thread_ends_is_as_random_as_any() {
        struct Last;
        impl Drop for Last {
            fn drop(&mut self) {
                MINTED
                    .lock()
                    .expect("ids")
                    .extend([fresh_id("a"), fresh_id("a")]);
            }
        }
        thread_local! {
            static LAST: Last = const { Last };
        }
        static MINTED: std::sync::Mutex<Vec<String>> = std::sync::Mutex::new(Vec::new());
        // Locals are dropped in reverse order, so that this one outlives the random bytes.
        std::thread::spawn(|| LAST.with(|_| fresh_id("a")))
            .join()
            .expect("an end");
        let minted = MINTED.lock().expect("ids");
        // A clock and a counter would share most of their digits.
        let same = minted[0]
            .bytes()
            .zip(minted[1].bytes())
            .filter(|(a, b)| a == b)
            .count();
        assert!(same < 16, "{minted:?}");
    }

    #[test]
    fn different_arguments_never_share_a_digest() {
        let texts = [
            "1",
            "1.0",
            "1.5",
            "-1",
            "0",
            "0.0",
            "-0.0",
            "\"1\"",
            "null",
            "false",
            "true",
            "[]",
            "{}",
            "[[]]",
            "[{}]",
            "[1,2]",
            "[[1],2]",
            "[12]",
            "9007199254740992",
            "9007199254740993",
            "18446744073709551615",
            "18446744073709551616",
            "123456789012345678901234567890",
            "123456789012345678901234567891",
            "\"é\"",
            "\"e\u{301}\"",
            "\"\"",
            "[null]",
            "{\"a\":1}",
            "{\"a\":\"1\"}",
            "{\"a\":1,\"b\":2}",
            "{\"a\":2,\"b\":1}",
            "{\"ab\":1}",
            "{\"a\":{\"b\":1}}",
            "[\"a\",\"b\"]",
            "[\"ab\"]",
            "1e300",
            "1e301",
        ];
        let digests: std::collections::HashSet<_> =
            texts.iter().map(|text| of(&parse(text))).collect();
        assert_eq!(digests.len(), texts.len());
    }

    #[test]
    fn equal_arguments_share_a_digest() {
        for (a, b) in [
            (r#"{"a":1,"b":[2]}"#, r#"{ "b": [2], "a": 1 }"#),
            ("1.0", "1.00"),
            ("100.0", "1e2"),
            ("-0", "0"),
            (r#""\u00e9""#, "\"é\""),
            (r#""\/""#, "\"/\""),
        ] {
            assert_eq!(of(&parse(a)), of(&parse(b)), "{a} and {b}");
        }
    }

    #[test]
    fn numbers_of_one_worth_share_a_digest_of_worth_and_others_do_not() {
        let one = |text: &str| of_worth(&parse(text));
        for (same, other) in [
            (["1", "1.0", "10e-1", "0.1E+1"], "1.00000000000000000001"),
            (["100", "1e2", "100.0", "0.001e5"], "10"),
            (["0", "-0", "0.0", "0e7"], "0.1"),
            (["-2.5", "-2.50", "-25e-1", "-0.25e1"], "2.5"),
            (
                [
                    "123456789012345678901234567890",
                    "12345678901234567890123456789e1",
                    "1.2345678901234567890123456789e29",
                    "123456789012345678901234567890.0",
                ],
                "123456789012345678901234567891",
            ),
            (
                [
                    "[1, {\"a\": 2.0}]",
                    "[1.0, {\"a\": 2}]",
                    "[1, {\"a\": 2}]",
                    "[1e0, {\"a\": 2}]",
                ],
                "[1, {\"a\": \"2\"}]",
            ),
        ] {
            assert!(
                same.iter().all(|text| one(text) == one(same[0])),
                "{same:?}"
            );
            assert_ne!(one(same[0]), one(other), "{other}");
        }
    }

    fn json() -> impl Strategy<Value = Value> {
        let leaf = prop_oneof![
            Just(Value::Null),
            any::<bool>().prop_map(Value::from),
            any::<i64>().prop_map(Value::from),
            "-?[1-9][0-9]{17,40}".prop_map(|digits| parse(&digits)),
            any::<f64>()
                .prop_filter("finite", |f| f.is_finite())
                .prop_map(Value::from),
            ".{0,4}".prop_map(Value::from),
        ];
        leaf.prop_recursive(3, 16, 4, |inner| {
            prop_oneof![
                proptest::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
                proptest::collection::hash_map(".{0,2}", inner, 0..4)
                    .prop_map(|map| Value::Object(map.into_iter().collect())),
            ]
        })
    }

    /// The same value with the keys of every object reversed.
    fn reversed(value: &Value) -> Value {
        match value {
            Value::Array(items) => items.iter().map(reversed).collect(),
            Value::Object(map) => Value::Object(
                map.iter()
                    .rev()
                    .map(|(key, value)| (key.clone(), reversed(value)))
                    .collect(),
            ),
            other => other.clone(),
        }
    }

    /// Sorted text: an independent statement of which values are the same.
    fn model(value: &Value) -> String {
        match value {
            Value::Array(items) => format!(
                "[{}]",
                items.iter().map(model).collect::<Vec<_>>().join(",")
            ),
            Value::Object(map) => {
                let mut parts: Vec<_> = map
                    .iter()
                    .map(|(key, value)| format!("{}:{}", Value::from(key.as_str()), model(value)))
                    .collect();
                parts.sort();
                format!("{{{}}}", parts.join(","))
            }
            Value::Number(number) if !is_integer(number.as_str()) => {
                format!("f{:x}", number.as_f64().expect("finite").to_bits())
            }
            other => other.to_string(),
        }
    }

    proptest! {
        #[test]
        fn digests_agree_exactly_when_values_do(a in json(), b in json()) {
            prop_assert_eq!(of(&a), of(&reversed(&a)));
            prop_assert_eq!(of(&a) == of(&b), model(&a) == model(&b));
        }
    }
}
