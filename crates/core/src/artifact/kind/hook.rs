//! A hook: its fields, what its author wrote, and how it is read.

use super::permission::{PERMISSIONS, Permission, PermissionKind, permissions};
use super::script::{Script, script};
use super::{ArtifactKind, Naming, SILENCED, TEXTS, fields_of};
use crate::artifact::fit::{fit, unsupported};
use crate::artifact::node::Node;
use crate::artifact::problem::Problems;
use crate::artifact::rule::{event_missing, field_wrong_type};
use crate::artifact::shape::{Field, Shape};
use crate::artifact::value::{natural, words};
use crate::artifact::{Form, Origin};
use crate::span::{Place, Span, Spanned};
use serde_json::{Value, json};

/// What only a hook inside another file writes.
pub(in crate::artifact) const INLINE: &[Field] = &[
    Field::new("name", Shape::Text, "`handler`", "The hook's name."),
    Field::new(
        "handler",
        Shape::Text,
        "none",
        "Another spelling of `name`.",
    ),
    Field::new(
        "description",
        Shape::Text,
        "none",
        "What the hook is for, for reviewers.",
    ),
];

pub(in crate::artifact) const FIELDS: &[Field] = &[
    Field::new(
        "event",
        Shape::Text,
        "required",
        "The event the hook runs for, such as `tool.pre`.",
    ),
    Field::new(
        "script",
        Shape::Text,
        "none",
        "Starlark that defines `handle(event, payload)` and returns a decision. Without one, the host's middleware of the hook's name serves it; where no host has one, the hook does nothing and is reported.",
    ),
    Field::new(
        "when",
        Shape::Text,
        "always",
        "One pure expression over `event` and `payload`; the hook runs if it is true.",
    ),
    Field::new(
        "priority",
        Shape::Integer(i64::MIN),
        "100",
        "Lower runs first; hooks with equal priority run in the order of their paths.",
    ),
    Field::new(
        "on_error",
        Shape::Word(&["block", "allow"]),
        "`block` on gating events and on `tool.post`, else `allow`",
        "What a failure of the hook means: the call is blocked, or on `tool.post` its result is withheld; or the failure is logged and passed over.",
    ),
    Field::new(
        "timeout_ms",
        Shape::Integer(1),
        "1000",
        "The longest time one run may take.",
    ),
    Field::new(
        "permissions",
        PERMISSIONS,
        "none",
        "The hosts a hook may reach with `http`: entries of `kind: network`.",
    ),
    Field::new(
        "examples",
        Shape::List(&Shape::Record(EXAMPLE)),
        "none",
        "Payloads with their decisions, run by `harness test`.",
    ),
    Field::new("tags", TEXTS, "none", "Words for policy and search."),
    SILENCED,
];

const EXAMPLE: &[Field] = &[
    Field::new(
        "event",
        Shape::Text,
        "the hook's",
        "The event, for a hook on several.",
    ),
    Field::new(
        "payload",
        Shape::Map(&Shape::Any),
        "what the runtime fills in",
        "What the hook sees.",
    ),
    Field::new(
        "decision",
        Shape::Word(&["allow", "block", "ask", "modify", "delegate"]),
        "required",
        "What the hook must decide.",
    ),
    Field::new(
        "reason",
        Shape::Text,
        "not compared",
        "Text the reason must contain.",
    ),
    Field::new(
        "modified",
        Shape::Any,
        "not compared",
        "The part of the payload that `modify` must give.",
    ),
];

/// A hook artifact after parsing.
#[derive(Clone, Debug)]
pub struct Hook {
    /// The file's stem, or `name` (or `handler`) where a hook is written inline.
    pub name: String,
    /// Where the hook is defined.
    pub origin: Origin,
    /// The event, when it could be read. A hook without one blocks every gating event.
    pub event: Option<Spanned<String>>,
    /// `script`.
    pub script: Option<Script>,
    /// `when`.
    pub when: Option<Script>,
    /// `priority`; lower runs first.
    pub priority: i64,
    /// `on_error`, when written.
    pub on_error: Option<OnError>,
    /// `timeout_ms`.
    pub timeout_ms: u64,
    /// `permissions`.
    pub permissions: Vec<Permission>,
    /// `examples`.
    pub examples: Vec<Spanned<HookExample>>,
    /// The whole frontmatter as JSON.
    pub frontmatter: Value,
    /// The body, for reviewers.
    pub body: String,
    /// `tags`.
    pub tags: Vec<String>,
    /// Fields the author wrote that the harness does not enforce yet; the hook then blocks like one
    /// that cannot be loaded.
    pub unsupported: Vec<Spanned<&'static str>>,
    /// Whether the host has middleware of this name, which serves a hook without a script.
    pub is_served: bool,
}

