//! `meta`: tools about tools. Known by name and effect; only for projects that ask for them.

use super::{Body, Builtin, Example, Module, PLAIN, Param, Scope};
use crate::effect::Effects;

/// Calling or adding a tool has every effect, since the other tool is not in this script.
const META: Builtin = Builtin {
    effects: Effects::ALL,
    scope: Scope::Tools,
    body: Body::Absent("tools that change tools come with `meta.enabled`"),
    ..PLAIN
};

const REGISTER_TOOL: Builtin = Builtin {
    name: "register_tool",
    params: &[Param::dict("definition")],
    doc: "Adds a tool to this session, checked like a file.",
    returns: "a list of diagnostics",
    examples: &[Example::new(
        r#"meta.register_tool({"name": "x"})"#,
        "error: not available yet",
    )],
    ..META
};

const REGISTER_HOOK: Builtin = Builtin {
    name: "register_hook",
    params: &[Param::dict("definition")],
    doc: "Adds a hook to this session, checked like a file.",
    returns: "a list of diagnostics",
    examples: &[Example::new(
        r#"meta.register_hook({"event": "tool.pre"})"#,
        "error: not available yet",
    )],
    ..META
};

pub(super) const MODULE: Module = Module {
    name: "meta",
    doc: "Tools about tools.",
    constants: &[],
    calls: &[
        Builtin {
            name: "list_tools",
            doc: "The tools of this surface.",
            returns: "a list of dicts with `name` and `description`",
            effects: Effects::NONE,
            examples: &[Example::new(
                "meta.list_tools()",
                "error: not available yet",
            )],
            ..META
        },
        Builtin {
            name: "call_tool",
            params: &[Param::text("name"), Param::dict("args").or("{}")],
            doc: "Calls another tool, which passes the same rules and hooks as a call by the model.",
            returns: "its result",
            examples: &[Example::new(
                r#"meta.call_tool("other", {})"#,
                "error: not available yet",
            )],
            ..META
        },
        REGISTER_TOOL,
        Builtin {
            name: "tool_register",
            doc: "The same as `meta.register_tool`.",
            examples: &[Example::new(
                r#"meta.tool_register({"name": "x"})"#,
                "error: not available yet",
            )],
            ..REGISTER_TOOL
        },
        REGISTER_HOOK,
        Builtin {
            name: "hook_register",
            doc: "The same as `meta.register_hook`.",
            examples: &[Example::new(
                r#"meta.hook_register({"event": "tool.pre"})"#,
                "error: not available yet",
            )],
            ..REGISTER_HOOK
        },
    ],
};
