//! Bytes that an MCP client writes: no bytes may make the reader panic, and what it passes on must be writable again.
#![no_main]

#[path = "../../crates/cli/src/mcp/read.rs"]
mod read;

use libfuzzer_sys::fuzz_target;
use read::Incoming;

fuzz_target!(|bytes: &[u8]| {
    let mut input = bytes;
    while let Ok(Some(line)) = read::line(&mut input, 4096) {
        match read::read(&line) {
            Incoming::Message(message) => {
                drop(serde_json::to_string(&*message).expect("a message can be written"))
            }
            Incoming::Reply(answer) => {
                drop(serde_json::to_string(&answer).expect("an answer can be written"))
            }
            Incoming::Ignored => {}
        }
    }
});
