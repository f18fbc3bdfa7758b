//! `permissions` of tools and hooks: what they may touch, only ever less than their project.

use super::TEXTS;
use crate::artifact::node::Node;
use crate::artifact::problem::{Problems, quoted};
use crate::artifact::rule::{domain_invalid, field_wrong_type};
use crate::artifact::shape::{Field, Shape};
use crate::artifact::value::{texts, words};
use crate::path::within_workspace;
use crate::span::Span;
use tool_harness_sandbox::network::Domains;
use tool_harness_sandbox::plan::Access;

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
        "What may be done with files; `write` includes reading.",
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
        "Hosts that may be reached, as in `network.allowed_domains`, which must list them too.",
    ),
    Field::new(
        "programs",
        TEXTS,
        "none",
        "Programs that may be executed, by name or path; programs that these execute must be listed too.",
    ),
    Field::new("description", Shape::Text, "none", "Why it is needed."),
]));

/// One entry of `permissions`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Permission {
    /// What it is about.
    pub kind: PermissionKind,
    /// Its place.
    pub span: Span,
}

/// What an entry of `permissions` is about.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PermissionKind {
    /// Files: a place of the workspace, as a relative path without `..`, and what may be done
    /// there.
    Filesystem {
        /// What may be done.
        access: Access,
        /// Where; `.` is the workspace.
        path: String,
    },
    /// Programs, by name or path.
    Shell {
        /// The only ones that may be executed.
        programs: Vec<String>,
    },
    /// Hosts.
    Network {
        /// The only ones that may be reached; entries that
        /// [`tool_harness_sandbox::network::Domains`] reads.
        hosts: Vec<String>,
    },
    /// Something that concerns people alone.
    Custom,
}

/// Reads every entry. An unreadable one is reported and permits nothing of its kind.
pub(super) fn permissions(problems: &mut Problems<'_>, node: Option<&Node>) -> Vec<Permission> {
    let mut permissions = Vec::new();
    for (index, node) in node.map(Node::items).unwrap_or_default().iter().enumerate() {
        let at = |field: &str| format!("permissions[{index}].{field}");
        if node.get("kind").is_none() {
            problems.missing(
                node.span,
                &at("kind"),
                "`filesystem`, `shell`, `network` or `custom`",
            );
        }
        let kind = match node.get("kind").and_then(Node::text) {
            Some("filesystem") => filesystem(problems, node, &at("path")),
            Some("shell") => PermissionKind::Shell {
                programs: words(node.get("programs")),
            },
            Some("network") => PermissionKind::Network {
                hosts: hosts(problems, node.get("hosts"), &at("hosts")),
            },
            Some("custom") => PermissionKind::Custom,
            _ => continue,
        };
        permissions.push(Permission {
            kind,
            span: node.span,
        });
    }
    permissions
}

fn filesystem(problems: &mut Problems<'_>, node: &Node, field: &str) -> PermissionKind {
    let access = match node.get("access").and_then(Node::text) {
        Some("none") => Access::Hidden,
        Some("write") => Access::Write,
        _ => Access::Read,
    };
    match node.get("path") {
        None => PermissionKind::Filesystem {
            access,
            path: ".".to_owned(),
        },
        Some(path) => match inside(problems, path, field) {
            Some(path) => PermissionKind::Filesystem { access, path },
            None => PermissionKind::Filesystem {
                access: Access::Hidden,
                path: ".".to_owned(),
            },
        },
    }
}

/// A path of the workspace, with dots resolved by name; a path that leaves it is reported.
pub(super) fn inside(problems: &mut Problems<'_>, node: &Node, field: &str) -> Option<String> {
    let path = within_workspace(node.text()?);
    if path.is_none() {
        let message = format!(
            "{} must be a path in the workspace, not {}",
            quoted(field),
            quoted(node.text()?)
        );
        let finding = field_wrong_type::RULE.finding(message).field(field);
        problems.add(
            finding.help(
                "write it relative to the workspace; a tool cannot be given anything outside it",
            ),
            node.span,
        );
    }
    path
}

/// A list of hosts. An unreadable entry is reported, and the list then admits nothing.
pub(super) fn domains(problems: &mut Problems<'_>, node: Option<&Node>, field: &str) -> Domains {
    Domains::parse(&hosts(problems, node, field)).unwrap_or_default()
}

fn hosts(problems: &mut Problems<'_>, node: Option<&Node>, field: &str) -> Vec<String> {
    let bad: Vec<_> = texts(node)
        .into_iter()
        .filter_map(|entry| Some((Domains::parse(&[&entry.value]).err()?, entry.span)))
        .collect();
    let readable = bad.is_empty();
    for (problem, span) in bad {
        problems.add(
            domain_invalid::RULE
                .finding(problem.to_string())
                .field(field),
            span,
        );
    }
    if readable { words(node) } else { Vec::new() }
}
