//! `tools/call` over stdio through every stage, against a bare `rmcp` server.

use crate::project::{Project, RUST_TOOL};
use crate::sample::microseconds;
use crate::server::Server;
use crate::{Report, Samples};
use serde_json::Value;
use std::time::Instant;

/// Timed calls per server.
const CALLS: usize = 10_000;
/// Calls of one server before the other one's turn.
const BLOCK: usize = 200;
/// Calls in flight together, and how often that is repeated.
const AT_ONCE: usize = 100;
const ROUNDS: usize = 50;

/// Measures MCP calls.
pub fn run(report: &mut Report) -> anyhow::Result<()> {
    let project = Project::new()?;
    project.tool("look", RUST_TOOL)?;
    project.root(
        "---\nformat: 1\ntools_policy: {mode: denylist, deny: [\"fs.remove\"]}\npolicy: {side_effect_level: workspace_write}\n---\n",
    )?;
    let mut bare = Client::start(&["bare"])?;
    let mut governed = Client::start(&["governed", &project.path().to_string_lossy()])?;
    let (mut of_bare, mut of_governed) = (Samples::default(), Samples::default());
    bare.calls(BLOCK)?;
    governed.calls(BLOCK)?;
    // In turns, so that both meet the same machine; many calls at a time, because a server still
    // cleans up after it has answered, and the other one should not pay for that.
    for _ in 0..CALLS / BLOCK {
        for _ in 0..BLOCK {
            of_bare.push(bare.calls(1)?);
        }
        for _ in 0..BLOCK {
            of_governed.push(governed.calls(1)?);
        }
    }
    report.add_samples("bare rmcp server", &of_bare, "us");
    report.add_samples("governed, all stages", &of_governed, "us");
    report.add(
        "governed / bare, medians",
        of_governed.median() / of_bare.median(),
        "ratio",
    );
    let (mut of_bare, mut of_governed) = (Samples::default(), Samples::default());
    for _ in 0..ROUNDS {
        of_bare.push(bare.calls(AT_ONCE)?);
        of_governed.push(governed.calls(AT_ONCE)?);
    }
    report.add_samples("bare, a hundred at once", &of_bare, "us");
    report.add_samples("governed, a hundred at once", &of_governed, "us");
    report.add(
        "governed / bare at once, medians",
        of_governed.median() / of_bare.median(),
        "ratio",
    );
    Ok(())
}

/// A client of one of the two servers of `serve`.
struct Client {
    server: Server,
    last_id: u64,
}

impl Client {
    fn start(words: &[&str]) -> anyhow::Result<Self> {
        let program = std::env::current_exe()?.with_file_name("serve");
        #[expect(
            clippy::disallowed_methods,
            reason = "starts the other program of this package"
        )]
        let mut command = std::process::Command::new(&program);
        command.args(words);
        Ok(Self {
            server: Server::start(command)?,
            last_id: 0,
        })
    }

    /// Writes calls together and waits for the last answer. Returns microseconds.
    fn calls(&mut self, count: usize) -> anyhow::Result<f64> {
        let mut lines = String::new();
        for _ in 0..count {
            self.last_id += 1;
            let arguments = r#"{"path":"src","query":"fn main","limit":5}"#;
            let id = self.last_id;
            lines.push_str(&format!(
                r#"{{"jsonrpc":"2.0","id":{id},"method":"tools/call","params":{{"name":"look","arguments":{arguments}}}}}"#
            ));
            lines.push('\n');
        }
        let started = Instant::now();
        self.server.send(&lines)?;
        for _ in 0..count {
            self.server.receive()?;
        }
        let taken = microseconds(started.elapsed());
        let answer: Value = serde_json::from_str(&self.server.line)?;
        anyhow::ensure!(
            answer["result"]["structuredContent"]["count"] == 3,
            "wrong answer: {answer}"
        );
        Ok(taken)
    }
}
