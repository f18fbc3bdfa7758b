//! A tool: its fields, what its author wrote, and how it is read.

mod annotations;
pub(crate) mod effects;
mod example;
mod inject;
mod parameters;
mod retry;

pub use super::limits::Limits;
pub use super::script::Script;
pub use annotations::Annotations;
pub(crate) use annotations::HINTS;
pub(crate) use effects::DeclaredBounds;
pub(crate) use effects::{Claim, DeclaredEffects};
pub use example::ToolExample;
pub use inject::Inject;
pub use retry::RetryPolicy;

use super::limits::{LIMITS, limits};
use super::permission::{PERMISSIONS, Permission, inside, permissions};
use super::root::redaction;
use super::script::script;
use super::{ArtifactKind, Naming, SILENCED, TEXTS, fields_of};
use crate::artifact::fit::{fit, unsupported};
use crate::artifact::node::Node;
use crate::artifact::problem::Problems;
use crate::artifact::shape::{Field, Shape, UnsupportedForm};
use crate::artifact::value::{flag, natural, pairs, words};
use crate::artifact::{Form, Layer, Origin};
use crate::span::{Place, Source, Span, Spanned};
use annotations::{ANNOTATIONS, annotations};
use effects::{SAFETY, declared_effects};
use example::{EXAMPLE, example};
use inject::inject;
use parameters::input_schema;
use retry::{IDEMPOTENCY, RETRY, idempotent, key, retry};
use serde_json::Value;

/// What only a tool inside another file writes.
pub(in crate::artifact) const INLINE: &[Field] = &[
    Field::new("name", Shape::Text, "required", "The tool's name."),
    Field::new(
        "description",
        Shape::Text,
        "the name",
        "What the model reads when it decides whether to call the tool.",
    ),
];

pub(in crate::artifact) const FIELDS: &[Field] = &[
    Field::new(
        "parameters",
        Shape::Map(&Shape::Parameter),
        "no parameters",
        "The arguments, in the order the model sees them: JSON Schema keywords, and `required: true` where one must be given, also at nested `properties`.",
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
        "The longest wall-clock time one run of the body may take; 0 means that only the call's own limit counts. It starts anew for each attempt of `retry` and for waiting for a slot; everything ends with the caller's time.",
    ),
    Field::new("async", Shape::Bool, "false", "Reserved for background tasks, which do not exist yet: the call runs and waits for its result.").idle(),
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
        "What the sandbox lets this tool touch; never more than the project allows. A kind that is not listed is unchanged.",
    ),
    Field::new(
        "requires_approval",
        Shape::Either(&[Shape::Bool, Shape::Text]),
        "false",
        "Whether a person must agree to each call, or a Starlark expression over `args`, `state` and `mode` that says so.",
    )
    .partly(&[UnsupportedForm { name: " as an expression", find: text_span }]),
    Field::new("approval_timeout_ms", Shape::Integer(0), "300000", "How long to wait for an approval before the call is denied."),
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
        "How often a retryable failure of an idempotent call is retried; each wait is randomly shortened by up to half.",
    ),
    Field::new("limits", Shape::Record(LIMITS), "the project's", "How much one call, or all calls of a session, may use."),
    Field::new("deferred", Shape::Bool, "false", "Left out of the model's list until a tool search finds it."),
    Field::new("aliases", Shape::Map(&Shape::Text), "none", "Other names of the tool, by provider."),
    Field::new("examples", Shape::List(&Shape::Record(EXAMPLE)), "none", "Calls with their results, run by `harness test`."),
    Field::new("strict", Shape::Bool, "false", "Extra arguments are refused instead of passed on."),
    Field::new("tags", TEXTS, "none", "Words for policy and search."),
    SILENCED,
];

fn text_span(node: &Node) -> Option<Span> {
    node.text().map(|_| node.span)
}

