//! `log`: messages for the record. The module itself can be called.

use super::{Body, Builtin, Example, Module, PLAIN, Param};

const INFO: Builtin = Builtin {
    name: "info",
    params: &[
        Param::any("message").also(&["msg"]),
        Param::rest("values"),
        Param::named("fields"),
    ],
    doc: "Writes a message and named values to the log. The values are named arguments, or the entries of a dict; any other further argument is added to the message.",
    body: Body::Note,
    examples: &[
        Example::new(r#"log.info("started", files=3)"#, "null"),
        Example::new(r#"log.info("started", {"files": 3})"#, "null"),
    ],
    ..PLAIN
};

pub(super) const MODULE: Module = Module {
    name: "log",
    doc: "Messages for people, with named values. `log(message)` is the same as `log.info(message)`. The script does not wait.",
    constants: &[],
    calls: &[
        Builtin {
            name: "",
            doc: "The same as `log.info`.",
            examples: &[Example::new(r#"log("started", files=3)"#, "null")],
            ..INFO
        },
        INFO,
        Builtin {
            name: "warn",
            doc: "Writes a warning and named values to the log.",
            examples: &[Example::new(r#"log.warn("slow", ms=900)"#, "null")],
            ..INFO
        },
        Builtin {
            name: "error",
            doc: "Writes an error and named values to the log; the script goes on.",
            examples: &[Example::new(r#"log.error("no answer")"#, "null")],
            ..INFO
        },
        Builtin {
            name: "debug",
            doc: "Writes a detail and named values to the log.",
            examples: &[Example::new(r#"log.debug("cache", hit=True)"#, "null")],
            ..INFO
        },
    ],
};
