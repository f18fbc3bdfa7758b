//! What all commands share: exit codes, JSON, help, colour.

use super::project;
use crate::support::program::harness;
use crate::support::{Project, tool};
use serde_json::{Value, json};

const COMMANDS: [&str; 13] = [
    "init",
    "new",
    "validate",
    "call",
    "explain",
    "list",
    "tools",
    "inspect",
    "test",
    "demo",
    "install",
    "completions",
    "version",
];

#[test]
fn each_exit_code_matches_the_reference() {
    let project = project();
    for (words, code) in [
        (["call", "read_note", "path=note.txt"].as_slice(), 0),
        (&["call", "fail_loudly"], 1),
        (&["call", "no_such_tool"], 1),
        (&["call", "read_note", "path:=1"], 1),
        (&["call", "read_note", "--args", "{"], 1),
        (&["call", "read_note"], 1),
        (&["call", "read_note", "path"], 2),
        (&["call", "read_note", "path:=maybe"], 2),
        (&["call", "read_note", "path=a", "path=b"], 2),
        (&["call", "say_hello", "--mode", "night"], 2),
        (&["call", "say_hello", "--timeout-ms", "soon"], 2),
        (&["call", "delete_note"], 3),
        (&["call", "read_note", "path=secret"], 3),
        (
            &["call", "say_hello", "--timeout-ms", "18446744073709551615"],
            0,
        ),
        (&["call", "wait_long", "--timeout-ms", "100"], 4),
        (&["call", "wait_long", "--timeout-ms", "0"], 4),
        (&["call", "loop_long", "--timeout-ms", "100"], 4),
        (&["explain", "read_note", "path=note.txt"], 0),
        (&["explain", "read_note", "path=secret"], 3),
        (&["explain", "read_note"], 1),
        (&["explain", "tool.denied"], 0),
        (&["explain", "NAME_VERB"], 0),
        (&["explain", "NO_SUCH_CODE"], 2),
        (&["explain", "NAME_VERB", "a=b"], 2),
        (&["inspect", "read_note"], 0),
        (&["inspect", "no_such_tool"], 2),
        (&["inspect", "read_note", "--policy"], 2),
        (&["list", "ghosts"], 2),
        (&["tools", "--mode", "night"], 2),
        (&["tools", "--format", "xml"], 2),
        (&["test", "no_such_tool"], 2),
        (&["validate"], 0),
        (&["nonsense"], 2),
        (&["--project", "nowhere", "list"], 2),
        (&["completions", "bash"], 0),
        (&["completions", "cobol"], 2),
        (&["version"], 0),
        (&["--version"], 0),
        (&["--help"], 0),
        (&[], 2),
    ] {
        let ran = harness(project.path(), words);
        assert_eq!(
            ran.code,
            Some(code),
            "{words:?}: stdout `{:.300}` stderr `{:.300}`",
            ran.out,
            ran.err
        );
        assert!(
            !ran.err.contains("panicked")
                && !ran.out.contains('\u{1b}')
                && !ran.err.contains('\u{1b}'),
            "{words:?}"
        );
        assert!(
            code != 2 || (ran.out.is_empty() && !ran.err.is_empty()),
            "{words:?} complains elsewhere: {:.200}",
            ran.out
        );
    }
}

#[test]
fn every_command_has_help() {
    let folder = tempfile::tempdir().expect("a folder");
    let all = harness(folder.path(), &["--help"]).ends(0).out;
    for command in COMMANDS {
        assert!(
            all.contains(&format!("  {command} ")),
            "{command} is not listed"
        );
        let help = harness(folder.path(), &[command, "--help"]).ends(0);
        assert!(
            help.out.contains(&format!("Usage: harness {command}")) && help.err.is_empty(),
            "{command}"
        );
    }
}

