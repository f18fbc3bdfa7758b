//! Turns every spelling of policy into rules.

use super::matcher::Matcher;
use super::{Action, Layer, Rule};
use crate::artifact::LayerFile;
use crate::artifact::root::{BuiltinLists, Ceiling, ListMode, Root};
use crate::builtin;
use crate::effect::Effects;
use crate::pattern::{Pattern, Separator};
use crate::span::{Place, Span, Spanned};

/// The rules of a project and of the layers above it, highest first. A glob that does not compile
/// becomes a rule that denies everything: policy fails closed.
#[must_use]
pub fn rules(layers: &[LayerFile], root: &Root) -> Vec<Rule> {
    let mut list = Desugar {
        root,
        layer: Layer::Project,
        rules: Vec::new(),
    };
    let above = layers
        .iter()
        .map(|layer| (Layer::from(layer.authority), &layer.root));
    for (layer, root) in above.chain([(Layer::Project, root)]) {
        (list.layer, list.root) = (layer, root);
        list.tools_policy();
        list.policy();
    }
    if root.source.is_none() {
        list.rules.push(Rule {
            action: Action::Ask,
            words: "built in: without a root file, processes ask unless namespaces contain them"
                .into(),
            place: None,
            layer: Layer::BuiltIn,
            matcher: Matcher::Uncontained,
        });
    }
    list.rules.push(Rule {
        action: Action::Ask,
        words: "built in: destructive and spend ask".into(),
        place: None,
        layer: Layer::BuiltIn,
        matcher: Matcher::Flagged(Effects::DESTRUCTIVE | Effects::SPEND),
    });
    list.rules.push(Rule {
        action: Action::Deny,
        words: "built in: a client's tools do not change what governs them".into(),
        place: None,
        layer: Layer::BuiltIn,
        matcher: Matcher::Governs,
    });
    list.rules
}

struct Desugar<'a> {
    root: &'a Root,
    layer: Layer,
    rules: Vec<Rule>,
}

