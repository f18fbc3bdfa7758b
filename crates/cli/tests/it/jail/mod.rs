//! The file jail through the whole path: tools whose scripts call `fs`, with canaries next to the workspace.

mod links;
mod paths;
mod protected;

use crate::support::{Events, call, code, tool, user, worker};
use serde_json::json;
use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::{MetadataExt, symlink};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use tool_harness::engine::{Engine, EngineBuilder};

const SECRET: &str = "a secret that must not be read or changed";

/// One tool for each call of `fs` that takes a path: `p` is the attacked path, `free` a harmless one in the workspace.
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

/// The index of the first call that changes something.
const FIRST_CHANGE: usize = 8;

/// `ws` is the workspace; everything next to it must stay unchanged.
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

    /// Nothing outside the workspace was changed, added or removed, and no secret came back.
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

    /// Every operation on the path fails, is recorded as denied, and changes nothing.
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
                .find(|event| event.name() == "file.denied");
            let fields = denied
                .unwrap_or_else(|| panic!("{what} was not recorded: {}", result.text()))
                .fields();
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

#[test]
fn every_test_here_passes_for_an_ordinary_user() {
    user::run_every_test_as_an_ordinary_user("jail");
}
