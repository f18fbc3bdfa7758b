//! Numbers. JSON Schema calls `1.0` and `1e3` integers, so they become integers where a schema says
//! so. A `format` with a width is a bound, because the type that reads the argument is no wider.

use super::{Violation, escaped, within};
use crate::number::is_integer;
use regex::Regex;
use serde_json::{Map, Number, Value};

/// Schemas that one value is checked against. A recursive one could go on without end.
const MAX_STEPS: usize = 1_000_000;
/// Schemas applied to the same value, one inside the other.
const MAX_HOPS: usize = 16;
/// Digits that an exponent may stand for.
const MAX_DIGITS: usize = 400;

/// The `format` of 32-bit floats.
const FLOAT: &str = "float";

/// Whether a schema says `integer` anywhere, or a number `format` with a width.
pub(super) fn mentioned(schema: &Value) -> bool {
    let is_one = |keyword: &str, value: &Value| {
        keyword == "type" && is_said(value) || keyword == "format" && value == FLOAT
    };
    match schema {
        Value::Object(keywords) => keywords
            .iter()
            .any(|(keyword, value)| is_one(keyword, value) || mentioned(value)),
        Value::Array(items) => items.iter().any(mentioned),
        _ => false,
    }
}

/// Rewrites the integers of a valid value, and finds numbers that are wider than their `format`.
pub(super) fn normalize(schema: &Value, value: &mut Value) -> Vec<Violation> {
    let mut walk = Walk {
        root: schema,
        steps: MAX_STEPS,
        path: String::new(),
        found: Vec::new(),
    };
    walk.go(schema, value, Certainty::Yes, 0);
    walk.found
}

/// The range of an integer `format`.
pub(super) fn width(format: &str) -> Option<(i128, i128)> {
    Some(match format {
        "int8" => (i8::MIN.into(), i8::MAX.into()),
        "int16" => (i16::MIN.into(), i16::MAX.into()),
        "int32" => (i32::MIN.into(), i32::MAX.into()),
        "int64" | "int" => (i64::MIN.into(), i64::MAX.into()),
        "uint8" => (0, u8::MAX.into()),
        "uint16" => (0, u16::MAX.into()),
        "uint32" => (0, u32::MAX.into()),
        "uint64" | "uint" => (0, u64::MAX.into()),
        _ => return None,
    })
}

/// Whether a schema certainly applies, or is one of several alternatives.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Certainty {
    Yes,
    No,
}

struct Walk<'a> {
    root: &'a Value,
    steps: usize,
    path: String,
    found: Vec<Violation>,
}

impl<'a> Walk<'a> {
    fn go(&mut self, schema: &'a Value, value: &mut Value, certain: Certainty, hops: usize) {
        let Some(keywords) = schema.as_object() else {
            return;
        };
        if self.steps == 0 || hops > MAX_HOPS {
            return;
        }
        self.steps -= 1;
        match value {
            Value::Number(number) => self.number(keywords, number, certain),
            Value::Array(items) => self.items(keywords, items, certain),
            Value::Object(map) => self.properties(keywords, map, certain),
            _ => return,
        }
        for (keyword, more) in keywords {
            match keyword.as_str() {
                "$ref" => {
                    let target = more.as_str().and_then(|target| within(self.root, target));
                    target
                        .into_iter()
                        .for_each(|target| self.go(target, value, certain, hops + 1));
                }
                "allOf" => more
                    .as_array()
                    .into_iter()
                    .flatten()
                    .for_each(|one| self.go(one, value, certain, hops + 1)),
                "anyOf" | "oneOf" => {
                    let is_null = |one: &Value| one.get("type").is_some_and(|kind| kind == "null");
                    let branches: Vec<&'a Value> = more
                        .as_array()
                        .into_iter()
                        .flatten()
                        .filter(|one| !is_null(one))
                        .collect();
                    let certain = if branches.len() == 1 {
                        certain
                    } else {
                        Certainty::No
                    };
                    branches
                        .into_iter()
                        .for_each(|one| self.go(one, value, certain, hops + 1));
                }
                "then" | "else" => self.go(more, value, Certainty::No, hops + 1),
                _ => {}
            }
        }
    }

