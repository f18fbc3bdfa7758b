//! Fields of the root file that nothing uses yet. They are checked, and reported as without effect.

use crate::artifact::kind::TEXTS;
use crate::artifact::shape::{Field, Shape};

/// A model, by its name or with its settings.
pub(in crate::artifact) const MODEL: Shape =
    Shape::Either(&[Shape::Text, Shape::Record(MODEL_SETTINGS)]);

const MODEL_SETTINGS: &[Field] = &[
    Field::new("name", Shape::Text, "required", "The model's name."),
    Field::new("provider", Shape::Text, "the harness's", "Who serves it."),
    Field::new(
        "max_tokens",
        Shape::Integer(1),
        "the provider's",
        "Tokens of one answer.",
    ),
    Field::new(
        "temperature",
        Shape::Number,
        "the provider's",
        "How varied the answers are.",
    ),
    Field::new(
        "base_url",
        Shape::Text,
        "the provider's",
        "Where requests go.",
    ),
    Field::new(
        "api_key_env",
        Shape::Text,
        "the provider's",
        "The environment variable with the key.",
    ),
    Field::new(
        "retry",
        Shape::Record(&[
            Field::new(
                "max_retries",
                Shape::Integer(0),
                "the harness's",
                "How often a request is repeated.",
            ),
            Field::new(
                "initial_backoff_ms",
                Shape::Integer(0),
                "the harness's",
                "The first wait.",
            ),
            Field::new(
                "max_backoff_ms",
                Shape::Integer(0),
                "the harness's",
                "The longest wait.",
            ),
            Field::new(
                "multiplier",
                Shape::Number,
                "the harness's",
                "How much longer each wait is than the one before.",
            ),
        ]),
        "the harness's",
        "How failed requests are repeated.",
    ),
];

pub(super) const MODEL_FIELD: Field =
    Field::new("model", MODEL, "none", "The model of the agent loop.").idle();

pub(super) const MODELS_FIELD: Field = Field::new(
    "models",
    Shape::Either(&[Shape::List(&MODEL), Shape::Map(&MODEL)]),
    "none",
    "Further models.",
)
.idle();

pub(super) const CONTEXT_FIELD: Field = Field::new(
    "context",
    Shape::Record(&[
        Field::new(
            "max_history",
            Shape::Integer(1),
            "no cap",
            "Turns that the prompt keeps.",
        ),
        Field::new(
            "max_tokens",
            Shape::Integer(1),
            "the model's",
            "Tokens of the whole prompt.",
        ),
        Field::new(
            "system_prompt",
            Shape::Text,
            "the body",
            "The system prompt, where the file has no body.",
        ),
        Field::new(
            "sources",
            Shape::List(&Shape::Record(SOURCE)),
            "none",
            "Texts for the prompt from elsewhere.",
        ),
    ]),
    "none",
    "What the agent loop adds to the prompt.",
)
.idle();

const SOURCE: &[Field] = &[
    Field::new("name", Shape::Text, "required", "The source's name."),
    Field::new(
        "type",
        Shape::Word(&["file", "url"]),
        "file",
        "Where the text is.",
    ),
    Field::new("path", Shape::Text, "required", "The file or address."),
    Field::new("when", Shape::Text, "always", "When it is added."),
    Field::new("trigger", Shape::Text, "none", "The event that adds it."),
    Field::new(
        "priority",
        Shape::Integer(i64::MIN),
        "100",
        "Lower comes first.",
    ),
    Field::new(
        "scope",
        Shape::Word(&["session", "turn"]),
        "session",
        "How long it stays.",
    ),
    Field::new("ttl", Shape::Integer(0), "no cap", "Turns it stays."),
];

pub(super) const RECORD_FIELD: Field = Field::new(
    "record",
    Shape::Either(&[
        Shape::Word(&["calls", "full", "minimal", "off"]),
        Shape::Map(&Shape::Any),
    ]),
    "none",
    "What is recorded, and for how long.",
)
.idle();

pub(super) const DELEGATION_FIELD: Field = Field::new(
    "delegation",
    Shape::Record(&[
        Field::new(
            "max_depth",
            Shape::Integer(0),
            "the harness's",
            "How deep agents may hand work on; 0 means not at all.",
        ),
        Field::new(
            "max_concurrent",
            Shape::Integer(1),
            "the harness's",
            "Agents at work at once.",
        ),
        Field::new(
            "iterations_per_depth",
            Shape::List(&Shape::Integer(1)),
            "the harness's",
            "Turns of an agent at each depth.",
        ),
    ]),
    "none",
    "How agents hand work to each other.",
)
.idle();