#[test]
fn json_is_one_document_on_stdout_and_nothing_else_anywhere() {
    let project = project();
    for (words, keys) in [
        (
            ["call", "read_note", "path=note.txt"].as_slice(),
            ["call_id", "elapsed_ms"].as_slice(),
        ),
        (&["call", "say_hello"], &["content"]),
        (&["call", "no_such_tool"], &["error"]),
        (&["call", "delete_note"], &["error"]),
        (&["call", "wait_long", "--timeout-ms", "100"], &["error"]),
        (
            &["explain", "read_note", "path=note.txt"],
            &["tool", "decision", "arguments", "effects", "stages"],
        ),
        (
            &["explain", "read_note", "path=secret"],
            &["tool", "decision", "error", "stages"],
        ),
        (
            &["explain", "NAME_VERB"],
            &["code", "severity", "why", "page"],
        ),
        (
            &["explain", "tool.timeout"],
            &["code", "class", "meaning", "who"],
        ),
        (&["list"], &["tools", "hooks"]),
        (&["list", "tools"], &["tools"]),
        (&["list", "hooks"], &["hooks"]),
        (&["tools"], &["mode", "tools"]),
        (
            &["inspect"],
            &["project", "root", "stopped", "tools", "hooks", "rules"],
        ),
        (&["inspect", "--policy"], &["rules"]),
        (
            &["inspect", "read_note"],
            &["name", "input_schema", "rules"],
        ),
        (&["test"], &["passed", "failed", "skipped", "examples"]),
        (&["validate"], &["valid", "diagnostics"]),
        (&["version"], &["name", "version", "format"]),
    ] {
        let ran = harness(project.path(), &[words, &["--json"]].concat());
        let document = ran.document();
        assert_eq!(ran.err, "", "{words:?}");
        for key in keys {
            assert!(document.get(key).is_some(), "{words:?} has no `{key}`");
        }
    }
    for words in [
        ["tools", "--format", "json"],
        ["validate", "--format", "json"],
    ] {
        let ran = harness(project.path(), &words).ends(0);
        assert!(
            ran.document().is_object() && ran.err.is_empty(),
            "{words:?}"
        );
    }
}

/// Fails unless the document has exactly these keys.
fn has_exactly(document: &Value, expected: &[&str]) {
    let keys: Vec<&str> = document
        .as_object()
        .expect("an object")
        .keys()
        .map(String::as_str)
        .collect();
    assert_eq!(keys, expected, "{document:.400}");
}

#[test]
fn the_result_document_has_the_fields_of_the_reference_and_no_empty_ones() {
    let project = Project::new(&[
        (
            ".harness/tools/get_value.md",
            &tool("def run(args):\n    return {\"n\": 1}"),
        ),
        (
            ".harness/tools/get_text.md",
            &tool("def run(args):\n    return result(content = \"only text\")"),
        ),
        (
            ".harness/tools/get_all.md",
            &tool(
                "def run(args):\n    return result(content = \"wrote it\", data = {\"n\": 1}, refs = [{\"kind\": \"file\", \"path\": \"a.md\", \"role\": \"created\"}], metadata = {\"took\": 2})",
            ),
        ),
        (
            ".harness/tools/get_error.md",
            &tool(
                "def run(args):\n    return error(\"full\", \"no room\", metadata = {\"left\": 0})",
            ),
        ),
    ]);
    let call = |name: &str, code: i32| {
        let document = harness(project.path(), &["call", name, "--json"])
            .ends(code)
            .document();
        assert!(
            document["call_id"]
                .as_str()
                .is_some_and(|id| id.starts_with("call_")),
            "{document:.200}"
        );
        assert!(
            document["elapsed_ms"]
                .as_f64()
                .is_some_and(|elapsed| elapsed > 0.0),
            "{document:.200}"
        );
        assert_eq!(document["is_error"], json!(code != 0));
        document
    };
    let value = call("get_value", 0);
    has_exactly(
        &value,
        &[
            "call_id",
            "name",
            "is_error",
            "content",
            "value",
            "enforced",
            "elapsed_ms",
        ],
    );
    assert_eq!(
        (&value["name"], &value["value"]),
        (&json!("get_value"), &json!({"n": 1}))
    );
    assert_eq!(
        value["content"],
        json!([{"type": "text", "text": "{\"n\":1}"}])
    );
    has_exactly(&value["enforced"], &["tier"]);

    let text = call("get_text", 0);
    has_exactly(
        &text,
        &[
            "call_id",
            "name",
            "is_error",
            "content",
            "enforced",
            "elapsed_ms",
        ],
    );

    let all = call("get_all", 0);
    has_exactly(
        &all,
        &[
            "call_id",
            "name",
            "is_error",
            "content",
            "value",
            "refs",
            "metadata",
            "enforced",
            "elapsed_ms",
        ],
    );
    assert_eq!(
        all["refs"],
        json!([{"kind": "file", "path": "a.md", "role": "created"}])
    );
    assert_eq!(all["metadata"], json!({"took": 2}));

    let error = call("get_error", 1);
    has_exactly(
        &error,
        &[
            "call_id",
            "name",
            "is_error",
            "content",
            "metadata",
            "error",
            "enforced",
            "elapsed_ms",
        ],
    );
    has_exactly(&error["error"], &["code", "class", "message", "details"]);
    assert_eq!(error["error"]["details"]["code"], "full");

    let unknown = call("get_nothing", 1);
    has_exactly(
        &unknown,
        &[
            "call_id",
            "name",
            "is_error",
            "content",
            "error",
            "elapsed_ms",
        ],
    );
    assert_eq!(
        (&unknown["error"]["code"], &unknown["error"]["class"]),
        (&json!("tool.unknown"), &json!("repairable"))
    );
}

