//! Findings, and the formats of reports.

use super::{codes, surface};
use crate::support::program::{harness, harness_reading, prepared};
use crate::support::{Project, tool, tool_with};
use serde_json::{Value, json};
use std::path::Path;

#[test]
fn a_surface_is_read_from_a_file_or_from_standard_input() {
    let project = Project::new(&[("surface.json", &format!("{:#}", surface()))]);
    let of_file = harness(
        project.path(),
        &["surface", "check", "surface.json", "--json"],
    )
    .ends(1)
    .document();
    assert_eq!(of_file["valid"], false);
    assert_eq!(
        codes(&of_file),
        [
            "TOOL_SURFACE_MISSING_RESULT_READER",
            "TOOL_SURFACE_UNKNOWN_PROMPT_TOOL"
        ]
    );
    let [reader, unknown] = &of_file["diagnostics"].as_array().expect("a list")[..] else {
        panic!("{of_file}")
    };
    assert_eq!(
        (&reader["file"], &reader["line"], &reader["tool"]),
        (&json!("surface.json"), &json!(4), &json!("run_command"))
    );
    assert_eq!(
        (&unknown["file"], &unknown["line"], &unknown["column"]),
        (&json!("surface.json#system"), &json!(2), &json!(5))
    );
    assert_eq!(
        unknown["also"],
        json!([{"file": "surface.json#system", "line": 2, "column": 26}])
    );

    let read = harness_reading(
        project.path(),
        &["surface", "check", "-", "--format", "json"],
        &surface().to_string(),
    )
    .ends(1)
    .document();
    assert_eq!(codes(&read), codes(&of_file));
}

#[test]
fn an_unreadable_surface_is_a_diagnostic_and_a_missing_file_a_usage_error() {
    let project = Project::new(&[("broken.json", "{\"tools\": ["), ("empty.json", "")]);
    for file in ["broken.json", "empty.json"] {
        let report = harness(project.path(), &["surface", "check", file, "--json"])
            .ends(1)
            .document();
        assert_eq!(codes(&report), ["TOOL_SURFACE_MALFORMED"], "{report}");
    }
    harness(project.path(), &["surface", "check", "none.json"]).ends(2);
}

#[test]
fn warnings_fail_the_check_only_when_denied() {
    let project = Project::new(&[(
        "tools.json",
        r#"[{"name": "read_note", "description": "d", "inputSchema": {"type": "object"}}]"#,
    )]);
    let words = ["surface", "check", "tools.json"];
    let shown = harness(project.path(), &words).ends(0);
    assert!(
        shown.out.contains("valid: 1 tool, 1 text, 1 warning in "),
        "{}",
        shown.out
    );
    harness(project.path(), &[&words[..], &["--deny-warnings"]].concat()).ends(1);
    let page = harness(
        project.path(),
        &["explain", "TOOL_SURFACE_MISSING_ANNOTATIONS"],
    )
    .ends(0);
    assert!(
        page.out.contains("\nwrong ") && page.out.contains("\nright "),
        "{}",
        page.out
    );
}

#[test]
fn text_shows_the_line_and_every_other_place() {
    let project = Project::new(&[("surface.json", &surface().to_string())]);
    let shown = harness(
        project.path(),
        &["surface", "check", "surface.json", "--color", "never"],
    )
    .ends(1);
    for part in [
        "2 | Use delete_file(x), then delete_file(y).",
        "also at surface.json#system:2:26",
        "not valid: 1 tool, 2 texts, 1 error, 1 warning in ",
    ] {
        assert!(shown.out.contains(part), "{part}: {}", shown.out);
    }
}