/// What a hook's failure means.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OnError {
    /// The call is blocked.
    Block,
    /// The failure is logged and the chain goes on.
    Allow,
}

/// One example: a payload and the decision it must get.
#[derive(Clone, Debug)]
pub struct HookExample {
    /// Overrides the hook's event, for hooks on `custom.*` or `meta.*`.
    pub event: Option<String>,
    /// The payload; missing keys are filled in as at run time.
    pub payload: Value,
    /// `allow`, `block`, `ask`, `modify` or `delegate`.
    pub decision: String,
    /// Text the reason must contain.
    pub reason: Option<String>,
    /// The payload part that `modify` must give.
    pub modified: Option<Value>,
}

/// Reads every field; a wrong value is reported and its default used.
pub(in crate::artifact) fn read_hook(
    problems: &mut Problems<'_>,
    origin: Origin,
    naming: Naming,
    node: &Node,
) -> Hook {
    let inline = if origin.form == Form::File {
        &[]
    } else {
        INLINE
    };
    fit(problems, inline, fields_of(ArtifactKind::Hook), node);
    let event = node
        .get("event")
        .and_then(|event| Some(event.spanned(event.text()?.trim().to_owned())));
    if node.get("event").is_none() || event.as_ref().is_some_and(|event| event.value.is_empty()) {
        let finding =
            event_missing::RULE.finding(format!("hook \"{}\" has no `event`", naming.name));
        problems.add(
            finding
                .field("event")
                .help("write the event it runs for, such as `event: tool.pre`"),
            naming.span,
        );
    }
    Hook {
        name: naming.name,
        event: event.filter(|event| !event.value.is_empty()),
        script: script(&origin, node.get("script")),
        when: script(&origin, node.get("when")),
        priority: node.get("priority").and_then(Node::integer).unwrap_or(100),
        on_error: node.get("on_error").and_then(Node::text).and_then(on_error),
        timeout_ms: natural(node.get("timeout_ms")).unwrap_or(1000),
        permissions: hook_permissions(problems, node.get("permissions")),
        examples: examples(problems, node.get("examples")),
        frontmatter: node.to_json(),
        body: naming.prose,
        tags: words(node.get("tags")),
        unsupported: unsupported(ArtifactKind::Hook, node),
        is_served: false,
        origin,
    }
}

/// Hooks can read files and use `http`; any other entry would promise what no hook can do.
fn hook_permissions(problems: &mut Problems<'_>, node: Option<&Node>) -> Vec<Permission> {
    let permissions = permissions(problems, node);
    for permission in permissions.iter().filter(|permission| {
        !matches!(
            permission.kind,
            PermissionKind::Network { .. } | PermissionKind::Custom
        )
    }) {
        let finding = field_wrong_type::RULE
            .finding("a hook can only be given hosts: it starts no processes and writes no files");
        problems.add(
            finding
                .field("permissions")
                .help("keep entries of `kind: network`"),
            permission.span,
        );
    }
    permissions
}

fn on_error(word: &str) -> Option<OnError> {
    match word {
        "block" => Some(OnError::Block),
        "allow" => Some(OnError::Allow),
        _ => None,
    }
}

fn examples(problems: &mut Problems<'_>, node: Option<&Node>) -> Vec<Spanned<HookExample>> {
    let mut examples = Vec::new();
    for (index, node) in node.map(Node::items).unwrap_or_default().iter().enumerate() {
        let text = |name| node.get(name).and_then(Node::text).map(str::to_owned);
        if node.get("decision").is_none() {
            problems.missing(
                node.span,
                &format!("examples[{index}].decision"),
                "`allow`, `block`, `ask`, `modify` or `delegate`",
            );
        }
        let Some(decision) = text("decision") else {
            continue;
        };
        let value = HookExample {
            event: text("event"),
            payload: node
                .get("payload")
                .map(Node::to_json)
                .filter(Value::is_object)
                .unwrap_or_else(|| json!({})),
            decision,
            reason: text("reason"),
            modified: node.get("modified").map(Node::to_json),
        };
        examples.push(node.spanned(value));
    }
    examples
}

impl Hook {
    /// The place of a span of this hook's file.
    #[must_use]
    pub fn place(&self, span: Span) -> Place {
        Place::new(&self.origin.source, span)
    }

    /// Whether a failure of this hook blocks, given whether hooks of its event fail closed.
    #[must_use]
    pub(crate) fn blocks_on_error(&self, fails_closed: bool) -> bool {
        self.on_error
            .map_or(fails_closed, |choice| choice == OnError::Block)
    }
}
