//! `--fix`.

use super::codes;
use crate::support::Project;
use crate::support::program::{harness, harness_reading};

#[test]
fn fix_changes_what_is_safe_and_nothing_else() {
    let tool = "---\ntimout_ms: 5000\nparameters:\n  path: { type: string, requierd: true, description: A path }\nannotations:\n  arg_schema:\n    arg_aliases: { file: path }\nscript: |\n  def run(args):\n      return fs.read(\"note.txt\")\n---\nReads the note.\n";
    let root = "---\nformat: 1\n---\nCall read_note(file=\"a\"), then read_note({file: 1}). A file is a file.\n";
    let twice = "---\ntimeout_ms: 10\ntimout_ms: 5000\nscript: |\n  def run(args):\n      return 1\n---\nGets one.\n";
    let project = Project::new(&[
        ("harness.md", root),
        (".harness/tools/read_note.md", tool),
        (".harness/tools/get_one.md", twice),
    ]);
    let fixed = harness(project.path(), &["validate", "--fix", "--json"]);
    assert!(fixed.err.contains("fixed 3 places"), "{}", fixed.err);
    let text = |path: &str| std::fs::read_to_string(project.path().join(path)).expect("a file");
    assert_eq!(
        text("harness.md"),
        root.replace("file=", "path=").replace("{file:", "{path:")
    );
    assert_eq!(
        text(".harness/tools/read_note.md"),
        tool.replace("timout_ms", "timeout_ms")
    );
    assert_eq!(
        text(".harness/tools/get_one.md"),
        twice,
        "the key it should be is there already"
    );
    assert!(
        harness(project.path(), &["validate", "--fix"])
            .err
            .contains("fixed 0 places")
    );
}

#[test]
fn fix_marks_arguments_that_every_run_reads_as_required_unless_the_author_decided() {
    let script = "script: |\n  def run(args):\n      return fs.read(args[\"path\"]) + args[\"more\"] + args.get(\"rest\", \"\")\n---\nReads it.\n";
    let file = |parameters: &str| format!("---\nparameters:\n{parameters}{script}");
    let rest = "  rest: { type: string, description: R }\n";
    for (before, after) in [
        (
            "  path: { type: string }\n  more:\n    type: string\n    description: M\n",
            "  path: { required: true, type: string }\n  more:\n    required: true\n    type: string\n    description: M\n",
        ),
        (
            "  path: {type: string, required: true}\n  more: {type: string, description: M, default: x}\n",
            "  path: {type: string, required: true}\n  more: {type: string, description: M, default: x}\n",
        ),
        (
            "  path: { type: string, required: false }\n  more: { enum: [a, b] }\n",
            "  path: { type: string, required: false }\n  more: { required: true, enum: [a, b] }\n",
        ),
    ] {
        let project = Project::new(&[(
            ".harness/tools/read_note.md",
            &file(&format!("{before}{rest}")),
        )]);
        harness(project.path(), &["validate", "--fix"]).ends(0);
        let text = std::fs::read_to_string(project.path().join(".harness/tools/read_note.md"))
            .expect("a file");
        assert_eq!(text, file(&format!("{after}{rest}")));
    }
}

#[test]
fn fix_changes_a_surface_and_leaves_every_other_byte() {
    let before = "{ \"polcy\": {\"side_effect_levl\": \"read_only\"},\r\n  \"tools\": [\n\t{\"name\": \"read_note\", \"description\": \"R\\u00e9ads.\",   \"executor\": \"harn\",\n   \"parameters\": {\"type\": \"object\", \"properties\": {\"path\": {\"type\": \"string\"}, \"line\": {\"type\": \"integer\"}}},\n   \"annotations\": {\"side_effect_level\": \"read_only\", \"arg_schema\": {\"required\": [\"path\", \"line\"], \"arg_aliases\": {\"file\": \"path\"}}}}\n  ],\n  \"system\": \"read_note(file=1)\" }";
    let project = Project::new(&[("surface.json", before)]);
    let words = ["surface", "check", "surface.json", "--fix", "--json"];
    let ran = harness(project.path(), &words);
    assert!(
        ran.err.contains("fixed 3 places"),
        "a key that is right shows what is wrong below it: {}",
        ran.err
    );
    let ran = harness(project.path(), &words);
    assert!(ran.err.contains("fixed 0 places"), "{}", ran.err);
    let after = before
        .replace("polcy", "policy")
        .replace("side_effect_levl", "side_effect_level")
        .replace(
            "\"parameters\": {",
            "\"parameters\": {\"required\": [\"path\", \"line\"], ",
        );
    assert_eq!(
        std::fs::read_to_string(project.path().join("surface.json")).expect("the file"),
        after
    );
    // Places in a text inside the file cannot be fixed: the finding only suggests the fix.
    let report = ran.document();
    assert_eq!(
        codes(&report),
        ["TOOL_SURFACE_DEPRECATED_ARG_ALIAS"],
        "{report}"
    );
    assert_eq!(report["diagnostics"][0]["fix"], "path");
    harness_reading(project.path(), &["surface", "check", "-", "--fix"], before).ends(2);
}

#[test]
fn fix_never_writes_a_duplicate_key() {
    let keys = "---\nparamters:\n  path: { type: string, required: true, description: P }\nparametrs: {}\nscript: |\n  def run(args):\n      return fs.read(\"note.txt\")\n---\nReads the note.\n";
    let aliased = "---\nparameters:\n  path: { type: string, required: true, description: P }\nannotations:\n  arg_schema:\n    arg_aliases: { file: path }\nscript: |\n  def run(args):\n      return fs.read(args[\"path\"])\n---\nShows it.\n";
    let root = "---\nformat: 1\n---\nshow_it(file=1, path=2), {\"name\": \"show_it\", \"arguments\": {\"file\": 1, \"path\": 2}}\n";
    let project = Project::new(&[
        ("harness.md", root),
        (".harness/tools/read_note.md", keys),
        (".harness/tools/show_it.md", aliased),
    ]);
    assert!(
        harness(project.path(), &["validate", "--fix"])
            .err
            .contains("fixed 0 places")
    );
    let text = |path: &str| std::fs::read_to_string(project.path().join(path)).expect("a file");
    assert_eq!(text(".harness/tools/read_note.md"), keys);
    assert_eq!(text("harness.md"), root);
    let twice = r#"{"tools": [], "polcy": {}, "policyy": {"tools": ["a_b"]}}"#;
    let project = Project::new(&[("surface.json", twice)]);
    assert!(
        harness(
            project.path(),
            &["surface", "check", "surface.json", "--fix"]
        )
        .err
        .contains("fixed 0 places")
    );
    assert_eq!(
        std::fs::read_to_string(project.path().join("surface.json")).expect("the file"),
        twice
    );
}
