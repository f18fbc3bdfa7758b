//! `hash`: digests of text.

use super::crypto::hex;
use super::{Body, Builtin, Example, Module, PLAIN, Param};
use md5::Md5;
use serde_json::json;
use sha1::Sha1;
use sha2::{Digest, Sha256, Sha512};

const TEXT: &[Param] = &[Param::text("text")];

pub(super) const MODULE: Module = Module {
    name: "hash",
    doc: "Digests of the UTF-8 bytes of a text, as lower-case hexadecimal.",
    constants: &[],
    calls: &[
        Builtin {
            name: "sha256",
            params: TEXT,
            doc: "The SHA-256 digest.",
            returns: "text of 64 characters",
            body: Body::Pure(|args| Ok(json!(hex(&Sha256::digest(args.text(0)))))),
            examples: &[Example::new(
                r#"hash.sha256("abc")"#,
                r#""ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad""#,
            )],
            ..PLAIN
        },
        Builtin {
            name: "sha1",
            params: TEXT,
            doc: "The SHA-1 digest, for systems that need it; not safe against forgery.",
            returns: "text of 40 characters",
            body: Body::Pure(|args| Ok(json!(hex(&Sha1::digest(args.text(0)))))),
            examples: &[Example::new(
                r#"hash.sha1("abc")"#,
                r#""a9993e364706816aba3e25717850c26c9cd0d89d""#,
            )],
            ..PLAIN
        },
        Builtin {
            name: "sha512",
            params: TEXT,
            doc: "The SHA-512 digest.",
            returns: "text of 128 characters",
            body: Body::Pure(|args| Ok(json!(hex(&Sha512::digest(args.text(0)))))),
            examples: &[Example::new(
                r#"hash.sha512("abc")[:16]"#,
                r#""ddaf35a193617aba""#,
            )],
            ..PLAIN
        },
        Builtin {
            name: "md5",
            params: TEXT,
            doc: "The MD5 digest, for systems that need it; not safe against forgery.",
            returns: "text of 32 characters",
            body: Body::Pure(|args| Ok(json!(hex(&Md5::digest(args.text(0)))))),
            examples: &[Example::new(
                r#"hash.md5("abc")"#,
                r#""900150983cd24fb0d6963f7d28e17f72""#,
            )],
            ..PLAIN
        },
        Builtin {
            name: "blake3",
            params: TEXT,
            doc: "The BLAKE3 digest.",
            returns: "text of 64 characters",
            body: Body::Pure(|args| {
                Ok(json!(
                    blake3::hash(args.text(0).as_bytes()).to_hex().as_str()
                ))
            }),
            examples: &[Example::new(
                r#"hash.blake3("abc")"#,
                r#""6437b3ac38465133ffb63b75273a8db548c558465d79db03fd359c6cd5bd9d85""#,
            )],
            ..PLAIN
        },
    ],
};
