//! Finding, creating and listing a project, even a broken one.

use super::project;
use crate::support::program::{harness, prepared};
use crate::support::{Project, hook, tool, tool_with};
use serde_json::{Value, json};
use std::path::Path;

#[test]
fn without_a_project_each_command_that_needs_one_says_what_to_do() {
    let folder = tempfile::tempdir().expect("a folder");
    for words in [
        ["validate"].as_slice(),
        &["call", "x"],
        &["explain", "x"],
        &["list"],
        &["tools"],
        &["inspect"],
        &["test"],
    ] {
        let ran = harness(folder.path(), words).ends(2);
        assert!(
            ran.err
                .contains("no harness project here; run harness init"),
            "{words:?}: {}",
            ran.err
        );
        assert_eq!(ran.out, "", "{words:?}");
    }
    for words in [
        ["version"].as_slice(),
        &["completions", "zsh"],
        &["explain", "tool.unknown"],
        &["explain", "NAME_STYLE"],
    ] {
        harness(folder.path(), words).ends(0);
    }
}

#[test]
fn a_new_project_passes_its_own_checks_and_answers_calls() {
    let folder = tempfile::tempdir().expect("a folder");
    let here = folder.path();
    let made = harness(here, &["init"]).ends(0);
    assert!(
        made.out.contains("created") && made.out.contains("harness test"),
        "{}",
        made.out
    );
    let report = harness(here, &["validate", "--json", "--deny-warnings"])
        .ends(0)
        .document();
    assert_eq!(report["valid"], true, "{report:.500}");
    let tested = harness(here, &["test", "--json"]).ends(0).document();
    assert_eq!(tested["failed"], 0);
    assert!(
        tested["passed"].as_u64().is_some_and(|passed| passed > 10),
        "{tested:.200}"
    );

    let names: Vec<Value> = harness(here, &["tools", "--format", "json"])
        .ends(0)
        .document()["tools"]
        .as_array()
        .expect("tools")
        .iter()
        .map(|tool| tool["name"].clone())
        .collect();
    assert_eq!(
        names,
        [
            "http_get",
            "read_artifact",
            "read_file",
            "run_command",
            "search_code",
            "write_file"
        ]
    );
    let listed = harness(here, &["list"]).ends(0).out;
    assert!(
        listed.contains("read_file") && listed.contains("guard_paths"),
        "{listed}"
    );
    let policy = harness(here, &["inspect", "--policy"]).ends(0).out;
    assert!(
        policy.contains("tools_policy.deny: fs.remove") && policy.contains("(harness.md:5:"),
        "{policy}"
    );

    harness(
        here,
        &["call", "write_file", "path=notes/a.md", "content=milk"],
    )
    .ends(0);
    let read = harness(here, &["call", "read_file", "path=notes/a.md"]).ends(0);
    assert!(read.out.starts_with("text: milk\n"), "{}", read.out);
    assert!(read.err.contains("read_file: done in "), "{}", read.err);
    let explained = harness(here, &["explain", "read_file", "path=../x"])
        .ends(3)
        .out;
    assert!(
        explained.contains("✗ before") && explained.contains("would be refused: tool.hook.blocked"),
        "{explained}"
    );

    let again = harness(here, &["init"]).ends(0);
    assert!(again.out.contains("0 created"), "{}", again.out);
    let refused = harness(here, &["new", "."]).ends(2);
    assert!(
        refused.err.contains("is not empty") && refused.err.contains("harness init"),
        "{}",
        refused.err
    );
    harness(here, &["new", "another"]).ends(0);
    harness(here, &["--project", "another", "validate"]).ends(0);
}

#[test]
fn a_subfolder_belongs_to_the_project_above_it() {
    let project = project();
    let below = project.path().join("deep/er");
    let read = harness(&below, &["call", "read_note", "path=note.txt", "--json"])
        .ends(0)
        .document();
    assert_eq!(
        read["value"],
        json!({"text": "milk\n"}),
        "paths start at the project, not at the subfolder"
    );
    let shown = harness(&below, &["inspect", "--json"]).ends(0).document();
    let named = Path::new(shown["project"].as_str().expect("a path"))
        .canonicalize()
        .expect("exists");
    assert_eq!(named, project.path().canonicalize().expect("exists"));
}

