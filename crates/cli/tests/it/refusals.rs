//! The most common refusals, word for word: what, where, help, the next command, who can act.

use crate::support::program::harness;
use crate::support::{Project, hook, tool, tool_with};

const ROOT: &str = r#"---
format: 1
tools_policy:
  deny: ["drop_*"]
policy:
  tool_arg_constraints:
    - tool: write_note
      arg_key: path
      arg_patterns: ["notes/**"]
---
Be brief.
"#;

const PARAMETERS: &str = "parameters:
  path: { type: string, required: true }
  lines: { type: integer, minimum: 1 }
  order: { enum: [asc, desc] }
";

const GUARD: &str = r#"
def handle(event, payload):
    path = payload["args"].get("path", "")
    if path.endswith(".key"):
        return block("keys stay where they are")
    if path == "trip":
        return payload["args"]["nothing"]
    return allow()
"#;

fn project() -> Project {
    let echo = "def run(args):\n    return args";
    Project::new(&[
        ("harness.md", ROOT),
        (".harness/tools/read_note.md", &tool_with(PARAMETERS, echo)),
        (
            ".harness/tools/write_note.md",
            &tool_with(
                "parameters:\n  path: { type: string, required: true }\n",
                echo,
            ),
        ),
        (".harness/tools/drop_notes.md", &tool(echo)),
        (
            ".harness/tools/send_note.md",
            &tool_with("requires_approval: true\n", echo),
        ),
        (
            ".harness/tools/fetch_note.md",
            &tool_with("requires_approval: args[\"all\"]\n", echo),
        ),
        (
            ".harness/tools/file_note.md",
            "---\nparameters: {}\n---\nServed by a Rust body.\n",
        ),
        (
            ".harness/tools/sort_notes.md",
            &tool("def run(args)\n    return 1"),
        ),
        (
            ".harness/tools/wait_for_note.md",
            &tool_with("timeout_ms: 150\n", "def run(args):\n    sleep(30)"),
        ),
        (".harness/hooks/guard.md", &hook("tool.pre", GUARD)),
    ])
}

/// What a person sees of a refused call; fails if a part is missing.
fn seen(project: &Project, words: &[&str]) -> String {
    let ran = harness(project.path(), &[["call"].as_slice(), words].concat());
    assert_eq!(ran.out, "", "a refusal is not a result");
    assert_ne!(ran.code, Some(0));
    for part in ["what", "where", "help", "next", "who"] {
        let label = format!("\n  {part:5} ");
        assert!(
            ran.err
                .split(&label)
                .nth(1)
                .is_some_and(|text| !text.starts_with('\n')),
            "no `{part}` in\n{}",
            ran.err
        );
    }
    let next = ran
        .err
        .lines()
        .find_map(|line| line.strip_prefix("  next  harness "))
        .expect("a command");
    let again = harness(
        project.path(),
        &shell_words(next)
            .iter()
            .map(String::as_str)
            .collect::<Vec<_>>(),
    );
    assert_ne!(
        again.code,
        Some(2),
        "`harness {next}` does not work: {}",
        again.err
    );
    format!("{}exit {}", ran.err, ran.code.expect("a code"))
}

/// Splits a command as a shell would, for the quoting that the program uses.
fn shell_words(text: &str) -> Vec<String> {
    let (mut words, mut quoted) = (vec![String::new()], false);
    for c in text.chars() {
        match (c, quoted) {
            ('\'', _) => quoted = !quoted,
            (' ', false) => words.push(String::new()),
            (c, _) => words.last_mut().expect("a word").push(c),
        }
    }
    words
}

