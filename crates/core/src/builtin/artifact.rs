//! `artifact`: long texts, stored outside the conversation and read by handle.

use super::{Args, Body, Builtin, BuiltinHost, Example, Module, PLAIN, Param, Scope};
use serde_json::Value;

/// Bytes that one call reads.
const MAX_READ: u64 = 1 << 20;

pub(super) const MODULE: Module = Module {
    name: "artifact",
    doc: "Long texts, stored outside the conversation and read by handle. A handle is valid in its own session only.",
    constants: &[],
    calls: &[
        Builtin {
            name: "read",
            params: &[
                Param::text("id"),
                Param::int("offset").or("0"),
                Param::int("length").or("null"),
            ],
            doc: "A part of an artifact of this session from byte `offset`, as text. At most 1 MiB per call.",
            returns: "a string",
            scope: Scope::Tools,
            body: Body::Host(read),
            examples: &[
                Example::new(
                    r#"artifact.read(artifact.write("long text")["id"], 5)"#,
                    "\"text\"",
                ),
                Example::new(r#"artifact.read("art_1")"#, "error: there is no artifact"),
            ],
            ..PLAIN
        },
        Builtin {
            name: "write",
            params: &[
                Param::text("content"),
                Param::text("media_type").or("\"text/plain\""),
            ],
            doc: "Stores a text without its secrets, cut at 64 MiB. The result of the call lists it, and `read_artifact` reads it.",
            returns: "a dict with `id`, `media_type`, `bytes` and `digest`",
            scope: Scope::Tools,
            body: Body::Host(|host, args| Ok(host.keep(args.text(0), args.text(1))?.to_json())),
            examples: &[Example::new(r#"artifact.write("long text")["bytes"]"#, "9")],
            ..PLAIN
        },
    ],
};

fn read(host: &dyn BuiltinHost, args: &Args) -> Result<Value, String> {
    let number = |index: usize, name: &str| match args.int(index) {
        Some(number) => {
            u64::try_from(number).map_err(|_| format!("`{name}` must be 0 or more, got {number}"))
        }
        None => Ok(MAX_READ),
    };
    let bytes = host.read_artifact(
        args.text(0),
        number(1, "offset")?,
        number(2, "length")?.min(MAX_READ),
    )?;
    Ok(String::from_utf8_lossy(&bytes).into_owned().into())
}
