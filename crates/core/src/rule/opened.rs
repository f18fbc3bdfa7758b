//! Judges by its real path what a call opens under the name of an argument. The argument itself was
//! judged before the call began, and a link can be put in its way afterwards.

use super::Rule;
use super::matcher::{Matcher, path_keys};
use crate::path::normalise;
use crate::pattern::Pattern;
use serde_json::{Map, Value};
use std::path::Path;
use std::sync::Arc;
use tool_harness_sandbox::file::{JudgedPath, Opened};

/// The paths in the arguments of a tool that constraints are about.
pub(crate) fn judged_paths<'a>(
    rules: impl Iterator<Item = &'a Rule>,
    name: &str,
    path_params: &[String],
    arguments: &Map<String, Value>,
    root: &Path,
) -> Vec<JudgedPath> {
    let mut found = Vec::new();
    for rule in rules {
        let Matcher::Argument {
            tool,
            key,
            patterns,
            paths,
            ..
        } = &rule.matcher
        else {
            continue;
        };
        if !tool.is_match(name) {
            continue;
        }
        let place = rule.place.as_ref();
        let place = place
            .map(|place| format!(" at {place}"))
            .unwrap_or_default();
        let why: Arc<str> = format!(
            "`{}`{place} accepts {}; a person can change it there",
            rule.words,
            patterns.join(", ")
        )
        .into();
        for key in path_keys(key.as_deref(), path_params, patterns) {
            let values = arguments.get(key).into_iter().flat_map(texts);
            found
                .extend(values.map(|text| judged(text, Arc::clone(paths), Arc::clone(&why), root)));
        }
    }
    found
}

/// Every text in a value.
fn texts(value: &Value) -> Vec<&str> {
    match value {
        Value::String(text) => vec![text],
        Value::Array(items) => items.iter().flat_map(texts).collect(),
        _ => Vec::new(),
    }
}

fn judged(text: &str, globs: Arc<[Pattern]>, why: Arc<str>, root: &Path) -> JudgedPath {
    // Patterns see a path as it was given: from the workspace, or absolute.
    let root = text.starts_with('/').then(|| root.to_owned());
    JudgedPath::new(text, move |real, opened| {
        let real = match &root {
            Some(root) => normalise(&format!("{}/{real}", root.display())),
            None => normalise(real),
        };
        let fits = |path: &str| globs.iter().any(|glob| glob.is_match(path));
        let is_accepted = match opened {
            Opened::Itself => fits(&real),
            // An argument that names a folder stands for what is in it.
            Opened::Below => Path::new(&real)
                .ancestors()
                .any(|path| path.to_str().is_some_and(fits)),
        };
        (!is_accepted).then(|| why.to_string())
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pattern::Separator;

    #[test]
    fn what_is_opened_fits_as_the_argument_did_or_lies_in_what_did() {
        let globs = |patterns: &[&str]| -> Arc<[Pattern]> {
            let compiled = |text: &&str| Pattern::new(text, Separator::Literal).expect("a glob");
            patterns.iter().map(compiled).collect()
        };
        for (given, patterns, real, opened, fine) in [
            ("src/a", &["src/**"][..], "src/a", Opened::Itself, true),
            ("src/a", &["src/**"], "lib/a", Opened::Itself, false),
            ("src", &["src"], "src/a/b", Opened::Below, true),
            ("src", &["src"], "src/a", Opened::Itself, false),
            ("src/d", &["src/*"], "src/d/a/b", Opened::Below, true),
            ("src/d", &["src/*"], "lib/d/a", Opened::Below, false),
            ("/ws/src/a", &["/ws/src/*"], "src/a", Opened::Itself, true),
            ("/ws/src/a", &["/ws/src/*"], "lib/a", Opened::Itself, false),
            (".", &["**"], ".", Opened::Itself, true),
        ] {
            let root = Path::new("/ws");
            let path = judged(given, globs(patterns), "why".into(), root);
            let objection = path.objection(real, opened);
            assert_eq!(objection.is_none(), fine, "{given} {patterns:?} {real}");
        }
    }
}
