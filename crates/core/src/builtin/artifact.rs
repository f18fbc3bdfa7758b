//! `artifact`: large results kept by handle. Known by name until the store keeps them.

use super::{Body, Builtin, Example, Kind, Module, PLAIN, Param, Scope};

const ARTIFACT: Builtin = Builtin { scope: Scope::Tools, body: Body::Absent("kept results come with the record"), ..PLAIN };

pub(super) const MODULE: Module = Module {
    name: "artifact",
    doc: "Large results, kept outside the conversation and read by handle.",
    constants: &[],
    calls: &[
        Builtin {
            name: "read",
            params: &[
                Param::required("id", Kind::Text),
                Param::optional("offset", Kind::Int, "0"),
                Param::optional("length", Kind::Int, "null"),
            ],
            doc: "A part of a kept result.",
            returns: "text",
            examples: &[Example::new(r#"artifact.read("art_1")"#, "error: not available yet")],
            ..ARTIFACT
        },
        Builtin {
            name: "write",
            params: &[Param::required("content", Kind::Text), Param::optional("media_type", Kind::Text, "\"text/plain\"")],
            doc: "Keeps a text.",
            returns: "a dict with `id`, `media_type`, `bytes` and `digest`",
            examples: &[Example::new(r#"artifact.write("long text")"#, "error: not available yet")],
            ..ARTIFACT
        },
    ],
};
