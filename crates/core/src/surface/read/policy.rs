//! `policy` and `approval_policy` of a surface.

use super::{Reader, UnknownKey, has_word};
use crate::artifact::node::{Kind, Node};
use crate::artifact::problem::quoted;
use crate::artifact::root::{Capabilities, Ceiling};
use crate::effect::Effects;
use crate::surface::{ApprovalPattern, Constraint, Located, Pattern, Policy};

const POLICY: &str = "\
    tools tools_restricted capabilities capabilities_restricted side_effect_level effects \
    tool_arg_constraints tool_annotations workspace_roots read_only_roots sandbox_profile \
    process_sandbox recursion_limit";

/// The lists, and what each decides.
const LISTS: [(&str, &str); 3] = [
    ("auto_approve", "allow"),
    ("auto_deny", "deny"),
    ("require_approval", "ask"),
];

const APPROVAL: &str = "\
    auto_approve auto_deny require_approval write_path_allowlist rules default \
    allow_sensitive_paths sensitive_path_patterns allow_external_paths external_roots \
    repeat_limit repeat_action";

const CONSTRAINT: &str = "tool arg_key arg_patterns reason description";

/// What a rule may decide.
const DECISIONS: [&str; 3] = ["allow", "ask", "deny"];

/// What a rule may say beside its decision and what it matches.
const RULE: &str = "allow ask deny action decision id reason approval match not_match";

/// What a rule may match.
const MATCHER: &str = "\
    tool tool_kind side_effect effects path command command_identity url domain method \
    mcp_server mcp_tool agent persona mode env_mode capability arguments \
    repeat_count_at_least invocation_sha256";

impl Reader {
    pub(super) fn policy(&mut self, node: &Node) {
        if !node.is_map() {
            return self.wrong(node, "policy", "a map");
        }
        self.unknown_keys(node, "policy", POLICY, UnknownKey::Restricts);
        let part = |name: &str| node.given(name);
        let flag = |name: &str| part(name).and_then(Node::bool) == Some(true);
        let tools = part("tools").map(|tools| self.patterns(tools, "policy.tools"));
        let capabilities = part("capabilities").map(|node| {
            let granted = self.capabilities(node, "policy.capabilities");
            self.located(granted, node)
        });
        let mut policy = Policy {
            // Seed 004's empty list means every tool, unless the other flag says it means none. A
            // list whose patterns are all broken is not empty: it allows nothing.
            tools: tools.filter(|_| {
                part("tools").is_some_and(|list| !list.items().is_empty())
                    || flag("tools_restricted")
            }),
            capabilities: capabilities
                .filter(|written| !written.value.is_empty() || flag("capabilities_restricted")),
            ..Policy::default()
        };
        policy.ceiling = self.ceiling(part("side_effect_level"), part("effects"));
        match part("tool_arg_constraints") {
            Some(Node {
                kind: Kind::List(items),
                ..
            }) => {
                policy.constraints = items
                    .iter()
                    .enumerate()
                    .filter_map(|(index, item)| self.constraint(item, index))
                    .collect();
            }
            Some(other) => self.wrong(other, "policy.tool_arg_constraints", "a list"),
            None => {}
        }
        match part("tool_annotations") {
            Some(Node {
                kind: Kind::Map(entries),
                ..
            }) => {
                self.surface.annotated = entries
                    .iter()
                    .map(|(key, _)| (key.name.clone(), self.place(key.span)))
                    .collect();
                self.annotations = entries
                    .iter()
                    .map(|(key, node)| (key.name.clone(), node.clone()))
                    .collect();
            }
            Some(other) => self.wrong(
                other,
                "policy.tool_annotations",
                "a map from tool to annotations",
            ),
            None => {}
        }
        self.surface.policies.push(policy);
    }

    fn patterns(&mut self, node: &Node, field: &str) -> Vec<Located<Pattern>> {
        let Kind::List(items) = &node.kind else {
            self.wrong(node, field, "a list of names and globs");
            return Vec::new();
        };
        items
            .iter()
            .filter_map(|item| self.pattern(item, field))
            .collect()
    }

    pub(super) fn capabilities(&mut self, node: &Node, field: &str) -> Capabilities {
        let Kind::Map(entries) = &node.kind else {
            self.wrong(node, field, "a map from capability to operations");
            return Vec::new();
        };
        entries
            .iter()
            .map(|(key, node)| {
                (
                    key.name.clone(),
                    self.texts(Some(node), &format!("{field}.{}", key.name)),
                )
            })
            .collect()
    }

    fn ceiling(
        &mut self,
        level: Option<&Node>,
        effects: Option<&Node>,
    ) -> Option<Located<Ceiling>> {
        if let Some(node) = level {
            let level = self.level(node, "policy.side_effect_level")?;
            return Some(self.located(Ceiling::Level(level), node));
        }
        let node = effects?;
        let mut allowed = Effects::NONE;
        for word in self.texts(Some(node), "policy.effects") {
            if let Some(effect) = Effects::named(&word) {
                allowed |= effect;
                continue;
            }
            let all = Effects::ALL.and(Effects::DESTRUCTIVE).and(Effects::SPEND);
            let written = node.items().iter().find(|item| item.text() == Some(&word));
            let message = format!(
                "{} in `policy.effects` is not an effect; the effects are {all}",
                quoted(&word)
            );
            self.problem("policy.effects", message, written.unwrap_or(node).span);
        }
        Some(self.located(Ceiling::Effects(allowed), node))
    }

