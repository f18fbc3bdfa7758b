//! A project in a temporary folder, and an engine over it whose workers are the real program.

pub(crate) mod alone;
pub(crate) mod program;
pub(crate) mod user;

use serde_json::Value;
use std::path::Path;
use std::sync::{Arc, Mutex};
use tempfile::TempDir;
use tool_harness::engine::{Engine, EngineBuilder};
use tool_harness::event::{Delivery, Event, EventRef, Payloads, Sink};
use tool_harness::worker::protocol::WORKER_ARGUMENT;
use tool_harness::{Arguments, Call, ToolResult};
use tool_harness_sandbox::process::WorkerProgram;

/// Collects every event, optionally with arguments and results.
pub(crate) struct Events(Mutex<Vec<Event>>, Payloads);

impl Default for Events {
    fn default() -> Self {
        Self(Mutex::default(), Payloads::LeftOut)
    }
}

impl Sink for Events {
    fn record(&self, event: &EventRef<'_>) {
        self.0.lock().expect("events").push(event.to_event());
    }

    fn delivery(&self) -> Delivery {
        Delivery::OnThePath
    }

    fn payloads(&self) -> Payloads {
        self.1
    }
}

impl Events {
    pub(crate) fn asking() -> Arc<Self> {
        Arc::new(Self(Mutex::default(), Payloads::Included))
    }

    pub(crate) fn all(&self) -> Vec<Event> {
        self.0.lock().expect("events").clone()
    }

    pub(crate) fn names(&self) -> Vec<String> {
        self.all()
            .into_iter()
            .map(|event| event.name().to_owned())
            .collect()
    }

    pub(crate) fn clear(&self) {
        self.0.lock().expect("events").clear();
    }
}

/// A project on disk.
pub(crate) struct Project {
    pub(crate) folder: TempDir,
    pub(crate) events: Arc<Events>,
}

impl Project {
    pub(crate) fn new(files: &[(&str, &str)]) -> Self {
        Self::inside(&std::env::temp_dir(), files)
    }

    /// A project in a subfolder of this one.
    pub(crate) fn inside(parent: &Path, files: &[(&str, &str)]) -> Self {
        let folder = tempfile::tempdir_in(parent).expect("a temporary folder");
        let project = Self {
            folder,
            events: Arc::default(),
        };
        std::fs::create_dir_all(project.path().join(".harness")).expect("the folder");
        for (path, text) in files {
            project.write(path, text.as_bytes());
        }
        project
    }

    /// Only a tool `t` with this script.
    pub(crate) fn script(script: &str) -> Self {
        Self::new(&[(".harness/tools/t.md", &tool(script))])
    }

    pub(crate) fn path(&self) -> &Path {
        self.folder.path()
    }

    pub(crate) fn write(&self, path: &str, bytes: &[u8]) {
        let path = self.path().join(path);
        std::fs::create_dir_all(path.parent().expect("a parent")).expect("folders");
        std::fs::write(path, bytes).expect("the file");
    }

    pub(crate) fn builder(&self) -> EngineBuilder {
        EngineBuilder::new(self.path())
            .worker(worker())
            .sink(self.events.clone())
    }

    pub(crate) async fn engine(&self) -> Engine {
        self.builder().load().await.expect("the project loads")
    }
}

/// The real program as a worker.
pub(crate) fn worker() -> WorkerProgram {
    WorkerProgram {
        path: user::program(),
        argument: WORKER_ARGUMENT,
    }
}

/// A tool file around a script.
pub(crate) fn tool(script: &str) -> String {
    tool_with("", script)
}

/// A tool file with more frontmatter.
pub(crate) fn tool_with(fields: &str, script: &str) -> String {
    format!(
        "---\n{fields}script: |\n{}\n---\nRuns the test.\n",
        indent(script)
    )
}

/// A hook file around a script.
pub(crate) fn hook(event: &str, script: &str) -> String {
    hook_with(event, "", script)
}

/// A hook file with more frontmatter.
pub(crate) fn hook_with(event: &str, fields: &str, script: &str) -> String {
    format!(
        "---\nevent: {event}\n{fields}script: |\n{}\n---\nFor the test.\n",
        indent(script)
    )
}

fn indent(script: &str) -> String {
    script
        .trim_matches('\n')
        .lines()
        .map(|line| format!("  {line}"))
        .collect::<Vec<_>>()
        .join("\n")
}

/// A call with arguments as a value.
pub(crate) fn call(tool: &str, arguments: Value) -> Call {
    Call::new(tool, Arguments::Value(arguments))
}

/// The code of a result's error.
pub(crate) fn code(result: &ToolResult) -> &'static str {
    result
        .error
        .as_ref()
        .map_or("none", |error| error.code.text())
}
