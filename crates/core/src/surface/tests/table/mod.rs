//! Every code of a surface, sentence by sentence: surfaces that give it, and surfaces that must
//! not.

mod names;
mod policies;
mod prompts;
mod tools;

use super::{codes, tool};
use crate::artifact;
use crate::check::{self, Phase};
use crate::surface::{self, Surface};
use serde_json::{Value, json};

/// A code with its cases. A case is a surface in short: each of `tools` is only what differs from a
/// tool that is fine, and is that tool where none is written. `bare` are tools as they stand,
/// `files` are those of a project, and `also` are the other codes that a case gives.
struct Code {
    code: &'static str,
    /// Each gives the code, once.
    gives: &'static [&'static str],
    /// None gives it.
    not: &'static [&'static str],
}

const FAMILIES: &[&[Code]] = &[tools::CODES, names::CODES, policies::CODES, prompts::CODES];

fn all() -> impl Iterator<Item = &'static Code> {
    FAMILIES.iter().copied().flatten()
}

/// What a case gives and the other codes that it says it gives.
fn given(case: &str) -> (Vec<String>, Vec<String>) {
    let mut case: Value =
        serde_json::from_str(case).unwrap_or_else(|problem| panic!("{problem}: {case}"));
    let mut take = |key: &str| case.as_object_mut().and_then(|map| map.shift_remove(key));
    let also = take("also")
        .map(|also| serde_json::from_value(also).expect("a list of codes"))
        .unwrap_or_default();
    if let Some(files) = take("files") {
        return (of_project(&files), also);
    }
    let bare = take("bare");
    let listed = take("tools");
    case["tools"] = match (bare, listed) {
        (Some(bare), None) => bare,
        (None, Some(Value::Array(short))) => short.iter().map(whole).collect(),
        (None, None) => json!([tool("read_note", &json!({}))]),
        other => panic!("{other:?}"),
    };
    (codes(&case), also)
}

fn whole(short: &Value) -> Value {
    let mut rest = short.clone();
    let name = rest
        .as_object_mut()
        .and_then(|rest| rest.shift_remove("name"));
    tool(
        name.as_ref().and_then(Value::as_str).unwrap_or("read_note"),
        &rest,
    )
}

fn of_project(files: &Value) -> Vec<String> {
    let files = files.as_object().expect("files").iter();
    let read = artifact::read(files.map(|(path, text)| {
        (
            path.clone(),
            text.as_str().expect("text").as_bytes().to_vec(),
        )
    }));
    let checked = check::check(read, &Default::default());
    let report = surface::check(&Surface::of_checked(&checked));
    report
        .diagnostics
        .iter()
        .map(|found| found.code.trim_start_matches("TOOL_SURFACE_").to_owned())
        .collect()
}

#[test]
fn each_case_gives_the_codes_that_it_should_and_no_other() {
    let mut wrong = Vec::new();
    for Code { code, gives, not } in all() {
        let gives = gives.iter().map(|case| (case, Some((*code).to_owned())));
        for (case, own) in gives.chain(not.iter().map(|case| (case, None))) {
            let (mut found, also) = given(case);
            let mut expected: Vec<String> = also.into_iter().chain(own).collect();
            found.sort();
            expected.sort();
            if found != expected {
                wrong.push(format!(
                    "{code}: {case}\n  gives {found:?}, not {expected:?}"
                ));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn every_code_of_a_surface_has_cases_on_either_side() {
    let rules: Vec<&str> = Phase::Surface
        .rules()
        .iter()
        .map(|rule| rule.code)
        .collect();
    assert!(rules.len() >= 39, "{rules:?}");
    for rule in &rules {
        let listed: Vec<&Code> = all()
            .filter(|listed| rule.strip_prefix("TOOL_SURFACE_") == Some(listed.code))
            .collect();
        let [code] = &listed[..] else {
            panic!("{rule} is listed {} times", listed.len())
        };
        assert!(
            !code.gives.is_empty() && !code.not.is_empty(),
            "{rule} has cases on one side only"
        );
    }
    assert_eq!(all().count(), rules.len(), "the table has an unknown code");
}

#[test]
fn no_case_that_must_not_give_a_code_lists_it() {
    for Code { code, not, .. } in all() {
        for case in *not {
            assert!(
                !given(case).1.iter().any(|also| also == code),
                "{code}: {case}"
            );
        }
    }
}
