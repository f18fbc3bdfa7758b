//! Policy as one ordered list of rules. Every spelling desugars into it at load.

use crate::artifact::LayerFile;
use crate::artifact::root::{Ceiling, ListMode, Root, missing_capability};
use crate::builtin;
use crate::client::ClientToolCall;
use crate::effect::Effects;
use crate::path::normalise;
use crate::pattern::{Pattern, Separator};
use crate::span::Spanned;
use crate::span::{Place, Span};
use serde_json::{Map, Value};
use std::path::Path;
use tool_harness_sandbox::file::{FileError, Jail};
use tool_harness_sandbox::tier::Tier;

/// One rule with the line it came from.
#[derive(Debug)]
pub struct Rule {
    /// What it does when it matches.
    pub action: Action,
    /// The rule in words, as `tools_policy.deny: fs.*`.
    pub words: String,
    /// Where it was written; absent for the built-in rules.
    pub place: Option<Place>,
    matcher: Matcher,
}

/// What a matching rule does. The strongest wins.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Action {
    /// A person decides.
    Ask,
    /// The call is refused.
    Deny,
}

impl Rule {
    /// What a script that calls a denied built-in is told.
    pub(crate) fn denial_of(&self, builtin: &str) -> String {
        match &self.place {
            Some(place) => format!("`{builtin}` is denied by `{}` at {place}", self.words),
            None => format!("`{builtin}` is denied by `{}`", self.words),
        }
    }
}

impl Action {
    /// The word events carry.
    #[must_use]
    pub const fn word(self) -> &'static str {
        match self {
            Self::Ask => "ask",
            Self::Deny => "deny",
        }
    }
}

/// A rule that matched, and why.
#[derive(Debug)]
pub struct Match<'a> {
    /// The rule.
    pub rule: &'a Rule,
    /// What about the subject it objects to.
    pub because: String,
    /// The argument it objects to, when it is one.
    pub argument: Option<String>,
}

/// What a rule objects to.
struct Objection {
    because: String,
    argument: Option<String>,
}

impl From<String> for Objection {
    fn from(because: String) -> Self {
        Self {
            because,
            argument: None,
        }
    }
}

/// What rules judge.
#[derive(Clone, Copy, Debug)]
pub enum Subject<'a> {
    /// A tool's name alone: whether it is shown.
    Name(&'a str),
    /// A call of a tool.
    Tool {
        /// Its name.
        name: &'a str,
        /// Its effects.
        effects: Effects,
        /// Its capabilities.
        capabilities: &'a [(String, Vec<String>)],
        /// Its arguments that are paths.
        path_params: &'a [String],
        /// The arguments of this call.
        arguments: &'a Map<String, Value>,
        /// The workspace, in which paths are followed to what they lead to; absent where no call is made.
        files: Option<&'a Jail>,
    },
    /// A built-in, as `fs.write`.
    Builtin(&'a str),
    /// A call that a client runs itself, with its arguments.
    Client(&'a ClientToolCall, &'a Map<String, Value>),
    /// The processes of a tool, contained by this tier.
    Processes(Tier),
}

#[derive(Debug)]
enum Matcher {
    /// The name of a tool or built-in matches.
    Named(Pattern),
    /// A tool's name matches none of these.
    ToolNotNamed(Vec<Pattern>),
    /// A built-in's name matches none of these.
    BuiltinNotNamed(Vec<Pattern>),
    /// A tool does more than this.
    Above(Ceiling),
    /// A tool has any of these flags.
    Flagged(Effects),
    /// A tool wants a capability or operation that is not listed.
    BeyondCapabilities(Vec<(String, Vec<String>)>),
    /// An argument of a matching tool matches none of these.
    Argument {
        tool: Pattern,
        key: Option<String>,
        patterns: Vec<String>,
        paths: Vec<Pattern>,
        values: Vec<Pattern>,
    },
    /// A client's tool would change what governs it, or decide in a person's place.
    Governs,
    /// Processes would be contained by less than namespaces.
    Uncontained,
}

/// The rules of a project and of the layers above it, highest first. A glob that does not compile becomes a rule that denies everything:
/// policy fails closed.
#[must_use]
pub fn rules(layers: &[LayerFile], root: &Root) -> Vec<Rule> {
    let mut list = Desugar {
        root,
        rules: Vec::new(),
    };
    for root in layers.iter().map(|layer| &layer.root).chain([root]) {
        list.root = root;
        list.tools_policy();
        list.policy();
    }
    if root.source.is_none() {
        list.rules.push(Rule {
            action: Action::Ask,
            words: "built in: without a root file, processes ask unless namespaces contain them"
                .into(),
            place: None,
            matcher: Matcher::Uncontained,
        });
    }
    list.rules.push(Rule {
        action: Action::Ask,
        words: "built in: destructive and spend ask".into(),
        place: None,
        matcher: Matcher::Flagged(Effects::DESTRUCTIVE | Effects::SPEND),
    });
    list.rules.push(Rule {
        action: Action::Deny,
        words: "built in: a client's tools do not change what governs them".into(),
        place: None,
        matcher: Matcher::Governs,
    });
    list.rules
}

/// Whether a rule denies a built-in by its name. Only that reaches pure built-ins: a list of what is allowed is about what touches
/// something.
#[must_use]
pub(crate) fn denies_by_name(rules: &[Rule], builtin: &str) -> bool {
    rules.iter().any(|rule| {
        matches!(rule.matcher, Matcher::Named(_))
            && rule.matcher.objects(&Subject::Builtin(builtin)).is_some()
    })
}

/// Every rule that matches, strongest first, in list order among equals.
#[must_use]
pub fn matches<'a>(rules: &'a [Rule], subject: &Subject<'_>) -> Vec<Match<'a>> {
    judged(rules.iter(), subject)
}

/// Every rule that matches, of those that [`relevant`] left.
pub(crate) fn matches_among<'a>(
    rules: &'a [Rule],
    relevant: &[usize],
    subject: &Subject<'_>,
) -> Vec<Match<'a>> {
    judged(
        relevant.iter().filter_map(|index| rules.get(*index)),
        subject,
    )
}

