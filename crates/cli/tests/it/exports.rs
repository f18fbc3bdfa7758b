//! `harness tools` in the formats of providers, on a whole project.

use crate::support::Project;
use crate::support::program::{harness, repository};
use serde_json::json;
use std::collections::BTreeSet;
use tool_harness::check::Phase;
use tool_harness::view::export::{Format, export};

#[test]
fn the_governed_example_exports_to_every_provider() {
    let governed = repository("examples/governed");
    for format in ["openai", "openai-chat", "anthropic", "gemini", "mcp"] {
        let ran = harness(&governed, &["tools", "--format", format]).ends(0);
        insta::assert_snapshot!(format!("governed_{format}"), ran.out);
        assert_eq!(ran.err, "", "{format}");
        let wrapped = harness(&governed, &["tools", "--format", format, "--json"])
            .ends(0)
            .document();
        assert_eq!(wrapped, json!({"tools": ran.document(), "diagnostics": []}));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn each_export_rule_has_an_example_that_triggers_it() {
    for rule in Phase::Exporting
        .rules()
        .into_iter()
        .filter(|rule| !rule.bad.is_empty())
    {
        for (files, expected) in [(rule.bad, vec![rule.code]), (rule.good, vec![])] {
            let surface = Project::new(files)
                .engine()
                .await
                .surface("default")
                .expect("a surface");
            let found: BTreeSet<_> = Format::ALL
                .iter()
                .flat_map(|format| export(&surface, *format).diagnostics)
                .map(|found| found.code)
                .collect();
            assert_eq!(
                found.into_iter().collect::<Vec<_>>(),
                expected,
                "{}",
                rule.code
            );
        }
    }
}

#[test]
fn an_export_reports_lossy_conversions_and_fails_if_a_tool_is_missing() {
    let rule = Phase::Exporting
        .rules()
        .into_iter()
        .find(|rule| rule.code == "EXPORT_PARAMETER_NAME")
        .expect("the rule");
    let project = Project::new(rule.bad);
    let ran = harness(project.path(), &["tools", "--format", "gemini"]).ends(1);
    assert_eq!(
        ran.document()[0]["functionDeclarations"]
            .as_array()
            .map(Vec::len),
        Some(1),
        "the harness's own"
    );
    insta::assert_snapshot!(ran.err, @r"
    error[EXPORT_PARAMETER_NAME]: Gemini does not accept the argument's name `dry-run`, so the tool is left out
     --> .harness/tools/read_note.md:1:1
      |
    1 | ---
      | ^^^
      |
      = help: use at most 64 of `A-Z a-z 0-9 _`, starting with a letter or `_`
    ");
    let ran = harness(project.path(), &["tools", "--format", "gemini", "--json"]).ends(1);
    assert_eq!(ran.err, "");
    let found = &ran.document()["diagnostics"][0];
    assert_eq!(
        (&found["code"], &found["tool"], &found["field"]),
        (
            &json!(rule.code),
            &json!("read_note"),
            &json!("input_schema")
        )
    );
    harness(project.path(), &["tools", "--format", "openai"]).ends(0);
}

#[test]
fn every_format_reports_a_broken_tool() {
    let tool = "---\ndescription: d\nscript: |\n  def run(args):\n      return 1\n---\n";
    let project = Project::new(&[
        (".harness/tools/good.md", tool),
        (".harness/tools/bad.md", "---\nscript: 7\n---\n"),
    ]);
    for format in ["openai", "openai-chat", "anthropic", "gemini", "mcp"] {
        let ran = harness(project.path(), &["tools", "--format", format]).ends(1);
        assert!(
            ran.out.contains("good") && ran.err.contains("not everything is in use"),
            "{format}: {}",
            ran.err
        );
        let wrapped = harness(project.path(), &["tools", "--format", format, "--json"])
            .ends(1)
            .document();
        let found = wrapped["diagnostics"].as_array().expect("a list");
        assert!(
            found.iter().any(|found| found["severity"] == "error"),
            "{wrapped}"
        );
    }
    std::fs::remove_file(project.path().join(".harness/tools/bad.md")).expect("removed");
    assert!(
        !harness(project.path(), &["tools", "--format", "mcp"])
            .ends(0)
            .err
            .contains("not everything")
    );
}
