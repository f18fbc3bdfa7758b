//! The fields of a tool.

use super::super::node::Node;
use super::super::shape::{Field, Shape, UnsupportedForm};
use crate::span::Span;

const TEXTS: Shape = Shape::List(&Shape::Text);

/// The words of the ladder.
pub(super) const LEVELS: Shape = Shape::Word(&[
    "none",
    "read_only",
    "workspace_write",
    "process_exec",
    "network_read",
    "network",
    "desktop_control",
]);

/// What only a tool inside another file writes.
pub(in super::super) const INLINE: &[Field] = &[
    Field::new("name", Shape::Text, "required", "The tool's name."),
    Field::new(
        "description",
        Shape::Text,
        "the name",
        "What the model reads when it decides whether to call the tool.",
    ),
];

pub(super) const FIELDS: &[Field] = &[
    Field::new(
        "parameters",
        Shape::Map(&Shape::Parameter),
        "no parameters",
        "The arguments, in the order the model sees them: JSON Schema keywords, and `required: true` where one must be given.",
    ),
    Field::new(
        "script",
        Shape::Text,
        "none",
        "Starlark that defines `run(args)`; without it a Rust body of the same name serves the tool.",
    ),
    Field::new(
        "timeout_ms",
        Shape::Integer(0),
        "0",
        "The most wall-clock time one run of the body may take; 0 means no cap of its own. Each attempt of `retry` has it anew, and so has waiting for a place; all of it ends with the caller's time.",
    ),
    Field::new("async", Shape::Bool, "false", "The call returns a task at once and goes on in the background.").unsupported(),
    Field::new("input_schema", Shape::JsonSchema, "none", "The arguments as one JSON Schema; excludes `parameters`."),
    Field::new("output_schema", Shape::JsonSchema, "none", "The JSON Schema that a result must satisfy."),
    Field::new(
        "risk",
        Shape::Word(&["safe", "read", "write", "execute", "network", "destructive"]),
        "inferred",
        "The effects in one word.",
    ),
    Field::new(
        "permissions",
        PERMISSIONS,
        "inferred",
        "What the sandbox lets this tool touch; only ever less than the project does. A kind that is not listed is left as it is.",
    ),
    Field::new(
        "requires_approval",
        Shape::Either(&[Shape::Bool, Shape::Text]),
        "false",
        "Whether a person must agree to each call, or a Starlark expression over `args`, `state` and `mode` that says so.",
    )
    .partly(&[UnsupportedForm { name: " as an expression", find: text_span }]),
    Field::new("approval_timeout_ms", Shape::Integer(0), "300000", "How long an approval is waited for before the call is denied."),
    Field::new("annotations", Shape::Record(ANNOTATIONS), "inferred", "What the tool is and does, for policy and for clients."),
    Field::new("safety", Shape::Record(SAFETY), "inferred", "What the tool promises about its effects."),
    Field::new(
        "inject",
        Shape::Map(&Shape::Text),
        "none",
        "Arguments the harness adds after validation: `run_id`, `call_id`, `session_id`, `mode`, `idempotency_key`, `state:KEY` or `secret:NAME`.",
    ),
    Field::new(
        "idempotency",
        Shape::Either(&[Shape::Word(&["none", "natural"]), Shape::Record(IDEMPOTENCY)]),
        "none",
        "Whether a repeated call is harmless, or the key that makes it so.",
    ),
    Field::new(
        "retry",
        Shape::Record(RETRY),
        "none",
        "How often a retryable failure of an idempotent call is tried again; each wait is shortened by chance, by up to half.",
    ),
    Field::new("limits", Shape::Record(LIMITS), "the project's", "How much one call, or all calls of a session, may use."),
    Field::new("deferred", Shape::Bool, "false", "Left out of the list for the model until a tool search names it."),
    Field::new("aliases", Shape::Map(&Shape::Text), "none", "Other names of the tool, by provider."),
    Field::new("examples", Shape::List(&Shape::Record(EXAMPLE)), "none", "Calls with their results, run by `harness test`."),
    Field::new("strict", Shape::Bool, "false", "Extra arguments are refused instead of passed on."),
    Field::new("tags", TEXTS, "none", "Words for policy and search."),
    SILENCED,
];