fn judged<'a>(rules: impl Iterator<Item = &'a Rule>, subject: &Subject<'_>) -> Vec<Match<'a>> {
    let judge = |rule: &'a Rule| {
        let Objection { because, argument } = rule.matcher.objects(subject)?;
        Some(Match {
            rule,
            because,
            argument,
        })
    };
    let mut found: Vec<_> = rules.filter_map(judge).collect();
    found.sort_by_key(|found| std::cmp::Reverse(found.rule.action));
    found
}

/// The rules that any call of a tool can break, by index. What depends on nothing but the tool itself is decided here, once, and not again
/// for every call.
pub(crate) fn relevant(
    rules: &[Rule],
    name: &str,
    effects: Effects,
    capabilities: &[(String, Vec<String>)],
) -> Vec<usize> {
    let arguments = Map::new();
    let tool = Subject::Tool {
        name,
        effects,
        capabilities,
        path_params: &[],
        arguments: &arguments,
        files: None,
    };
    let concerns = |rule: &Rule| match &rule.matcher {
        Matcher::Argument { tool, .. } => tool.is_match(name),
        other => other.objects(&tool).is_some(),
    };
    rules
        .iter()
        .enumerate()
        .filter(|(_, rule)| concerns(rule))
        .map(|(index, _)| index)
        .collect()
}

struct Desugar<'a> {
    root: &'a Root,
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

/// Whether a pattern is about built-ins: a tool's name never has a dot.
pub(crate) fn names_builtins(pattern: &str) -> bool {
    pattern.contains('.') || is_module(pattern) || builtin::find(pattern).is_some()
}

fn is_module(name: &str) -> bool {
    !name.is_empty() && builtin::MODULES.iter().any(|module| module.name == name)
}

/// A pattern over names. That of a module stands for everything in it: a person who denies `exec` means `exec.run`.
fn name_pattern(name: &str) -> Result<Pattern, String> {
    if is_module(name) {
        Pattern::new(&format!("{{{name},{name}.*}}"), Separator::Ordinary)
    } else {
        Pattern::new(name, Separator::Ordinary)
    }
}