#[test]
fn a_broken_root_file_stops_everything_but_inspection() {
    let project = project();
    project.write("harness.md", b"---\nformat: 1\ntools_polcy: {}\n---\n");
    let validate = harness(project.path(), &["validate"]).ends(1);
    assert!(
        validate.out.contains("harness.md:3:1")
            && validate.out.contains("did you mean `tools_policy`"),
        "{}",
        validate.out
    );
    let inspect = harness(project.path(), &["inspect"]).ends(0);
    assert!(
        inspect.err.contains("nothing runs until it is fixed"),
        "{}",
        inspect.err
    );
    assert_eq!(
        harness(project.path(), &["inspect", "--json"])
            .ends(0)
            .document()["stopped"],
        true
    );
    for words in [
        ["call", "say_hello"].as_slice(),
        &["explain", "say_hello"],
        &["list"],
        &["tools"],
        &["test"],
    ] {
        let ran = harness(project.path(), words).ends(2);
        assert!(
            ran.err.contains("harness.md:3:1: ") && ran.err.contains("harness validate"),
            "{words:?}: {}",
            ran.err
        );
        assert_eq!(ran.out, "", "{words:?}");
    }
}

#[test]
fn files_with_windows_line_ends_and_a_byte_order_mark_work() {
    let windows = |text: &str| format!("\u{feff}{}", text.replace('\n', "\r\n"));
    let guard = hook(
        "tool.pre",
        "def handle(event, payload):\n    return modify({\"args\": {\"n\": 2}})",
    );
    let project = Project::new(&[
        ("harness.md", &windows("---\nformat: 1\n---\nBe brief.\n")),
        (
            ".harness/tools/get_arguments.md",
            &windows(&tool("def run(args):\n    return args")),
        ),
        (".harness/hooks/change.md", &windows(&guard)),
    ]);
    let report = harness(project.path(), &["validate", "--json"])
        .ends(0)
        .document();
    assert_eq!(report, json!({"valid": true, "diagnostics": []}));
    let called = harness(project.path(), &["call", "get_arguments", "n:=1", "--json"])
        .ends(0)
        .document();
    assert_eq!(called["value"], json!({"n": 2}));
    project.write(
        ".harness/tools/get_arguments.md",
        windows(&tool("def run(args):\n    return nope(1)")).as_bytes(),
    );
    let report = harness(project.path(), &["validate", "--json"])
        .ends(1)
        .document();
    let found = &report["diagnostics"][0];
    assert_eq!(
        (&found["line"], &found["column"]),
        (&json!(4), &json!(14)),
        "{found}"
    );
}

#[test]
fn a_tool_file_that_failed_to_load_is_still_listed() {
    let project = project();
    project.write(".harness/tools/read_other.md", b"no frontmatter\n");
    let listed = harness(project.path(), &["list", "tools"]).ends(0);
    let row = listed
        .out
        .lines()
        .find(|line| line.starts_with("read_other"))
        .expect("a row");
    assert!(
        row.contains("  no  ")
            && row.contains(".harness/tools/read_other.md")
            && row.contains("broken: "),
        "{row}"
    );
    assert!(listed.err.contains("harness validate"), "{}", listed.err);
    let tools = harness(project.path(), &["list", "tools", "--json"])
        .ends(0)
        .document();
    let broken: Vec<&Value> = tools["tools"]
        .as_array()
        .expect("tools")
        .iter()
        .filter(|tool| tool["broken"] == true)
        .collect();
    assert_eq!(broken.len(), 1);
    assert_eq!(
        (&broken[0]["name"], &broken[0]["offered"]),
        (&json!("read_other"), &json!(false))
    );
    let inspected = harness(project.path(), &["inspect", "read_other"]).ends(2);
    assert!(
        inspected.err.contains("has an error in its file"),
        "{}",
        inspected.err
    );
    harness(project.path(), &["validate"]).ends(1);
    harness(project.path(), &["call", "say_hello"]).ends(0);
}

#[test]
fn warnings_fail_validation_only_on_request() {
    let project = Project::new(&[(
        ".harness/tools/get_one.md",
        &tool_with("timout_ms: 5\n", "def run(args):\n    return 1"),
    )]);
    harness(project.path(), &["validate"]).ends(0);
    let denied = harness(project.path(), &["validate", "--deny-warnings"]).ends(1);
    assert!(
        denied.out.contains("did you mean `timeout_ms`")
            && denied.out.contains("not valid: 1 tool"),
        "{}",
        denied.out
    );
}

#[test]
fn a_listing_without_a_broken_tool_warns_people() {
    let project = Project::new(&[
        (
            ".harness/tools/get_one.md",
            &tool("def run(args):\n    return 1"),
        ),
        (".harness/tools/get_two.md", "---\n"),
    ]);
    for words in [
        &["tools"][..],
        &["tools", "--json"],
        &["tools", "--format", "json"],
    ] {
        let ran = harness(project.path(), words).ends(0);
        assert!(
            ran.out.contains("get_one") && !ran.out.contains("get_two"),
            "{}",
            ran.out
        );
        assert!(
            ran.err.contains("not everything is in use: 1 error"),
            "{words:?}: {}",
            ran.err
        );
    }
}