/// `checks` of tools and hooks.
pub(super) const SILENCED: Field = Field::new(
    "checks",
    Shape::List(&Shape::Record(&[
        Field::new("code", Shape::Text, "required", "The code of the finding."),
        Field::new("reason", Shape::Text, "required", "Why it is fine here."),
    ])),
    "none",
    "Findings about this artifact that are silenced, each with a reason. One that silences nothing is reported.",
);

/// `permissions` of tools and hooks.
pub(super) const PERMISSIONS: Shape = Shape::List(&Shape::Record(&[
    Field::new(
        "kind",
        Shape::Word(&["filesystem", "shell", "network", "custom"]),
        "required",
        "What is permitted.",
    ),
    Field::new(
        "access",
        Shape::Word(&["none", "read", "write"]),
        "read",
        "What may be done with files; `write` is reading as well.",
    ),
    Field::new(
        "path",
        Shape::Text,
        "the workspace",
        "The file or folder, relative to the workspace.",
    ),
    Field::new(
        "hosts",
        TEXTS,
        "none",
        "Hosts that may be reached, as in `network.allowed_domains`, which has to have them too.",
    ),
    Field::new(
        "programs",
        TEXTS,
        "none",
        "Programs that may be executed, by name or path; what they execute in turn has to be listed too.",
    ),
    Field::new("description", Shape::Text, "none", "Why it is needed."),
]));

const ANNOTATIONS: &[Field] = &[
    Field::new(
        "kind",
        Shape::Text,
        "none",
        "What the tool does, in one word such as `read` or `execute`.",
    ),
    Field::new(
        "side_effect_level",
        LEVELS,
        "inferred",
        "The effects as a rung of the ladder.",
    ),
    Field::new(
        "arg_schema",
        Shape::Record(ARG_SCHEMA),
        "none",
        "What policy should know about arguments.",
    ),
    Field::new(
        "capabilities",
        Shape::Map(&TEXTS),
        "none",
        "The operations of each capability that the tool uses.",
    ),
    Field::new(
        "emits_artifacts",
        Shape::Bool,
        "false",
        "Whether results may be handles to larger output.",
    ),
    Field::new(
        "result_readers",
        TEXTS,
        "none",
        "Tools that can read those handles.",
    ),
    Field::new(
        "inline_result",
        Shape::Bool,
        "false",
        "Whether results are always complete.",
    ),
    Field::new(
        "readOnlyHint",
        Shape::Bool,
        "inferred",
        "The hint of that name in MCP: the tool changes nothing.",
    ),
    Field::new(
        "destructiveHint",
        Shape::Bool,
        "inferred",
        "The hint of that name in MCP: what the tool does cannot be undone.",
    ),
    Field::new(
        "idempotentHint",
        Shape::Bool,
        "inferred",
        "The hint of that name in MCP: a repeated call changes nothing more.",
    ),
    Field::new(
        "openWorldHint",
        Shape::Bool,
        "inferred",
        "The hint of that name in MCP: the tool reaches beyond this machine.",
    ),
];

const ARG_SCHEMA: &[Field] = &[
    Field::new("path_params", TEXTS, "none", "Arguments that are paths."),
    Field::new(
        "arg_aliases",
        Shape::Map(&Shape::Text),
        "none",
        "Other names of arguments, each with the canonical one.",
    ),
    Field::new(
        "required",
        TEXTS,
        "none",
        "Arguments that must be given, in addition to the schema's.",
    ),
];

const SAFETY: &[Field] = &[
    Field::new(
        "read_only",
        Shape::Bool,
        "inferred",
        "The tool changes nothing.",
    ),
    Field::new(
        "idempotent",
        Shape::Bool,
        "false",
        "A repeated call changes nothing more.",
    ),
    Field::new(
        "local_only",
        Shape::Bool,
        "inferred",
        "The tool does not use the network.",
    ),
    Field::new(
        "filesystem",
        Shape::Word(&["none", "read", "write"]),
        "inferred",
        "What the tool does with files.",
    ),
    Field::new(
        "process",
        Shape::Bool,
        "inferred",
        "The tool starts processes.",
    ),
    Field::new("spend", Shape::Bool, "false", "A call costs money."),
    Field::new(
        "confirm",
        Shape::Bool,
        "false",
        "The same as `requires_approval: true`.",
    ),
    Field::new(
        "workspace_root",
        Shape::Text,
        "the workspace",
        "The folder of the workspace that the tool is kept to.",
    ),
    Field::new(
        "redact",
        TEXTS,
        "none",
        "What is taken out of this tool's results: the name of a field (`*` stands for anything), or a pattern between slashes.",
    ),
];

