//! `harness import` on projects of older dialects.

use crate::support::program::harness;
use std::fs;
use std::path::Path;
use tempfile::TempDir;

const FENCED: &str = "---\nname: order-kit\ntype: plugin\nversion: \"1.0.0\"\ndescription: Orders\n---\n\n# Orders\n\n## Tools\n\n```yaml\n\
- name: count-orders\n  description: Count the orders of a day\n  parameters:\n    day: { type: string, required: true, description: The day }\n  timeout_ms: 5000\n  script: |\n    def run(args):\n        return {\"day\": args[\"day\"], \"orders\": 3}\n\
```\n\n## Hooks\n\n```yaml\n- event: tool.pre\n  handler: no_sundays\n  priority: 20\n  when: 'tool_name == \"count_orders\"'\n  script: |\n    def handle(event, payload):\n        if payload[\"args\"].get(\"day\") == \"sunday\":\n            return block(\"closed on sundays\")\n        return allow()\n```\n";
const LEGACY: &str = "---\nname: strict-mode\ntype: override\nhooks:\n  - event: onPreToolUse\n    handler: deny\n    when: \"tool.name == 'count_orders' and tool.args.day == 'never'\"\n    reason: never is no day\n---\n\n# Strict\n";
const IDENTITY: &str =
    "---\nname: shop\ntype: harness\nversion: \"1.0.0\"\n---\n\nYou work in a shop.\n";

fn write(folder: &Path, files: &[(&str, &str)]) {
    for (path, text) in files {
        let path = folder.join(path);
        fs::create_dir_all(path.parent().expect("a parent")).expect("folders");
        fs::write(path, text).expect("a file");
    }
}

fn old_project() -> TempDir {
    let folder = tempfile::tempdir().expect("a folder");
    write(
        folder.path(),
        &[
            (".harness/identity.md", IDENTITY),
            (".harness/plugins/orders.md", FENCED),
            (".harness/overrides/strict.md", LEGACY),
            (
                ".harness/models/models.md",
                "---\nname: m\ntype: model\n---\n",
            ),
            ("README.md", "# Shop\n"),
        ],
    );
    folder
}

#[test]
fn an_older_project_is_shown_written_and_then_works() {
    let old = old_project();
    let from = old.path().to_str().expect("UTF-8");
    let new = tempfile::tempdir().expect("a folder");
    let to = new.path().to_str().expect("UTF-8");
    let shown = harness(new.path(), &["import", from, "--to", to, "--dry-run"]).ends(0);
    for expected in [
        "+++ .harness/plugins/orders.md",
        "note: the tool `count-orders` is `count_orders` now",
        "note: the event `onPreToolUse` of `strict_deny` is `tool.pre` now",
        ".harness/models/models.md: `type: model` has no counterpart here",
        "3 files to write, 1 left",
        "nothing was written",
    ] {
        assert!(shown.out.contains(expected), "{expected} in {}", shown.out);
    }
    assert_eq!(fs::read_dir(new.path()).expect("a folder").count(), 0);
    // Nobody can be asked here.
    harness(new.path(), &["import", from, "--to", to]).ends(2);
    assert_eq!(fs::read_dir(new.path()).expect("a folder").count(), 0);

    let written = harness(new.path(), &["import", from, "--to", to, "--yes"]).ends(0);
    assert!(
        written.out.contains("done: 3 files written"),
        "{}",
        written.out
    );
    harness(new.path(), &["validate"]).ends(0);
    let here = new.path();
    let called = harness(here, &["call", "count_orders", "day=monday"]).ends(0);
    assert!(called.out.contains("orders: 3"), "{}", called.out);
    for (day, reason) in [
        ("sunday", "closed on sundays"),
        ("never", "never is no day"),
    ] {
        let refused = harness(here, &["call", "count_orders", &format!("day={day}")]).ends(3);
        assert!(refused.err.contains(reason), "{}", refused.err);
    }
}

#[test]
fn nothing_is_overwritten_and_a_second_import_writes_nothing() {
    let old = old_project();
    let from = old.path().to_str().expect("UTF-8");
    let new = tempfile::tempdir().expect("a folder");
    write(
        new.path(),
        &[
            ("harness.md", "---\nformat: 1\n---\nMine.\n"),
            (
                ".harness/overrides/strict.md",
                "---\nhooks: []\n---\nMine.\n",
            ),
        ],
    );
    let first = harness(new.path(), &["import", from, "--yes", "--json"])
        .ends(0)
        .document();
    assert_eq!(first["written"], true);
    let paths: Vec<&str> = first["files"]
        .as_array()
        .expect("files")
        .iter()
        .filter_map(|file| file["path"].as_str())
        .collect();
    assert_eq!(paths, [".harness/plugins/orders.md"]);
    let why = first["left"].to_string();
    assert!(
        why.contains("the project has `harness.md`") && why.contains("exists and is different"),
        "{why}"
    );
    let mine = fs::read_to_string(new.path().join(".harness/overrides/strict.md")).expect("a file");
    assert!(mine.ends_with("Mine.\n"));
    let second = harness(new.path(), &["import", from, "--yes", "--json"])
        .ends(0)
        .document();
    assert_eq!(
        (&second["written"], second["files"].as_array().map(Vec::len)),
        (&false.into(), Some(0))
    );
    assert!(second["left"].to_string().contains("has this text already"));
}

#[test]
fn what_the_checks_find_in_imported_files_is_said() {
    let old = tempfile::tempdir().expect("a folder");
    write(
        old.path(),
        &[(
            "read.md",
            "---\ntype: tool\nname: read_it\nscript: |\n  def run(args):\n      try:\n          return 1\n---\nReads it.\n",
        )],
    );
    let from = old.path().to_str().expect("UTF-8");
    let new = tempfile::tempdir().expect("a folder");
    fs::create_dir(new.path().join(".harness")).expect("a folder");
    let ran = harness(new.path(), &["import", from, "--yes"]).ends(0);
    assert!(
        ran.out.contains("SCRIPT_SYNTAX") && ran.out.contains("left there, shown above"),
        "{}",
        ran.out
    );
    let nothing = tempfile::tempdir().expect("a folder");
    let ran = harness(
        new.path(),
        &["import", nothing.path().to_str().expect("UTF-8")],
    )
    .ends(2);
    assert!(ran.err.contains("has no Markdown files"), "{}", ran.err);
}
