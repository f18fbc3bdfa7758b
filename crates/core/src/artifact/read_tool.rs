//! A tool's tree to a [`Tool`].

use super::fields::{INLINE_TOOL, fields_of};
use super::fit::{fit, unsupported};
use super::node::Node;
use super::problem::{Problems, quoted, words};
use super::read_effects::declared_effects;
use super::read_parameters::input_schema;
use super::read_permission::{inside, permissions};
use super::read_secret::redaction;
use super::tool::{Annotations, Approval, Inject, Limits, RetryPolicy, Script, Tool, ToolExample};
use super::{ArtifactKind, Form, Origin};
use crate::artifact::rule::field_wrong_type;
use crate::effect::Level;
use crate::span::Spanned;
use crate::span::{Place, Span};
use serde_json::{Map, Value};

/// The name and description of an artifact; files and inline entries write them differently.
pub(super) struct Naming {
    /// The name.
    pub(super) name: String,
    /// Where a reader expects it.
    pub(super) span: Span,
    /// The body or description.
    pub(super) prose: String,
    /// The place of an inline entry's description.
    pub(super) prose_span: Option<Span>,
}

/// Reads every field; a wrong value is reported and its default used.
pub(super) fn read_tool(
    problems: &mut Problems<'_>,
    origin: Origin,
    naming: Naming,
    node: &Node,
) -> Tool {
    let inline = if origin.form == Form::File {
        &[]
    } else {
        INLINE_TOOL
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
        output_schema: node.get("output_schema").map(|schema| Spanned {
            value: schema.to_json(),
            span: schema.span,
        }),
        script: script(&origin, node.get("script")),
        timeout_ms: natural(node.get("timeout_ms")).unwrap_or(0),
        declared_effects: declared_effects(node),
        requires_approval: requires_approval(node),
        approval_timeout_ms: natural(node.get("approval_timeout_ms")).unwrap_or(300_000),
        idempotent: idempotent(node),
        key: key(&origin, node),
        retry: node.get("retry").map(|node| Spanned {
            value: retry(node),
            span: node.span,
        }),
        inject: inject(problems, node.get("inject")),
        redact: redaction(
            problems,
            node.get("safety").and_then(|safety| safety.get("redact")),
            "safety.redact",
        ),
        permissions: permissions(problems, node.get("permissions")),
        workspace_root: workspace_root(problems, node),
        limits: node.get("limits").map(limits).unwrap_or_default(),
        deferred: flag(node.get("deferred")),
        aliases: pairs(node.get("aliases")).collect(),
        examples: node
            .get("examples")
            .map(Node::items)
            .unwrap_or_default()
            .iter()
            .map(example)
            .collect(),
        strict,
        tags: words(node.get("tags")),
        unsupported: unsupported(ArtifactKind::Tool, node),
        annotations,
        origin,
    }
}

fn workspace_root(problems: &mut Problems<'_>, node: &Node) -> Option<Spanned<String>> {
    let root = node
        .get("safety")
        .and_then(|safety| safety.get("workspace_root"))?;
    Some(Spanned {
        value: inside(problems, root, "safety.workspace_root")?,
        span: root.span,
    })
}

/// A script value; empty text is no script.
pub(super) fn script(origin: &Origin, node: Option<&Node>) -> Option<Script> {
    let node = node?;
    let text = node.text().filter(|text| !text.trim().is_empty())?;
    let block = if let super::node::Kind::Text { block, .. } = node.kind {
        block
    } else {
        None
    };
    Some(Script {
        text: text.into(),
        place: Place::new(&origin.source, node.span),
        block,
    })
}

/// `limits` of a tool or the root file.
pub(super) fn limits(node: &Node) -> Limits {
    let limit = |name| natural(node.get(name));
    Limits {
        max_calls: limit("max_calls"),
        max_concurrency: limit("max_concurrency"),
        max_output_bytes: limit("max_output_bytes"),
        memory_mb: limit("memory_mb"),
        cpu_ms: limit("cpu_ms"),
        processes: limit("processes"),
    }
}

/// An integer that is not negative.
pub(super) fn natural(node: Option<&Node>) -> Option<u64> {
    node?.integer().and_then(|value| u64::try_from(value).ok())
}

/// Capability to operations.
pub(super) fn capabilities(node: &Node) -> Vec<(String, Vec<String>)> {
    node.entries()
        .iter()
        .map(|(key, operations)| (key.name.clone(), words(Some(operations))))
        .collect()
}

fn flag(node: Option<&Node>) -> bool {
    node.and_then(Node::bool).unwrap_or(false)
}

fn pairs(node: Option<&Node>) -> impl Iterator<Item = (String, Spanned<String>)> {
    let entries = node.map(Node::entries).unwrap_or_default();
    entries.iter().filter_map(|(key, node)| {
        Some((
            key.name.clone(),
            Spanned {
                value: node.text()?.to_owned(),
                span: node.span,
            },
        ))
    })
}