impl Desugar<'_> {
    fn push(&mut self, action: Action, words: String, span: Span, matcher: Matcher) {
        let place = self
            .root
            .source
            .as_ref()
            .map(|source| Place::new(source, span));
        self.rules.push(Rule {
            action,
            words,
            place,
            layer: self.layer,
            matcher,
        });
    }

    /// `allow` and `deny` name what may be called: a bare name is a tool's, one with a dot names
    /// built-ins. An allow list says nothing about built-ins.
    fn tools_policy(&mut self) {
        let policy = &self.root.tools_policy;
        for pattern in &policy.deny {
            let named = match names_builtins(&pattern.value) {
                true => Matcher::BuiltinNamed,
                false => Matcher::Named,
            };
            self.push(
                Action::Deny,
                format!("tools_policy.deny: {}", pattern.value),
                pattern.span,
                compiled(&pattern.value).map_or_else(broken, named),
            );
        }
        self.builtins();
        let listed = match &policy.mode {
            Some(mode) => mode.value == ListMode::Allowlist,
            None => !policy.allow.is_empty(),
        };
        if !listed || policy.allow.iter().any(|pattern| pattern.value == "*") {
            return;
        }
        let first = policy
            .allow
            .first()
            .map(|pattern| pattern.span)
            .or(policy.mode.as_ref().map(|mode| mode.span))
            .unwrap_or_default();
        let tools: Vec<&str> = policy
            .allow
            .iter()
            .map(|pattern| pattern.value.as_str())
            .filter(|pattern| !names_builtins(pattern))
            .collect();
        let words = match tools.is_empty() {
            true => "tools_policy.allow: no tool".to_owned(),
            false => format!("tools_policy.allow: only {}", tools.join(", ")),
        };
        let patterns = tools.iter().filter_map(|tool| compiled(tool)).collect();
        self.push(Action::Deny, words, first, Matcher::ToolNotNamed(patterns));
    }

    /// `tools_policy.builtins`: what the scripts of tools may use.
    fn builtins(&mut self) {
        let BuiltinLists { allow, deny } = &self.root.tools_policy.builtins;
        for pattern in deny {
            let matcher =
                builtin_pattern(&pattern.value).map_or_else(broken, Matcher::BuiltinNamed);
            self.push(
                Action::Deny,
                format!("tools_policy.builtins.deny: {}", pattern.value),
                pattern.span,
                matcher,
            );
        }
        let Some(Spanned { value: allow, span }) = allow else {
            return;
        };
        let words: Vec<&str> = allow.iter().map(|pattern| pattern.value.as_str()).collect();
        let words = match words.is_empty() {
            true => "tools_policy.builtins.allow: no built-in".to_owned(),
            false => format!("tools_policy.builtins.allow: only {}", words.join(", ")),
        };
        let patterns = allow
            .iter()
            .filter_map(|pattern| builtin_pattern(&pattern.value))
            .collect();
        let span = allow.first().map_or(*span, |pattern| pattern.span);
        self.push(
            Action::Deny,
            words,
            span,
            Matcher::BuiltinNotNamed(patterns),
        );
    }

    fn policy(&mut self) {
        let policy = &self.root.policy;
        if let Some(Spanned { value, span }) = &policy.ceiling {
            let words = match value {
                Ceiling::Level(level) => format!("policy.side_effect_level: {}", level.word()),
                Ceiling::Effects(effects) => format!("policy.effects: {effects}"),
            };
            self.push(Action::Deny, words, *span, Matcher::Above(*value));
        }
        if let Some(Spanned { value, span }) = &policy.capabilities {
            self.push(
                Action::Deny,
                "policy.capabilities".into(),
                *span,
                Matcher::BeyondCapabilities(value.clone()),
            );
        }
        for Spanned {
            value: constraint,
            span,
        } in &policy.constraints
        {
            let key = constraint.arg_key.as_deref().unwrap_or("its paths");
            let words = format!(
                "policy.tool_arg_constraints: {} {key}: {}",
                constraint.tool,
                constraint.arg_patterns.join(", ")
            );
            let compile = |separator: Separator| {
                constraint
                    .arg_patterns
                    .iter()
                    .filter_map(|pattern| Pattern::new(pattern, separator).ok())
                    .collect::<Vec<_>>()
            };
            let matcher = match Pattern::new(&constraint.tool, Separator::Ordinary) {
                Ok(tool) => Matcher::Argument {
                    tool,
                    key: constraint.arg_key.clone(),
                    patterns: constraint.arg_patterns.clone(),
                    paths: compile(Separator::Literal).into(),
                    values: compile(Separator::Ordinary),
                },
                Err(_) => Matcher::ToolNotNamed(Vec::new()),
            };
            self.push(Action::Deny, words, *span, matcher);
        }
    }
}

/// Whether an entry of `tools_policy.allow` or `deny` names built-ins: the name of a tool never
/// contains a dot.
pub(crate) fn names_builtins(pattern: &str) -> bool {
    pattern.contains('.')
}

/// The module or global built-in whose name an entry for tools has, with or without a glob after
/// it.
pub(crate) fn builtin_meant(pattern: &str) -> Option<&str> {
    let name = pattern.split(['*', '?', '[', '{']).next()?;
    let is_builtin =
        !names_builtins(pattern) && (builtin::is_module(name) || builtin::find(name).is_some());
    is_builtin.then_some(name)
}

/// A pattern over full names of built-ins, such as `fs.read`. The name of a module stands for all
/// of it.
pub(crate) fn builtin_pattern(name: &str) -> Option<Pattern> {
    if builtin::is_module(name) {
        compiled(&format!("{{{name},{name}.*}}"))
    } else {
        compiled(name)
    }
}

fn compiled(pattern: &str) -> Option<Pattern> {
    Pattern::new(pattern, Separator::Ordinary).ok()
}

/// What a pattern that cannot be read denies: every tool.
fn broken() -> Matcher {
    Matcher::ToolNotNamed(Vec::new())
}
