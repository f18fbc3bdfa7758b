//! What authors of tools and hooks type while they write one.

use super::project;
use crate::support::program::{harness, prepared, signal};
use crate::support::{Project, hook, tool, tool_with};
use std::fs;
use std::io::{BufRead as _, BufReader};
use std::process::Stdio;

#[test]
fn a_new_tool_and_a_new_hook_pass_their_checks_and_overwrite_nothing() {
    let folder = tempfile::tempdir().expect("a folder");
    let here = folder.path();
    fs::create_dir_all(here.join(".harness")).expect("a folder");
    fs::write(here.join("harness.md"), "---\nformat: 1\n---\nBe brief.\n").expect("a file");
    for (kind, name, path) in [
        ("tool", "count_words", ".harness/tools/count_words.md"),
        ("hook", "guard_deletes", ".harness/hooks/guard_deletes.md"),
    ] {
        let made = harness(here, &["new", kind, name]).ends(0);
        assert!(
            made.out.contains(&format!("created {path}")),
            "{}",
            made.out
        );
        let before = fs::read_to_string(here.join(path)).expect("a file");
        let again = harness(here, &["new", kind, name]).ends(2);
        assert!(
            again.err.contains(&format!("`{path}` exists already")),
            "{}",
            again.err
        );
        assert_eq!(fs::read_to_string(here.join(path)).expect("a file"), before);
        let tested = harness(here, &["test", name]).ends(0);
        assert!(tested.out.contains("2 passed, 0 failed"), "{}", tested.out);
    }
    harness(here, &["validate", "--deny-warnings"]).ends(0);
    let called = harness(here, &["call", "count_words", "text=one two"]).ends(0);
    assert_eq!(called.out, "words: 2\n");
}

#[test]
fn new_tells_a_folder_from_an_artifact_and_says_which_names_it_takes() {
    let project = project();
    for (words, expected) in [
        (["new", "tool"].as_slice(), "the tool needs a name"),
        (
            &["new", "tool", "read-note"],
            "at most 64, as in `count_words`",
        ),
        (&["new", "hook", "../x"], "is not a name for a hook"),
        (&["new", "folder", "name"], "accepted: `harness new DIR`"),
    ] {
        let ran = harness(project.path(), words).ends(2);
        assert!(ran.err.contains(expected), "{words:?}: {}", ran.err);
    }
    harness(project.path(), &["new", "./tool"]).ends(0);
    assert!(project.path().join("tool/harness.md").is_file());
    let empty = tempfile::tempdir().expect("a folder");
    let ran = harness(empty.path(), &["new", "tool", "count_words"]).ends(2);
    assert!(ran.err.contains("run harness init"), "{}", ran.err);
}

#[test]
fn codes_are_explained_as_text_and_listed() {
    let folder = tempfile::tempdir().expect("a folder");
    let page = harness(folder.path(), &["explain", "HOOK_EVENT_UNKNOWN"]).ends(0);
    assert!(
        page.out.starts_with("HOOK_EVENT_UNKNOWN (error)\n"),
        "{}",
        page.out
    );
    assert!(
        page.out.contains("\nwrong .harness/") && !page.out.contains("```"),
        "{}",
        page.out
    );
    assert!(!page.out.contains('\u{1b}'));
    let wrong = harness(folder.path(), &["explain", "HOOK_EVNT_UNKNOWN"]).ends(2);
    assert!(
        wrong.err.contains("did you mean `HOOK_EVENT_UNKNOWN`"),
        "{}",
        wrong.err
    );
    let all = harness(folder.path(), &["explain", "--codes"]).ends(0);
    assert!(all.out.contains("HOOK_EVENT_UNKNOWN ") && all.out.contains("tool.denied "));
    let document = harness(folder.path(), &["explain", "--codes", "--json"])
        .ends(0)
        .document();
    assert!(
        document["codes"]
            .as_array()
            .is_some_and(|codes| codes.len() > 50)
    );
}

