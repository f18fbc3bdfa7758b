//! `tools_policy` and `policy` of the root file.

use super::{TEXTS, globs};
use crate::artifact::kind::tool::effects::{EFFECTS, LEVELS};
use crate::artifact::node::Node;
use crate::artifact::problem::Problems;
use crate::artifact::rule::ceiling_twice;
use crate::artifact::shape::{Field, Shape};
use crate::artifact::value::{texts, words};
use crate::effect::{Effects, Level};
use crate::pattern::{Pattern, Separator};
use crate::span::Spanned;

pub(in crate::artifact) const TOOLS_POLICY_FIELD: Field = Field::new(
    "tools_policy",
    Shape::Record(TOOLS_POLICY),
    "everything is allowed",
    "Which tools may be called and which built-ins their scripts may use, by name.",
);

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
        "Globs over names of tools that may be called. An entry with a dot names built-ins and restricts nothing.",
    ),
    Field::new(
        "deny",
        TEXTS,
        "none",
        "Globs over names of tools that may not be called. An entry with a dot, such as `exec.*`, names built-ins that raise in the scripts of tools.",
    ),
    Field::new(
        "builtins",
        Shape::Record(BUILTINS),
        "every built-in",
        "Which built-ins the scripts of tools may use.",
    ),
];

const BUILTINS: &[Field] = &[
    Field::new(
        "allow",
        TEXTS,
        "every built-in",
        "Globs over the built-ins that reach out of a script, such as `fs.read` or `http.*`; a module's name stands for all of it. Pure helpers, results and the log need no entry.",
    ),
    Field::new(
        "deny",
        TEXTS,
        "none",
        "Globs over built-ins that raise, pure ones included.",
    ),
];

pub(in crate::artifact) const POLICY_FIELD: Field = Field::new(
    "policy",
    Shape::Record(POLICY),
    "everything is allowed",
    "What tools may do.",
);

const POLICY: &[Field] = &[
    Field::new(
        "side_effect_level",
        LEVELS,
        "no ceiling",
        "The highest side-effect level a tool may have.",
    ),
    Field::new(
        "effects",
        EFFECTS,
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
        "The values that arguments may have.",
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

/// `tools_policy`.
#[derive(Clone, Debug, Default)]
pub struct ToolsPolicy {
    /// `mode`, when written.
    pub mode: Option<Spanned<ListMode>>,
    /// `allow` globs.
    pub allow: Vec<Spanned<String>>,
    /// `deny` globs.
    pub deny: Vec<Spanned<String>>,
    /// `builtins`.
    pub builtins: BuiltinLists,
}

/// `tools_policy.builtins`: what the scripts of tools may use.
#[derive(Clone, Debug, Default)]
pub struct BuiltinLists {
    /// `allow` globs, when written; an empty list allows nothing.
    pub allow: Option<Spanned<Vec<Spanned<String>>>>,
    /// `deny` globs.
    pub deny: Vec<Spanned<String>>,
}

/// How `tools_policy` reads its lists.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ListMode {
    /// Tools that are not allowed are denied.
    Allowlist,
    /// Tools that are not denied are allowed.
    Denylist,
}

/// `policy`.
#[derive(Clone, Debug, Default)]
pub struct Policy {
    /// `side_effect_level` or `effects`.
    pub ceiling: Option<Spanned<Ceiling>>,
    /// `capabilities`: capability to allowed operations; absent means all.
    pub capabilities: Option<Spanned<Capabilities>>,
    /// `tool_arg_constraints`.
    pub(crate) constraints: Vec<Spanned<ArgConstraint>>,
}

/// Capability to operations.
pub(crate) type Capabilities = Vec<(String, Vec<String>)>;

/// The most a tool may do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ceiling {
    /// A side-effect level; ranks are compared.
    Level(Level),
    /// Exactly these effects.
    Effects(Effects),
}