pub(super) const META_FIELD: Field = Field::new(
    "meta",
    Shape::Record(&[
        Field::new(
            "enabled",
            Shape::Bool,
            "false",
            "Whether scripts may register tools and hooks.",
        ),
        Field::new(
            "max_tools",
            Shape::Integer(0),
            "the harness's",
            "Tools that scripts may register.",
        ),
        Field::new(
            "max_hooks",
            Shape::Integer(0),
            "the harness's",
            "Hooks that scripts may register.",
        ),
        Field::new(
            "max_agents",
            Shape::Integer(0),
            "the harness's",
            "Agents that scripts may register.",
        ),
        Field::new(
            "max_call_depth",
            Shape::Integer(0),
            "the harness's",
            "How deep such calls may nest.",
        ),
    ]),
    "off",
    "Whether scripts may register tools and hooks.",
)
.idle();

pub(super) const MODES_FIELD: Field = Field::new(
    "modes",
    Shape::Record(&[
        Field::new(
            "default",
            Shape::Text,
            "the first",
            "The mode that a run begins in.",
        ),
        Field::new(
            "transitions",
            Shape::Any,
            "all",
            "From which mode to which a run may go.",
        ),
    ]),
    "one mode with every tool",
    "The initial mode, and the transitions between modes.",
)
.unsupported();

pub(super) const MCP_SERVERS_FIELD: Field = Field::new(
    "mcp_servers",
    Shape::Map(&Shape::Record(&[
        Field::new("command", Shape::Text, "none", "The program that serves."),
        Field::new("args", TEXTS, "none", "Its arguments."),
        Field::new("env", Shape::Map(&Shape::Text), "none", "Its variables."),
        Field::new("cwd", Shape::Text, "the project", "Where it starts."),
        Field::new("url", Shape::Text, "none", "The address that serves."),
        Field::new(
            "headers",
            Shape::Map(&Shape::Text),
            "none",
            "Headers of each request.",
        ),
        Field::new(
            "type",
            Shape::Word(&["stdio", "http", "sse"]),
            "by `command` or `url`",
            "How it is reached.",
        ),
    ])),
    "none",
    "Upstream MCP servers, by name.",
)
.idle();

pub(super) const TOOL_SEARCH_FIELD: Field = Field::new(
    "tool_search",
    Shape::Either(&[Shape::Bool, Shape::Text, Shape::Record(TOOL_SEARCH)]),
    "off",
    "How deferred tools are found.",
)
.idle();

const TOOL_SEARCH: &[Field] = &[
    Field::new(
        "enabled",
        Shape::Bool,
        "true",
        "Whether tools are searched.",
    ),
    Field::new("mode", Shape::Text, "the harness's", "How they are found."),
    Field::new(
        "strategy",
        Shape::Text,
        "the harness's",
        "Another spelling of `mode`.",
    ),
    Field::new(
        "variant",
        Shape::Text,
        "the harness's",
        "Another spelling of `mode`.",
    ),
    Field::new(
        "always_loaded",
        TEXTS,
        "none",
        "Tools that are always listed.",
    ),
    Field::new(
        "budget_tokens",
        Shape::Integer(1),
        "no cap",
        "Tokens that the listed tools may take.",
    ),
    Field::new(
        "name",
        Shape::Text,
        "the harness's",
        "The name of the tool that searches.",
    ),
    Field::new(
        "include_stub_listing",
        Shape::Bool,
        "false",
        "Whether the names of tools that are not listed are.",
    ),
];

pub(super) const STORE_FIELD: Field = Field::new(
    "store",
    Shape::Either(&[Shape::Text, Shape::Map(&Shape::Any)]),
    "in memory",
    "Where state is kept.",
)
.idle();

pub(super) const SERVE_FIELD: Field = Field::new(
    "serve",
    Shape::Map(&Shape::Any),
    "none",
    "How the server listens.",
)
.idle();

pub(super) const EXIT_POLICY_FIELD: Field = Field::new(
    "exit_policy",
    Shape::Record(&[
        Field::new(
            "mode",
            Shape::Word(&["natural", "done_tool", "hook", "hybrid"]),
            "natural",
            "What ends a run.",
        ),
        Field::new(
            "max_iterations",
            Shape::Integer(1),
            "the harness's",
            "Turns of a run.",
        ),
        Field::new(
            "on_max_iterations",
            Shape::Word(&["error", "warn_and_exit", "continue_with_warning"]),
            "error",
            "What happens after the last turn.",
        ),
    ]),
    "none",
    "When a run ends.",
)
.idle();