    fn number(&mut self, keywords: &Map<String, Value>, number: &mut Number, certain: Certainty) {
        let format = keywords
            .get("format")
            .and_then(Value::as_str)
            .filter(|_| certain == Certainty::Yes);
        if !keywords.get("type").is_some_and(is_said) {
            let most = f64::from(f32::MAX);
            if format == Some(FLOAT) && !number.as_f64().is_some_and(|number| number.abs() <= most)
            {
                self.refuse(format!(
                    "it is not a {FLOAT}: at least -{most:e}, at most {most:e}"
                ));
            }
            return;
        }
        if !is_integer(number.as_str()) {
            let Some(digits) = whole(number.as_str()) else {
                return;
            };
            *number = Number::from_string_unchecked(digits);
        }
        if let Some((format, (least, most))) =
            format.and_then(|format| Some((format, width(format)?)))
            && !number
                .as_i128()
                .is_some_and(|number| (least..=most).contains(&number))
        {
            self.refuse(format!(
                "it does not fit {format}: at least {least}, at most {most}"
            ));
        }
    }

    fn refuse(&mut self, message: String) {
        self.found.push(Violation {
            path: self.path.clone(),
            message,
        });
    }

    fn items(&mut self, keywords: &'a Map<String, Value>, items: &mut [Value], certain: Certainty) {
        let first = keywords.get("prefixItems").and_then(Value::as_array);
        let rest = keywords.get("items");
        for (index, item) in items.iter_mut().enumerate() {
            if let Some(schema) = first.and_then(|first| first.get(index)).or(rest) {
                self.inside(&index.to_string(), schema, item, certain);
            }
        }
    }

    fn properties(
        &mut self,
        keywords: &'a Map<String, Value>,
        map: &mut Map<String, Value>,
        certain: Certainty,
    ) {
        let named = keywords.get("properties").and_then(Value::as_object);
        let patterns: Vec<(Regex, &'a Value)> = keywords
            .get("patternProperties")
            .and_then(Value::as_object)
            .into_iter()
            .flatten()
            .filter_map(|(pattern, schema)| Some((Regex::new(pattern).ok()?, schema)))
            .collect();
        for (name, value) in map {
            let matching = patterns
                .iter()
                .filter(|(pattern, _)| pattern.is_match(name))
                .map(|(_, schema)| *schema);
            let mut schemas: Vec<&'a Value> = named
                .and_then(|named| named.get(name))
                .into_iter()
                .chain(matching)
                .collect();
            if schemas.is_empty() {
                schemas.extend(keywords.get("additionalProperties"));
            }
            schemas
                .into_iter()
                .for_each(|schema| self.inside(name, schema, value, certain));
        }
    }

    fn inside(&mut self, name: &str, schema: &'a Value, value: &mut Value, certain: Certainty) {
        let outer = self.path.len();
        self.path.push('/');
        self.path.push_str(&escaped(name));
        self.go(schema, value, certain, 0);
        self.path.truncate(outer);
    }
}

/// Whether a `type` says integer, and not also number.
fn is_said(kind: &Value) -> bool {
    match kind {
        Value::Array(kinds) => {
            kinds.iter().any(|kind| kind == "integer") && !kinds.iter().any(|kind| kind == "number")
        }
        kind => kind == "integer",
    }
}

/// The digits of a whole number, however it is written.
fn whole(text: &str) -> Option<String> {
    let (sign, text) = text
        .strip_prefix('-')
        .map_or(("", text), |rest| ("-", rest));
    let (mantissa, exponent) = text.split_once(['e', 'E']).unwrap_or((text, "0"));
    let (before, after) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let digits = [before, after].concat();
    let kept = digits.trim_end_matches('0');
    if kept.is_empty() {
        return Some("0".to_owned());
    }
    let dropped =
        i64::try_from(digits.len() - kept.len()).ok()? - i64::try_from(after.len()).ok()?;
    let zeros = usize::try_from(exponent.parse::<i64>().ok()?.checked_add(dropped)?)
        .ok()
        .filter(|zeros| *zeros <= MAX_DIGITS)?;
    Some(format!(
        "{sign}{}{}",
        kept.trim_start_matches('0'),
        "0".repeat(zeros)
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whole_numbers_have_digits_and_others_do_not() {
        for (text, digits) in [
            ("1.0", Some("1")),
            ("1e3", Some("1000")),
            ("-12.50E+1", Some("-125")),
            ("0.002e3", Some("2")),
            ("100e-2", Some("1")),
            ("-0.0", Some("0")),
            ("0e9999999999", Some("0")),
            ("1e30", Some("1000000000000000000000000000000")),
            ("1.5", None),
            ("1e-1", None),
            ("1e401", None),
            ("1e99999999999999999999", None),
        ] {
            assert_eq!(whole(text).as_deref(), digits, "{text}");
        }
    }
}