#[test]
fn an_unknown_tool_suggests_the_nearest_names() {
    let project = project();
    insta::assert_snapshot!(seen(&project, &["reed_note", "path=a"]), @r"
    refused: tool.unknown (repairable)
      what  there is no tool `reed_note`
      where the tool's name
      help  nearest: `read_note`, `send_note`, `file_note`
      next  harness list tools
      who   the caller: change the call
    exit 1
    ");
    insta::assert_snapshot!(seen(&project, &["zzz"]), @r"
    refused: tool.unknown (repairable)
      what  there is no tool `zzz`
      where the tool's name
      help  offered: `fetch_note`, `file_note`, `read_artifact`, `read_note`, `send_note`, `wait_for_note`, `write_note`
      next  harness list tools
      who   the caller: change the call
    exit 1
    ");
}

#[test]
fn invalid_arguments_are_named_with_the_accepted_values() {
    let project = project();
    insta::assert_snapshot!(seen(&project, &["read_note", "lines:=0", "order=up"]), @r#"
    refused: tool.args.invalid_schema (repairable)
      what  the arguments of `read_note` do not fit: /path: "path" is a required property; /lines: 0 is less than the minimum of 1; /order: "up" is not one of "asc" or "desc"
      where argument /path, /lines, /order
      help  accepted: path (string, required), lines (integer, at least 1), order (one of "asc", "desc")
      next  harness inspect read_note
      who   the caller: change the call
    exit 1
    "#);
}

#[test]
fn malformed_json_is_shown_where_it_breaks() {
    insta::assert_snapshot!(seen(&project(), &["read_note", "--args", "{\"path\": notes/a}"]), @r"
    refused: tool.args.malformed_json (repairable)
      what  the arguments are not JSON: expected ident at line 1 column 11
      where the arguments, line 1, column 11
      help  send one JSON object whose keys are the tool's parameters
      next  harness inspect read_note
      who   the caller: change the call
    exit 1
    ");
}

#[test]
fn a_tool_denied_by_name_shows_the_rule_and_its_line() {
    insta::assert_snapshot!(seen(&project(), &["drop_notes"]), @r"
    refused: tool.denied (repairable)
      what  `drop_notes` may not be called: its name matches `drop_*`, which is denied
      where harness.md:4:10
      help  the rule is `tools_policy.deny: drop_*` at harness.md:4:10; a person can change it there
      next  harness inspect --policy
      who   the caller: change the call; or the owner of the policy in the root file
    exit 3
    ");
}

#[test]
fn a_denied_argument_shows_what_would_be_accepted() {
    insta::assert_snapshot!(seen(&project(), &["write_note", "path=notes/../secret"]), @r"
    refused: tool.denied (repairable)
      what  `write_note` may not be called like this: `path` is `secret`; accepted: notes/**
      where argument /path; harness.md:7:7
      help  the rule is `policy.tool_arg_constraints: write_note path: notes/**` at harness.md:7:7; a person can change it there
      next  harness inspect --policy
      who   the caller: change the call; or the owner of the policy in the root file
    exit 3
    ");
}

#[test]
fn a_hook_that_blocks_gives_its_reason() {
    insta::assert_snapshot!(seen(&project(), &["read_note", "path=my own.key"]), @r"
    refused: tool.hook.blocked (repairable)
      what  hook `guard` blocked the call: keys stay where they are
      where .harness/hooks/guard.md:1:1
      help  the policy is in .harness/hooks/guard.md; a person can change it there
      next  harness explain read_note 'path=my own.key'
      who   the caller: change the call; or the owner of the hook
    exit 3
    ");
}

#[test]
fn a_hook_that_fails_is_named_with_its_line() {
    insta::assert_snapshot!(seen(&project(), &["read_note", "path=trip"]), @r#"
    refused: tool.hook.failed (fatal)
      what  hook `guard` gave no decision, so the call is blocked: Key `"nothing"` was not found
      where .harness/hooks/guard.md:9:18
      help  nothing passes without a decision; a person must look at .harness/hooks/guard.md, and at what it was given
      next  harness explain read_note path=trip
      who   the owner of the hook: it fails closed until it is fixed
    exit 3
    "#);
}

#[test]
fn an_approval_without_an_approver_says_what_asked_for_it() {
    insta::assert_snapshot!(seen(&project(), &["send_note"]), @r"
    refused: tool.approval.denied (repairable)
      what  `send_note` needs a person's approval, and no approver is available here: the tool says `requires_approval`
      where .harness/tools/send_note.md:2:20
      help  approvals are not available in this version; a person can change what asks for one
      next  harness explain send_note
      who   a person who may approve the call
    exit 3
    ");
}

#[test]
fn a_call_is_refused_if_a_declared_field_is_not_enforced_yet() {
    insta::assert_snapshot!(seen(&project(), &["fetch_note"]), @r"
    refused: tool.unsupported (fatal)
      what  `requires_approval as an expression` is declared and nothing enforces it yet, so `fetch_note` cannot be called
      where .harness/tools/fetch_note.md:2:20
      help  a person can remove the field, or wait for a version that enforces it
      next  harness validate
      who   the author of the tool or its settings
    exit 3
    ");
}

#[test]
fn a_tool_without_a_body_says_what_is_missing() {
    insta::assert_snapshot!(seen(&project(), &["file_note"]), @r"
    refused: tool.no_body (fatal)
      what  `file_note` has no script, and no Rust body is registered for it
      where .harness/tools/file_note.md:1:1
      help  add a `script` to .harness/tools/file_note.md, or register a body of this name
      next  harness validate
      who   the author of the tool or its settings
    exit 1
    ");
}

#[test]
fn a_tool_with_an_error_in_its_file_is_not_offered() {
    insta::assert_snapshot!(seen(&project(), &["sort_notes"]), @r"
    refused: tool.not_advertised (repairable)
      what  `sort_notes` has an error in its file and is not offered: `script` does not parse: unexpected new line, expected symbol ':'
      where .harness/tools/sort_notes.md:3:16
      help  a person must fix the file; `harness validate` shows everything that is wrong
      next  harness validate
      who   the author of the tool or its settings
    exit 1
    ");
}

#[test]
fn a_timeout_names_the_limit() {
    insta::assert_snapshot!(seen(&project(), &["wait_for_note"]), @r"
    stopped: tool.timeout (retryable)
      what  `wait_for_note` did not finish within 150 ms, the tool's `timeout_ms`
      where .harness/tools/wait_for_note.md:1:1
      help  ask for less work, or have a person raise `timeout_ms`
      next  harness explain tool.timeout
      who   the caller: try again, or ask for less
    exit 4
    ");
}

#[test]
fn a_hook_file_that_does_not_load_blocks_every_call() {
    let project = project();
    project.write(".harness/hooks/guard.md", b"---\nevent: tool.pre\nscrpt: |\n  def handle(event, payload):\n      return allow()\n---\n");
    insta::assert_snapshot!(seen(&project, &["read_note", "path=a"]), @r"
    refused: tool.hook.failed (fatal)
      what  hook `guard` could not be loaded, so nothing may pass `tool.pre`: `scrpt` is not a field of a hook
      where .harness/hooks/guard.md:3:1
      help  a person must fix the hook's file; `harness validate` shows what is wrong
      next  harness validate
      who   the owner of the hook: it fails closed until it is fixed
    exit 3
    ");
}
