//! The root file's tree to a [`Root`]. Its inline tools and hooks are read beside it.

use super::ArtifactKind;
use super::fields::fields_of;
use super::fit::{fit, unsupported};
use super::node::Node;
use super::problem::{Problems, quoted, texts, words};
use super::read_permission::domains;
use super::read_secret::{redaction, secrets};
use super::read_tool::{capabilities, limits};
use super::root::{
    ArgConstraint, Ceiling, CheckedPaths, Checks, ListMode, Policy, Root, Sandbox, ToolsPolicy,
};
use crate::artifact::root::SeveritySetting;
use crate::artifact::rule::{ceiling_twice, format_unknown, pattern_invalid};
use crate::containment::Containment;
use crate::effect::{Effects, Level};
use crate::pattern::{Pattern, Separator};
use crate::span::Place;
use crate::span::Spanned;
use std::sync::Arc;
use tool_harness_sandbox::network::Domains;

/// Reads every field; a wrong value is reported, and any error makes the root broken.
pub(super) fn read_root(
    problems: &mut Problems<'_>,
    kind: ArtifactKind,
    node: &Node,
    body: String,
) -> Root {
    fit(problems, &[], fields_of(kind), node);
    if let Some(format) = node.get("format")
        && format.integer().is_some_and(|format| format != 1)
    {
        let finding = format_unknown::RULE
            .finding("this version reads `format: 1` only")
            .field("format");
        problems.add(
            finding.help("write `format: 1`, or use a newer harness"),
            format.span,
        );
    }
    Root {
        source: Some(Arc::clone(problems.source)),
        body,
        tools_policy: node
            .get("tools_policy")
            .map(|node| tools_policy(problems, node))
            .unwrap_or_default(),
        policy: node
            .get("policy")
            .map(|node| policy(problems, node))
            .unwrap_or_default(),
        limits: node.get("limits").map(limits).unwrap_or_default(),
        network: node.get("network").map(|node| network(problems, node)),
        sandbox: node.get("sandbox").map(sandbox).unwrap_or_default(),
        redaction: redaction(problems, node.get("redaction"), "redaction"),
        secrets: secrets(problems, node.get("secrets")),
        prose: Vec::new(),
        checks: node
            .get("checks")
            .map(|node| checks(problems, node))
            .unwrap_or_default(),
        modes: Vec::new(),
        unsupported: unsupported(kind, node),
    }
}

fn checks(problems: &mut Problems<'_>, node: &Node) -> Checks {
    let severity = |node: Option<&Node>| {
        let entries = node.map(Node::entries).unwrap_or_default().iter();
        entries
            .filter_map(|(key, word)| {
                Some((key.name.clone(), SeveritySetting::named(word.text()?)?))
            })
            .collect()
    };
    let paths = node
        .get("paths")
        .map(Node::items)
        .unwrap_or_default()
        .iter();
    let paths = paths.filter_map(|entry| {
        let path = entry.get("path")?;
        globs(problems, Some(path), "checks.paths");
        let path = path.text()?.to_owned();
        Some(CheckedPaths {
            path,
            severity: severity(entry.get("severity")),
        })
    });
    let context_tokens = node
        .get("context_tokens")
        .and_then(Node::integer)
        .and_then(|number| u64::try_from(number).ok());
    Checks {
        context_tokens,
        scan_fences: node
            .get("scan_fences")
            .and_then(Node::bool)
            .unwrap_or(false),
        severity: severity(node.get("severity")),
        paths: paths.collect(),
        place: Some(Place::new(problems.source, node.span)),
    }
}

fn network(problems: &mut Problems<'_>, node: &Node) -> Spanned<Domains> {
    Spanned {
        value: domains(
            problems,
            node.get("allowed_domains"),
            "network.allowed_domains",
        ),
        span: node.span,
    }
}

