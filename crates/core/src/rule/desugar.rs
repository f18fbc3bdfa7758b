//! Turns every spelling of policy into rules.

use super::matcher::Matcher;
use super::{Action, Layer, Rule};
use crate::artifact::LayerFile;
use crate::artifact::root::{Ceiling, ListMode, Root};
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

    fn tools_policy(&mut self) {
        let policy = &self.root.tools_policy;
        for pattern in &policy.deny {
            let matcher = name_pattern(&pattern.value)
                .map_or_else(|_| Matcher::ToolNotNamed(Vec::new()), Matcher::Named);
            self.push(
                Action::Deny,
                format!("tools_policy.deny: {}", pattern.value),
                pattern.span,
                matcher,
            );
        }
        let listed = match &policy.mode {
            Some(mode) => mode.value == ListMode::Allowlist,
            None => !policy.allow.is_empty(),
        };
        if !listed {
            return;
        }
        let first = policy
            .allow
            .first()
            .map(|pattern| pattern.span)
            .or(policy.mode.as_ref().map(|mode| mode.span))
            .unwrap_or_default();
        let compile = |patterns: Vec<&Spanned<String>>| {
            patterns
                .iter()
                .filter_map(|at| name_pattern(&at.value).ok())
                .collect()
        };
        let (builtins, tools): (Vec<_>, Vec<_>) = policy
            .allow
            .iter()
            .partition(|pattern| names_builtins(&pattern.value));
        let words = |patterns: &[&Spanned<String>]| {
            patterns
                .iter()
                .map(|at| at.value.as_str())
                .collect::<Vec<_>>()
                .join(", ")
        };
        let any = policy.allow.iter().any(|pattern| pattern.value == "*");
        if !any {
            let allowed = words(&tools);
            self.push(
                Action::Deny,
                format!("tools_policy.allow: only {allowed}"),
                first,
                Matcher::ToolNotNamed(compile(tools)),
            );
        }
        if !builtins.is_empty() && !any {
            let allowed = words(&builtins);
            self.push(
                Action::Deny,
                format!("tools_policy.allow: only built-ins {allowed}"),
                first,
                Matcher::BuiltinNotNamed(compile(builtins)),
            );
        }
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
                    .collect()
            };
            let matcher = match Pattern::new(&constraint.tool, Separator::Ordinary) {
                Ok(tool) => Matcher::Argument {
                    tool,
                    key: constraint.arg_key.clone(),
                    patterns: constraint.arg_patterns.clone(),
                    paths: compile(Separator::Literal),
                    values: compile(Separator::Ordinary),
                },
                Err(_) => Matcher::ToolNotNamed(Vec::new()),
            };
            self.push(Action::Deny, words, *span, matcher);
        }
    }
}

/// Whether a pattern is about built-ins: a tool's name never contains a dot.
pub(crate) fn names_builtins(pattern: &str) -> bool {
    pattern.contains('.') || is_module(pattern) || builtin::find(pattern).is_some()
}

fn is_module(name: &str) -> bool {
    !name.is_empty() && builtin::MODULES.iter().any(|module| module.name == name)
}

/// A pattern over names. A module's name matches everything in it: denying `exec` denies
/// `exec.run`.
fn name_pattern(name: &str) -> Result<Pattern, String> {
    if is_module(name) {
        Pattern::new(&format!("{{{name},{name}.*}}"), Separator::Ordinary)
    } else {
        Pattern::new(name, Separator::Ordinary)
    }
}
