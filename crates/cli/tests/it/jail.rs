//! The file jail through the whole path: tools whose scripts call `fs`, judged by canaries beside the workspace.

use crate::support::{Events, call, code, tool, user, worker};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};
use tool_harness::engine::{Engine, EngineBuilder};

const SECRET: &str = "a secret that must not be read or changed";

/// One tool for each call of `fs` that takes a path: the attacked path is `p`, a harmless one in the workspace is `free`.
const OPERATIONS: &[(&str, &str)] = &[
    ("read", "fs.read(p)"),
    ("read_base64", "fs.read(p, encoding=\"base64\")"),
    ("read_lines", "fs.read_lines(p)"),
    ("line_count", "fs.line_count(p)"),
    ("list", "fs.list(p)"),
    ("diff_from", "fs.diff(p, \"src/main.txt\")"),
    ("diff_to", "fs.diff(\"src/main.txt\", p)"),
    ("copy_from", "fs.copy(p, free)"),
    ("write", "fs.write(p, \"evil\")"),
    (
        "write_base64",
        "fs.write(p, \"ZXZpbA==\", encoding=\"base64\")",
    ),
    ("append", "fs.append(p, \"evil\")"),
    ("mkdir", "fs.mkdir(p)"),
    ("copy_to", "fs.copy(\"src/main.txt\", p)"),
    ("move_to", "fs.move(\"src/spare.txt\", p)"),
    ("replace", "fs.replace(p, \"a secret\", \"evil\")"),
    ("replace_all", "fs.replace_all(p, \"e\", \"evil\")"),
    ("insert_at", "fs.insert_at(p, 1, \"evil\")"),
    ("replace_lines", "fs.replace_lines(p, 1, 1, \"evil\")"),
    ("delete_lines", "fs.delete_lines(p, 1, 1)"),
    ("move_from", "fs.move(p, free)"),
    ("remove", "fs.remove(p)"),
    ("remove_all", "fs.remove(p, True)"),
];
/// Where the calls that change something begin.
const FIRST_CHANGE: usize = 8;

/// `ws` is the workspace; everything beside it must stay as it is.
struct World {
    base: tempfile::TempDir,
    events: Arc<Events>,
    engine: Engine,
    before: BTreeMap<PathBuf, String>,
}

impl World {
    async fn new() -> Self {
        let base = tempfile::tempdir().expect("a temporary folder");
        for folder in [
            "ws/src",
            "ws/.harness/tools",
            "ws/.harness/hooks",
            "ws/.git/hooks",
            "outside/sub",
            "ws-evil",
        ] {
            fs::create_dir_all(base.path().join(folder)).expect("a folder");
        }
        for canary in ["outside/canary", "outside/sub/canary", "ws-evil/canary"] {
            fs::write(base.path().join(canary), SECRET).expect("a canary");
        }
        for (path, text) in [
            ("ws/src/main.txt", "a secret\ninside\n"),
            ("ws/src/spare.txt", "spare"),
            ("ws/harness.md", "---\nformat: 1\n---\n"),
            ("ws/.git/hooks/pre-commit", "#!/bin/sh\n"),
            ("ws/.git/config", "[core]\n"),
        ] {
            fs::write(base.path().join(path), text).expect("a file");
        }
        for (name, expression) in OPERATIONS {
            let script = format!(
                "def run(args):\n    p, free = args[\"path\"], args.get(\"free\", \"free/x\")\n    return {expression}"
            );
            fs::write(
                base.path().join(format!("ws/.harness/tools/run_{name}.md")),
                tool(&script),
            )
            .expect("a tool");
        }
        let found =
            "def run(args):\n    return [fs.exists(args[\"path\"]), fs.stat(args[\"path\"])]";
        fs::write(
            base.path().join("ws/.harness/tools/run_look.md"),
            tool(found),
        )
        .expect("a tool");
        let search = "def run(args):\n    return [fs.glob(args[\"path\"]), fs.find(\"secret\", args[\"path\"])]";
        fs::write(
            base.path().join("ws/.harness/tools/run_search.md"),
            tool(search),
        )
        .expect("a tool");
        let events = Arc::<Events>::default();
        let builder = EngineBuilder::new(base.path().join("ws"))
            .worker(worker())
            .sink(events.clone());
        let engine = builder.load().await.expect("loads");
        assert!(engine.is_valid(), "{:?}", engine.diagnostics());
        let before = beside(base.path());
        Self {
            base,
            events,
            engine,
            before,
        }
    }