impl Ceiling {
    /// Why these effects are more than the ceiling admits; `None` when they are not.
    pub(crate) fn exceeded_by(self, effects: Effects) -> Option<String> {
        match self {
            Self::Level(level) => {
                let needed = Level::of(effects);
                (needed > level).then(|| {
                    format!(
                        "the tool needs `{}` and the ceiling is `{}`",
                        needed.word(),
                        level.word()
                    )
                })
            }
            Self::Effects(allowed) => {
                let more = effects.unflagged().without(allowed);
                (!more.is_empty())
                    .then(|| format!("the tool needs {more}, which the policy does not list"))
            }
        }
    }
}

/// Which capability a tool wants that the policy does not list, as a sentence.
pub(crate) fn missing_capability(
    allowed: &[(String, Vec<String>)],
    wanted: &[(String, Vec<String>)],
) -> Option<String> {
    wanted.iter().find_map(|(capability, operations)| {
        let Some((_, listed)) = allowed.iter().find(|(name, _)| name == capability) else {
            return Some(format!(
                "the tool wants the capability `{capability}`, which the policy does not list"
            ));
        };
        let is_listed = |operation: &String| {
            let glob = |listed: &&String| listed.contains(['*', '?', '[', '{']);
            let matches = |listed: &String| {
                Pattern::new(listed, Separator::Ordinary)
                    .is_ok_and(|pattern| pattern.is_match(operation))
            };
            listed.contains(operation) || listed.iter().filter(glob).any(matches)
        };
        let missing = operations.iter().find(|operation| !is_listed(operation))?;
        Some(format!(
            "the tool wants `{capability}: {missing}`, which the policy does not list"
        ))
    })
}

/// One entry of `tool_arg_constraints`.
#[derive(Clone, Debug)]
pub(crate) struct ArgConstraint {
    /// Glob over tool names.
    pub tool: String,
    /// The argument; absent means every declared path argument.
    pub arg_key: Option<String>,
    /// Globs, one of which the value must match.
    pub arg_patterns: Vec<String>,
}

pub(super) fn tools_policy(problems: &mut Problems<'_>, node: &Node) -> ToolsPolicy {
    for list in ["allow", "deny"] {
        globs(problems, node.get(list), &format!("tools_policy.{list}"));
    }
    let builtins = node.get("builtins");
    let builtin_list = |name: &str| builtins.and_then(|builtins| builtins.get(name));
    for list in ["allow", "deny"] {
        let field = format!("tools_policy.builtins.{list}");
        globs(problems, builtin_list(list), &field);
    }
    let mode = node.get("mode").and_then(|mode| {
        let value = match mode.text()? {
            "allowlist" => ListMode::Allowlist,
            "denylist" => ListMode::Denylist,
            _ => return None,
        };
        Some(mode.spanned(value))
    });
    ToolsPolicy {
        mode,
        allow: texts(node.get("allow")),
        deny: texts(node.get("deny")),
        builtins: BuiltinLists {
            allow: builtin_list("allow").map(|node| node.spanned(texts(Some(node)))),
            deny: texts(builtin_list("deny")),
        },
    }
}

pub(super) fn policy(problems: &mut Problems<'_>, node: &Node) -> Policy {
    let (level, effects) = (node.get("side_effect_level"), node.get("effects"));
    if let (Some(_), Some(effects)) = (level, effects) {
        let finding =
            ceiling_twice::RULE.finding("`policy` has both `side_effect_level` and `effects`");
        problems.add(
            finding.field("policy.effects").help("keep one of the two"),
            effects.span,
        );
    }
    let level =
        level.and_then(|node| Some(node.spanned(Ceiling::Level(Level::named(node.text()?)?))));
    let effects = effects.map(|node| {
        let named = words(Some(node))
            .into_iter()
            .filter_map(|word| Effects::named(&word));
        node.spanned(Ceiling::Effects(named.fold(Effects::NONE, Effects::and)))
    });
    Policy {
        ceiling: level.or(effects),
        capabilities: node
            .get("capabilities")
            .map(|node| node.spanned(capabilities(node))),
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
        };
        constraints.push(node.spanned(value));
    }
    constraints
}

/// Capability to operations.
pub(in crate::artifact) fn capabilities(node: &Node) -> Vec<(String, Vec<String>)> {
    node.entries()
        .iter()
        .map(|(key, operations)| (key.name.clone(), words(Some(operations))))
        .collect()
}
