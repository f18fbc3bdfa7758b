//! What a rule matches.

use super::Subject;
use crate::artifact::root::{Ceiling, missing_capability};
use crate::effect::Effects;
use crate::path::normalise;
use crate::pattern::Pattern;
use serde_json::Value;
use std::path::Path;
use std::sync::Arc;
use tool_harness_sandbox::file::{FileError, Jail};
use tool_harness_sandbox::tier::Tier;

#[derive(Debug)]
pub(super) enum Matcher {
    /// A tool's name matches.
    Named(Pattern),
    /// A built-in's name matches.
    BuiltinNamed(Pattern),
    /// A tool's name matches none of these.
    ToolNotNamed(Vec<Pattern>),
    /// The name of a built-in that reaches out of its script matches none of these.
    BuiltinNotNamed(Vec<Pattern>),
    /// A tool has effects above this ceiling.
    Above(Ceiling),
    /// A tool has any of these flags.
    Flagged(Effects),
    /// A tool declares a capability or operation that is not listed.
    BeyondCapabilities(Vec<(String, Vec<String>)>),
    /// An argument of a matching tool matches none of these.
    Argument {
        tool: Pattern,
        key: Option<String>,
        patterns: Vec<String>,
        paths: Arc<[Pattern]>,
        values: Vec<Pattern>,
    },
    /// A client's tool would change the files that govern it, or decide in a person's place.
    Governs,
    /// Processes would run without namespaces.
    Uncontained,
}

/// Why a rule matches a subject.
pub(super) struct Objection {
    pub(super) because: String,
    pub(super) argument: Option<String>,
}

impl From<String> for Objection {
    fn from(because: String) -> Self {
        Self {
            because,
            argument: None,
        }
    }
}

impl Matcher {
    /// Why the rule matches the subject; `None` if it does not.
    pub(super) fn objects(&self, subject: &Subject<'_>) -> Option<Objection> {
        match (self, subject) {
            (Self::Named(pattern), Subject::Name(name) | Subject::Tool { name, .. })
            | (Self::BuiltinNamed(pattern), Subject::Builtin(name, _)) => pattern
                .is_match(name)
                .then(|| format!("its name matches `{}`, which is denied", pattern.text()).into()),
            (Self::ToolNotNamed(patterns), Subject::Name(name) | Subject::Tool { name, .. }) => {
                not_listed(patterns, name)
            }
            // Helpers, results and the log touch nothing, so no list has to name them.
            (Self::BuiltinNotNamed(patterns), Subject::Builtin(name, builtin)) => builtin
                .is_asked_for()
                .then(|| not_listed(patterns, name))
                .flatten(),
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
                let keys = keys(key.as_deref(), path_params);
                if keys.is_empty() {
                    return Some(
                        "the rule is about path arguments and the tool declares none"
                            .to_owned()
                            .into(),
                    );
                }
                keys.into_iter().find_map(|key| {
                    let is_path = is_path(key, path_params, patterns);
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

/// The arguments that a constraint is about.
fn keys<'a>(key: Option<&'a str>, path_params: &'a [String]) -> Vec<&'a str> {
    match key {
        Some(key) => vec![key],
        None => path_params.iter().map(String::as_str).collect(),
    }
}

/// Whether a constraint reads an argument as a path.
fn is_path(key: &str, path_params: &[String], patterns: &[String]) -> bool {
    path_params.iter().any(|param| param == key)
        || patterns.iter().any(|pattern| pattern.contains('/'))
}

/// The arguments that a constraint reads as paths.
pub(super) fn path_keys<'a>(
    key: Option<&'a str>,
    path_params: &'a [String],
    patterns: &[String],
) -> impl Iterator<Item = &'a str> {
    let keys = keys(key, path_params).into_iter();
    keys.filter(|key| is_path(key, path_params, patterns))
}

fn not_listed(patterns: &[Pattern], name: &str) -> Option<Objection> {
    let is_listed = patterns.iter().any(|pattern| pattern.is_match(name));
    (!is_listed).then(|| {
        "its name is not on the list of what is allowed"
            .to_owned()
            .into()
    })
}

/// How to read the text of an argument.
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

/// The path after following links, relative or absolute as given. A path that is not inside the
/// workspace by its name stays as it is.
fn behind(files: &Jail, given: &str, named: &str) -> Result<String, FileError> {
    match files.real(given) {
        Ok(real) if named.starts_with('/') => {
            Ok(normalise(&format!("{}/{real}", files.root().display())))
        }
        Ok(real) => Ok(normalise(&real)),
        // Nothing can exist there, so only the name is left to judge.
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