    fn constraint(&mut self, node: &Node, index: usize) -> Option<Constraint> {
        let field = format!("policy.tool_arg_constraints[{index}]");
        let Some(tool) = node.get("tool") else {
            self.wrong(
                node,
                &field,
                "a map with `tool`, `arg_key` and `arg_patterns`",
            );
            return None;
        };
        self.unknown_keys(node, &field, CONSTRAINT, UnknownKey::Restricts);
        let tool = self.pattern(tool, &format!("{field}.tool"))?.value;
        let key = match node.get("arg_key").map(|key| (key, &key.kind)) {
            None | Some((_, Kind::Null)) => None,
            Some((_, Kind::Text { value, .. })) => Some(value.clone()),
            Some((key, _)) => {
                self.wrong(key, &format!("{field}.arg_key"), "the name of an argument");
                return None;
            }
        };
        let patterns = node.given("arg_patterns");
        let accepted = self.globs(patterns, &format!("{field}.arg_patterns"));
        // A list without a readable entry was reported, and is not empty.
        if accepted.is_empty()
            && patterns
                .is_some_and(|list| !matches!(&list.kind, Kind::List(items) if items.is_empty()))
        {
            return None;
        }
        Some(Constraint {
            tool,
            key,
            accepted,
            place: self.place(node.span),
        })
    }

    pub(super) fn approval_policy(&mut self, node: &Node) {
        if !node.is_map() {
            return self.wrong(node, "approval_policy", "a map");
        }
        self.unknown_keys(node, "approval_policy", APPROVAL, UnknownKey::Restricts);
        let part = |name: &str| node.given(name);
        for (name, decision) in LISTS {
            let field = format!("approval_policy.{name}");
            let patterns = part(name)
                .map(|list| self.patterns(list, &field))
                .unwrap_or_default();
            self.approve(&field, Some(decision), patterns);
        }
        if let Some(list) = part("write_path_allowlist") {
            let value = self.globs(Some(list), "approval_policy.write_path_allowlist");
            self.surface.write_paths = (!value.is_empty()).then(|| self.located(value, list));
        }
        if let Some(default) =
            part("default").filter(|node| node.text().is_none_or(|word| !DECISIONS.contains(&word)))
        {
            self.wrong(
                default,
                "approval_policy.default",
                "`allow`, `ask` or `deny`",
            );
        }
        match part("rules") {
            Some(Node {
                kind: Kind::List(rules),
                ..
            }) => rules
                .iter()
                .enumerate()
                .for_each(|(index, rule)| self.rule(rule, index)),
            Some(other) => self.wrong(other, "approval_policy.rules", "a list"),
            None => {}
        }
    }

    /// One rule: what it matches is written under its decision, or beside it.
    fn rule(&mut self, node: &Node, index: usize) {
        let field = format!("approval_policy.rules[{index}]");
        let accepted = "a map with one of `allow`, `ask` and `deny`";
        let decided: Vec<(&'static str, &Node)> = DECISIONS
            .into_iter()
            .filter_map(|decision| Some((decision, node.get(decision)?)))
            .collect();
        let (decision, matcher) = match (
            &decided[..],
            ["action", "decision"]
                .into_iter()
                .find_map(|key| node.get(key)),
        ) {
            ([(decision, matcher)], None) => {
                self.unknown_keys(node, &field, RULE, UnknownKey::Restricts);
                let field = format!("{field}.{decision}");
                if !matcher.is_map() {
                    return self.wrong(matcher, &field, "a map of what it matches");
                }
                self.unknown_keys(matcher, &field, MATCHER, UnknownKey::Restricts);
                // A rule with further conditions is an exception and contradicts nothing.
                (
                    Some(*decision).filter(|_| matcher.entries().len() == 1),
                    *matcher,
                )
            }
            ([], Some(word)) => {
                let known = format!("{RULE} {MATCHER}");
                self.unknown_keys(node, &field, &known, UnknownKey::Restricts);
                let Some(decision) = DECISIONS
                    .into_iter()
                    .find(|decision| word.text() == Some(decision))
                else {
                    return self.wrong(word, &field, "`allow`, `ask` or `deny`");
                };
                let alone = node
                    .entries()
                    .iter()
                    .all(|(key, _)| key.name == "tool" || has_word(RULE, &key.name));
                (Some(decision).filter(|_| alone), node)
            }
            (several, _) => {
                let what = if several.is_empty() {
                    "decides nothing"
                } else {
                    "decides more than one thing"
                };
                let message = format!("{} {what}: it must be {accepted}", quoted(&field));
                return self.problem(&field, message, node.span);
            }
        };
        let Some(tool) = matcher.get("tool") else {
            return;
        };
        let field = format!("{field}.tool");
        let patterns = match &tool.kind {
            Kind::List(_) => self.patterns(tool, &field),
            _ => self.pattern(tool, &field).into_iter().collect(),
        };
        self.approve(&field, decision, patterns);
    }

    fn approve(
        &mut self,
        field: &str,
        decision: Option<&'static str>,
        patterns: Vec<Located<Pattern>>,
    ) {
        let approval = |Located {
                            value: pattern,
                            place,
                        }| ApprovalPattern {
            field: field.to_owned(),
            decision,
            pattern,
            place,
        };
        self.surface
            .approval
            .extend(patterns.into_iter().map(approval));
    }
}
