//! Seed 000: the rules for a tool file, and the errors for one that breaks them.

use super::{SCRIPT, findings, load, offered, only};
use crate::support::{call, code, tool, tool_with};
use serde_json::json;
use tool_harness::diagnostic::Severity;

#[tokio::test(flavor = "multi_thread")]
async fn seed_000_rule_1_a_file_must_start_with_a_delimiter_line() {
    for (text, expected) in [
        (
            format!("# run_x\n\n{}", tool(SCRIPT)),
            "FRONTMATTER_MISSING",
        ),
        (format!("\n{}", tool(SCRIPT)), "FRONTMATTER_MISSING"),
        (format!(" {}", tool(SCRIPT)), "FRONTMATTER_MISSING"),
        (
            tool(SCRIPT).replacen("---", "----", 1),
            "FRONTMATTER_MISSING",
        ),
        ("Just prose.\n".to_owned(), "FRONTMATTER_MISSING"),
    ] {
        let (_project, engine) = load(&[
            (".harness/tools/run_x.md", &text),
            (".harness/tools/run_y.md", &tool(SCRIPT)),
        ])
        .await;
        assert_eq!(
            engine
                .diagnostics()
                .iter()
                .map(|found| found.code)
                .collect::<Vec<_>>(),
            [expected],
            "{text:?}"
        );
        assert_eq!(
            code(&engine.call(call("run_x", json!({}))).await),
            "tool.not_advertised",
            "{text:?}"
        );
        assert!(
            !engine.call(call("run_y", json!({}))).await.is_error,
            "the rest loads"
        );
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn seed_000_rule_2_the_frontmatter_is_closed_by_a_delimiter_on_its_own_line() {
    for text in [
        "---\ntags: [a]\n",
        "---\ntags: [a]\n--- x\n",
        "---\ntags: [a]\n ---\n",
        "---\ntags: [a] ---\nbody\n",
        "---",
    ] {
        let (_project, engine) = load(&[(".harness/tools/run_x.md", text)]).await;
        assert_eq!(
            engine
                .diagnostics()
                .iter()
                .map(|found| found.code)
                .collect::<Vec<_>>(),
            ["FRONTMATTER_UNCLOSED"],
            "{text:?}"
        );
    }
    let text = format!(
        "{}\n---\n\nA rule between two parts is prose.\n",
        tool(SCRIPT)
    );
    let (_project, engine) = load(&[(".harness/tools/run_x.md", &text)]).await;
    assert!(
        only(&engine).description.contains("---"),
        "later delimiters belong to the body"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn seed_000_rule_3_the_filename_is_the_tool_name() {
    for name in ["run_command", "runCommand", "run-command", "r", "Run_2"] {
        let (_project, engine) =
            load(&[(&format!(".harness/tools/{name}.md"), &tool(SCRIPT))]).await;
        assert_eq!(only(&engine).name, name);
        assert!(!engine.call(call(name, json!({}))).await.is_error);
        assert_eq!(
            code(
                &engine
                    .call(call(&name.to_ascii_uppercase(), json!({})))
                    .await
            ),
            "tool.unknown",
            "the name is verbatim"
        );
    }
    for key in ["name: other\n", "description: Other words.\n"] {
        let (_project, engine) =
            load(&[(".harness/tools/run_x.md", &tool_with(key, SCRIPT))]).await;
        assert!(
            findings(&engine, Severity::Warning)
                .iter()
                .any(|found| found.starts_with("NAME_KEY_IN_FILE")),
            "{key}"
        );
        assert!(
            offered(&engine)
                .iter()
                .all(|tool| tool.name == "run_x" && tool.description == "Runs the test."),
            "{key}"
        );
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn seed_000_rule_4_the_body_is_the_description_and_an_empty_one_falls_back_to_the_name() {
    for (body, expected) in [
        ("Run a shell command.\n", "Run a shell command."),
        (
            "\n\n# run_x\n\nTwo parts.\n\nOf prose.\n\n",
            "# run_x\n\nTwo parts.\n\nOf prose.",
        ),
        ("", "run_x"),
        ("\n \n\t\n", "run_x"),
    ] {
        let text = tool(SCRIPT).replace("Runs the test.\n", body);
        let (_project, engine) = load(&[(".harness/tools/run_x.md", &text)]).await;
        assert_eq!(only(&engine).description, expected);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn seed_000_rule_5_the_frontmatter_is_yaml_and_an_unknown_key_in_a_tool_is_a_warning_that_changes_nothing()
 {
    let text = tool_with("timout_ms: 5\nparamters: {}\nx-own: 1\n", SCRIPT);
    let (_project, engine) = load(&[(".harness/tools/run_x.md", &text)]).await;
    let found = findings(&engine, Severity::Note);
    assert_eq!(
        found
            .iter()
            .filter(|found| found.starts_with("KEY_UNKNOWN"))
            .count(),
        3,
        "{found:?}"
    );
    assert!(findings(&engine, Severity::Error).is_empty());
    let help: Vec<_> = engine
        .diagnostics()
        .iter()
        .filter_map(|found| found.help.clone())
        .collect();
    assert!(
        help.iter().any(|help| help.contains("timeout_ms"))
            && help.iter().any(|help| help.contains("parameters")),
        "{help:?}"
    );
    assert!(!engine.call(call("run_x", json!({}))).await.is_error);
    let (_project, engine) =
        load(&[(".harness/tools/run_x.md", "---\nparameters: [\n---\nx\n")]).await;
    assert!(findings(&engine, Severity::Error)[0].starts_with("YAML_INVALID"));
}

#[tokio::test(flavor = "multi_thread")]
async fn seed_000_rule_6_fenced_code_in_the_body_is_never_executed() {
    for fence in ["starlark", "python", "yaml", ""] {
        let code_block = format!(
            "```{fence}\ndef run(args):\n    fs.write(\"canary.txt\", \"x\")\n    return \"from the body\"\n```\n"
        );
        let with_script = format!("{}\n{code_block}", tool(SCRIPT));
        let without =
            format!("---\ntags: [a]\n---\n{code_block}\n## Tools\n\n```yaml\nscript: x\n```\n");
        let (project, engine) = load(&[
            (".harness/tools/run_x.md", &with_script),
            (".harness/tools/run_y.md", &without),
        ])
        .await;
        let result = engine.call(call("run_x", json!({}))).await;
        assert_eq!(
            result.value,
            Some(json!({"ok": true})),
            "{:?}",
            result.error
        );
        assert_eq!(
            code(&engine.call(call("run_y", json!({}))).await),
            "tool.no_body"
        );
        assert!(!project.path().join("canary.txt").exists());
        let tool = offered(&engine)
            .into_iter()
            .find(|tool| tool.name == "run_x")
            .expect("offered");
        assert!(
            tool.effects.is_empty() && tool.description.contains("from the body"),
            "it is prose for the model"
        );
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn seed_000_validation_the_texts_are_verbatim() {
    let inline = |fields: &str| format!("---\nformat: 1\ntools:\n  - {fields}\n---\n");
    for (files, expected) in [
        (
            vec![(".harness/tools/x.md", tool_with("timeout_ms: -1\n", SCRIPT))],
            "tool \"x\" timeout_ms must be >= 0",
        ),
        (
            vec![("harness.md", inline("{name: x, timeout_ms: -5}"))],
            "tool \"x\" timeout_ms must be >= 0",
        ),
        (
            vec![("harness.md", inline("{name: \"\"}"))],
            "tools[0].name cannot be empty",
        ),
        (
            vec![("harness.md", inline("{description: x}"))],
            "tools[0].name cannot be empty",
        ),
        (
            vec![("harness.md", inline("{name: y}\n  - {name: \"\"}"))],
            "tools[1].name cannot be empty",
        ),
        (
            vec![(
                ".harness/plugins/p.md",
                "---\ntools:\n  - {name: \"\"}\n---\n".to_owned(),
            )],
            "tools[0].name cannot be empty",
        ),
        (
            vec![
                (".harness/tools/x.md", tool(SCRIPT)),
                ("harness.md", inline("{name: x}")),
            ],
            "tool \"x\" is defined more than once",
        ),
        (
            vec![("harness.md", inline("{name: x}\n  - {name: x}"))],
            "tool \"x\" is defined more than once",
        ),
        (
            vec![
                (".harness/tools/x.md", tool(SCRIPT)),
                (
                    ".harness/plugins/p.md",
                    "---\ntools:\n  - {name: x}\n---\n".to_owned(),
                ),
            ],
            "tool \"x\" is defined more than once",
        ),
    ] {
        let files: Vec<(&str, &str)> = files
            .iter()
            .map(|(path, text)| (*path, text.as_str()))
            .collect();
        let (_project, engine) = load(&files).await;
        let messages: Vec<_> = engine
            .diagnostics()
            .iter()
            .filter(|found| found.severity == Severity::Error)
            .map(|found| &found.message)
            .collect();
        assert!(
            messages.iter().any(|message| *message == expected),
            "{expected}: {messages:?}"
        );
        assert!(
            engine
                .diagnostics()
                .iter()
                .all(|found| found.place.is_some()),
            "{expected}: without a place"
        );
        let result = engine.call(call("x", json!({}))).await;
        assert!(
            result.is_error && !offered(&engine).iter().any(|tool| tool.name == "x"),
            "{expected}: it is offered"
        );
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn seed_000_validation_zero_is_always_allowed_and_means_what_omitted_means() {
    let slow = "def run(args):\n    sleep(0.3)\n    return 1";
    for (field, expected) in [
        ("", "none"),
        ("timeout_ms: 0\n", "none"),
        ("timeout_ms: 100\n", "tool.timeout"),
        ("timeout_ms: 9223372036854775807\n", "none"),
    ] {
        let (_project, engine) =
            load(&[(".harness/tools/run_x.md", &tool_with(field, slow))]).await;
        assert!(
            findings(&engine, Severity::Warning).is_empty(),
            "{field}: {:?}",
            engine.diagnostics()
        );
        let result = engine.call(call("run_x", json!({}))).await;
        assert_eq!(code(&result), expected, "{field}: {:?}", result.error);
    }
    for wrong in [
        "timeout_ms: \"5\"\n",
        "timeout_ms: 1.5\n",
        "timeout_ms: [1]\n",
        "timeout_ms: true\n",
        "timeout_ms: 1e400\n",
        "timeout_ms: 99999999999999999999\n",
    ] {
        let (_project, engine) =
            load(&[(".harness/tools/run_x.md", &tool_with(wrong, SCRIPT))]).await;
        assert!(!findings(&engine, Severity::Error).is_empty(), "{wrong}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn seed_000_validation_parse_errors_come_with_file_and_line() {
    for (text, line) in [
        ("---\nparameters:\n  a: {type: string\n---\nx\n", 4..=4),
        ("---\nparameters: [a]\n---\nx\n", 2..=2),
        ("---\nparameters: 5\n---\nx\n", 2..=2),
        ("---\nrisk: read\nrisk: write\n---\nx\n", 3..=3),
        ("---\nrisk: \"unclosed\n---\nx\n", 2..=4),
    ] {
        let (_project, engine) = load(&[(".harness/tools/run_command.md", text)]).await;
        let found = engine
            .diagnostics()
            .iter()
            .find(|found| found.severity == Severity::Error)
            .expect("an error");
        let place = found.place.as_ref().expect("a place");
        assert_eq!(&*place.source.path, ".harness/tools/run_command.md");
        let at = place
            .to_string()
            .split(':')
            .nth(1)
            .and_then(|line| line.parse::<u32>().ok())
            .expect("a line");
        assert!(line.contains(&at), "{text:?}: line {at}");
        assert_eq!(
            code(&engine.call(call("run_command", json!({}))).await),
            "tool.not_advertised"
        );
    }
}
