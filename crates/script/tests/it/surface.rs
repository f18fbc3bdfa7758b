//! Findings about the surface of a project: each code with a case that has it and one that does not.

use tool_harness::artifact::{Artifacts, read};
use tool_harness::builtin::MODULES;
use tool_harness::check::{check, scripts};
use tool_harness::surface::{self, Surface};
use tool_harness_script::check::facts;

/// The codes of all findings in a project and on its surface.
fn codes(files: &[(&str, &str)]) -> Vec<String> {
    let artifacts: Artifacts = read(
        files
            .iter()
            .map(|(path, text)| ((*path).to_owned(), text.as_bytes().to_vec())),
    );
    let facts = scripts(&artifacts)
        .into_iter()
        .map(|(kind, text)| ((kind, text.clone()), Ok(facts(kind, &text, MODULES))))
        .collect();
    let checked = check(artifacts, &facts);
    let found = checked
        .diagnostics
        .iter()
        .cloned()
        .chain(surface::check(&Surface::of_checked(&checked)).diagnostics);
    found
        .map(|found| found.code.trim_start_matches("TOOL_SURFACE_").to_owned())
        .collect()
}

fn expect(files: &[(&str, &str)], expected: &[&str]) {
    assert_eq!(codes(files), expected, "{files:#?}");
}

fn tool(frontmatter: &str, script: &str) -> String {
    format!(
        "---\n{frontmatter}script: |\n  def run(args):\n      return {script}\n---\nDoes one thing.\n"
    )
}

fn root(frontmatter: &str, body: &str) -> String {
    format!("---\nformat: 1\n{frontmatter}---\n{body}\n")
}

const NOTE: &str = ".harness/tools/read_note.md";
const LETTER: &str = ".harness/tools/list_letters.md";

#[test]
fn a_tool_that_waits_needs_a_timeout() {
    let one = |frontmatter: &str, script: &str| {
        codes(&[
            (".harness/tools/get_news.md", &tool(frontmatter, script)),
            ("harness.md", HOSTS),
        ])
    };
    const HOSTS: &str = "---\nnetwork: { allowed_domains: [example.com] }\n---\nYou help.\n";
    for script in [
        "exec.run(\"true\")",
        "http.get(\"https://example.com/\")",
        "http.post(\"https://example.com/\", \"x\")",
    ] {
        assert_eq!(one("", script), ["NO_TIMEOUT"], "{script}");
        assert_eq!(one("timeout_ms: 0\n", script), ["NO_TIMEOUT"], "{script}");
        assert_eq!(one("timeout_ms: 5000\n", script), [""; 0], "{script}");
    }
    for script in ["fs.read(\"a\")", "fs.write(\"a\", \"b\")", "1"] {
        assert_eq!(one("", script), [""; 0], "{script}");
    }
    // A tool that is never offered needs no timeout.
    let denied = root("tools_policy: { deny: [get_news] }\n", "You help.");
    expect(
        &[
            (
                ".harness/tools/get_news.md",
                &tool("", "exec.run(\"true\")"),
            ),
            (NOTE, &tool("", "1")),
            ("harness.md", &denied),
        ],
        &["UNREACHABLE"],
    );
}

#[test]
fn a_timeout_that_looks_like_seconds_is_reported() {
    for (cap, expected) in [
        (30, &["SUSPICIOUS_UNITS"][..]),
        (49, &["SUSPICIOUS_UNITS"]),
        (50, &[]),
        (30_000, &[]),
    ] {
        expect(
            &[(
                NOTE,
                &tool(&format!("timeout_ms: {cap}\n"), "exec.run(\"true\")"),
            )],
            expected,
        );
    }
}

#[test]
fn a_tool_that_policy_never_offers_is_reported_once() {
    let files = |frontmatter: &str, body: &str| {
        codes(&[
            (NOTE, &tool("", "fs.read(\"a\")")),
            (LETTER, &tool("", "fs.read(\"b\")")),
            ("harness.md", &root(frontmatter, body)),
        ])
    };
    assert_eq!(files("", "You help."), [""; 0]);
    assert_eq!(
        files("tools_policy: { deny: [read_note] }\n", "You help."),
        ["UNREACHABLE"]
    );
    assert_eq!(
        files("tools_policy: { allow: [list_letters] }\n", "You help."),
        ["UNREACHABLE"]
    );
    assert_eq!(
        files(
            "tools_policy: { allow: [list_letters, \"read_*\"] }\n",
            "You help."
        ),
        [""; 0]
    );
    // The prompt that names it is reported there, and not again.
    assert_eq!(
        files(
            "tools_policy: { deny: [read_note] }\n",
            "Call read_note() first."
        ),
        ["PROMPT_TOOL_NOT_IN_POLICY"]
    );
    assert_eq!(
        files("tools_policy: { deny: [\"*\"] }\n", "You help."),
        ["NO_ACTIVE_TOOLS"]
    );
}

#[test]
fn a_deferred_tool_is_reported_once_and_correctly() {
    let deferred = tool("deferred: true\n", "fs.read(\"a\")");
    let files = |frontmatter: &str, body: &str| {
        codes(&[
            (NOTE, &deferred),
            (LETTER, &tool("", "fs.read(\"b\")")),
            ("harness.md", &root(frontmatter, body)),
        ])
    };
    assert_eq!(files("", "You help."), ["DEFERRED_UNREACHABLE"]);
    assert_eq!(
        files("", "Call read_note() first, then `read_note`."),
        ["DEFERRED_TOOL_PROMPT_REFERENCE"]
    );
    assert_eq!(
        files("tools_policy: { deny: [read_note] }\n", "You help."),
        ["UNREACHABLE"]
    );
    assert_eq!(
        files(
            "tools_policy: { deny: [read_note] }\n",
            "Call read_note() first."
        ),
        ["PROMPT_TOOL_NOT_IN_POLICY"]
    );
    // `tool_search` has no effect yet.
    assert_eq!(
        files("tool_search: true\n", "You help."),
        ["NOT_IN_EFFECT", "DEFERRED_UNREACHABLE"]
    );
    assert_eq!(
        files("", "Call list_letters() first."),
        ["DEFERRED_UNREACHABLE"]
    );
}

