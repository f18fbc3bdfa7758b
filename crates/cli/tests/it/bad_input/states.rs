//! One file in a bad state, or all of them at once.

use super::{Project, found, pipe, put};
use crate::support::alone::alone;
use crate::support::{call, code, hook};
use serde_json::json;
use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;

/// A file in a bad state: its name, how to create it, and the expected code.
type State = (&'static str, fn(&Path), &'static str);

const STATES: &[State] = &[
    ("a_hundred_megabytes", huge, "FILE_TOO_LARGE"),
    (
        "a_binary",
        |path| put(path, &(0..=255).cycle().take(4096).collect::<Vec<u8>>()),
        "FILE_NOT_TEXT",
    ),
    (
        "a_program",
        |path| drop(fs::copy("/bin/true", path)),
        "FILE_NOT_TEXT",
    ),
    (
        "invalid_utf8",
        |path| {
            put(
                path,
                b"---\nevent: tool.pre\nscript: \"\xff\xfe\"\n---\nx\n",
            )
        },
        "FILE_NOT_TEXT",
    ),
    (
        "utf16",
        |path| {
            put(
                path,
                &"---\nscript: x\n---\n"
                    .encode_utf16()
                    .flat_map(u16::to_le_bytes)
                    .collect::<Vec<u8>>(),
            )
        },
        "FILE_NOT_TEXT",
    ),
    (
        "a_folder",
        |path| fs::create_dir(path).expect("a folder"),
        "FILE_UNREADABLE",
    ),
    (
        "a_link_to_itself",
        |path| symlink(path, path).expect("a link"),
        "FILE_UNREADABLE",
    ),
    (
        "a_dangling_link",
        |path| symlink("nowhere.md", path).expect("a link"),
        "FILE_UNREADABLE",
    ),
    (
        "a_link_to_a_folder",
        |path| symlink("/etc", path).expect("a link"),
        "FILE_UNREADABLE",
    ),
    (
        "a_link_to_zeroes",
        |path| symlink("/dev/zero", path).expect("a link"),
        "FILE_UNREADABLE",
    ),
    ("a_pipe", pipe, "FILE_UNREADABLE"),
    (
        "a_socket",
        |path| drop(std::os::unix::net::UnixListener::bind(path).expect("a socket")),
        "FILE_UNREADABLE",
    ),
    ("empty", |path| put(path, b""), "FRONTMATTER_MISSING"),
    (
        "only_a_mark",
        |path| put(path, "\u{feff}".as_bytes()),
        "FRONTMATTER_MISSING",
    ),
    ("only_zeroes", |path| put(path, &[0; 100]), "FILE_NOT_TEXT"),
    (
        "unclosed",
        |path| put(path, b"---\nevent: tool.pre\n"),
        "FRONTMATTER_UNCLOSED",
    ),
    (
        "aliases_of_aliases",
        |path| put(path, bomb().as_bytes()),
        "YAML_NOT_ACCEPTED",
    ),
    (
        "duplicate_keys",
        |path| {
            put(
                path,
                format!("---\n{}---\nx\n", "risk: read\n".repeat(5_000)).as_bytes(),
            )
        },
        "KEY_DUPLICATE",
    ),
    (
        "more_duplicate_keys",
        |path| {
            put(
                path,
                format!("---\n{}---\nx\n", "risk: read\n".repeat(10_000)).as_bytes(),
            )
        },
        "YAML_LIMIT",
    ),
    (
        "nested_flow",
        |path| {
            put(
                path,
                format!(
                    "---\nx: {}{}\n---\nx\n",
                    "[".repeat(50_000),
                    "]".repeat(50_000)
                )
                .as_bytes(),
            )
        },
        "YAML_LIMIT",
    ),
    (
        "nested_maps",
        |path| {
            put(
                path,
                format!(
                    "---\nx: {}1{}\n---\nx\n",
                    "{a: ".repeat(20_000),
                    "}".repeat(20_000)
                )
                .as_bytes(),
            )
        },
        "YAML_LIMIT",
    ),
    (
        "nested_blocks",
        |path| put(path, format!("---\n{}\n---\nx\n", stairs(900)).as_bytes()),
        "YAML_LIMIT",
    ),
    (
        "unclosed_flow",
        |path| {
            put(
                path,
                format!("---\nx: {}\n---\nx\n", "[".repeat(100_000)).as_bytes(),
            )
        },
        "YAML_LIMIT",
    ),
    (
        "a_tab",
        |path| put(path, b"---\nparameters:\n\ta: 1\n---\nx\n"),
        "YAML_INVALID",
    ),
    (
        "a_list",
        |path| put(path, b"---\n- 1\n- 2\n---\nx\n"),
        "FIELD_WRONG_TYPE",
    ),
    (
        "two_documents",
        |path| put(path, b"---\nrisk: read\n...\nrisk: write\n---\nx\n"),
        "YAML_NOT_ACCEPTED",
    ),
    (
        "a_tag",
        |path| {
            put(
                path,
                b"---\nscript: !!python/object/apply:os.system [ls]\n---\nx\n",
            )
        },
        "YAML_NOT_ACCEPTED",
    ),
];

