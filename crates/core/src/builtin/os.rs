//! `os`: the machine that the harness runs on.

use super::{Args, Body, Builtin, BuiltinHost, Example, Module, PLAIN};
use serde_json::{Value, json};

/// Where Linux has the name of the machine.
const HOSTNAME: &str = "/proc/sys/kernel/hostname";

pub(super) const MODULE: Module = Module {
    name: "os",
    doc: "What the harness runs on.",
    constants: &[],
    calls: &[
        Builtin {
            name: "platform",
            doc: "The operating system: `linux`, `macos`, ...",
            returns: "a string",
            body: Body::Pure(|_| Ok(json!(std::env::consts::OS))),
            examples: &[Example::new("len(os.platform()) > 0", "true")],
            ..PLAIN
        },
        Builtin {
            name: "arch",
            doc: "The processor: `x86_64`, `aarch64`, ...",
            returns: "a string",
            body: Body::Pure(|_| Ok(json!(std::env::consts::ARCH))),
            examples: &[Example::new("len(os.arch()) > 0", "true")],
            ..PLAIN
        },
        Builtin {
            name: "args",
            doc: "The name of the program. What else it was started with may hold secrets, so scripts do not see it; a tool's own \
                arguments are in `args`.",
            returns: "a list of one string",
            body: Body::Pure(|_| Ok(json!(["harness"]))),
            examples: &[Example::new("os.args()", r#"["harness"]"#)],
            ..PLAIN
        },
        Builtin {
            name: "cwd",
            doc: "The folder of the workspace. Paths that `fs` and `exec` take are relative to it.",
            returns: "a string",
            body: Body::Host(|host, _| Ok(json!(host.files()?.root().to_string_lossy()))),
            examples: &[Example::new(r#"os.cwd().startswith("/")"#, "true")],
            ..PLAIN
        },
        Builtin {
            name: "hostname",
            doc: "The name of the machine; `localhost` if it is unknown.",
            returns: "a string",
            body: Body::Host(hostname),
            examples: &[Example::new("len(os.hostname()) > 0", "true")],
            ..PLAIN
        },
    ],
};

fn hostname(_: &dyn BuiltinHost, _: &Args) -> Result<Value, String> {
    let name = std::fs::read_to_string(HOSTNAME).unwrap_or_default();
    Ok(json!(if name.trim().is_empty() {
        "localhost"
    } else {
        name.trim()
    }))
}
