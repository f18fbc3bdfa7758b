//! A hook's tree to a [`Hook`].

use super::fields::{INLINE_HOOK, fields_of};
use super::fit::{fit, unsupported};
use super::hook::{Hook, HookExample, OnError};
use super::node::Node;
use super::permission::{Permission, PermissionKind};
use super::problem::{Problems, words};
use super::read_permission::permissions;
use super::read_tool::{Naming, natural, script};
use super::{ArtifactKind, Form, Origin};
use crate::artifact::rule::{event_missing, field_wrong_type};
use crate::span::Spanned;
use serde_json::{Value, json};

/// Reads every field; a wrong value is reported and its default used.
pub(super) fn read_hook(
    problems: &mut Problems<'_>,
    origin: Origin,
    naming: Naming,
    node: &Node,
) -> Hook {
    let inline = if origin.form == Form::File {
        &[]
    } else {
        INLINE_HOOK
    };
    fit(problems, inline, fields_of(ArtifactKind::Hook), node);
    let event = node.get("event").and_then(|event| {
        Some(Spanned {
            value: event.text()?.trim().to_owned(),
            span: event.span,
        })
    });
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
        examples.push(Spanned {
            value,
            span: node.span,
        });
    }
    examples
}