#[test]
fn colour_is_used_on_terminals_and_on_request() {
    let project = project();
    assert!(
        harness(project.path(), &["list", "--color", "always"])
            .ends(0)
            .out
            .contains('\u{1b}')
    );
    assert!(
        !harness(project.path(), &["list", "--color", "never"])
            .ends(0)
            .out
            .contains('\u{1b}')
    );
    let json = harness(project.path(), &["list", "--json", "--color", "always"]).ends(0);
    assert!(json.document().is_object());
}

#[test]
fn a_json_command_that_exits_with_2_still_prints_one_document() {
    let empty = tempfile::tempdir().expect("a folder");
    let project = project();
    let stopped = Project::new(&[
        ("harness.md", "---\npolisy: {}\n---\n"),
        (
            ".harness/tools/get_one.md",
            &tool("def run(args):\n    return 1"),
        ),
    ]);
    for (folder, words, message) in [
        (
            empty.path(),
            &["call", "x", "--json"][..],
            "no harness project here; run harness init",
        ),
        (
            empty.path(),
            &["validate", "--format", "json"],
            "no harness project here; run harness init",
        ),
        (
            empty.path(),
            &["validate", "--format=json"],
            "no harness project here; run harness init",
        ),
        (
            empty.path(),
            &["tools", "--json"],
            "no harness project here; run harness init",
        ),
        (
            empty.path(),
            &["list", "--json"],
            "no harness project here; run harness init",
        ),
        (
            empty.path(),
            &["test", "--json"],
            "no harness project here; run harness init",
        ),
        (
            empty.path(),
            &["inspect", "--json"],
            "no harness project here; run harness init",
        ),
        (
            empty.path(),
            &["explain", "NO_SUCH_CODE", "--json"],
            "no diagnostic or refusal has the code `NO_SUCH_CODE`",
        ),
        (
            project.path(),
            &["call", "--json"],
            "the following required arguments were not provided:",
        ),
        (
            project.path(),
            &["call", "x", "--json", "--no-such"],
            "unexpected argument '--no-such' found",
        ),
        (
            project.path(),
            &["list", "nonsense", "--json"],
            "invalid value 'nonsense' for '[WHAT]'",
        ),
        (
            project.path(),
            &["nonsense", "--json"],
            "unrecognized subcommand 'nonsense'",
        ),
        (
            stopped.path(),
            &["call", "get_one", "--json"],
            "harness.md:2:1: ",
        ),
    ] {
        let ran = harness(folder, words).ends(2);
        let document = ran.document();
        let said = document["error"]["message"].as_str().unwrap_or_default();
        assert!(said.starts_with(message), "{words:?}: {document}");
        assert_eq!(document["error"]["code"], "usage", "{words:?}");
        assert_eq!(
            document.as_object().map(serde_json::Map::len),
            Some(1),
            "{words:?}: {document}"
        );
        assert!(
            ran.err.contains("error"),
            "{words:?}: standard error has a message, too: {}",
            ran.err
        );
    }
    for words in [
        &["call", "x"][..],
        &["call", "x", "--no-such"],
        &["call", "x", "--", "--json"],
    ] {
        assert_eq!(harness(empty.path(), words).ends(2).out, "", "{words:?}");
    }
}