#[test]
fn a_project_cannot_grant_itself_environment_variables() {
    let project = Project::new(&[
        (
            "harness.md",
            "---\nsandbox: { env: [PATH, GAPS_TOKEN] }\n---\n",
        ),
        (
            ".harness/tools/get_token.md",
            &tool("def run(args):\n    return env(\"GAPS_TOKEN\", \"none\")"),
        ),
    ]);
    let ran = prepared(project.path(), &["call", "get_token", "--json"])
        .env("GAPS_TOKEN", "swordfish")
        .output()
        .expect("it runs");
    let out = String::from_utf8(ran.stdout).expect("text");
    assert_eq!(ran.status.code(), Some(1), "{out}");
    assert!(
        out.contains("project.untrusted: the project lists `GAPS_TOKEN`")
            && !out.contains("swordfish"),
        "{out}"
    );
    let inspected = harness(project.path(), &["inspect"]).ends(0).out;
    assert!(
        inspected.contains("PATH, GAPS_TOKEN (not readable: the project is not trusted)"),
        "{inspected}"
    );
}

#[test]
fn list_says_which_bundles_are_on_and_why_others_are_not() {
    let bundle = |fields: &str, tool: &str| {
        format!(
            "---\n{fields}tools:\n  - name: {tool}\n    description: Reads.\n    script: |\n      def run(args):\n          return 1\n---\nA bundle.\n"
        )
    };
    let project = Project::new(&[
        (
            ".harness/builtins/a.md",
            &bundle("version: 1.2\n", "read_a"),
        ),
        (
            ".harness/plugins/b.md",
            &bundle("condition: env(\"B\")\n", "read_b"),
        ),
        (
            ".harness/plugins/c.md",
            &bundle("depends_on: [b]\n", "read_c"),
        ),
    ]);
    let listed = harness(project.path(), &["list", "bundles"]).ends(0).out;
    let row = |name: &str| {
        let mut lines = listed.lines();
        lines
            .find(|line| line.starts_with(name))
            .unwrap_or_default()
    };
    assert!(
        row("a ").contains("builtin") && row("a ").contains("1.2"),
        "{listed}"
    );
    assert!(
        row("b ").contains("off: its condition is false"),
        "{listed}"
    );
    assert!(
        row("c ").contains("hooks only") && row("c ").contains("`b` is off"),
        "{listed}"
    );
    let document = harness(project.path(), &["list", "--json"])
        .ends(0)
        .document();
    let states: Vec<_> = document["bundles"]
        .as_array()
        .expect("bundles")
        .iter()
        .map(|bundle| bundle["state"].clone())
        .collect();
    assert_eq!(states, ["on", "off", "hooks only"]);
}

#[test]
fn hooks_that_never_run_are_listed_as_idle_with_the_reason() {
    let project = Project::new(&[
        (
            ".harness/hooks/greet.md",
            "---\nevent: session.start\nscript: |\n  def handle(event, payload):\n      return allow()\n---\nGreets.\n",
        ),
        (
            ".harness/hooks/watch.md",
            "---\nevent: tool.pre\nscript: |\n  def handle(event, payload):\n      return allow()\n---\nWatches.\n",
        ),
        (
            ".harness/hooks/later.md",
            "---\nevent: tool.pre\n---\nA host's.\n",
        ),
        (
            ".harness/hooks/heard.md",
            "---\nevent: custom.done\nscript: |\n  def handle(event, payload):\n      return allow()\n---\nHears.\n",
        ),
    ]);
    let listed = harness(project.path(), &["list", "hooks"]).ends(0).out;
    let state = |name: &str| {
        let mut lines = listed.lines();
        let line = lines
            .find(|line| line.starts_with(name))
            .unwrap_or_default();
        line.to_owned()
    };
    assert!(
        state("greet").contains("idle: nothing raises `session.start` yet"),
        "{listed}"
    );
    assert!(
        state("later").contains("idle: it has no script"),
        "{listed}"
    );
    assert!(
        state("watch").contains("active") && state("heard").contains("active"),
        "{listed}"
    );
    let document = harness(project.path(), &["list", "hooks", "--json"])
        .ends(0)
        .document();
    let states: Vec<(&str, &str)> = document["hooks"]
        .as_array()
        .expect("hooks")
        .iter()
        .map(|hook| {
            let text = |key: &str| hook[key].as_str().unwrap_or_default();
            (text("name"), text("state"))
        })
        .collect();
    for expected in [("greet", "idle"), ("later", "idle"), ("watch", "active")] {
        assert!(states.contains(&expected), "{states:?}");
    }
}