impl Matcher {
    /// Why the subject is matched; nothing when it is not.
    fn objects(&self, subject: &Subject<'_>) -> Option<Objection> {
        match (self, subject) {
            (
                Self::Named(pattern),
                Subject::Name(name) | Subject::Tool { name, .. } | Subject::Builtin(name),
            ) => pattern
                .is_match(name)
                .then(|| format!("its name matches `{}`, which is denied", pattern.text()).into()),
            (Self::ToolNotNamed(patterns), Subject::Name(name) | Subject::Tool { name, .. })
            | (Self::BuiltinNotNamed(patterns), Subject::Builtin(name)) => {
                (!patterns.iter().any(|pattern| pattern.is_match(name))).then(|| {
                    "its name is not on the list of what is allowed"
                        .to_owned()
                        .into()
                })
            }
            (Self::Above(ceiling), Subject::Tool { effects, .. }) => {
                ceiling.exceeded_by(*effects).map(Into::into)
            }
            (Self::Flagged(flags), Subject::Tool { effects, .. }) => {
                let has = Effects::NONE.and(*effects).without(effects.without(*flags));
                (!has.is_empty()).then(|| format!("the tool is marked {has}").into())
            }
            (Self::BeyondCapabilities(allowed), Subject::Tool { capabilities, .. }) => {
                missing_capability(allowed, capabilities).map(Into::into)
            }
            (
                Self::Argument {
                    tool,
                    key,
                    patterns,
                    paths,
                    values,
                },
                Subject::Tool {
                    name,
                    path_params,
                    arguments,
                    files,
                    ..
                },
            ) => {
                if !tool.is_match(name) {
                    return None;
                }
                let keys: Vec<&str> = match key {
                    Some(key) => vec![key],
                    None => path_params.iter().map(String::as_str).collect(),
                };
                if keys.is_empty() {
                    return Some(
                        "the rule is about path arguments and the tool declares none"
                            .to_owned()
                            .into(),
                    );
                }
                keys.into_iter().find_map(|key| {
                    let is_path = path_params.iter().any(|param| param == key)
                        || patterns.iter().any(|pattern| pattern.contains('/'));
                    let reading = if is_path {
                        Reading::Path(*files)
                    } else {
                        Reading::Value
                    };
                    let because = constrained(
                        key,
                        arguments.get(key)?,
                        if is_path { paths } else { values },
                        reading,
                        patterns,
                    )?;
                    Some(Objection {
                        because,
                        argument: Some(key.to_owned()),
                    })
                })
            }
            (Self::Governs, Subject::Client(foreign, arguments)) => {
                let (because, argument) = foreign.objection(arguments)?;
                Some(Objection {
                    because,
                    argument: Some(argument),
                })
            }
            (Self::Uncontained, Subject::Processes(tier)) => (*tier != Tier::A).then(|| {
                format!("its processes would be contained by tier {tier} and not by namespaces")
                    .into()
            }),
            _ => None,
        }
    }
}

/// How the text of an argument is read.
#[derive(Clone, Copy)]
enum Reading<'a> {
    Value,
    Path(Option<&'a Jail>),
}

fn constrained(
    key: &str,
    value: &Value,
    globs: &[Pattern],
    reading: Reading<'_>,
    patterns: &[String],
) -> Option<String> {
    let fits = |text: &str| globs.iter().any(|glob| glob.is_match(text));
    match (value, reading) {
        (Value::String(text), Reading::Value) => {
            (!fits(text)).then(|| format!("`{key}` is `{text}`; accepted: {}", patterns.join(", ")))
        }
        (Value::String(text), Reading::Path(files)) => {
            let named = normalise(text);
            if !fits(&named) {
                return Some(format!(
                    "`{key}` is `{named}`; accepted: {}",
                    patterns.join(", ")
                ));
            }
            match behind(files?, text, &named) {
                Ok(real) if fits(&real) => None,
                Ok(real) => Some(format!(
                    "`{key}` is `{named}`, which leads to `{real}`; accepted: {}",
                    patterns.join(", ")
                )),
                Err(problem) => Some(format!(
                    "`{key}` cannot be followed to what it leads to: {problem}"
                )),
            }
        }
        (Value::Array(items), _) => items
            .iter()
            .find_map(|item| constrained(key, item, globs, reading, patterns)),
        _ => Some(format!(
            "`{key}` must be text or a list of strings to be judged"
        )),
    }
}