fn annotations(node: &Node) -> Annotations {
    let args = |name| node.get("arg_schema").and_then(|schema| schema.get(name));
    let hints = [
        "readOnlyHint",
        "destructiveHint",
        "idempotentHint",
        "openWorldHint",
    ];
    Annotations {
        kind: node.get("kind").and_then(Node::text).map(str::to_owned),
        level: node
            .get("side_effect_level")
            .and_then(Node::text)
            .and_then(Level::named),
        path_params: words(args("path_params")),
        arg_aliases: pairs(args("arg_aliases"))
            .map(|(alias, canonical)| (alias, canonical.value))
            .collect(),
        required: words(args("required")),
        capabilities: node
            .get("capabilities")
            .map(capabilities)
            .unwrap_or_default(),
        emits_artifacts: flag(node.get("emits_artifacts")),
        result_readers: words(node.get("result_readers")),
        inline_result: flag(node.get("inline_result")),
        hints: hints
            .into_iter()
            .filter_map(|hint| Some((hint.to_owned(), Value::Bool(node.get(hint)?.bool()?))))
            .collect(),
    }
}

fn requires_approval(node: &Node) -> Option<Spanned<Approval>> {
    let confirm = node.get("safety").and_then(|safety| safety.get("confirm"));
    // An expression asks for less than `confirm: true`, so `confirm` wins.
    let always = [node.get("requires_approval"), confirm]
        .into_iter()
        .flatten()
        .find(|node| node.bool() == Some(true));
    if let Some(node) = always {
        return Some(Spanned {
            value: Approval::Always,
            span: node.span,
        });
    }
    let node = node.get("requires_approval")?;
    Some(Spanned {
        value: Approval::When(node.text()?.to_owned()),
        span: node.span,
    })
}

/// `idempotency.key` as a script. It is one expression, possibly over several lines.
fn key(origin: &Origin, node: &Node) -> Option<Script> {
    let node = node.get("idempotency")?.get("key")?;
    let expression = node.text().filter(|text| !text.trim().is_empty())?;
    let text = format!("def run(args):\n    return (\n{expression}\n    )\n");
    Some(Script {
        text: text.into(),
        place: Place::new(&origin.source, node.span),
        block: None,
    })
}

fn retry(node: &Node) -> RetryPolicy {
    let count = |name: &str| natural(node.get(name));
    RetryPolicy {
        max_attempts: count("max_attempts")
            .map_or(1, |count| u32::try_from(count).unwrap_or(u32::MAX)),
        initial_backoff_ms: count("initial_backoff_ms").unwrap_or(0),
        max_backoff_ms: count("max_backoff_ms").unwrap_or(u64::MAX),
        multiplier: node.get("multiplier").and_then(Node::number).unwrap_or(1.0),
    }
}

fn idempotent(node: &Node) -> bool {
    let natural = node.get("idempotency").and_then(Node::text) == Some("natural");
    let keyed = node
        .get("idempotency")
        .and_then(|idempotency| idempotency.get("key"))
        .is_some();
    let promised = node
        .get("safety")
        .and_then(|safety| safety.get("idempotent"));
    let hinted = node
        .get("annotations")
        .and_then(|annotations| annotations.get("idempotentHint"));
    natural || keyed || flag(promised) || flag(hinted)
}

fn inject(problems: &mut Problems<'_>, node: Option<&Node>) -> Vec<(String, Spanned<Inject>)> {
    let mut injected = Vec::new();
    for (name, from) in pairs(node) {
        let value = match from.value.as_str() {
            "run_id" => Inject::RunId,
            "call_id" => Inject::CallId,
            "session_id" => Inject::SessionId,
            "mode" => Inject::Mode,
            "idempotency_key" => Inject::IdempotencyKey,
            other => match other.split_once(':') {
                Some(("state", key)) if !key.is_empty() => Inject::State(key.to_owned()),
                Some(("secret", name)) if !name.is_empty() => Inject::Secret(name.to_owned()),
                _ => {
                    let field = format!("inject.{name}");
                    let message = format!("{} cannot be injected", quoted(other));
                    let accepted = "write `run_id`, `call_id`, `session_id`, `mode`, `idempotency_key`, `state:KEY` or `secret:NAME`";
                    problems.add(
                        field_wrong_type::RULE
                            .finding(message)
                            .field(field)
                            .help(accepted),
                        from.span,
                    );
                    continue;
                }
            },
        };
        injected.push((
            name,
            Spanned {
                value,
                span: from.span,
            },
        ));
    }
    injected
}

fn example(node: &Node) -> Spanned<ToolExample> {
    let values = |name| {
        node.get(name)
            .map(Node::items)
            .unwrap_or_default()
            .iter()
            .map(Node::to_json)
            .collect()
    };
    let value = ToolExample {
        args: node.get("args").map_or_else(Map::new, |args| {
            if let Value::Object(map) = args.to_json() {
                map
            } else {
                Map::new()
            }
        }),
        result: node.get("result").map(Node::to_json),
        is_error: node.get("is_error").and_then(Node::bool),
        files: pairs(node.get("files"))
            .map(|(path, text)| (path, text.value))
            .collect(),
        http: values("http"),
        exec: values("exec"),
    };
    Spanned {
        value,
        span: node.span,
    }
}