    fn ws(&self, path: &str) -> PathBuf {
        self.base.path().join("ws").join(path)
    }

    fn link(&self, target: impl AsRef<Path>, name: &str) {
        symlink(target, self.ws(name)).expect("a link");
    }

    async fn call(&self, operation: &str, path: &str) -> tool_harness::ToolResult {
        self.engine
            .call(call(&format!("run_{operation}"), json!({"path": path})).session("s"))
            .await
    }

    /// Nothing beside the workspace was changed, added or removed, and nothing secret came back.
    fn assert_unharmed(&self, after: &str) {
        assert_eq!(
            beside(self.base.path()),
            self.before,
            "{after} changed something outside"
        );
        for stray in ["canary", "passwd", "x", "new"] {
            assert!(
                !self.ws(stray).exists(),
                "{after} acted on `{stray}` in the workspace instead"
            );
        }
    }

    /// Every operation on the path fails, is recorded as denied, and leaves everything as it was.
    async fn assert_denied(&self, path: &str, from: usize) {
        for (operation, _) in &OPERATIONS[from..] {
            let what = format!("{operation} {}", &path[..path.len().min(80)]);
            self.events.clear();
            let result = self.call(operation, path).await;
            assert_eq!(code(&result), "tool.failed", "{what}: {:?}", result.value);
            assert!(!result.text().contains(SECRET), "{what} told the secret");
            let denied = self
                .events
                .all()
                .into_iter()
                .find(|event| event.name == "file.denied");
            let fields = denied
                .unwrap_or_else(|| panic!("{what} was not recorded: {}", result.text()))
                .fields;
            assert!(
                fields["builtin"]
                    .as_str()
                    .is_some_and(|name| name.starts_with("fs.")),
                "{fields:?}"
            );
            self.assert_unharmed(&what);
        }
    }
}

fn beside(base: &Path) -> BTreeMap<PathBuf, String> {
    let mut found = BTreeMap::new();
    let mut waiting = vec![base.join("outside"), base.join("ws-evil")];
    for name in fs::read_dir(base).expect("the base").flatten() {
        found.insert(name.path(), String::new());
    }
    while let Some(path) = waiting.pop() {
        let facts = fs::symlink_metadata(&path).expect("facts");
        let text = if facts.is_file() {
            fs::read_to_string(&path).unwrap_or_default()
        } else {
            String::new()
        };
        if facts.is_dir() {
            waiting.extend(
                fs::read_dir(&path)
                    .expect("a folder")
                    .flatten()
                    .map(|entry| entry.path()),
            );
        }
        found.insert(
            path,
            format!(
                "{:o} {} {} {text}",
                facts.mode(),
                facts.uid(),
                facts.nlink()
            ),
        );
    }
    found
}