/// What a path leads to when links are followed, written as the path is: relative, or absolute. What is no place in the workspace by
/// its name alone stays as it is.
fn behind(files: &Jail, given: &str, named: &str) -> Result<String, FileError> {
    match files.real(given) {
        Ok(real) if named.starts_with('/') => {
            Ok(normalise(&format!("{}/{real}", files.root().display())))
        }
        Ok(real) => Ok(normalise(&real)),
        // Nothing can be there, so there is nothing else to judge.
        Err(FileError::BadPath { .. } | FileError::NotDirectory(_)) => Ok(named.to_owned()),
        Err(FileError::Outside(_))
            if named.starts_with("..")
                || (named.starts_with('/') && !Path::new(named).starts_with(files.root())) =>
        {
            Ok(named.to_owned())
        }
        Err(problem) => Err(problem),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::artifact::root::{ArgConstraint, Policy, ToolsPolicy};
    use crate::effect::Level;
    use serde_json::json;

    fn at<T>(value: T) -> Spanned<T> {
        Spanned {
            value,
            span: Span::default(),
        }
    }

    fn verdict(root: &Root, subject: &Subject<'_>) -> Option<(Action, String)> {
        matches(&rules(&[], root), subject)
            .first()
            .map(|found| (found.rule.action, found.because.clone()))
    }

    fn lists(allow: &[&str], deny: &[&str]) -> Root {
        let texts = |items: &[&str]| items.iter().map(|item| at((*item).to_owned())).collect();
        Root {
            tools_policy: ToolsPolicy {
                mode: None,
                allow: texts(allow),
                deny: texts(deny),
            },
            ..Root::default()
        }
    }

    fn constrain(tool: &str, key: Option<&str>, patterns: &[&str]) -> Root {
        let constraint = ArgConstraint {
            tool: tool.into(),
            arg_key: key.map(Into::into),
            arg_patterns: patterns
                .iter()
                .map(|pattern| (*pattern).to_owned())
                .collect(),
            span: Span::default(),
        };
        Root {
            policy: Policy {
                constraints: vec![at(constraint)],
                ..Policy::default()
            },
            ..Root::default()
        }
    }

    #[test]
    fn deny_wins_over_allow_and_covers_built_ins() {
        let root = lists(&["read_*", "write_file"], &["write_*", "exec.*"]);
        assert!(verdict(&root, &Subject::Name("read_file")).is_none());
        assert!(verdict(&root, &Subject::Name("write_file")).is_some());
        assert!(verdict(&root, &Subject::Name("other")).is_some());
        assert!(verdict(&root, &Subject::Builtin("exec.run")).is_some());
        assert!(
            verdict(&root, &Subject::Builtin("fs.read")).is_none(),
            "an allow list of tools leaves built-ins alone"
        );
    }

    #[test]
    fn an_allow_list_that_names_built_ins_closes_the_others() {
        let root = lists(&["*_file", "fs.read"], &[]);
        assert!(verdict(&root, &Subject::Builtin("fs.read")).is_none());
        assert!(verdict(&root, &Subject::Builtin("fs.write")).is_some());
    }

    fn judge(root: &Root, arguments: &Value) -> Option<String> {
        let map = arguments.as_object().cloned().expect("object");
        let path_params = ["path".to_owned()];
        let subject = Subject::Tool {
            name: "write_file",
            effects: Effects::READ | Effects::WRITE,
            capabilities: &[],
            path_params: &path_params,
            arguments: &map,
            files: None,
        };
        verdict(root, &subject).map(|(_, because)| because)
    }

    #[test]
    fn constraints_judge_normalised_paths_and_every_element() {
        let root = constrain("write_*", Some("path"), &["src/**"]);
        for (arguments, fine) in [
            (json!({"path": "src/a/b.rs"}), true),
            (json!({"path": "./src//a.rs"}), true),
            (json!({"path": "src/../../etc/passwd"}), false),
            (json!({"path": "/src/a.rs"}), false),
            (json!({"path": ["src/a", "lib/b"]}), false),
            (json!({"path": ["src/a", "src/b"]}), true),
            (json!({"path": 7}), false),
            (json!({}), true),
        ] {
            assert_eq!(judge(&root, &arguments).is_none(), fine, "{arguments}");
        }
        assert!(
            judge(
                &constrain("write_*", None, &["src/*"]),
                &json!({"path": "src/a/b"})
            )
            .is_some(),
            "a star stops at a slash"
        );
        assert!(judge(&constrain("other", None, &["src/*"]), &json!({"path": "x"})).is_none());
    }

    #[test]
    fn ceilings_compare_rungs_or_sets() {
        let ceiling = |ceiling| Root {
            policy: Policy {
                ceiling: Some(at(ceiling)),
                ..Policy::default()
            },
            ..Root::default()
        };
        assert!(judge(&ceiling(Ceiling::Level(Level::ReadOnly)), &json!({})).is_some());
        assert!(judge(&ceiling(Ceiling::Level(Level::ProcessExec)), &json!({})).is_none());
        assert!(judge(&ceiling(Ceiling::Effects(Effects::READ)), &json!({})).is_some());
        assert!(
            judge(
                &ceiling(Ceiling::Effects(Effects::READ | Effects::WRITE)),
                &json!({})
            )
            .is_none()
        );
    }

    #[test]
    fn a_broken_glob_denies() {
        assert!(verdict(&lists(&[], &["[oops"]), &Subject::Name("anything")).is_some());
        assert!(verdict(&lists(&["[oops"], &[]), &Subject::Name("anything")).is_some());
    }
}
