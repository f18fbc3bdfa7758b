//! Policy as one ordered list of rules. Loading turns every spelling of policy into it.

mod desugar;
mod matcher;
mod opened;

pub use crate::decision::Action;
pub use desugar::rules;
pub(crate) use desugar::{builtin_meant, builtin_pattern, names_builtins};
pub(crate) use opened::judged_paths;

use crate::artifact::Authority;
use crate::builtin::Builtin;
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
    /// A built-in with its full name, such as `fs.write`, in the script of a tool. No rule is
    /// about what hooks use.
    Builtin(&'a str, &'static Builtin),
    /// A call that a client runs itself, with its arguments.
    Client(&'a ClientToolCall, &'a Map<String, Value>),
    /// The processes of a tool, contained by this tier.
    Processes(Tier),
}

/// The rule that closes a built-in in the scripts of tools.
#[must_use]
pub(crate) fn closing<'a>(
    rules: &'a [Rule],
    name: &str,
    builtin: &'static Builtin,
) -> Option<&'a Rule> {
    let subject = Subject::Builtin(name, builtin);
    rules
        .iter()
        .find(|rule| rule.action != Action::Allow && rule.matcher.objects(&subject).is_some())
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
    use crate::artifact::root::{ArgConstraint, BuiltinLists, Ceiling, Policy, ToolsPolicy};
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
                builtins: BuiltinLists::default(),
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

    fn closes(root: &Root, builtin: &str) -> bool {
        let (_, _, found) = crate::builtin::find(builtin).expect("a built-in");
        closing(&rules(&[], root), builtin, found).is_some()
    }

    #[test]
    fn a_bare_name_is_a_tools_and_one_with_a_dot_names_built_ins() {
        let root = lists(&["read_*", "write_file"], &["write_*", "fs.*", "exec"]);
        assert!(verdict(&root, &Subject::Name("read_file")).is_none());
        assert!(verdict(&root, &Subject::Name("write_file")).is_some());
        assert!(verdict(&root, &Subject::Name("other")).is_some());
        assert!(verdict(&root, &Subject::Name("exec")).is_some());
        assert!(closes(&root, "fs.read"));
        assert!(!closes(&root, "exec.run"), "`exec` is a tool's name");
        for name in ["print", "log", "env", "emit"] {
            assert!(
                !closes(&lists(&[], &[name]), name),
                "{name} is a tool's name"
            );
        }
    }

    #[test]
    fn an_allow_list_closes_no_built_in() {
        let root = lists(&["*_file", "fs.read"], &[]);
        for name in ["fs.read", "fs.write", "metrics.incr", "env"] {
            assert!(!closes(&root, name), "{name}");
        }
        assert!(verdict(&root, &Subject::Name("read_file")).is_none());
        let only_dotted = lists(&["fs.read"], &[]);
        assert!(verdict(&only_dotted, &Subject::Name("read_file")).is_some());
    }

    #[test]
    fn the_lists_of_built_ins_restrict_the_scripts_of_tools() {
        let lists = |allow: Option<&[&str]>, deny: &[&str]| {
            let texts = |items: &[&str]| items.iter().map(|item| at((*item).to_owned())).collect();
            let builtins = BuiltinLists {
                allow: allow.map(|items| at(texts(items))),
                deny: texts(deny),
            };
            Root {
                tools_policy: ToolsPolicy {
                    builtins,
                    ..ToolsPolicy::default()
                },
                ..Root::default()
            }
        };
        for (root, open, closed) in [
            (
                lists(Some(&["fs.read", "http"]), &[]),
                &[
                    "fs.read",
                    "http.get",
                    "json.encode",
                    "log.info",
                    "print",
                    "result",
                ][..],
                &["fs.write", "exec.run", "env", "metrics.incr"][..],
            ),
            (
                lists(Some(&[]), &[]),
                &["json.encode", "print"],
                &["fs.read", "cache.get"],
            ),
            (
                lists(None, &["fs", "env", "*.encode"]),
                &["exec.run", "json.decode"],
                &["fs.read", "fs.remove", "env", "json.encode"],
            ),
            (
                lists(Some(&["fs.*"]), &["fs.remove", "log"]),
                &["fs.read"],
                &["fs.remove", "log", "log.info"],
            ),
        ] {
            for name in open {
                assert!(!closes(&root, name), "{name} is open");
            }
            for name in closed {
                assert!(closes(&root, name), "{name} is closed");
            }
            assert!(verdict(&root, &Subject::Name("any_tool")).is_none());
        }
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