#[tokio::test(flavor = "multi_thread")]
async fn steps_upwards_and_absolute_paths_are_denied() {
    let world = World::new().await;
    let ws = world.ws("").display().to_string();
    let outside = world
        .base
        .path()
        .join("outside/canary")
        .display()
        .to_string();
    for path in [
        "../outside/canary",
        "../../../../../../../../etc/passwd",
        "src/../../outside/canary",
        "./.././outside/x",
        "..",
    ] {
        world.assert_denied(path, 0).await;
    }
    for path in [
        format!("{ws}../outside/canary"),
        format!("{ws}/../../../../../etc/passwd"),
        outside,
        "/etc/passwd".into(),
    ] {
        world.assert_denied(&path, 0).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_sibling_whose_name_begins_like_the_workspace_is_denied() {
    let world = World::new().await;
    world
        .assert_denied(
            &world
                .base
                .path()
                .join("ws-evil/canary")
                .display()
                .to_string(),
            0,
        )
        .await;
    world.assert_denied("../ws-evil/canary", 0).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn benign_twins_of_steps_upwards_and_absolute_paths_work() {
    let world = World::new().await;
    let ws = world.ws("").display().to_string();
    for path in [
        "src/main.txt".to_owned(),
        "src/../src/main.txt".into(),
        "./src//main.txt".into(),
        format!("{ws}src/main.txt"),
    ] {
        for (operation, _) in OPERATIONS {
            fs::create_dir_all(world.ws("src")).expect("a folder");
            fs::write(world.ws("src/main.txt"), "a secret\ninside\n").expect("a file");
            fs::write(world.ws("src/spare.txt"), "spare").expect("a file");
            let _ = fs::remove_dir_all(world.ws("free"));
            let result = world.call(operation, &path).await;
            match *operation {
                "list" | "mkdir" => {
                    assert_eq!(code(&result), "tool.failed", "{operation} of a file")
                }
                "copy_to" => {}
                _ => assert_eq!(
                    code(&result),
                    "none",
                    "{operation} {path}: {}",
                    result.text()
                ),
            }
        }
    }
    let result = world.call("mkdir", "ws-evil/deep").await;
    assert!(
        !result.is_error && world.ws("ws-evil/deep").is_dir(),
        "a folder of the sibling's name inside is fine"
    );
    world.assert_unharmed("the benign twins");
    assert!(!world.events.names().contains(&"file.denied".to_owned()));
}

#[tokio::test(flavor = "multi_thread")]
async fn the_kernels_own_links_are_denied() {
    let world = World::new().await;
    let canary = world
        .base
        .path()
        .join("outside/canary")
        .display()
        .to_string();
    for path in [
        format!("/proc/self/root{canary}"),
        "/proc/self/cwd/..".into(),
        "/proc/self/fd/3".into(),
        "/dev/fd/0".into(),
    ] {
        world.assert_denied(&path, 0).await;
    }
    world.link(format!("/proc/self/root{canary}"), "magic");
    world.link("/proc/self/root", "root");
    world.assert_denied(&format!("root{canary}"), 0).await;
    let changes_content = OPERATIONS
        .iter()
        .position(|(name, _)| *name == "move_from")
        .expect("it is there");
    for (operation, _) in OPERATIONS[..changes_content]
        .iter()
        .filter(|(name, _)| *name != "move_to")
    {
        let result = world.call(operation, "magic").await;
        assert_eq!(
            code(&result),
            "tool.failed",
            "{operation} magic: {:?}",
            result.value
        );
    }
    world.assert_unharmed("links of the kernel");
}

#[tokio::test(flavor = "multi_thread")]
async fn links_out_of_the_workspace_are_denied_as_files_and_as_parents_and_links_inside_work() {
    let world = World::new().await;
    world.link("../outside/canary", "file");
    world.link(world.base.path().join("outside/canary"), "absolute");
    world.link("../outside/missing", "dangling");
    world.link("../outside", "folder");
    world.link("folder", "chain");
    for path in [
        "folder/canary",
        "folder/x",
        "folder/deep/er/x",
        "chain/sub/canary",
        "chain/x",
    ] {
        world.assert_denied(path, 0).await;
    }
    // A link may itself be moved or removed: it is the workspace's own entry. Nothing goes through it.
    let own = OPERATIONS
        .iter()
        .position(|(name, _)| *name == "move_from")
        .expect("it is there");
    for path in ["file", "absolute", "dangling", "folder"] {
        for (operation, _) in &OPERATIONS[..own] {
            let result = world.call(operation, path).await;
            assert_eq!(
                code(&result),
                "tool.failed",
                "{operation} {path}: {:?}",
                result.value
            );
            assert!(!result.text().contains(SECRET));
            world.assert_unharmed(&format!("{operation} {path}"));
        }
    }
    for path in ["file", "folder"] {
        let result = world.call("remove_all", path).await;
        assert!(!result.is_error, "removing a link: {}", result.text());
        world.assert_unharmed("removing a link");
    }
    // The benign twins.
    world.link("src/main.txt", "inner");
    world.link("src", "inner-folder");
    assert_eq!(
        world.call("read", "inner").await.value,
        Some(json!("a secret\ninside\n"))
    );
    let result = world.call("write", "inner-folder/new.txt").await;
    assert!(
        !result.is_error && world.ws("src/new.txt").exists(),
        "{}",
        result.text()
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_outside_cannot_be_seen_found_or_listed() {
    let world = World::new().await;
    world.link("../outside", "folder");
    for path in ["../outside/canary", "/etc/passwd", "folder/canary"] {
        let result = world.call("look", path).await;
        assert_ne!(
            result.value.as_ref().and_then(|value| value.get(0)),
            Some(&json!(true)),
            "{path}"
        );
    }
    for pattern in [
        "../**",
        "../outside/*",
        "/etc/*",
        "folder/*",
        "**/canary",
        "**",
    ] {
        let result = world.call("search", pattern).await;
        let text = result
            .value
            .map(|value| value.to_string())
            .unwrap_or_default();
        assert!(
            !text.contains("canary") && !text.contains("passwd") && !text.contains(SECRET),
            "{pattern}: {text}"
        );
    }
    let result = world.call("search", "src/*.txt").await;
    assert_eq!(
        result.value.as_ref().map(|value| &value[0]),
        Some(&json!(["src/main.txt", "src/spare.txt"])),
        "{:?}",
        result.error
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_hard_link_to_a_file_outside_is_never_written() {
    let world = World::new().await;
    let made = fs::hard_link(world.base.path().join("outside/canary"), world.ws("hard"));
    if let Err(error) = made {
        println!("skipped: hard links to another's file: {error}");
        return;
    }
    let before = fs::read_to_string(world.base.path().join("outside/canary")).expect("the canary");
    for (operation, _) in &OPERATIONS[FIRST_CHANGE..OPERATIONS.len() - 3] {
        let result = world.call(operation, "hard").await;
        assert_eq!(
            code(&result),
            "tool.failed",
            "{operation}: {:?}",
            result.value
        );
        assert_eq!(
            fs::read_to_string(world.base.path().join("outside/canary")).expect("the canary"),
            before,
            "{operation}"
        );
    }
    fs::write(world.ws("single"), "a secret").expect("a file");
    let result = world.call("replace", "single").await;
    assert!(
        !result.is_error,
        "a file with one name is written: {}",
        result.text()
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn protected_names_are_never_changed_by_any_call_however_they_are_spelled() {
    let world = World::new().await;
    let ws = world.ws("").display().to_string();
    let protected = [
        "harness.md",
        ".harness/tools/run_read.md",
        ".git/hooks/pre-commit",
        ".git/config",
    ];
    let text = |path: &str| fs::read_to_string(world.ws(path)).expect("still there");
    let before: Vec<String> = protected.iter().map(|path| text(path)).collect();
    let spellings = [
        "harness.md",
        "./harness.md",
        "src/../harness.md",
        "HARNESS.md",
        "harness.yaml",
        "harness.lock",
        "src/harness.md",
        ".harness",
        ".harness/hooks/x.md",
        ".harness/hooks/new/x.md",
        ".harness/tools/run_read.md",
        ".Harness/hooks/x.md",
        ".harne\u{17f}s/hooks/x.md",
        ".git",
        ".git/hooks",
        ".git/hooks/pre-commit",
        ".git/hooks/post-checkout",
        ".git/config",
        ".claude/settings.json",
        ".mcp.json",
        ".vscode/settings.json",
    ];
    for path in spellings.into_iter().map(str::to_owned).chain([
        format!("{ws}harness.md"),
        format!("{ws}.harness/hooks/x.md"),
    ]) {
        for (operation, _) in &OPERATIONS[FIRST_CHANGE..] {
            world.events.clear();
            let result = world.call(operation, &path).await;
            // A folder that is there already is left alone by `mkdir`, and a text without the words by `replace_all`.
            let nothing =
                *operation == "mkdir" && world.ws(&path).is_dir() || result.value == Some(json!(0));
            assert!(
                nothing || code(&result) == "tool.failed",
                "{operation} {path}: {:?}",
                result.value
            );
            for (path, before) in protected.iter().zip(&before) {
                assert_eq!(&text(path), before, "{operation} changed {path}");
            }
        }
        for operation in ["write", "append", "copy_to", "move_to"] {
            world.events.clear();
            assert!(world.call(operation, &path).await.is_error);
            assert!(
                world.events.names().contains(&"file.denied".to_owned()),
                "{operation} {path} was not recorded"
            );
        }
    }
    for path in [
        "harness.yaml",
        "harness.lock",
        ".harness/hooks/x.md",
        ".git/hooks/post-checkout",
        ".claude",
        ".mcp.json",
        "HARNESS.md",
    ] {
        assert!(!world.ws(path).exists(), "{path} was made");
    }
    // Their neighbours are free, and what is protected can be read.
    for path in [
        "docs/harness.txt",
        ".github/x.yml",
        "harness.md.bak",
        ".gitignore",
    ] {
        let result = world.call("write", path).await;
        assert!(!result.is_error, "{path}: {}", result.text());
    }
    assert_eq!(
        world.call("read", "harness.md").await.value,
        Some(json!("---\nformat: 1\n---\n"))
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn protected_names_are_not_reached_through_links_moved_folders_or_new_names() {
    let world = World::new().await;
    world.link(".harness", "config");
    world.link("harness.md", "alias.md");
    world.link("../.git/hooks", "src/hooks");
    for path in [
        "config/hooks/x.md",
        "config/tools/run_read.md",
        "src/hooks/pre-commit",
        "src/hooks/post-checkout",
    ] {
        for (operation, _) in &OPERATIONS[FIRST_CHANGE..] {
            let result = world.call(operation, path).await;
            let nothing = result.value == Some(json!(0));
            assert!(
                nothing || code(&result) == "tool.failed",
                "{operation} {path}: {:?}",
                result.value
            );
        }
    }
    for (operation, _) in &OPERATIONS[FIRST_CHANGE..OPERATIONS.len() - 3] {
        let result = world.call(operation, "alias.md").await;
        assert!(
            result.is_error || result.value == Some(json!(0)),
            "{operation} alias.md"
        );
    }
    assert_eq!(
        fs::read_to_string(world.ws("harness.md")).expect("there"),
        "---\nformat: 1\n---\n"
    );
    assert_eq!(
        fs::read_to_string(world.ws(".git/hooks/pre-commit")).expect("there"),
        "#!/bin/sh\n"
    );
    assert_eq!(
        fs::read_dir(world.ws(".harness/hooks"))
            .expect("a folder")
            .count(),
        0
    );
    // A prepared folder cannot be moved or copied to a protected name, nor the protected one away.
    fs::create_dir_all(world.ws("prepared/hooks")).expect("a folder");
    fs::write(world.ws("prepared/hooks/evil.md"), "x").expect("a file");
    for (from, to) in [
        ("prepared", ".harness"),
        ("prepared", ".claude"),
        (".harness", "gone"),
        (".git", "gone"),
        ("harness.md", "gone"),
    ] {
        for operation in ["move_from", "copy_from"] {
            let arguments = json!({"path": from, "free": to});
            let result = world
                .engine
                .call(call(&format!("run_{operation}"), arguments).session("s"))
                .await;
            if operation == "copy_from" && to == "gone" {
                let _ = fs::remove_file(world.ws("gone"));
                let _ = fs::remove_dir_all(world.ws("gone"));
                continue;
            }
            assert!(result.is_error, "{operation} {from} {to}");
        }
    }
    assert!(
        !world.ws(".harness/hooks/evil.md").exists()
            && !world.ws(".claude").exists()
            && !world.ws("gone").exists()
    );
    assert!(world.ws(".harness/tools/run_read.md").exists() && world.ws("harness.md").exists());
    let result = world
        .engine
        .call(
            call(
                "run_move_from",
                json!({"path": "prepared", "free": "ready"}),
            )
            .session("s"),
        )
        .await;
    assert!(
        !result.is_error && world.ws("ready/hooks/evil.md").exists(),
        "an ordinary folder moves: {}",
        result.text()
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_folder_swapped_for_a_link_during_many_calls_is_never_a_way_out() {
    let world = Arc::new(World::new().await);
    fs::create_dir(world.ws("plan")).expect("a folder");
    fs::write(world.ws("plan/canary"), "inside").expect("a file");
    world.link("../outside", "away");
    let stop = Arc::new(AtomicBool::new(false));
    let swapper = std::thread::spawn({
        let (world, stop) = (Arc::clone(&world), Arc::clone(&stop));
        move || {
            let (plan, away, aside) = (world.ws("plan"), world.ws("away"), world.ws("aside"));
            while !stop.load(Ordering::Relaxed) {
                for [from, to] in [
                    [&plan, &aside],
                    [&away, &plan],
                    [&plan, &away],
                    [&aside, &plan],
                ] {
                    // A call that finds nothing there makes the folder, which is then in the way.
                    while fs::rename(from, to).is_err() {
                        let _ = fs::remove_dir_all(to);
                    }
                }
            }
        }
    });
    let started = Instant::now();
    let (mut tries, mut inside) = (0, 0);
    while started.elapsed() < Duration::from_secs(4) {
        for operation in ["read", "write", "append", "insert_at"] {
            let result = world.call(operation, "plan/canary").await;
            tries += 1;
            inside += usize::from(!result.is_error);
            assert!(
                !result.text().contains(SECRET),
                "{operation} told the secret"
            );
        }
    }
    stop.store(true, Ordering::Relaxed);
    swapper.join().expect("ends");
    let now = beside(world.base.path());
    assert_eq!(
        now, world.before,
        "something outside was changed in {tries} tries"
    );
    assert!(
        tries > 100 && inside > 0,
        "{inside} of {tries} calls found the folder"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn paths_that_no_file_has_and_things_that_are_no_files_end_in_errors_at_once() {
    let world = World::new().await;
    let fifo = world.ws("pipe.txt");
    make_pipe(&fifo);
    let started = Instant::now();
    let long = "x".repeat(5000);
    let deep = "d/".repeat(3000) + "x";
    for path in ["", "pipe.txt", "a\0b", &long, &deep, "src/main.txt/x"] {
        for (operation, _) in &OPERATIONS[..FIRST_CHANGE + 3] {
            let result = world.call(operation, path).await;
            let fine = path.is_empty() && *operation == "list";
            assert!(
                result.is_error || fine,
                "{operation} {:?}",
                &path[..path.len().min(20)]
            );
        }
    }
    assert!(
        started.elapsed() < Duration::from_secs(20),
        "{:?}",
        started.elapsed()
    );
    world.assert_unharmed("odd paths");
}

/// A pipe, made by the system's own program: this crate has no call for it.
fn make_pipe(path: &Path) {
    #[expect(clippy::disallowed_methods, reason = "makes what the test is about")]
    let made = std::process::Command::new("mkfifo")
        .arg(path)
        .status()
        .expect("mkfifo runs");
    assert!(made.success());
}

#[test]
fn the_same_holds_for_an_ordinary_user() {
    user::run_every_test_as_an_ordinary_user("jail");
}

#[tokio::test(flavor = "multi_thread")]
async fn modes_and_owners_outside_do_not_change_when_files_are_copied_or_replaced() {
    let world = World::new().await;
    fs::set_permissions(world.ws("src/main.txt"), fs::Permissions::from_mode(0o640)).expect("set");
    for operation in ["write", "append"] {
        assert!(!world.call(operation, "src/main.txt").await.is_error);
        assert_eq!(
            fs::metadata(world.ws("src/main.txt"))
                .expect("there")
                .mode()
                & 0o7777,
            0o640,
            "{operation} keeps the mode"
        );
    }
    let value: Value = world
        .call("look", "src/main.txt")
        .await
        .value
        .expect("a value");
    assert_eq!(value[1]["mode"], json!("640"));
    world.assert_unharmed("changing modes");
}
