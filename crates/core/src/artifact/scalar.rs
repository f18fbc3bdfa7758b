//! What a plain YAML scalar means: the core schema of YAML 1.2, with exact numbers.

use super::node::Kind;
use serde_json::Number;

/// The value of an unquoted scalar, or why it cannot have one.
pub(super) fn resolve(text: &str) -> Result<Kind, &'static str> {
    Ok(match text {
        "" | "~" | "null" | "Null" | "NULL" => Kind::Null,
        "true" | "True" | "TRUE" => Kind::Bool(true),
        "false" | "False" | "FALSE" => Kind::Bool(false),
        _ => match number(text)? {
            Some(number) => Kind::Number(number),
            None => Kind::Text {
                value: text.to_owned(),
                block: None,
            },
        },
    })
}

/// The number a text spells, in JSON's spelling so that no digit is lost; `None` when it is not a
/// number.
fn number(text: &str) -> Result<Option<Number>, &'static str> {
    if let Some(digits) = text.strip_prefix("0x") {
        return based(digits, 16);
    }
    if let Some(digits) = text.strip_prefix("0o") {
        return based(digits, 8);
    }
    let (sign, rest) = match text.as_bytes().first() {
        Some(b'-') => ("-", &text[1..]),
        Some(b'+') => ("", &text[1..]),
        _ => ("", text),
    };
    if matches!(rest, ".inf" | ".Inf" | ".INF") || matches!(text, ".nan" | ".NaN" | ".NAN") {
        return Err("infinity and not-a-number are not accepted");
    }
    let (whole, rest) = digits(rest);
    let (fraction, rest) = rest.strip_prefix('.').map_or((None, rest), |rest| {
        let (fraction, rest) = digits(rest);
        (Some(fraction), rest)
    });
    if whole.is_empty() && fraction.is_none_or(str::is_empty) {
        return Ok(None);
    }
    let Some(exponent) = exponent(rest) else {
        return Ok(None);
    };
    let whole = whole.trim_start_matches('0');
    let mut json = format!("{sign}{}", if whole.is_empty() { "0" } else { whole });
    if let Some(fraction) = fraction {
        json.push('.');
        json.push_str(if fraction.is_empty() { "0" } else { fraction });
    }
    json.push_str(exponent);
    Ok(json.parse().ok())
}

fn based(digits: &str, radix: u32) -> Result<Option<Number>, &'static str> {
    if digits.is_empty() || !digits.chars().all(|digit| digit.is_digit(radix)) {
        return Ok(None);
    }
    let value = u128::from_str_radix(digits, radix)
        .map_err(|_| "a number this large must be written in decimal")?;
    Ok(value.to_string().parse().ok())
}

fn digits(text: &str) -> (&str, &str) {
    text.split_at(text.bytes().take_while(u8::is_ascii_digit).count())
}

/// `text` itself when it is a whole exponent or empty.
fn exponent(text: &str) -> Option<&str> {
    let Some(rest) = text.strip_prefix(['e', 'E']) else {
        return text.is_empty().then_some(text);
    };
    let (digits, rest) = digits(rest.strip_prefix(['-', '+']).unwrap_or(rest));
    (!digits.is_empty() && rest.is_empty()).then_some(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, expected: &str) {
        let seen = match resolve(text) {
            Ok(Kind::Null) => "null".to_owned(),
            Ok(Kind::Bool(value)) => format!("bool {value}"),
            Ok(Kind::Number(number)) => format!("number {number}"),
            Ok(Kind::Text { value, .. }) => format!("text {value}"),
            Ok(Kind::List(_) | Kind::Map(_)) => "a collection".to_owned(),
            Err(_) => "error".to_owned(),
        };
        assert_eq!(seen, expected, "{text:?}");
    }

    #[test]
    fn the_core_schema_decides_and_nothing_older() {
        for text in ["", "~", "null", "Null", "NULL"] {
            check(text, "null");
        }
        for text in ["true", "True", "TRUE"] {
            check(text, "bool true");
        }
        check("FALSE", "bool false");
        for text in [
            "yes",
            "no",
            "on",
            "off",
            "tRUE",
            "nULL",
            "2024-01-01",
            "1_000",
            "0b1",
            "12:30",
            "1.2.3",
            "-",
            "+",
            ".",
            "e5",
            "1e",
            "0x",
            "0xg",
        ] {
            check(text, &format!("text {text}"));
        }
    }

    #[test]
    fn integers_are_exact_at_any_size() {
        let long = "9".repeat(400);
        check(&long, &format!("number {long}"));
        for (text, number) in [
            ("0", "0"),
            ("-0", "-0"),
            ("+7", "7"),
            ("007", "7"),
            ("9007199254740993", "9007199254740993"),
            ("0x1F", "31"),
            ("0o17", "15"),
        ] {
            check(text, &format!("number {number}"));
        }
        check(&format!("0x{}", "f".repeat(33)), "error");
    }

    #[test]
    fn floats_keep_their_digits_and_never_become_infinite() {
        for (text, number) in [
            ("1.50", "1.50"),
            (".5", "0.5"),
            ("5.", "5.0"),
            ("-.5e3", "-0.5e+3"),
            ("1E+4", "1E+4"),
            ("00.1", "0.1"),
        ] {
            let seen = resolve(text).expect("a number");
            let Kind::Number(seen) = seen else {
                panic!("{text} is not a number")
            };
            assert_eq!(seen.to_string().to_lowercase(), number.to_lowercase());
        }
        for text in [".inf", "-.Inf", "+.INF", ".nan", ".NaN"] {
            check(text, "error");
        }
    }
}