/// A project whose texts, in every place that is checked, name a tool that does not exist.
fn talking() -> Project {
    let parameters = "parameters:\n  path: { type: string, description: As find_a() gives it }\n";
    let read_note = tool_with(
        parameters,
        "def run(args):\n    return fs.read(args[\"path\"])",
    )
    .replace("Runs the test.", "Reads what find_b() finds.");
    Project::new(&[
        (
            "harness.md",
            "---\nformat: 1\n---\n\nFirst line.\nThen find_c() it.\n",
        ),
        (".harness/tools/read_note.md", &read_note),
        (
            ".harness/skills/tidy_up.md",
            "---\n---\nAlways find_d() first.\n",
        ),
        (
            ".harness/context/house.md",
            "No frontmatter, find_e() only.\n",
        ),
        (
            ".harness/agents/helper.md",
            "---\ndescription: x\n---\n\n`find_f(x)`\n",
        ),
        (
            ".harness/plugins/more.md",
            "---\ntools:\n  - name: read_more\n    description: After find_g().\n    script: |\n      def run(args):\n          return 1\n  - name: read_it\n    description: |\n      Reads it.\n\n      Not read_it alone,\n      but after find_i().\n    script: |\n      def run(args):\n          return 1\n  - name: read_on\n    script: |\n      def run(args):\n          return 1\n    description: >-\n      Goes on,\n      as find_j() says.\n---\nfind_h()\n",
        ),
    ])
}

#[test]
fn texts_of_a_project_are_checked_in_place() {
    let project = talking();
    let report = harness(project.path(), &["validate", "--json"])
        .ends(0)
        .document();
    let found = report["diagnostics"]
        .as_array()
        .expect("a list")
        .iter()
        .filter(|found| found["code"] == "TOOL_SURFACE_UNKNOWN_PROMPT_TOOL");
    let mut places: Vec<String> = found
        .map(|found| {
            let (file, tool) = (
                found["file"].as_str().expect("a file"),
                found["tool"].as_str().expect("a tool"),
            );
            let line = std::fs::read_to_string(project.path().join(file)).expect("the file");
            let line = line
                .lines()
                .nth(
                    usize::try_from(found["line"].as_u64().expect("a line")).expect("a number") - 1,
                )
                .expect("a line")
                .to_owned();
            let column =
                usize::try_from(found["column"].as_u64().expect("a column")).expect("a number");
            assert!(line[column - 1..].starts_with(tool), "{found}");
            tool.to_owned()
        })
        .collect();
    places.sort();
    assert_eq!(
        places,
        [
            "find_a", "find_b", "find_c", "find_d", "find_e", "find_f", "find_g", "find_h",
            "find_i", "find_j"
        ]
    );
}

#[test]
fn sarif_conforms_to_its_published_schema() {
    let mut schema: Value =
        serde_json::from_str(include_str!("../data/sarif-2.1.0.json")).expect("the schema");
    // The published pattern has an extra bracket; our documents do not use what it matches.
    for part in ["run", "toolComponent"] {
        schema["definitions"][part]["properties"]["language"]
            .as_object_mut()
            .expect("an object")
            .remove("pattern")
            .expect("the pattern");
    }
    let validator = jsonschema::validator_for(&schema).expect("a schema");
    let given = Project::new(&[("a surface.json", &surface().to_string())]);
    let talking = talking();
    for document in [
        harness(
            given.path(),
            &["surface", "check", "a surface.json", "--format", "sarif"],
        )
        .ends(1)
        .document(),
        harness(talking.path(), &["validate", "--format", "sarif"])
            .ends(0)
            .document(),
    ] {
        let wrong: Vec<String> = validator
            .iter_errors(&document)
            .map(|problem| problem.to_string())
            .collect();
        assert!(wrong.is_empty(), "{wrong:?}");
        let run = &document["runs"][0];
        let results = run["results"].as_array().expect("results");
        assert!(!results.is_empty());
        for result in results {
            let index =
                usize::try_from(result["ruleIndex"].as_u64().expect("an index")).expect("a number");
            assert_eq!(
                run["tool"]["driver"]["rules"][index]["id"],
                result["ruleId"]
            );
        }
    }
    assert!(
        !validator.is_valid(&json!({"version": "2.1.0", "runs": [{}]})),
        "the schema can fail"
    );
}

