//! The fields of the root file.

use super::super::shape::{Field, Shape};
use super::tool::{LEVELS, LIMITS};
use super::{INLINE_HOOK, INLINE_TOOL, hook, tool};

const TEXTS: Shape = Shape::List(&Shape::Text);

/// `tools` of the root file and of bundles.
pub(super) const TOOLS: Shape = Shape::List(&Shape::Inline(INLINE_TOOL, tool::FIELDS));

/// `hooks` of the root file and of bundles.
pub(super) const HOOKS: Shape = Shape::List(&Shape::Inline(INLINE_HOOK, hook::FIELDS));

pub(super) const FIELDS: &[Field] = &[
    FORMAT,
    Field::new("model", Shape::Any, "none", "The model of the agent loop.").idle(),
    Field::new("models", Shape::Any, "none", "Models by name.").idle(),
    Field::new(
        "context",
        Shape::Any,
        "none",
        "What the agent loop adds to the prompt.",
    )
    .idle(),
    Field::new(
        "tools",
        TOOLS,
        "none",
        "Tools written inline, each with a `name`.",
    ),
    Field::new(
        "hooks",
        HOOKS,
        "none",
        "Hooks written inline, each with a `name`.",
    ),
    TOOLS_POLICY_FIELD,
    POLICY_FIELD,
    Field::new(
        "approval_policy",
        Shape::Any,
        "none",
        "When a person must agree.",
    )
    .unsupported(),
    NETWORK_FIELD,
    SANDBOX_FIELD,
    LIMITS_FIELD,
    REDACTION_FIELD,
    SECRETS_FIELD,
    Field::new(
        "checks",
        Shape::Record(CHECKS),
        "as each code's page says",
        "How findings are judged here. An error that takes an artifact out of use stays one.",
    ),
    Field::new(
        "record",
        Shape::Any,
        "none",
        "What is recorded, and for how long.",
    )
    .idle(),
    Field::new(
        "delegation",
        Shape::Any,
        "none",
        "How agents hand work to each other.",
    )
    .idle(),
    Field::new(
        "meta",
        Shape::Any,
        "off",
        "Whether scripts may register tools and hooks.",
    )
    .idle(),
    Field::new(
        "modes",
        Shape::Any,
        "one mode with every tool",
        "The first mode, and how modes follow each other.",
    )
    .unsupported(),
    Field::new("mcp_servers", Shape::Any, "none", "Upstream MCP servers.").idle(),
    Field::new(
        "tool_search",
        Shape::Any,
        "off",
        "How deferred tools are found.",
    )
    .idle(),
    Field::new("store", Shape::Any, "in memory", "Where state is kept.").idle(),
    Field::new("serve", Shape::Any, "none", "How the server listens.").idle(),
    Field::new("exit_policy", Shape::Any, "none", "When a run ends.").idle(),
];

const SEVERITIES: Shape = Shape::Map(&Shape::Word(&["error", "warning", "note", "off"]));

const CHECKS: &[Field] = &[
    Field::new(
        "severity",
        SEVERITIES,
        "none",
        "Code to severity; `off` leaves a finding out.",
    ),
    Field::new(
        "context_tokens",
        Shape::Integer(1000),
        "200000",
        "How many tokens the context of the model has. A description or a schema that takes more than a fiftieth of it is reported.",
    ),
    Field::new(
        "scan_fences",
        Shape::Bool,
        "false",
        "Whether names of tools are looked for in fenced code as well, which otherwise counts as an example.",
    ),
    Field::new(
        "paths",
        Shape::List(&Shape::Record(CHECKED_PATHS)),
        "none",
        "The same for findings in some files; the last entry that fits counts.",
    ),
];

const CHECKED_PATHS: &[Field] = &[
    Field::new(
        "path",
        Shape::Text,
        "required",
        "Glob over paths, relative to the project.",
    ),
    Field::new(
        "severity",
        SEVERITIES,
        "none",
        "Code to severity; `off` leaves a finding out.",
    ),
];

/// What counts in the files of the machine and of the user: what every project of theirs is kept
/// to.
pub(super) const LAYER: &[Field] = &[
    FORMAT,
    TOOLS_POLICY_FIELD,
    POLICY_FIELD,
    NETWORK_FIELD,
    SANDBOX_FIELD,
    LIMITS_FIELD,
    REDACTION_FIELD,
    SECRETS_FIELD,
];

