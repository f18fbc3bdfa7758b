//! Values larger than the pipe between the harness and a worker can hold.

use crate::support::{Project, call, hook, tool};
use serde_json::json;

#[tokio::test]
async fn large_arguments_and_results_pass_hooks_and_scripts() {
    let measuring = hook(
        "tool.pre",
        "def handle(event, payload):\n  return allow() if len(payload[\"args\"][\"text\"]) > 0 else block(\"empty\")",
    );
    let echo = tool(
        "def run(args):\n  return {\"length\": len(args[\"text\"]), \"back\": args[\"text\"]}",
    );
    let echo = echo.replacen(
        "---\n",
        "---\nlimits: { max_output_bytes: 20000000 }\nparameters: { text: { type: string } }\n",
        1,
    );
    let project = Project::new(&[
        (".harness/tools/echo_text.md", &echo),
        (".harness/hooks/h.md", &measuring),
    ]);
    let engine = project.engine().await;
    for length in [1, 100_000, 1 << 20] {
        let text = "x".repeat(length);
        let result = engine.call(call("echo_text", json!({"text": text}))).await;
        let value = result.value.unwrap_or_default();
        assert!(
            !result.is_error
                && value["length"] == length
                && value["back"]
                    .as_str()
                    .is_some_and(|back| back.len() == length),
            "{length}"
        );
    }
}
