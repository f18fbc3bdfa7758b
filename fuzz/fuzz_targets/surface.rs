//! Surfaces: no text may make the reader, the prompt scanner or a rule panic, every finding has a known code, and time grows with the text.
#![no_main]

use libfuzzer_sys::fuzz_target;
use rustix::time::{ClockId, clock_gettime};
use serde_json::json;
use std::sync::LazyLock;
use std::time::Duration;
use tool_harness::check::RULES;
use tool_harness::surface::{check, read, read_text};

/// The vocabulary of tokens is unpacked once, which is nobody's time but the first one's.
static UNPACKED: LazyLock<()> = LazyLock::new(|| {
    let tool = json!({"name": "read_note", "description": "a word ".repeat(1000)});
    assert!(!check(&read(&json!([tool]), None)).diagnostics.is_empty());
});

fuzz_target!(|bytes: &[u8]| {
    LazyLock::force(&UNPACKED);
    let text = String::from_utf8_lossy(bytes);
    let started = worked();
    let given = check(&read_text("surface.json", &text));
    // The same text as a prompt, and as a description.
    let tool = json!({"name": "read_note", "description": &text, "parameters": {"path": {"type": "string"}}, "annotations": {"arg_schema": {"arg_aliases": {"file": "path"}}}});
    let said = check(&read(
        &json!({"tools": [tool], "system": &text, "options": {"scan_fences": true, "context_tokens": 1000}}),
        None,
    ));
    for found in given.diagnostics.iter().chain(&said.diagnostics) {
        assert!(
            RULES.iter().any(|rule| rule.code == found.code),
            "{}",
            found.code
        );
        assert!(!found.message.contains('\n'), "{}", found.message);
    }
    // Generous for a machine under sanitizers; a quadratic pass over the longest inputs takes far more.
    let allowed = Duration::from_millis(200)
        + Duration::from_micros(20) * u32::try_from(bytes.len()).unwrap_or(u32::MAX);
    let took = worked() - started;
    assert!(took < allowed, "{took:?} for {} bytes", bytes.len());
});

/// Processor time of this thread: what else the machine does is not the text's fault.
fn worked() -> Duration {
    Duration::try_from(clock_gettime(ClockId::ThreadCPUTime)).unwrap_or_default()
}