#[test]
fn annotations_have_the_format_that_github_documents() {
    let folder = tempfile::tempdir().expect("a folder");
    let sub = folder.path().join("agents/one");
    crate::support::program::copy(talking().path(), &sub);
    let shown = harness(
        folder.path(),
        &["--project", "agents/one", "validate", "--format", "github"],
    )
    .ends(0);
    assert!(
        shown.out.lines().count() >= 8 && shown.err.contains("valid: "),
        "{} {}",
        shown.out,
        shown.err
    );
    for line in shown.out.lines() {
        let rest = ["::error ", "::warning ", "::notice "]
            .iter()
            .find_map(|command| line.strip_prefix(command))
            .expect(line);
        let (properties, message) = rest.split_once("::").expect(line);
        assert!(!message.is_empty());
        let known = ["file", "line", "endLine", "col", "endColumn", "title"];
        for property in properties.split(',') {
            let (name, value) = property.split_once('=').expect(property);
            assert!(known.contains(&name) && !value.is_empty(), "{property}");
            if name == "file" {
                assert!(
                    folder.path().join(value).is_file(),
                    "{value} is not a path from where the command was run"
                );
            }
        }
    }
}

/// A project whose ceiling is below the effects of its tool.
fn above_the_ceiling() -> Project {
    Project::new(&[
        (
            "harness.md",
            "---\npolicy: { side_effect_level: read_only }\n---\nBe brief.\n",
        ),
        (
            ".harness/tools/write_note.md",
            &tool("def run(args):\n    return fs.write(\"a\", \"b\")"),
        ),
    ])
}

#[test]
fn surface_errors_stop_a_door_before_it_offers_anything() {
    let project = above_the_ceiling();
    let report = harness(project.path(), &["validate", "--json"])
        .ends(1)
        .document();
    assert_eq!(
        codes(&report),
        ["TOOL_SURFACE_SIDE_EFFECT_CEILING_EXCEEDED"],
        "{report}"
    );
    for words in [&["mcp"][..], &["tools", "--format", "openai"]] {
        let stopped = harness(project.path(), words).ends(2);
        assert!(
            stopped.out.is_empty()
                && stopped
                    .err
                    .contains("TOOL_SURFACE_SIDE_EFFECT_CEILING_EXCEEDED"),
            "{}",
            stopped.err
        );
    }
    // Calls are judged one by one, and people may inspect.
    harness(project.path(), &["call", "write_note"]).ends(3);
    harness(project.path(), &["tools"]).ends(0);
}

#[test]
fn surface_warnings_go_to_the_log_of_the_door() {
    let project = talking();
    let ran = prepared(project.path(), &["mcp"])
        .output()
        .expect("the program starts");
    assert!(
        ran.status.success()
            && String::from_utf8_lossy(&ran.stderr).contains("TOOL_SURFACE_UNKNOWN_PROMPT_TOOL")
    );
}

#[test]
fn the_first_example_of_seed_000_has_no_warnings() {
    let text = "---\nparameters:\n  command: { type: string, required: true }\n  timeout_ms: { type: number, required: false }\nscript: |\n  def run(args):\n      return exec.run(\"bash\", [\"-lc\", args[\"command\"]], 15000)\ntimeout_ms: 30000\n---\n\n# run_command\n\nRun a shell command. The body becomes the tool's description: it is\nshipped to the model in every `tools[]` slot and is what the model reads\nwhen deciding whether to call this tool.\n";
    let project = Project::new(&[(".harness/tools/run_command.md", text)]);
    harness(project.path(), &["validate", "--deny-warnings"]).ends(0);
}

#[test]
fn the_examples_have_no_diagnostics() {
    let examples = crate::support::program::repository("examples");
    let mut tried = 0;
    for entry in std::fs::read_dir(&examples).expect("a folder") {
        let name = entry
            .expect("an entry")
            .file_name()
            .to_string_lossy()
            .into_owned();
        // Only the host knows its Rust tools; `the_embedding_example_runs_and_is_short` checks that project.
        let expected: &[&str] = if name == "embed" {
            &["TOOL_SURFACE_MISSING_EXECUTOR"]
        } else {
            &[]
        };
        let Some(project) = ["", "project"]
            .iter()
            .map(|part| examples.join(&name).join(part))
            .find(|folder| folder.join(".harness").is_dir())
        else {
            // A host that registers everything in code.
            assert_eq!(name, "typed", "it has no project");
            continue;
        };
        tried += 1;
        let folder = tempfile::tempdir().expect("a folder");
        crate::support::program::copy(&project, folder.path());
        let report = harness(folder.path(), &["validate", "--json"])
            .ends(0)
            .document();
        assert_eq!(codes(&report), expected, "{name}");
    }
    assert!(tried >= 3, "{tried} examples");
    let folder = tempfile::tempdir().expect("a folder");
    harness(folder.path(), &["init"]).ends(0);
    let report = harness(Path::new(folder.path()), &["validate", "--json"])
        .ends(0)
        .document();
    assert_eq!(
        report["diagnostics"],
        json!([]),
        "the project of `harness init`"
    );
}