#[test]
fn a_secret_is_found_in_every_artifact_and_a_placeholder_in_none() {
    let key = "ghp_16C7e42F292c6912E7710c838347Ae178B4a";
    let fine = "ghp_xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx";
    let (script, hook) = (
        |word: &str| tool("", &format!("\"{word}\"")),
        |word: &str| {
            format!(
                "---\nevent: tool.post\nscript: |\n  def handle(event, payload):\n      log.info(\"{word}\")\n---\nWatches.\n"
            )
        },
    );
    for (word, expected) in [(key, 1), (fine, 0)] {
        for (path, text) in [
            (NOTE, script(word)),
            (NOTE, format!("{}It knows {word}.\n", tool("", "1"))),
            (".harness/hooks/watch.md", hook(word)),
            ("harness.md", root("", &format!("Use {word}."))),
            (
                ".harness/skills/tidy_up.md",
                format!("---\n---\nUse {word}.\n"),
            ),
            (".harness/context/house.md", format!("Use {word}.\n")),
            (
                ".harness/agents/helper.md",
                format!("---\ndescription: x\n---\nUse {word}.\n"),
            ),
            (
                ".harness/plugins/more.md",
                format!(
                    "---\ntools:\n  - name: read_more\n    description: Reads {word}.\n    script: |\n      def run(args):\n          return 1\n---\n"
                ),
            ),
        ] {
            let found = codes(&[(path, &text), (LETTER, &tool("", "fs.read(\"b\")"))]);
            assert_eq!(
                found
                    .iter()
                    .filter(|code| *code == "SECRET_IN_ARTIFACT")
                    .count(),
                expected,
                "{path}: {found:?}\n{text}"
            );
        }
    }
}

#[test]
fn a_long_description_is_judged_by_the_context_size_of_the_project() {
    let long = format!(
        "{}{}\n",
        tool("", "1"),
        "It does one thing and nothing else. ".repeat(10)
    );
    let files = |frontmatter: &str| {
        codes(&[
            (NOTE, &long),
            ("harness.md", &root(frontmatter, "You help.")),
        ])
    };
    assert_eq!(files("checks: { context_tokens: 1000 }\n"), ["TOO_LARGE"]);
    assert_eq!(files("checks: { context_tokens: 100000 }\n"), [""; 0]);
    assert_eq!(files(""), [""; 0]);
    assert!(files("checks: { context_tokens: 10 }\n").contains(&"FIELD_WRONG_TYPE".to_owned()));
}

#[test]
fn a_project_can_opt_in_to_checks_of_fenced_code() {
    let files = |frontmatter: &str| {
        codes(&[
            (NOTE, &tool("", "fs.read(\"a\")")),
            (
                "harness.md",
                &root(frontmatter, "Once:\n\n```\nfind_note(x)\n```"),
            ),
        ])
    };
    assert_eq!(files(""), [""; 0]);
    assert_eq!(files("checks: { scan_fences: false }\n"), [""; 0]);
    assert_eq!(
        files("checks: { scan_fences: true }\n"),
        ["UNKNOWN_PROMPT_TOOL"]
    );
    assert!(files("checks: { scan_fences: often }\n").contains(&"FIELD_WRONG_TYPE".to_owned()));
}

#[test]
fn an_argument_that_every_run_reads_must_be_required() {
    for (parameter, script, expected) in [
        (
            "{ type: string }",
            "args[\"path\"]",
            &["ARGUMENT_NOT_REQUIRED"][..],
        ),
        (
            "{ type: string, required: false }",
            "args[\"path\"]",
            &["ARGUMENT_NOT_REQUIRED"],
        ),
        ("{ type: string, required: true }", "args[\"path\"]", &[]),
        ("{ type: string, default: a }", "args[\"path\"]", &[]),
        ("{ type: string }", "args.get(\"path\")", &[]),
        (
            "{ type: string }",
            "args[\"path\"] if \"path\" in args else 1",
            &[],
        ),
        (
            "{ type: string }",
            "args[\"other\"]",
            &["ARGUMENT_UNDECLARED"],
        ),
    ] {
        expect(
            &[(
                NOTE,
                &tool(&format!("parameters:\n  path: {parameter}\n"), script),
            )],
            expected,
        );
    }
    let required = "annotations: { side_effect_level: none, arg_schema: { required: [path] } }\nparameters:\n  path: { type: string }\n";
    expect(&[(NOTE, &tool(required, "args[\"path\"]"))], &[]);
}

#[test]
fn a_list_of_built_ins_in_a_prompt_names_no_tools() {
    let said = |body: &str| codes(&[(NOTE, &tool("", "1")), ("harness.md", &root("", body))]);
    for list in [
        "- Builtins: `fs.*`, `time.now()`, `emit()`, `log()`",
        "Scripts use `fs.read(path)`, `emit(name, payload)` and `env(name)`.",
        "The built-in `emit(name, payload)` tells hooks.",
    ] {
        assert_eq!(said(list), [""; 0], "{list}");
    }
    for instruction in [
        "Call `emit()` when you are done.",
        "Builtins: `fs.*`, `send_mail()`",
        "Builtins: `fs.*`\nCall `emit()` when you are done.",
    ] {
        assert_eq!(said(instruction), ["UNKNOWN_PROMPT_TOOL"], "{instruction}");
    }
}