fn sandbox(node: &Node) -> Sandbox {
    let mode = node.get("mode").and_then(|mode| {
        let value = match mode.text()? {
            "on" => Containment::On,
            "off" => Containment::Off,
            _ => return None,
        };
        Some(Spanned {
            value,
            span: mode.span,
        })
    });
    let list = |name| texts(node.get(name));
    Sandbox {
        mode,
        env: list("env"),
        hidden: list("hidden"),
        readable: list("readable"),
        writable: list("writable"),
    }
}

fn tools_policy(problems: &mut Problems<'_>, node: &Node) -> ToolsPolicy {
    for list in ["allow", "deny"] {
        globs(problems, node.get(list), &format!("tools_policy.{list}"));
    }
    let mode = node.get("mode").and_then(|mode| {
        let value = match mode.text()? {
            "allowlist" => ListMode::Allowlist,
            "denylist" => ListMode::Denylist,
            _ => return None,
        };
        Some(Spanned {
            value,
            span: mode.span,
        })
    });
    ToolsPolicy {
        mode,
        allow: texts(node.get("allow")),
        deny: texts(node.get("deny")),
    }
}

fn policy(problems: &mut Problems<'_>, node: &Node) -> Policy {
    let (level, effects) = (node.get("side_effect_level"), node.get("effects"));
    if let (Some(_), Some(effects)) = (level, effects) {
        let finding =
            ceiling_twice::RULE.finding("`policy` has both `side_effect_level` and `effects`");
        problems.add(
            finding.field("policy.effects").help("keep one of the two"),
            effects.span,
        );
    }
    let level = level.and_then(|node| {
        Some(Spanned {
            value: Ceiling::Level(Level::named(node.text()?)?),
            span: node.span,
        })
    });
    let effects = effects.map(|node| {
        let named = words(Some(node))
            .into_iter()
            .filter_map(|word| Effects::named(&word));
        Spanned {
            value: Ceiling::Effects(named.fold(Effects::NONE, Effects::and)),
            span: node.span,
        }
    });
    Policy {
        ceiling: level.or(effects),
        capabilities: node.get("capabilities").map(|node| Spanned {
            value: capabilities(node),
            span: node.span,
        }),
        constraints: constraints(problems, node.get("tool_arg_constraints")),
    }
}

fn constraints(problems: &mut Problems<'_>, node: Option<&Node>) -> Vec<Spanned<ArgConstraint>> {
    let mut constraints = Vec::new();
    for (index, node) in node.map(Node::items).unwrap_or_default().iter().enumerate() {
        for (name, accepted) in [
            ("tool", "a glob over tool names"),
            ("arg_patterns", "a list of globs"),
        ] {
            if node.get(name).is_none() {
                problems.missing(
                    node.span,
                    &format!("policy.tool_arg_constraints[{index}].{name}"),
                    accepted,
                );
            }
        }
        for name in ["tool", "arg_patterns"] {
            globs(
                problems,
                node.get(name),
                &format!("policy.tool_arg_constraints[{index}].{name}"),
            );
        }
        let Some(tool) = node.get("tool").and_then(Node::text) else {
            continue;
        };
        let value = ArgConstraint {
            tool: tool.to_owned(),
            arg_key: node.get("arg_key").and_then(Node::text).map(str::to_owned),
            arg_patterns: words(node.get("arg_patterns")),
            span: node.span,
        };
        constraints.push(Spanned {
            value,
            span: node.span,
        });
    }
    constraints
}

/// Reports each string of a field, or of its list, that is not a glob.
fn globs(problems: &mut Problems<'_>, node: Option<&Node>, field: &str) {
    let Some(node) = node else { return };
    for item in node.items().iter().chain([node]) {
        if let Some(Err(why)) = item
            .text()
            .map(|text| Pattern::new(text, Separator::Ordinary))
        {
            let finding = pattern_invalid::RULE.finding(format!(
                "{} is not a glob:  {why}",
                quoted(item.text().unwrap_or_default())
            ));
            problems.add(
                finding
                    .field(field)
                    .help("write a name or a glob; `\\` before a character makes it literal"),
                item.span,
            );
        }
    }
}