#[test]
fn a_project_sets_severities_and_an_artifact_silences_findings() {
    let shouting = |fields: &str| tool_with(fields, "def run(args):\n    return 1");
    let codes_of = |root: &str, fields: &str| {
        let project = Project::new(&[
            ("harness.md", &format!("---\n{root}\n---\nBe brief.\n")),
            (".harness/tools/readNote.md", &shouting(fields)),
        ]);
        let report = harness(project.path(), &["validate", "--json"]).document();
        let found = report["diagnostics"].as_array().expect("a list").iter();
        found
            .map(|found| {
                format!(
                    "{} {}",
                    found["severity"].as_str().expect("a word"),
                    found["code"].as_str().expect("a code")
                )
            })
            .collect::<Vec<_>>()
    };
    let silenced = "checks:\n  - { code: NAME_STYLE, reason: older than the rule }\n";
    for (root, fields, expected) in [
        ("format: 1", "", vec!["warning NAME_STYLE"]),
        (
            "checks: { severity: { NAME_STYLE: error } }",
            "",
            vec!["error NAME_STYLE"],
        ),
        ("checks: { severity: { NAME_STYLE: off } }", "", vec![]),
        (
            "checks: { paths: [{ path: \".harness/tools/*\", severity: { NAME_STYLE: note } }] }",
            "",
            vec!["note NAME_STYLE"],
        ),
        (
            "checks: { paths: [{ path: \".harness/plugins/*\", severity: { NAME_STYLE: off } }] }",
            "",
            vec!["warning NAME_STYLE"],
        ),
        ("format: 1", silenced, vec![]),
        (
            "format: 1",
            "checks: [{ code: NAME_STYLE }]\n",
            vec!["warning NAME_STYLE", "warning CHECKS_INEFFECTIVE"],
        ),
        (
            "format: 1",
            "checks: [{ code: BODY_EMPTY, reason: r }]\n",
            vec!["warning NAME_STYLE", "warning CHECKS_INEFFECTIVE"],
        ),
        (
            "checks: { severity: { NAME_STYEL: off } }",
            "",
            vec!["warning NAME_STYLE", "warning CHECKS_INEFFECTIVE"],
        ),
    ] {
        let mut found = codes_of(root, fields);
        let mut expected: Vec<String> = expected.into_iter().map(str::to_owned).collect();
        found.sort();
        expected.sort();
        assert_eq!(found, expected, "{root} {fields}");
    }
    // An error that disables a tool stays an error.
    let broken = Project::new(&[
        (
            "harness.md",
            "---\nchecks: { severity: { SCRIPT_NO_RUN: off } }\n---\nBe brief.\n",
        ),
        (
            ".harness/tools/read_note.md",
            &tool("def go(args):\n    return 1"),
        ),
    ]);
    harness(broken.path(), &["validate"]).ends(1);
}

#[test]
fn surface_warnings_are_logged_in_every_tools_format() {
    let project = talking();
    for format in [
        "table",
        "json",
        "openai",
        "openai-chat",
        "anthropic",
        "gemini",
        "mcp",
    ] {
        let ran = harness(project.path(), &["tools", "--format", format]);
        assert!(
            ran.err.contains("warning[TOOL_SURFACE_"),
            "{format}: {}",
            ran.err
        );
        assert!(!ran.out.contains("TOOL_SURFACE_"), "{format}: {}", ran.out);
    }
    let clean = Project::new(&[(
        ".harness/tools/read_note.md",
        "---\nscript: |\n  def run(args):\n      return fs.read(\"note.txt\")\n---\nReads the note.\n",
    )]);
    let ran = harness(clean.path(), &["tools", "--format", "openai"]);
    assert!(!ran.err.contains("warning"), "{}", ran.err);
}
