//! The examples are tests: they are valid, they pass, and they do what their pages say.

use crate::support::program::{command, copy, example_program, harness, repository};
use serde_json::{Value, json};
use std::path::Path;

/// A copy of an example, so that tests leave the original unchanged.
fn example(name: &str) -> tempfile::TempDir {
    let folder = tempfile::tempdir().expect("a folder");
    copy(&repository("examples").join(name), folder.path());
    folder
}

/// Fails unless the project has no warnings and every example passes; returns what was skipped.
fn check(folder: &Path) -> Vec<Value> {
    let report = harness(folder, &["validate", "--json", "--deny-warnings"])
        .ends(0)
        .document();
    let louder: Vec<&Value> = report["diagnostics"]
        .as_array()
        .expect("a list")
        .iter()
        .filter(|found| found["severity"] != "note")
        .collect();
    assert!(louder.is_empty(), "{louder:?}");
    let tested = harness(folder, &["test", "--json"]).ends(0).document();
    assert_eq!(tested["failed"], 0, "{tested:.500}");
    let examples = tested["examples"].as_array().expect("examples");
    assert!(
        tested["passed"].as_u64().is_some_and(|passed| passed >= 5),
        "only {} passed",
        tested["passed"]
    );
    let listed = harness(folder, &["list", "--json"]).ends(0).document();
    for kind in ["tool", "hook"] {
        for artifact in listed[format!("{kind}s")].as_array().expect("a list") {
            let tried = examples
                .iter()
                .any(|example| example["kind"] == kind && example["name"] == artifact["name"]);
            assert!(tried, "{kind} {} has no example", artifact["name"]);
        }
    }
    examples
        .iter()
        .filter(|example| example["outcome"] == "skipped")
        .cloned()
        .collect()
}

#[test]
fn the_minimal_example_is_valid_and_passes() {
    let folder = example("minimal");
    assert_eq!(check(folder.path()), [json!(null); 0]);
    let greeted = harness(folder.path(), &["call", "greet_person", "name=  Ada "]).ends(0);
    assert_eq!(greeted.out, "greeting: Hello, Ada!\n");
}

#[test]
fn the_governed_example_is_valid_and_passes() {
    let folder = example("governed");
    assert_eq!(check(folder.path()), [json!(null); 0]);
}

#[test]
fn an_example_uses_its_answers_and_fails_if_one_is_missing_wrong_or_unused() {
    let script = "  def run(args):\n      page = http.get(\"https://example.com/\")\n      done = exec.run(\"no-such-program\", [page[\"body\"]])\n      return done[\"stdout\"]\n";
    let http = "http: [{url: 'https://example.com/', body: b}]";
    let exec = "exec: [{cmd: no-such-program, args: [b], stdout: out}]";
    for (answers, outcome, part) in [
        (format!("{http}, {exec}, result: out"), "passed", ""),
        (format!("{http}, is_error: true"), "failed", "no answer"),
        (
            format!("{exec}, is_error: true"),
            "failed",
            "https://example.com/",
        ),
        (
            format!("http: [{{url: 'https://example.org/'}}], {exec}"),
            "failed",
            "the next answer is for",
        ),
        (
            format!("{http}, exec: [{{cmd: other}}]"),
            "failed",
            "no-such-program b",
        ),
        (
            "http: [{}, {}], exec: [{}, {}]".to_owned(),
            "failed",
            "not used",
        ),
    ] {
        let folder = tempfile::tempdir().expect("a folder");
        std::fs::create_dir_all(folder.path().join(".harness/tools")).expect("a folder");
        std::fs::write(
            folder.path().join("harness.md"),
            "---\nnetwork: {allowed_domains: [example.com]}\n---\n",
        )
        .expect("a file");
        let tool =
            format!("---\nscript: |\n{script}examples:\n  - {{{answers}}}\n---\nReads the news.\n");
        std::fs::write(folder.path().join(".harness/tools/read_news.md"), tool).expect("a file");
        let tested = harness(folder.path(), &["test", "--json"]).document();
        let example = &tested["examples"][0];
        assert_eq!(example["outcome"], outcome, "{answers}: {example}");
        assert!(
            example["got"].as_str().unwrap_or_default().contains(part),
            "{answers}: {example}"
        );
    }
}

#[test]
fn the_guard_stops_a_command_that_removes_a_canary_and_so_does_the_sandbox_alone() {
    let folder = example("governed");
    let elsewhere = tempfile::tempdir().expect("a folder");
    let canary = elsewhere.path().join("canary");
    std::fs::create_dir(&canary).expect("a canary");
    std::fs::write(canary.join("song.txt"), "tweet").expect("a song");
    let remove = format!("command=rm -rf {}", canary.display());
    let guarded = harness(folder.path(), &["call", "run_command", &remove]).ends(3);
    assert!(
        guarded.err.contains("remove a whole tree") && canary.join("song.txt").exists(),
        "{}",
        guarded.err
    );
    std::fs::remove_file(folder.path().join(".harness/hooks/command_guard.md"))
        .expect("the guard is removed");
    let remove = format!(
        "command=rm -rf {}; rm -rf .harness harness.md; touch ran",
        canary.display()
    );
    let ran = harness(folder.path(), &["call", "run_command", &remove, "--json"])
        .ends(0)
        .document();
    assert_eq!(ran["value"]["exit_code"], 0, "{ran}");
    assert!(folder.path().join("ran").exists(), "it did run: {ran}");
    assert_eq!(
        std::fs::read_to_string(canary.join("song.txt")).expect("still there"),
        "tweet"
    );
    assert!(
        folder.path().join(".harness/tools/run_command.md").exists()
            && folder.path().join("harness.md").exists(),
        "{ran}"
    );
}

