//! An MCP server as a process, and a minimal client of it.

use anyhow::Context;
use serde_json::json;
use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

/// A server process and the client's ends of its pipes.
pub(crate) struct Server {
    child: Child,
    input: ChildStdin,
    output: BufReader<ChildStdout>,
    /// The last line that the server wrote.
    pub(crate) line: String,
}

impl Server {
    /// Starts the server and says hello.
    pub(crate) fn start(mut command: Command) -> anyhow::Result<Self> {
        let started = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn();
        let mut child =
            started.with_context(|| format!("cannot start {}", command.get_program().display()))?;
        let (input, output) = (
            child.stdin.take().context("no input")?,
            child.stdout.take().context("no output")?,
        );
        let mut server = Self {
            child,
            input,
            output: BufReader::new(output),
            line: String::new(),
        };
        let params = json!({"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "bench", "version": "1"}});
        let hello =
            json!({"jsonrpc": "2.0", "id": "hello", "method": "initialize", "params": params});
        server.send(&format!("{hello}\n"))?;
        server.receive()?;
        server.send("{\"jsonrpc\":\"2.0\",\"method\":\"notifications/initialized\"}\n")?;
        Ok(server)
    }

    /// Its process id.
    pub(crate) fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Writes whole lines in one piece.
    pub(crate) fn send(&mut self, lines: &str) -> anyhow::Result<()> {
        Ok(self.input.write_all(lines.as_bytes())?)
    }

    /// Waits for a line.
    pub(crate) fn receive(&mut self) -> anyhow::Result<()> {
        self.line.clear();
        anyhow::ensure!(
            self.output.read_line(&mut self.line)? > 0,
            "the server is gone"
        );
        Ok(())
    }

    /// Whether another line can be had without waiting.
    pub(crate) fn has_line(&self) -> bool {
        self.output.buffer().contains(&b'\n')
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
