//! `base64`: text as letters that survive any channel.

use super::{Args, Body, Builtin, Example, Module, PLAIN, Param};
use ::base64::alphabet;
use ::base64::engine::{DecodePaddingMode, Engine, GeneralPurpose, GeneralPurposeConfig};
use serde_json::{Value, json};

const TEXT: &[Param] = &[Param::text("text")];

/// Encodes with padding; decodes with or without it.
pub(super) const STANDARD: GeneralPurpose = GeneralPurpose::new(
    &alphabet::STANDARD,
    GeneralPurposeConfig::new()
        .with_encode_padding(true)
        .with_decode_padding_mode(DecodePaddingMode::Indifferent),
);

/// Encodes without padding; decodes with or without it.
pub(super) const URL_SAFE: GeneralPurpose = GeneralPurpose::new(
    &alphabet::URL_SAFE,
    GeneralPurposeConfig::new()
        .with_encode_padding(false)
        .with_decode_padding_mode(DecodePaddingMode::Indifferent),
);

pub(super) const MODULE: Module = Module {
    name: "base64",
    doc: "Base64 of the UTF-8 bytes of a text. Decoding accepts missing padding and ignores white space.",
    constants: &[],
    calls: &[
        Builtin {
            name: "encode",
            params: TEXT,
            doc: "In the standard alphabet, with padding.",
            returns: "a string",
            body: Body::Pure(|args| Ok(json!(STANDARD.encode(args.text(0))))),
            examples: &[Example::new(r#"base64.encode("hi?")"#, r#""aGk/""#)],
            ..PLAIN
        },
        Builtin {
            name: "decode",
            params: TEXT,
            doc: "The text that `base64.encode` was given; raises when the bytes are not UTF-8.",
            returns: "a string",
            body: Body::Pure(|args| decode(&STANDARD, args)),
            examples: &[
                Example::new(r#"base64.decode("aGk/")"#, r#""hi?""#),
                Example::new(r#"base64.decode("/w==")"#, "error: not UTF-8"),
                Example::new(r#"base64.decode("a")"#, "error: not base64"),
            ],
            ..PLAIN
        },
        Builtin {
            name: "encode_url",
            params: TEXT,
            doc: "In the alphabet for URLs and file names, without padding.",
            returns: "a string",
            body: Body::Pure(|args| Ok(json!(URL_SAFE.encode(args.text(0))))),
            examples: &[Example::new(r#"base64.encode_url("hi??")"#, r#""aGk_Pw""#)],
            ..PLAIN
        },
        Builtin {
            name: "decode_url",
            params: TEXT,
            doc: "The text that `base64.encode_url` was given; raises when the bytes are not UTF-8.",
            returns: "a string",
            body: Body::Pure(|args| decode(&URL_SAFE, args)),
            examples: &[Example::new(r#"base64.decode_url("aGk_Pw")"#, r#""hi??""#)],
            ..PLAIN
        },
    ],
};

/// Decodes, white space ignored.
pub(super) fn bytes(engine: &GeneralPurpose, text: &str) -> Result<Vec<u8>, String> {
    let bare: Vec<u8> = text
        .bytes()
        .filter(|byte| !byte.is_ascii_whitespace())
        .collect();
    engine.decode(bare).map_err(|error| {
        format!(
            "not base64: {}",
            error.to_string().to_lowercase().trim_end_matches('.')
        )
    })
}

fn decode(engine: &GeneralPurpose, args: &Args) -> Result<Value, String> {
    let bytes = bytes(engine, args.text(0))?;
    String::from_utf8(bytes)
        .map(Value::String)
        .map_err(|error| {
            format!(
                "the decoded bytes are not UTF-8 text (at byte {})",
                error.utf8_error().valid_up_to()
            )
        })
}

#[cfg(test)]
mod tests {
    use super::super::tests::{call, refused};
    use proptest::prelude::*;
    use serde_json::json;

    #[test]
    fn padding_and_line_breaks_do_not_matter_when_reading() {
        for written in ["aGVsbG8=", "aGVsbG8", " aGVs\r\nbG8= \n"] {
            assert_eq!(call("base64.decode", json!([written])), json!("hello"));
        }
        assert!(refused("base64.decode", json!(["aGk_"])).starts_with("not base64"));
    }

    proptest! {
        #[test]
        fn text_comes_back(text in any::<String>()) {
            for (to, from) in [("base64.encode", "base64.decode"), ("base64.encode_url", "base64.decode_url")] {
                prop_assert_eq!(call(from, json!([call(to, json!([text]))])), json!(text));
            }
        }
    }
}
