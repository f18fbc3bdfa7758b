//! `artifact`: what is too long for a conversation, kept by handle.

use super::{Args, Body, Builtin, Example, Host, Kind, Module, PLAIN, Param, Scope};
use serde_json::Value;

/// Bytes that one call reads.
const MOST: u64 = 1 << 20;

pub(super) const MODULE: Module = Module {
    name: "artifact",
    doc: "Long texts, kept outside the conversation and read by handle. A handle is known to the session that kept it, and to no other.",
    constants: &[],
    calls: &[
        Builtin {
            name: "read",
            params: &[
                Param::required("id", Kind::Text),
                Param::optional("offset", Kind::Int, "0"),
                Param::optional("length", Kind::Int, "null"),
            ],
            doc: "A part of something that this session kept, from `offset` on, as text. At most 1 MiB at once.",
            returns: "text",
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
                Param::required("content", Kind::Text),
                Param::optional("media_type", Kind::Text, "\"text/plain\""),
            ],
            doc: "Keeps a text, at most 64 MiB of it, without its secrets. The result of the call lists it, and `read_artifact` reads it.",
            returns: "a dict with `id`, `media_type`, `bytes` and `digest`",
            scope: Scope::Tools,
            body: Body::Host(|host, args| Ok(host.keep(args.text(0), args.text(1))?.to_json())),
            examples: &[Example::new(r#"artifact.write("long text")["bytes"]"#, "9")],
            ..PLAIN
        },
    ],
};

fn read(host: &dyn Host, args: &Args) -> Result<Value, String> {
    let number = |index: usize, name: &str| match args.int(index) {
        Some(number) => {
            u64::try_from(number).map_err(|_| format!("`{name}` must be 0 or more, got {number}"))
        }
        None => Ok(MOST),
    };
    let bytes = host.read_artifact(
        args.text(0),
        number(1, "offset")?,
        number(2, "length")?.min(MOST),
    )?;
    Ok(String::from_utf8_lossy(&bytes).into_owned().into())
}
