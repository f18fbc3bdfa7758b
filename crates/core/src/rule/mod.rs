//! Policy as one ordered list of rules. Loading turns every spelling of policy into it.

mod desugar;
mod matcher;

pub use crate::decision::Action;
pub(crate) use desugar::names_builtins;
pub use desugar::rules;

use crate::artifact::Authority;
use crate::client::ClientToolCall;
use crate::effect::Effects;
use crate::span::Place;
use matcher::{Matcher, Objection};
use serde_json::{Map, Value};
use tool_harness_sandbox::file::Jail;
use tool_harness_sandbox::tier::Tier;

/// One rule with its source line.
#[derive(Debug)]
pub struct Rule {
    /// What it does when it matches.
    pub action: Action,
    /// The rule in words, such as `tools_policy.deny: fs.*`.
    pub words: String,
    /// Where it was written; `None` for the built-in rules.
    pub place: Option<Place>,
    /// The layer that sets it.
    pub layer: Layer,
    matcher: Matcher,
}

/// The layers that set rules, highest first. A lower layer never loosens a higher one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Layer {
    /// The machine's file.
    Machine,
    /// The user's file.
    User,
    /// The project.
    Project,
    /// The program's own defaults.
    BuiltIn,
}

impl From<Authority> for Layer {
    fn from(authority: Authority) -> Self {
        match authority {
            Authority::Machine => Self::Machine,
            Authority::User => Self::User,
        }
    }
}

impl Rule {
    /// The message for a script that calls a denied built-in.
    pub(crate) fn denial_of(&self, builtin: &str) -> String {
        match &self.place {
            Some(place) => format!("`{builtin}` is denied by `{}` at {place}", self.words),
            None => format!("`{builtin}` is denied by `{}`", self.words),
        }
    }
}

/// A rule that matched, and why.
#[derive(Debug)]
pub struct Match<'a> {
    /// The rule.
    pub rule: &'a Rule,
    /// What it objects to about the subject.
    pub because: String,
    /// The argument it objects to, if it objects to one.
    pub argument: Option<String>,
}

/// What rules judge.
#[derive(Clone, Copy, Debug)]
pub enum Subject<'a> {
    /// A tool's name alone, to decide whether the tool is shown.
    Name(&'a str),
    /// A call of a tool.
    Tool {
        /// Its name.
        name: &'a str,
        /// Its effects.
        effects: Effects,
        /// Its capabilities.
        capabilities: &'a [(String, Vec<String>)],
        /// The arguments that are paths.
        path_params: &'a [String],
        /// The arguments of this call.
        arguments: &'a Map<String, Value>,
        /// The workspace in which the rules resolve paths; `None` if no call is made.
        files: Option<&'a Jail>,
    },
    /// A built-in, such as `fs.write`.
    Builtin(&'a str),
    /// A call that a client runs itself, with its arguments.
    Client(&'a ClientToolCall, &'a Map<String, Value>),
    /// The processes of a tool, contained by this tier.
    Processes(Tier),
}

/// Whether a rule denies a built-in by its name. Only such a rule reaches pure built-ins: a list of
/// allowed names covers only built-ins with effects.
#[must_use]
pub(crate) fn denies_by_name(rules: &[Rule], builtin: &str) -> bool {
    rules.iter().any(|rule| {
        matches!(rule.matcher, Matcher::Named(_))
            && rule.matcher.objects(&Subject::Builtin(builtin)).is_some()
    })
}

/// Every matching rule, strongest first, in list order among equals.
#[must_use]
pub fn matches<'a>(rules: &'a [Rule], subject: &Subject<'_>) -> Vec<Match<'a>> {
    judged(rules.iter(), subject)
}

/// Every matching rule among those that [`relevant`] selected.
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

/// The indexes of the rules that a call of a tool can break. Rules that depend only on the tool are
/// decided here once, not again for every call.
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

/// Drops the asks that an allow of the same or a higher layer answers. An allow never answers a
/// denial.
pub(crate) fn unanswered(found: Vec<Match<'_>>) -> Vec<Match<'_>> {
    let allows = found.iter().filter(|one| one.rule.action == Action::Allow);
    let Some(highest) = allows.map(|one| one.rule.layer).min() else {
        return found;
    };
    let is_answered = |one: &Match<'_>| one.rule.action == Action::Ask && one.rule.layer >= highest;
    found.into_iter().filter(|one| !is_answered(one)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::artifact::Root;
    use crate::artifact::root::{ArgConstraint, Ceiling, Policy, ToolsPolicy};
    use crate::effect::Level;
    use crate::span::{Span, Spanned};
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

    #[test]
    fn an_allow_answers_asks_of_its_own_layer_and_below_and_never_a_denial() {
        use Action::{Allow, Ask, Deny};
        use Layer::{BuiltIn, Machine, Project, User};
        for (rules, left) in [
            (vec![(Allow, User), (Ask, Project)], vec![(Allow, User)]),
            (vec![(Allow, User), (Ask, User)], vec![(Allow, User)]),
            (
                vec![(Allow, Project), (Ask, BuiltIn)],
                vec![(Allow, Project)],
            ),
            (
                vec![(Ask, Machine), (Allow, User)],
                vec![(Ask, Machine), (Allow, User)],
            ),
            (
                vec![(Deny, Project), (Allow, Machine)],
                vec![(Deny, Project), (Allow, Machine)],
            ),
            (vec![(Ask, Project)], vec![(Ask, Project)]),
        ] {
            let rules: Vec<Rule> = rules
                .into_iter()
                .map(|(action, layer)| Rule {
                    action,
                    words: String::new(),
                    place: None,
                    layer,
                    matcher: Matcher::Governs,
                })
                .collect();
            let found = rules.iter().map(|rule| Match {
                rule,
                because: String::new(),
                argument: None,
            });
            let found = unanswered(found.collect());
            let found: Vec<_> = found
                .iter()
                .map(|one| (one.rule.action, one.rule.layer))
                .collect();
            assert_eq!(found, left);
        }
    }
}
