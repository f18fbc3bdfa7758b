//! `uuid`: identifiers that do not collide.

use super::crypto::{hex, random};
use super::{Args, Body, Builtin, Example, Module, PLAIN, Param};
use jiff::Timestamp;
use serde_json::{Value, json};

pub(super) const MODULE: Module = Module {
    name: "uuid",
    doc: "Universally unique identifiers (RFC 9562).",
    constants: &[],
    calls: &[
        Builtin {
            name: "v4",
            doc: "A random identifier.",
            returns: "text of 36 characters",
            body: Body::Pure(|_| Ok(json!(text(stamp(random()?, 4))))),
            examples: &[
                Example::new("len(uuid.v4())", "36"),
                Example::new("uuid.v4() == uuid.v4()", "false"),
            ],
            ..PLAIN
        },
        Builtin {
            name: "v7",
            doc: "An identifier that sorts by the millisecond it was made in.",
            returns: "text of 36 characters",
            body: Body::Pure(v7),
            examples: &[Example::new("uuid.parse(uuid.v7())[\"version\"]", "7")],
            ..PLAIN
        },
        Builtin {
            name: "parse",
            params: &[Param::text("text")],
            doc: "The canonical form of an identifier, which may come without hyphens, in braces or with `urn:uuid:`.",
            returns: "a dict with `text` and `version`",
            body: Body::Pure(parse),
            examples: &[
                Example::new(
                    r#"uuid.parse("{6BA7B810-9DAD-11D1-80B4-00C04FD430C8}")"#,
                    r#"{"text": "6ba7b810-9dad-11d1-80b4-00c04fd430c8", "version": 1}"#,
                ),
                Example::new(r#"uuid.parse("x")"#, "error: `x` is not a UUID"),
            ],
            ..PLAIN
        },
        Builtin {
            name: "is_valid",
            params: &[Param::any("text")],
            doc: "Whether `uuid.parse` accepts it.",
            returns: "True or False",
            body: Body::Pure(|args| Ok(json!(read(args.text(0)).is_some()))),
            examples: &[
                Example::new(
                    r#"uuid.is_valid("6ba7b810-9dad-11d1-80b4-00c04fd430c8")"#,
                    "true",
                ),
                Example::new(r#"uuid.is_valid("6ba7")"#, "false"),
            ],
            ..PLAIN
        },
    ],
};

fn v7(_: &Args) -> Result<Value, String> {
    let mut bytes: [u8; 16] = random()?;
    let milliseconds = Timestamp::now().as_millisecond().to_be_bytes();
    bytes[..6].copy_from_slice(&milliseconds[2..]);
    Ok(json!(text(stamp(bytes, 7))))
}

fn stamp(mut bytes: [u8; 16], version: u8) -> [u8; 16] {
    bytes[6] = bytes[6] & 0x0f | version << 4;
    bytes[8] = bytes[8] & 0x3f | 0x80;
    bytes
}

fn text(bytes: [u8; 16]) -> String {
    let hex = hex(&bytes);
    [
        &hex[..8],
        &hex[8..12],
        &hex[12..16],
        &hex[16..20],
        &hex[20..],
    ]
    .join("-")
}

fn parse(args: &Args) -> Result<Value, String> {
    let bytes = read(args.text(0)).ok_or_else(|| format!("`{}` is not a UUID", args.text(0)))?;
    Ok(json!({"text": text(bytes), "version": bytes[6] >> 4}))
}

/// The bytes of an identifier in any of its written forms.
fn read(written: &str) -> Option<[u8; 16]> {
    let bare = written
        .strip_prefix('{')
        .and_then(|rest| rest.strip_suffix('}'));
    let bare = bare
        .or_else(|| written.strip_prefix("urn:uuid:"))
        .unwrap_or(written);
    plain(bare).or_else(|| {
        Some(bare)
            .filter(|bare| bare.len() == 32 && !bare.contains('-'))
            .and_then(digits)
    })
}

/// The bytes of an identifier in its usual form: 8-4-4-4-12 digits.
pub(super) fn plain(written: &str) -> Option<[u8; 16]> {
    let hyphens = [8, 13, 18, 23];
    let usual = written.len() == 36
        && written
            .bytes()
            .enumerate()
            .all(|(at, byte)| hyphens.contains(&at) == (byte == b'-'));
    usual.then(|| digits(&written.replace('-', ""))).flatten()
}

fn digits(hex: &str) -> Option<[u8; 16]> {
    if hex.len() != 32 || !hex.bytes().all(|byte| byte.is_ascii_hexdigit()) {
        return None;
    }
    u128::from_str_radix(hex, 16).ok().map(u128::to_be_bytes)
}

#[cfg(test)]
mod tests {
    use super::super::tests::call;
    use serde_json::json;

    #[test]
    fn identifiers_carry_their_version_and_sort_by_time() {
        assert_eq!(
            call("uuid.parse", json!([call("uuid.v4", json!([]))]))["version"],
            json!(4)
        );
        let first = call("uuid.v7", json!([]));
        std::thread::sleep(std::time::Duration::from_millis(2));
        assert!(first.as_str() < call("uuid.v7", json!([])).as_str());
    }

    #[test]
    fn every_written_form_is_read_and_nothing_else() {
        let plain = "6ba7b810-9dad-11d1-80b4-00c04fd430c8";
        for good in [
            plain.to_owned(),
            plain.to_uppercase(),
            plain.replace('-', ""),
            format!("urn:uuid:{plain}"),
            format!("{{{plain}}}"),
        ] {
            assert_eq!(
                call("uuid.parse", json!([good]))["text"],
                json!(plain),
                "{good}"
            );
        }
        for bad in [
            "",
            "6ba7b810-9dad-11d1-80b4-00c04fd430c",
            "+ba7b8109dad11d180b400c04fd430c8",
            "6ba7b8109-dad-11d1-80b4-00c04fd430c8",
            "é",
        ] {
            assert_eq!(call("uuid.is_valid", json!([bad])), json!(false), "{bad}");
        }
        assert_eq!(call("uuid.is_valid", json!([7])), json!(false));
    }
}