/// A tool artifact after parsing. Nothing in it has been judged beyond its shape.
#[derive(Clone, Debug)]
pub struct Tool {
    /// The name: the file's stem, or `name` where a tool is written inline.
    pub name: String,
    /// Where the tool is defined.
    pub origin: Origin,
    /// Where a reader would look for the name: the file's first line, or the `name` key.
    pub name_span: Span,
    /// What the model reads: the body, or `description` where a tool is written inline; the name
    /// when both are empty.
    pub description: String,
    /// Whether the author wrote any description.
    pub(crate) described: bool,
    /// The place of an inline tool's `description`.
    pub(crate) description_span: Option<Span>,
    /// The whole frontmatter as JSON, for `artifact.load` hooks and digests.
    pub frontmatter: Value,
    /// The schema of the arguments, from `parameters` or `input_schema`: always an object schema.
    pub input_schema: Value,
    /// Which key the schema came from, with its place.
    pub(crate) schema_source: Option<Spanned<&'static str>>,
    /// `output_schema`.
    pub output_schema: Option<Spanned<Value>>,
    /// `script`.
    pub script: Option<Script>,
    /// `timeout_ms`; zero and absent both mean no cap of its own.
    pub timeout_ms: u64,
    /// Every spelling of effects the author used, one entry each, for comparison.
    pub(crate) declared_effects: Vec<DeclaredEffects>,
    /// `requires_approval: true`, `safety.confirm: true`.
    pub requires_approval: Option<Spanned<Approval>>,
    /// `approval_timeout_ms`.
    pub approval_timeout_ms: u64,
    /// `annotations`.
    pub annotations: Annotations,
    /// `safety.idempotent` or `idempotency: natural`.
    pub idempotent: bool,
    /// `idempotency.key`, as a script that returns it.
    pub key: Option<Script>,
    /// `retry`.
    pub retry: Option<Spanned<RetryPolicy>>,
    /// `inject`: argument name to the injected value.
    pub inject: Vec<(String, Spanned<Inject>)>,
    /// `safety.redact`: names of fields, and patterns between slashes.
    pub redact: Vec<Spanned<String>>,
    /// `permissions`.
    pub permissions: Vec<Permission>,
    /// `safety.workspace_root`: the folder of the workspace the tool is kept to.
    pub workspace_root: Option<Spanned<String>>,
    /// `limits`.
    pub limits: Limits,
    /// `deferred`.
    pub deferred: bool,
    /// `aliases`: provider to name.
    pub aliases: Vec<(String, Spanned<String>)>,
    /// `examples`.
    pub examples: Vec<Spanned<ToolExample>>,
    /// `strict`.
    pub strict: bool,
    /// `tags`.
    pub tags: Vec<String>,
    /// The place of `async: true`.
    pub(crate) background: Option<Span>,
    /// Fields the author wrote that are not enforced yet, with their places. Each refuses the call.
    pub unsupported: Vec<Spanned<&'static str>>,
}

/// When a call needs a person.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Approval {
    /// Every call.
    Always,
    /// When this expression over `args`, `state` and `mode` says so.
    When(String),
}

/// Reads every field; a wrong value is reported and its default used.
pub(in crate::artifact) fn read_tool(
    problems: &mut Problems<'_>,
    origin: Origin,
    naming: Naming,
    node: &Node,
) -> Tool {
    let inline = if origin.form == Form::File {
        &[]
    } else {
        INLINE
    };
    fit(problems, inline, fields_of(ArtifactKind::Tool), node);
    let annotations = node.get("annotations").map(annotations).unwrap_or_default();
    let strict = flag(node.get("strict"));
    let (input_schema, schema_source) = input_schema(problems, node, &annotations.required, strict);
    Tool {
        described: !naming.prose.is_empty(),
        description_span: naming.prose_span,
        description: if naming.prose.is_empty() {
            naming.name.clone()
        } else {
            naming.prose
        },
        name: naming.name,
        name_span: naming.span,
        frontmatter: node.to_json(),
        input_schema,
        schema_source,
        output_schema: node
            .get("output_schema")
            .map(|schema| schema.spanned(schema.to_json())),
        script: script(&origin, node.get("script")),
        timeout_ms: natural(node.get("timeout_ms")).unwrap_or(0),
        declared_effects: declared_effects(node),
        requires_approval: requires_approval(node),
        approval_timeout_ms: natural(node.get("approval_timeout_ms")).unwrap_or(300_000),
        idempotent: idempotent(node),
        key: key(&origin, node),
        retry: node.get("retry").map(|node| node.spanned(retry(node))),
        inject: inject(problems, node.get("inject")),
        redact: redaction(problems, node.at(&["safety", "redact"]), "safety.redact"),
        permissions: permissions(problems, node.get("permissions")),
        workspace_root: workspace_root(problems, node),
        limits: node.get("limits").map(limits).unwrap_or_default(),
        deferred: flag(node.get("deferred")),
        aliases: pairs(node.get("aliases")).collect(),
        examples: node.items_of("examples").iter().map(example).collect(),
        strict,
        tags: words(node.get("tags")),
        background: node
            .get("async")
            .filter(|node| node.bool() == Some(true))
            .map(|node| node.span),
        unsupported: unsupported(ArtifactKind::Tool, node),
        annotations,
        origin,
    }
}

