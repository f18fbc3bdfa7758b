//! Files in every bad state: each is a diagnostic, the rest loads, nothing hangs, and a broken hook blocks.

mod folders;
mod states;

use crate::support::program::SOON;
use crate::support::{Events, tool, user, worker};
use std::fs;
use std::path::Path;
use std::sync::Arc;
use tool_harness::engine::{Engine, EngineBuilder};

fn put(path: &Path, bytes: &[u8]) {
    fs::write(path, bytes).expect("a file");
}

fn pipe(path: &Path) {
    #[expect(clippy::disallowed_methods, reason = "makes what the test is about")]
    let made = std::process::Command::new("mkfifo")
        .arg(path)
        .status()
        .expect("mkfifo runs");
    assert!(made.success());
}

struct Project {
    folder: tempfile::TempDir,
    events: Arc<Events>,
}

impl Project {
    /// A project with one good tool.
    fn new() -> Self {
        let folder = tempfile::tempdir().expect("a temporary folder");
        for name in ["tools", "hooks", "plugins"] {
            fs::create_dir_all(folder.path().join(".harness").join(name)).expect("a folder");
        }
        put(
            &folder.path().join(".harness/tools/run_good.md"),
            tool("def run(args):\n    return \"good\"").as_bytes(),
        );
        Self {
            folder,
            events: Arc::default(),
        }
    }

    fn at(&self, path: &str) -> std::path::PathBuf {
        self.folder.path().join(path)
    }

    async fn engine(&self) -> Engine {
        let builder = EngineBuilder::new(self.folder.path())
            .worker(worker())
            .sink(self.events.clone());
        tokio::time::timeout(SOON, builder.load())
            .await
            .expect("loading hangs")
            .expect("loads")
    }
}

fn found(engine: &Engine) -> Vec<String> {
    let shown = |found: &tool_harness::diagnostic::Diagnostic| {
        let place = found
            .place
            .as_ref()
            .map(ToString::to_string)
            .unwrap_or_default();
        format!(
            "{} {place} {}",
            found.code,
            found.message.chars().take(100).collect::<String>()
        )
    };
    engine.diagnostics().iter().map(shown).collect()
}

#[test]
fn every_test_here_passes_for_an_ordinary_user() {
    user::run_every_test_as_an_ordinary_user("bad_input");
}