/// A sparse file of this length.
fn huge(path: &Path) {
    fs::File::create(path)
        .and_then(|file| file.set_len(100 << 20))
        .expect("a file");
}

fn bomb() -> String {
    let mut text = "---\na0: &a0 [lol, lol, lol]\n".to_owned();
    for level in 1..30 {
        text.push_str(&format!(
            "a{level}: &a{level} [{}]\n",
            vec![format!("*a{}", level - 1); 10].join(", ")
        ));
    }
    text + "---\nx\n"
}

fn stairs(depth: usize) -> String {
    (0..depth)
        .map(|level| format!("{}a:\n", " ".repeat(level)))
        .collect()
}

/// The peak resident memory of this process, in KiB.
fn peak_kb() -> u64 {
    let text = fs::read_to_string("/proc/self/status").expect("status");
    let line = text
        .lines()
        .find(|line| line.starts_with("VmHWM:"))
        .expect("VmHWM");
    line.split_whitespace()
        .nth(1)
        .and_then(|number| number.parse().ok())
        .expect("a number")
}

#[tokio::test(flavor = "multi_thread")]
async fn a_tool_file_in_any_bad_state_is_one_diagnostic_and_the_rest_loads() {
    if !alone(
        "bad_input::states::a_tool_file_in_any_bad_state_is_one_diagnostic_and_the_rest_loads",
    ) {
        return;
    }
    let before = peak_kb();
    for (name, make, expected) in STATES {
        let project = Project::new();
        make(&project.at(&format!(".harness/tools/{name}.md")));
        let engine = project.engine().await;
        let shown = found(&engine);
        let first = engine
            .diagnostics()
            .iter()
            .find(|found| found.code == *expected)
            .unwrap_or_else(|| panic!("{name}: {shown:?}"));
        let place = first
            .place
            .as_ref()
            .map(ToString::to_string)
            .expect("a place");
        assert!(
            place.starts_with(&format!(".harness/tools/{name}.md:")),
            "{name}: {place}"
        );
        assert!(
            first.message.len() < 500 && !first.message.contains('\n'),
            "{name}: {} bytes of message",
            first.message.len()
        );
        assert!(shown.len() <= 10_001, "{name}: {} findings", shown.len());
        assert!(
            shown
                .iter()
                .all(|line| line.contains(&format!("{name}.md"))),
            "{name} spoils another file: {shown:?}"
        );
        assert_eq!(
            engine.call(call("run_good", json!({}))).await.value,
            Some(json!("good")),
            "{name}"
        );
        let result = engine.call(call(name, json!({}))).await;
        assert_eq!(
            code(&result),
            "tool.not_advertised",
            "{name}: {:?}",
            result.error
        );
    }
    let grown = peak_kb().saturating_sub(before);
    assert!(grown < 300 * 1024, "loading took {grown} KiB");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_hook_file_in_any_bad_state_blocks_calls_and_names_itself() {
    for (name, make, _) in STATES {
        let project = Project::new();
        make(&project.at(&format!(".harness/hooks/{name}.md")));
        let engine = project.engine().await;
        let result = engine.call(call("run_good", json!({}))).await;
        assert_eq!(
            code(&result),
            "tool.hook.failed",
            "{name}: {:?}",
            found(&engine)
        );
        let error = result.error.expect("an error");
        assert!(
            error.message.contains(&format!("`{name}`")),
            "{name}: {}",
            error.message
        );
        let place = error.place.as_ref().expect("a place").to_string();
        assert!(
            place.starts_with(&format!(".harness/hooks/{name}.md:")),
            "{name}: {place}"
        );
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_root_or_bundle_in_any_bad_state_stops_the_project_or_is_reported() {
    for (name, make, expected) in STATES {
        let project = Project::new();
        make(&project.at("harness.md"));
        let engine = project.engine().await;
        assert!(
            engine
                .diagnostics()
                .iter()
                .any(|found| found.code == *expected),
            "{name}: {:?}",
            found(&engine)
        );
        assert!(
            engine.stopped().is_some() && engine.surface("default").is_err(),
            "{name} does not stop"
        );
        assert_eq!(
            code(&engine.call(call("run_good", json!({}))).await),
            "project.broken",
            "{name}"
        );
        let project = Project::new();
        make(&project.at(&format!(".harness/plugins/{name}.md")));
        let engine = project.engine().await;
        assert!(
            engine
                .diagnostics()
                .iter()
                .any(|found| found.code == *expected),
            "{name}: {:?}",
            found(&engine)
        );
        // An unreadable bundle may contain hooks.
        assert_eq!(
            code(&engine.call(call("run_good", json!({}))).await),
            "tool.hook.failed",
            "{name} as a bundle"
        );
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn every_bad_state_at_once_leaves_the_good_tool() {
    let project = Project::new();
    for (name, make, _) in STATES {
        make(&project.at(&format!(".harness/tools/{name}.md")));
    }
    let engine = project.engine().await;
    for (name, _, expected) in STATES {
        let path = format!(".harness/tools/{name}.md:");
        let mut codes = engine.diagnostics().iter().filter(|found| {
            found
                .place
                .as_ref()
                .is_some_and(|at| at.to_string().starts_with(&path))
        });
        assert!(codes.any(|found| found.code == *expected), "{name}");
    }
    assert_eq!(
        engine.call(call("run_good", json!({}))).await.value,
        Some(json!("good"))
    );
    let offered: Vec<String> = engine
        .surface("default")
        .expect("a surface")
        .tools
        .into_iter()
        .map(|tool| tool.name)
        .collect();
    assert_eq!(offered, ["read_artifact", "run_good"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn windows_line_endings_and_a_byte_order_mark_are_accepted() {
    let plain = "---\nparameters:\n  a: {type: string}\nscript: |\n  def run(args):\n      return [args.get(\"a\"), 1]\n---\nSays it.\n\nTwice.\n";
    for text in [
        plain.to_owned(),
        format!("\u{feff}{plain}"),
        plain.replace('\n', "\r\n"),
        format!("\u{feff}{}", plain.replace('\n', "\r\n")),
    ] {
        let project = Project::new();
        put(&project.at(".harness/tools/run_odd.md"), text.as_bytes());
        let guard = hook(
            "tool.pre",
            "def handle(event, payload):\n    return block(\"no\") if payload[\"args\"].get(\"no\") else allow()",
        );
        let guard = if text.contains('\r') {
            guard.replace('\n', "\r\n")
        } else {
            guard
        };
        put(&project.at(".harness/hooks/guard.md"), guard.as_bytes());
        let engine = project.engine().await;
        assert_eq!(found(&engine), [""; 0]);
        assert_eq!(
            engine.call(call("run_odd", json!({"a": "x"}))).await.value,
            Some(json!(["x", 1]))
        );
        assert_eq!(
            code(&engine.call(call("run_odd", json!({"no": true}))).await),
            "tool.hook.blocked"
        );
        let surface = engine.surface("default").expect("a surface");
        let odd = surface
            .tools
            .iter()
            .find(|tool| tool.name == "run_odd")
            .expect("offered");
        assert_eq!(odd.description.replace('\r', ""), "Says it.\n\nTwice.");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_guard_with_an_uppercase_extension_still_guards() {
    for name in ["guard.md", "guard.MD", "guard.Md"] {
        let project = Project::new();
        let text = hook(
            "tool.pre",
            "def handle(event, payload):\n    return block(\"guarded\")",
        );
        put(
            &project.at(&format!(".harness/hooks/{name}")),
            text.as_bytes(),
        );
        assert_eq!(
            code(
                &project
                    .engine()
                    .await
                    .call(call("run_good", json!({})))
                    .await
            ),
            "tool.hook.blocked",
            "{name}"
        );
    }
}