#[test]
fn a_failed_example_says_which_hook_or_stage_answered() {
    let fetch = "permissions:\n  - { kind: network, allow: [example.com] }\nexamples:\n  - args: {}\n    http: [{ url: \"https://example.com/\", body: x }]\n    result: x\n";
    let denied = "examples:\n  - args: {}\n    result: 1\n";
    let project = Project::new(&[
        (
            "harness.md",
            "---\nformat: 1\nnetwork:\n  allowed_domains: [example.com]\ntools_policy:\n  deny: [drop_all]\n---\nx\n",
        ),
        (
            ".harness/tools/fetch_page.md",
            &tool_with(
                fetch,
                "def run(args):\n    return http.get(\"https://example.com/\")[\"body\"]",
            ),
        ),
        (
            ".harness/tools/drop_all.md",
            &tool_with(denied, "def run(args):\n    return 1"),
        ),
        (
            ".harness/hooks/no_fetching.md",
            &hook(
                "tool.pre",
                "def handle(event, payload):\n    if payload[\"name\"] == \"fetch_page\":\n        return block(\"not today\")\n    return allow()",
            ),
        ),
    ]);
    let ran = harness(project.path(), &["test"]).ends(1);
    for expected in [
        "tool.hook.blocked: ",
        "not today",
        "(the hook `no_fetching` answered, .harness/hooks/no_fetching.md:",
        "one answer of `http` was not used",
        "(the stage `a",
    ] {
        assert!(ran.out.contains(expected), "{expected} in {}", ran.out);
    }
}

#[test]
fn a_bug_in_a_script_is_the_authors_and_a_refusal_of_the_tool_is_not() {
    let path = "parameters:\n  path: { type: string, required: true }\n";
    let project = Project::new(&[
        (
            ".harness/tools/read_key.md",
            &tool("def run(args):\n    found = {}\n    return found[\"missing\"]"),
        ),
        (
            ".harness/tools/add_up.md",
            &tool("def run(args):\n    return 1 + \"1\""),
        ),
        (
            ".harness/tools/read_note.md",
            &tool_with(path, "def run(args):\n    return fs.read(args[\"path\"])"),
        ),
        (
            ".harness/tools/fail_on_purpose.md",
            &tool("def run(args):\n    fail(\"no milk\")"),
        ),
        (
            ".harness/tools/find_order.md",
            &tool("def run(args):\n    return error(\"NO_ORDER\", \"there is no order\")"),
        ),
    ]);
    for name in ["read_key", "add_up"] {
        let ran = harness(project.path(), &["call", name]).ends(1);
        let expected =
            format!("who   the author of the tool: fix the script at .harness/tools/{name}.md:");
        assert!(ran.err.contains(&expected), "{}", ran.err);
        assert!(ran.err.contains("tool.failed (repairable)"), "{}", ran.err);
    }
    for words in [
        ["call", "read_note", "path=none"].as_slice(),
        &["call", "fail_on_purpose"],
    ] {
        let ran = harness(project.path(), words).ends(1);
        assert!(
            ran.err.contains("who   the caller: change the call"),
            "{}",
            ran.err
        );
    }
    let ran = harness(project.path(), &["call", "find_order"]).ends(1);
    assert!(ran.err.contains("\n  code  NO_ORDER\n"), "{}", ran.err);
}

#[test]
fn watching_runs_the_examples_again_and_names_what_changed() {
    let example = "examples:\n  - args: {}\n    result: 1\n";
    let file = ".harness/tools/get_one.md";
    let text = tool_with(example, "def run(args):\n    return 2");
    let project = Project::new(&[(file, &text)]);
    let mut child = prepared(project.path(), &["test", "--watch"])
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .expect("the program starts");
    let mut lines = BufReader::new(child.stdout.take().expect("its output")).lines();
    let mut until = |expected: &str| {
        let found = lines
            .by_ref()
            .map(|line| line.expect("text"))
            .find(|line| line.contains(expected));
        assert!(found.is_some(), "{expected}");
    };
    until("FAILED: 0 passed, 1 failed");
    // The files are stamped before they are read, so this change is seen whenever it comes.
    fs::write(
        project.path().join(file),
        text.replace("return 2", "return 1"),
    )
    .expect("a file");
    until(&format!("changed: {file}"));
    until("ok: 1 passed, 0 failed");
    signal(child.id(), "INT");
    assert_eq!(child.wait().expect("it ends").code(), Some(0));
}
