//! `crypto`: message authentication and secrets.

use super::base64::URL_SAFE;
use super::{Args, Body, Builtin, Example, Module, PLAIN, Param};
use ::base64::Engine;
use hmac::digest::{InvalidLength, KeyInit};
use hmac::{Hmac, Mac};
use serde_json::{Value, json};
use sha1::Sha1;
use sha2::{Sha256, Sha512};
use std::fmt::Write;

/// Random bytes per call.
const MAX_RANDOM: usize = 65_536;

const KEYED: &[Param] = &[Param::text("key"), Param::text("text")];

pub(super) const MODULE: Module = Module {
    name: "crypto",
    doc: "Message authentication, comparison in constant time, and randomness for secrets.",
    constants: &[],
    calls: &[
        Builtin {
            name: "hmac_sha256",
            params: KEYED,
            doc: "The HMAC of a text with SHA-256, as hexadecimal.",
            returns: "text of 64 characters",
            body: Body::Pure(hmac::<Hmac<Sha256>>),
            examples: &[Example::new(
                r#"crypto.hmac_sha256("key", "text")"#,
                r#""6afa9046a9579cad143a384c1b564b9a250d27d6f6a63f9f20bf3a7594c9e2c6""#,
            )],
            ..PLAIN
        },
        Builtin {
            name: "hmac_sha512",
            params: KEYED,
            doc: "The HMAC of a text with SHA-512, as hexadecimal.",
            returns: "text of 128 characters",
            body: Body::Pure(hmac::<Hmac<Sha512>>),
            examples: &[Example::new(
                r#"len(crypto.hmac_sha512("key", "text"))"#,
                "128",
            )],
            ..PLAIN
        },
        Builtin {
            name: "hmac_sha1",
            params: KEYED,
            doc: "The HMAC of a text with SHA-1, as hexadecimal, for systems that need it.",
            returns: "text of 40 characters",
            body: Body::Pure(hmac::<Hmac<Sha1>>),
            examples: &[Example::new(
                r#"len(crypto.hmac_sha1("key", "text"))"#,
                "40",
            )],
            ..PLAIN
        },
        Builtin {
            name: "constant_time_equal",
            params: &[Param::text("a"), Param::text("b")],
            doc: "Whether two texts are equal, in constant time.",
            returns: "True or False",
            body: Body::Pure(equal),
            examples: &[
                Example::new(r#"crypto.constant_time_equal("a", "a")"#, "true"),
                Example::new(r#"crypto.constant_time_equal("a", "b")"#, "false"),
            ],
            ..PLAIN
        },
        Builtin {
            name: "random_hex",
            params: &[Param::int("n")],
            doc: "`n` random bytes as hexadecimal.",
            returns: "text of 2 × `n` characters",
            body: Body::Pure(|args| Ok(json!(hex(&random_bytes(args)?)))),
            examples: &[
                Example::new("len(crypto.random_hex(16))", "32"),
                Example::new("crypto.random_hex(-1)", "error: `n` must be from 0"),
            ],
            ..PLAIN
        },
        Builtin {
            name: "random_token",
            params: &[Param::int("n").or("32")],
            doc: "`n` random bytes as URL-safe text.",
            returns: "a string",
            body: Body::Pure(|args| Ok(json!(URL_SAFE.encode(random_bytes(args)?)))),
            examples: &[Example::new("len(crypto.random_token())", "43")],
            ..PLAIN
        },
    ],
};

fn hmac<M: Mac + KeyInit>(args: &Args) -> Result<Value, String> {
    let code = <M as Mac>::new_from_slice(args.text(0).as_bytes()).map_err(refused)?;
    let code = code.chain_update(args.text(1)).finalize();
    Ok(json!(hex(&code.into_bytes())))
}

fn refused(_: InvalidLength) -> String {
    "`key` is not accepted".to_owned()
}

/// Compares HMACs of both texts under a fresh key, so that the time shows neither where they differ
/// nor their lengths.
fn equal(args: &Args) -> Result<Value, String> {
    let key: [u8; 32] = random()?;
    let code = |text: &str| {
        <Hmac<Sha256> as Mac>::new_from_slice(&key)
            .map(|code| code.chain_update(text))
            .map_err(refused)
    };
    let other = code(args.text(1))?.finalize().into_bytes();
    Ok(json!(code(args.text(0))?.verify_slice(&other).is_ok()))
}

fn random_bytes(args: &Args) -> Result<Vec<u8>, String> {
    let mut bytes = vec![0; args.count(0, "n", MAX_RANDOM)?];
    fill(&mut bytes)?;
    Ok(bytes)
}

/// Random bytes from the operating system.
pub(super) fn random<const N: usize>() -> Result<[u8; N], String> {
    let mut bytes = [0; N];
    fill(&mut bytes)?;
    Ok(bytes)
}

fn fill(bytes: &mut [u8]) -> Result<(), String> {
    getrandom::fill(bytes).map_err(|error| format!("no randomness: {error}"))
}

/// Bytes as lower-case hexadecimal.
pub(super) fn hex(bytes: &[u8]) -> String {
    bytes
        .iter()
        .fold(String::with_capacity(bytes.len() * 2), |mut text, byte| {
            let _ = write!(text, "{byte:02x}");
            text
        })
}

#[cfg(test)]
mod tests {
    use super::super::tests::{call, refused};
    use serde_json::json;

    #[test]
    fn codes_agree_with_rfc_4231_and_rfc_2202() {
        let (key, text) = ("Jefe", "what do ya want for nothing?");
        for (name, expected) in [
            (
                "crypto.hmac_sha256",
                "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843",
            ),
            (
                "crypto.hmac_sha1",
                "effcdf6ae5eb2fa2d27416d5f184df9c259a7c79",
            ),
            (
                "crypto.hmac_sha512",
                concat!(
                    "164b7a7bfcf819e2e395fbe73b56e0a387bd64222e831fd610270cd7ea250554",
                    "9758bf75c05a994a6d034f65f8f0e6fdcaeab1a34d4a6b4b636e070a38bce737"
                ),
            ),
        ] {
            assert_eq!(call(name, json!([key, text])), json!(expected));
        }
    }

    #[test]
    fn comparison_and_randomness() {
        assert_eq!(
            call("crypto.constant_time_equal", json!(["", ""])),
            json!(true)
        );
        assert_eq!(
            call("crypto.constant_time_equal", json!(["abc", "ab"])),
            json!(false)
        );
        assert_ne!(
            call("crypto.random_hex", json!([16])),
            call("crypto.random_hex", json!([16]))
        );
        assert_eq!(call("crypto.random_hex", json!([0])), json!(""));
        assert!(refused("crypto.random_token", json!([1_000_000])).contains("65536"));
    }
}