#[test]
fn the_governed_example_does_what_its_page_says() {
    let folder = example("governed");
    for (words, code, part) in [
        (
            ["call", "read_file", "path=README.md", "max_lines:=1"].as_slice(),
            0,
            "# A governed project",
        ),
        (&["call", "list_files", "files=*"], 0, "harness.md"),
        (
            &["call", "search_code", "pattern=nothing like this xyz123[!]"],
            0,
            "hint: nothing matched",
        ),
        (
            &["call", "write_file", "path=docs/plan.md", "content=milk"],
            0,
            "created: true",
        ),
        (
            &["call", "write_file", "path=deploy/prod.yaml", "content=x"],
            3,
            "accepted: src/**, docs/**, tests/**, *.md",
        ),
        (
            &["call", "write_file", "path=harness.md", "content=x"],
            1,
            "harness.md",
        ),
        (
            &["call", "read_file", "path=.env"],
            3,
            "usually holds secrets",
        ),
        (
            &["call", "read_file", "path=../x"],
            3,
            "leaves the repository",
        ),
        (
            &["call", "run_command", "command=rm -rf /"],
            3,
            "remove a whole tree",
        ),
        (
            &["call", "run_command", "command=ls; exit 3"],
            0,
            "exit_code: 3",
        ),
        (
            &[
                "call",
                "run_command",
                "command=cat /etc/shadow || echo closed",
            ],
            0,
            "closed",
        ),
        (&["explain", "run_command", "command=ls"], 0, "would run"),
        (
            &["inspect", "--policy"],
            0,
            "deny  tools_policy.deny: fs.remove",
        ),
    ] {
        let ran = harness(folder.path(), words).ends(code);
        assert!(
            ran.out.contains(part) || ran.err.contains(part),
            "{words:?}: `{:.300}` `{:.300}`",
            ran.out,
            ran.err
        );
    }
    let policy = std::fs::read_to_string(folder.path().join("harness.md")).expect("still there");
    assert!(
        policy.starts_with("---\nformat: 1\n"),
        "a tool wrote over the policy"
    );
}

#[test]
fn the_commands_on_the_example_pages_work() {
    for name in ["minimal", "governed"] {
        let folder = example(name);
        let page = std::fs::read_to_string(folder.path().join("README.md")).expect("a page");
        let commands: Vec<&str> = page
            .lines()
            .filter(|line| line.starts_with("harness "))
            .collect();
        assert!(commands.len() >= 4, "{name}: {commands:?}");
        for line in commands {
            let script = format!("\"$0\" {}", line.trim_start_matches("harness "));
            let ran = command(
                "sh",
                folder.path(),
                &["-c", &script, env!("CARGO_BIN_EXE_harness")],
            )
            .output()
            .expect("sh runs");
            assert!(
                matches!(ran.status.code(), Some(0 | 3)),
                "{name}: `{line}` ends with {:?}",
                ran.status.code()
            );
            assert!(!ran.stdout.is_empty(), "{name}: `{line}` prints nothing");
        }
    }
}

#[test]
fn the_embedding_example_runs_and_is_short() {
    let main = repository("examples/embed/src/main.rs");
    let text = std::fs::read_to_string(&main).expect("the example");
    if text.lines().count() < 5 {
        println!("skipped: examples/embed is not written yet");
        return;
    }
    assert!(text.lines().count() < 50, "{} lines", text.lines().count());
    let ran = command(example_program("embed"), &repository("examples/embed"), &[])
        .output()
        .expect("it runs");
    assert!(
        ran.status.success(),
        "{:.600}",
        String::from_utf8_lossy(&ran.stderr)
    );
    assert!(!ran.stdout.is_empty(), "it shows nothing");
    // It prints the findings about its project and surface, then the results of its calls.
    let shown = String::from_utf8_lossy(&ran.stdout);
    assert!(shown.starts_with("result: "), "{shown}");
}

#[test]
fn the_typed_example_runs_without_starlark_and_without_a_database() {
    let run = |program: &Path, arguments: &[&str]| {
        let ran = command(program, &repository("examples/typed"), arguments)
            .output()
            .expect("it runs");
        assert!(
            ran.status.success(),
            "{:.600}",
            String::from_utf8_lossy(&ran.stderr)
        );
        String::from_utf8_lossy(&ran.stdout).into_owned()
    };
    let tree = "tree --offline --locked --edges normal --prefix none";
    let tree: Vec<&str> = tree.split(' ').collect();
    let linked = run(Path::new(env!("CARGO")), &tree);
    assert!(linked.contains("tool-harness v"), "{linked}");
    for absent in ["starlark", "rusqlite", "libsqlite3-sys", "clap", "rmcp"] {
        assert!(
            !linked.lines().any(|line| line.starts_with(absent)),
            "{absent} is linked"
        );
    }
    let shown = run(&example_program("typed"), &[]);
    for line in [
        "call-0: {\"items\":3,\"asked_by\":\"ann\"}",
        "call-3: tool.hook.blocked",
        "call-5: tool.denied",
    ] {
        assert!(shown.contains(line), "{shown}");
    }
}
