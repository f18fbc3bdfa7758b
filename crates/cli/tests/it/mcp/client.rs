//! A client that writes and reads lines, independent of any MCP library.

use crate::support::program::SOON;
use crate::support::program::prepared;
use serde_json::{Value, json};
use std::io::{BufRead, BufReader, Read, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

/// Every revision before 2026-07-28, which have a handshake.
pub(crate) const WITH_HANDSHAKE: [&str; 4] =
    ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"];
/// The revision without a handshake.
pub(crate) const WITHOUT: &str = "2026-07-28";

/// A server and the lines it wrote.
pub(crate) struct Client {
    pub(crate) child: Child,
    input: Option<ChildStdin>,
    lines: Receiver<Value>,
    unread: Vec<Value>,
    log: Arc<Mutex<String>>,
    next_id: i64,
    meta: Option<Value>,
}

impl Client {
    /// A server before its first message.
    pub(crate) fn start(folder: &Path) -> Self {
        let mut command = prepared(folder, &["mcp"]);
        let mut child = command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("the server");
        let (sender, lines) = channel();
        let output = BufReader::new(child.stdout.take().expect("output"));
        std::thread::spawn(move || {
            for line in output.lines() {
                let Ok(line) = line else { break };
                // Only protocol messages may appear here.
                let message: Value =
                    serde_json::from_str(&line).unwrap_or_else(|_| json!({"not a message": line}));
                if sender.send(message).is_err() {
                    break;
                }
            }
        });
        let log = Arc::new(Mutex::new(String::new()));
        let (mut errors, kept) = (child.stderr.take().expect("errors"), Arc::clone(&log));
        std::thread::spawn(move || {
            let mut bytes = [0; 4096];
            while let Ok(count @ 1..) = errors.read(&mut bytes) {
                kept.lock()
                    .expect("the log")
                    .push_str(&String::from_utf8_lossy(&bytes[..count]));
            }
        });
        let input = child.stdin.take();
        Self {
            child,
            input,
            lines,
            unread: Vec::new(),
            log,
            next_id: 0,
            meta: None,
        }
    }

    /// A client of that revision, after the handshake.
    pub(crate) fn speaking(folder: &Path, revision: &str) -> Self {
        let mut client = Self::start(folder);
        if revision == WITHOUT {
            client.meta = Some(
                json!({"io.modelcontextprotocol/protocolVersion": WITHOUT, "io.modelcontextprotocol/clientCapabilities": {}}),
            );
            return client;
        }
        let told = json!({"protocolVersion": revision, "capabilities": {}, "clientInfo": {"name": "test", "version": "1"}});
        let answer = client.ask("initialize", told);
        assert_eq!(answer["result"]["protocolVersion"], revision, "{answer}");
        client.send(&json!({"jsonrpc": "2.0", "method": "notifications/initialized"}));
        client
    }

    pub(crate) fn write(&mut self, bytes: &[u8]) {
        self.input
            .as_mut()
            .expect("open input")
            .write_all(bytes)
            .expect("written");
    }

    pub(crate) fn send(&mut self, message: &Value) {
        self.write(format!("{message}\n").as_bytes());
    }

    /// Sends a request without waiting; returns its id.
    pub(crate) fn request(&mut self, method: &str, mut params: Value) -> i64 {
        self.next_id += 1;
        if let Some(Value::Object(meta)) = self.meta.clone() {
            let own = params
                .as_object_mut()
                .expect("an object")
                .entry("_meta")
                .or_insert_with(|| json!({}));
            own.as_object_mut().expect("an object").extend(meta);
        }
        self.send(
            &json!({"jsonrpc": "2.0", "id": self.next_id, "method": method, "params": params}),
        );
        self.next_id
    }

    pub(crate) fn call(&mut self, tool: &str, arguments: Value) -> i64 {
        self.request("tools/call", json!({"name": tool, "arguments": arguments}))
    }

    pub(crate) fn ask(&mut self, method: &str, params: Value) -> Value {
        let id = self.request(method, params);
        self.answer(id)
    }

    /// The result of a call.
    pub(crate) fn result(&mut self, tool: &str, arguments: Value) -> Value {
        let id = self.call(tool, arguments);
        self.answer(id)["result"].take()
    }

    pub(crate) fn answer(&mut self, id: i64) -> Value {
        self.wait_for(&format!("the answer {id}"), |message| {
            message["id"] == id && message.get("method").is_none()
        })
    }

    pub(crate) fn notification(&mut self, method: &str) -> Value {
        self.wait_for(method, |message| message["method"] == method)
    }

    /// The first message that matches; others stay queued.
    #[track_caller]
    pub(crate) fn wait_for(&mut self, what: &str, fits: impl Fn(&Value) -> bool) -> Value {
        let until = Instant::now() + SOON;
        let mut at = 0;
        loop {
            while at < self.unread.len() {
                if fits(&self.unread[at]) {
                    return self.unread.remove(at);
                }
                at += 1;
            }
            match self
                .lines
                .recv_timeout(until.saturating_duration_since(Instant::now()))
            {
                Ok(message) => self.unread.push(message),
                Err(_) => panic!(
                    "{what} did not come; unread {:.500?}; log `{}`",
                    self.unread,
                    self.log()
                ),
            }
        }
    }

    /// Unsolicited messages, after a moment.
    pub(crate) fn rest(&mut self) -> Vec<Value> {
        std::thread::sleep(Duration::from_millis(200));
        self.unread.extend(self.lines.try_iter());
        std::mem::take(&mut self.unread)
    }

    /// The names of the project's tools, without the built-in one.
    pub(crate) fn tools(&mut self) -> Vec<String> {
        let answer = self.ask("tools/list", json!({}));
        let tools = answer["result"]["tools"]
            .as_array()
            .unwrap_or_else(|| panic!("{answer}"));
        let names = tools
            .iter()
            .filter_map(|tool| tool["name"].as_str().map(str::to_owned));
        names.filter(|name| name != "read_artifact").collect()
    }

    pub(crate) fn log(&self) -> String {
        self.log.lock().expect("the log").clone()
    }

    #[track_caller]
    pub(crate) fn wait_for_log(&self, text: &str) {
        let until = Instant::now() + SOON;
        while !self.log().contains(text) {
            assert!(
                Instant::now() < until,
                "`{text}` is not in `{}`",
                self.log()
            );
            std::thread::sleep(Duration::from_millis(10));
        }
    }

    /// Closes the input.
    pub(crate) fn hang_up(&mut self) {
        self.input = None;
    }

    /// The exit code; the server must exit soon.
    #[track_caller]
    pub(crate) fn code(&mut self) -> Option<i32> {
        let until = Instant::now() + SOON;
        loop {
            if let Some(status) = self.child.try_wait().expect("a status") {
                return status.code();
            }
            assert!(
                Instant::now() < until,
                "the server goes on; log `{}`",
                self.log()
            );
            std::thread::sleep(Duration::from_millis(5));
        }
    }
}

impl Drop for Client {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
