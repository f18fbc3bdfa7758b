//! Every rule has an example that triggers it, and the pages match the rules.

use std::collections::HashSet;
use tool_harness::artifact::{Artifacts, read};
use tool_harness::builtin::MODULES;
use tool_harness::check::configure::{Silencer, configure};
use tool_harness::check::{Phase, check, rules, scripts};
use tool_harness::diagnostic::Diagnostic;
use tool_harness::facts::FactsBySource;
use tool_harness::surface::{self, Surface};
use tool_harness_script::check::facts;

/// Codes whose example would be too long to show, or is not a file. Each has its own test.
const WITHOUT_EXAMPLE: &[&str] = &[
    "EXPORT_DESCRIPTION_LONG",
    "EXPORT_TOO_MANY",
    "FILE_TOO_LARGE",
    "SCRIPT_CRASHED",
    "SCRIPT_UNREAD",
];

fn project(files: &[(&str, &str)]) -> Artifacts {
    read(
        files
            .iter()
            .map(|(path, text)| ((*path).to_owned(), text.as_bytes().to_vec())),
    )
}

fn facts_of(artifacts: &Artifacts) -> FactsBySource {
    scripts(artifacts)
        .into_iter()
        .map(|(kind, text)| ((kind, text.clone()), Ok(facts(kind, &text, MODULES))))
        .collect()
}

/// The findings in a project and its surface, or in a surface given as JSON.
fn judge(files: &[(&str, &str)]) -> Vec<Diagnostic> {
    if let [("surface.json", text)] = files {
        return surface::check(&surface::read_text("surface.json", text)).diagnostics;
    }
    let artifacts = project(files);
    let facts = facts_of(&artifacts);
    let checked = check(artifacts, &facts);
    let on_surface = surface::check(&Surface::of_checked(&checked)).diagnostics;
    let silencers: Vec<Silencer<'_>> = checked
        .tools
        .iter()
        .map(|one| Silencer {
            tool: Some(&one.tool.name),
            form: one.tool.origin.form,
            place: one.tool.place(one.tool.name_span),
            frontmatter: &one.tool.frontmatter,
        })
        .collect();
    configure(
        &checked.root.checks,
        &silencers,
        checked
            .diagnostics
            .iter()
            .cloned()
            .chain(on_surface)
            .collect(),
    )
}

fn report(findings: &[Diagnostic]) -> String {
    let lines = findings.iter().map(|found| {
        let place = found
            .place
            .as_ref()
            .map(ToString::to_string)
            .unwrap_or_default();
        format!(
            "{place} {} {}: {}\n",
            found.severity, found.code, found.message
        )
    });
    lines.collect()
}

#[test]
fn codes_are_unique_and_have_one_format() {
    let mut seen = HashSet::new();
    for rule in rules() {
        assert!(seen.insert(rule.code), "{} twice", rule.code);
        assert!(
            rule.code
                .bytes()
                .all(|byte| byte.is_ascii_uppercase() || byte == b'_'),
            "{}",
            rule.code
        );
        assert!(
            rule.why.ends_with(['.', ')']) && !rule.why.contains('\n'),
            "{}: why is a sentence on one line",
            rule.code
        );
    }
}

#[test]
fn every_bad_example_reports_exactly_its_code_and_every_good_one_nothing() {
    let mut wrong = String::new();
    let found_here = |phase: &Phase| !matches!(phase, Phase::Loading | Phase::Exporting);
    let phases = Phase::ALL.into_iter().filter(found_here);
    for rule in phases
        .flat_map(Phase::rules)
        .filter(|rule| !WITHOUT_EXAMPLE.contains(&rule.code))
    {
        let bad = judge(rule.bad);
        if bad.is_empty() || bad.iter().any(|found| found.code != rule.code) {
            wrong += &format!("{}: bad gives\n{}", rule.code, report(&bad));
        }
        let good = judge(rule.good);
        if rule.good.is_empty() || !good.is_empty() {
            wrong += &format!("{}: good gives\n{}", rule.code, report(&good));
        }
    }
    assert!(wrong.is_empty(), "{wrong}");
}

#[test]
fn only_the_listed_rules_have_no_example() {
    let without: HashSet<_> = rules()
        .filter(|rule| rule.bad.is_empty() || rule.good.is_empty())
        .map(|rule| rule.code)
        .collect();
    assert_eq!(without, WITHOUT_EXAMPLE.iter().copied().collect());
}

#[test]
fn every_finding_of_an_example_has_a_place_and_help() {
    for (phase, rule) in Phase::ALL
        .into_iter()
        .flat_map(|phase| phase.rules().into_iter().map(move |rule| (phase, rule)))
    {
        for found in judge(rule.bad) {
            assert!(found.place.is_some(), "{} has no place", found.code);
            // Messages about a wrong type or about YAML already say what is accepted.
            assert!(
                found.help.is_some() || phase == Phase::Reading,
                "{} has no help",
                found.code
            );
            assert!(
                !found.message.ends_with('.') && !found.message.contains('\n'),
                "{}",
                found.message
            );
        }
    }
}