const FORMAT: Field = Field::new(
    "format",
    Shape::Integer(i64::MIN),
    "1",
    "The version of this format.",
);
const TOOLS_POLICY_FIELD: Field = Field::new(
    "tools_policy",
    Shape::Record(TOOLS_POLICY),
    "everything is allowed",
    "Which tools and built-ins may be used, by name.",
);
const POLICY_FIELD: Field = Field::new(
    "policy",
    Shape::Record(POLICY),
    "everything is allowed",
    "How far tools may go.",
);
const NETWORK_FIELD: Field = Field::new(
    "network",
    Shape::Record(NETWORK),
    "no network",
    "Hosts that may be reached.",
);
const SANDBOX_FIELD: Field = Field::new(
    "sandbox",
    Shape::Record(SANDBOX),
    "the strongest there is",
    "What scripts and processes may see of this machine.",
);
const LIMITS_FIELD: Field = Field::new(
    "limits",
    Shape::Record(LIMITS),
    "the harness's",
    "Limits of every tool that does not set its own; of several layers the smallest counts.",
);

const REDACTION_FIELD: Field = Field::new(
    "redaction",
    TEXTS,
    "none",
    "What is taken out of results, events and kept output, beside secrets and tokens: the name of a field (`*` stands for anything), or a pattern between slashes. The lists of all layers count.",
);
const SECRETS_FIELD: Field = Field::new(
    "secrets",
    Shape::Map(&Shape::Either(&[
        Shape::Text,
        Shape::Record(SECRET_COMMAND),
    ])),
    "none",
    "Where the secrets of `inject` come from, by name: `env:VAR`, `file:PATH`, or a `command` that prints it. Their values never leave. A project's own count once a person trusts it.",
);

const SECRET_COMMAND: &[Field] = &[Field::new(
    "command",
    TEXTS,
    "required",
    "A program and its arguments, run as the user and not in the sandbox.",
)];

const TOOLS_POLICY: &[Field] = &[
    Field::new(
        "mode",
        Shape::Word(&["allowlist", "denylist"]),
        "`allowlist` when `allow` has entries",
        "How the lists are read.",
    ),
    Field::new(
        "allow",
        TEXTS,
        "none",
        "Globs over names of tools and built-ins that may be used.",
    ),
    Field::new(
        "deny",
        TEXTS,
        "none",
        "Globs over names of tools and built-ins that may not be used.",
    ),
];

const POLICY: &[Field] = &[
    Field::new(
        "side_effect_level",
        LEVELS,
        "no ceiling",
        "The highest rung of the ladder a tool may stand on.",
    ),
    Field::new(
        "effects",
        Shape::List(&Shape::Word(&[
            "read",
            "write",
            "exec",
            "net_read",
            "net_write",
            "desktop",
            "destructive",
            "spend",
        ])),
        "no ceiling",
        "Exactly the effects tools may have; the precise form of `side_effect_level`.",
    ),
    Field::new(
        "capabilities",
        Shape::Map(&TEXTS),
        "all",
        "The operations of each capability that tools may use.",
    ),
    Field::new(
        "tool_arg_constraints",
        Shape::List(&Shape::Record(CONSTRAINT)),
        "none",
        "What arguments may look like.",
    ),
];

const CONSTRAINT: &[Field] = &[
    Field::new("tool", Shape::Text, "required", "Glob over tool names."),
    Field::new(
        "arg_key",
        Shape::Text,
        "every declared path",
        "The argument.",
    ),
    Field::new(
        "arg_patterns",
        TEXTS,
        "required",
        "Globs, one of which the value must match.",
    ),
];

const NETWORK: &[Field] = &[Field::new(
    "allowed_domains",
    TEXTS,
    "none",
    "Hosts that `http` and processes may reach: `example.com` with its subdomains, `*.example.com` only those, `\"*\"` any public host, an address or a range; each with or without `:PORT`. A layer above only narrows the project's list.",
)];

const SANDBOX: &[Field] = &[
    Field::new(
        "mode",
        Shape::Word(&["on", "off"]),
        "on",
        "Whether processes are contained. `off` counts only in the user's or the machine's file.",
    ),
    Field::new(
        "env",
        TEXTS,
        "none",
        "Environment variables that scripts may read and processes get. A project's names count once a person trusts it.",
    ),
    Field::new(
        "hidden",
        TEXTS,
        "none",
        "More files and folders that no script and no process sees: absolute, from `~`, or in the workspace.",
    ),
    Field::new(
        "readable",
        TEXTS,
        "none",
        "Places in hidden folders that processes may read all the same. Counts only in the user's or the machine's file.",
    ),
    Field::new(
        "writable",
        TEXTS,
        "none",
        "Places outside the workspace that processes may write. Counts only in the user's or the machine's file.",
    ),
];