fn workspace_root(problems: &mut Problems<'_>, node: &Node) -> Option<Spanned<String>> {
    let root = node.at(&["safety", "workspace_root"])?;
    Some(root.spanned(inside(problems, root, "safety.workspace_root")?))
}

fn requires_approval(node: &Node) -> Option<Spanned<Approval>> {
    let confirm = node.at(&["safety", "confirm"]);
    // An expression asks for less than `confirm: true`, so `confirm` wins.
    let always = [node.get("requires_approval"), confirm]
        .into_iter()
        .flatten()
        .find(|node| node.bool() == Some(true));
    if let Some(node) = always {
        return Some(node.spanned(Approval::Always));
    }
    let node = node.get("requires_approval")?;
    Some(node.spanned(Approval::When(node.text()?.to_owned())))
}

impl Tool {
    /// A client's own tool, which no file of the project defines.
    pub(crate) fn of_client(
        client: &str,
        name: &str,
        path_params: Vec<String>,
        tags: Vec<String>,
    ) -> Self {
        let source = Source::new(format!("the map of {client}'s tools"), "");
        Self {
            name: name.to_owned(),
            origin: Origin {
                source,
                layer: Layer::Builtin,
                form: Form::File,
            },
            name_span: Span::default(),
            description: String::new(),
            described: false,
            description_span: None,
            frontmatter: Value::Null,
            input_schema: Value::Bool(true),
            schema_source: None,
            output_schema: None,
            script: None,
            timeout_ms: 0,
            declared_effects: Vec::new(),
            requires_approval: None,
            approval_timeout_ms: 0,
            annotations: Annotations {
                path_params,
                ..Annotations::default()
            },
            idempotent: false,
            key: None,
            retry: None,
            inject: Vec::new(),
            redact: Vec::new(),
            permissions: Vec::new(),
            workspace_root: None,
            limits: Limits::default(),
            deferred: false,
            aliases: Vec::new(),
            examples: Vec::new(),
            strict: false,
            tags,
            background: None,
            unsupported: Vec::new(),
        }
    }

    /// The place of a span of this tool's file.
    #[must_use]
    pub fn place(&self, span: Span) -> Place {
        Place::new(&self.origin.source, span)
    }

    /// The layer the tool was found in.
    #[must_use]
    pub fn layer(&self) -> Layer {
        self.origin.layer
    }
}

/// Whether providers accept the name.
pub(crate) fn is_offerable(name: &str) -> bool {
    let first = name.bytes().next();
    first.is_some_and(|byte| byte.is_ascii_alphabetic() || byte == b'_')
        && name.len() <= 64
        && name
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-'))
}

#[cfg(test)]
mod tests {
    use super::is_offerable;

    #[test]
    fn names_of_letters_digits_underscores_and_dashes_are_offered() {
        let long = "a".repeat(64);
        for name in ["read_note", "readNote", "_x", "a-b", "A1", long.as_str()] {
            assert!(is_offerable(name), "{name}");
        }
        let longer = "a".repeat(65);
        for name in ["", "1a", "-a", "a b", "a.b", "é", "a/b", longer.as_str()] {
            assert!(!is_offerable(name), "{name}");
        }
    }
}