const IDEMPOTENCY: &[Field] = &[Field::new(
    "key",
    Shape::Text,
    "required",
    "A Starlark expression over `args`, without built-ins. A repeat of its value, with the same values injected, returns the stored result of the call that has done it, for as long as the program runs; `None` means that this call has no key.",
)];

const RETRY: &[Field] = &[
    Field::new("max_attempts", Shape::Integer(1), "1", "Attempts in all."),
    Field::new(
        "initial_backoff_ms",
        Shape::Integer(0),
        "0",
        "The wait before the second attempt.",
    ),
    Field::new(
        "max_backoff_ms",
        Shape::Integer(0),
        "no cap",
        "The longest wait.",
    ),
    Field::new(
        "multiplier",
        Shape::Number,
        "1",
        "How much each wait grows.",
    ),
];

/// `limits` of a tool or of the project.
pub(super) const LIMITS: &[Field] = &[
    Field::new(
        "max_calls",
        Shape::Integer(0),
        "no cap",
        "Calls per session; more are refused.",
    ),
    Field::new(
        "max_concurrency",
        Shape::Integer(1),
        "no cap",
        "Calls at once; more wait.",
    ),
    Field::new(
        "max_output_bytes",
        Shape::Integer(1),
        "the harness's",
        "Bytes of text the model sees of one result.",
    ),
    // A worker and its stack need at least this much.
    Field::new(
        "memory_mb",
        Shape::Integer(8),
        "the harness's",
        "Memory of one call.",
    ),
    Field::new(
        "cpu_ms",
        Shape::Integer(1),
        "the harness's",
        "Processor time of one call.",
    ),
    Field::new(
        "processes",
        Shape::Integer(1),
        "the harness's",
        "Processes and threads of one call at once.",
    ),
];

const EXAMPLE: &[Field] = &[
    Field::new("args", Shape::Map(&Shape::Any), "none", "The arguments."),
    Field::new(
        "result",
        Shape::Any,
        "not compared",
        "The value the call must return.",
    ),
    Field::new(
        "is_error",
        Shape::Bool,
        "not compared",
        "Whether the result must be an error.",
    ),
    Field::new(
        "files",
        Shape::Map(&Shape::Text),
        "none",
        "The workspace the call sees: path to text.",
    ),
    Field::new(
        "http",
        Shape::List(&Shape::Record(HTTP)),
        "none",
        "Answers of the network, in order.",
    ),
    Field::new(
        "exec",
        Shape::List(&Shape::Record(EXEC)),
        "none",
        "Answers of processes, in order.",
    ),
];

const HTTP: &[Field] = &[
    Field::new(
        "method",
        Shape::Text,
        "GET",
        "The method that must be used.",
    ),
    Field::new("url", Shape::Text, "any", "The address that must be asked."),
    Field::new(
        "status",
        Shape::Integer(100),
        "200",
        "The status that is answered.",
    ),
    Field::new(
        "headers",
        Shape::Map(&Shape::Text),
        "none",
        "The headers that are answered.",
    ),
    Field::new("body", Shape::Any, "empty", "The body that is answered."),
];

const EXEC: &[Field] = &[
    Field::new(
        "cmd",
        Shape::Text,
        "any",
        "The program that must be started.",
    ),
    Field::new("args", TEXTS, "any", "The arguments it must get."),
    Field::new("stdout", Shape::Text, "empty", "What it writes."),
    Field::new(
        "stderr",
        Shape::Text,
        "empty",
        "What it writes to its error stream.",
    ),
    Field::new("exit_code", Shape::Integer(i64::MIN), "0", "How it ends."),
];

fn text_span(node: &Node) -> Option<Span> {
    node.text().map(|_| node.span)
}
