//! Every command as a person sees it: what it prints where, and its exit code.

mod authoring;
mod calls;
mod output;
mod projects;

use crate::support::{Project, hook, tool, tool_with};

/// Tools and hooks for every outcome of a call.
fn project() -> Project {
    let path = "parameters:\n  path: { type: string, required: true }\n";
    Project::new(&[
        (
            "harness.md",
            "---\nformat: 1\ntools_policy:\n  deny: [delete_note]\n---\nBe brief.\n",
        ),
        ("note.txt", "milk\n"),
        ("deep/er/here.txt", ""),
        (
            ".harness/tools/read_note.md",
            &tool_with(
                path,
                "def run(args):\n    return {\"text\": fs.read(args[\"path\"])}",
            ),
        ),
        (
            ".harness/tools/delete_note.md",
            &tool("def run(args):\n    return 1"),
        ),
        (
            ".harness/tools/fail_loudly.md",
            &tool("def run(args):\n    return {\"error\": \"out of milk\"}"),
        ),
        (
            ".harness/tools/wait_long.md",
            &tool("def run(args):\n    sleep(60)\n    return 1"),
        ),
        (
            ".harness/tools/loop_long.md",
            &tool("def run(args):\n    return [i for i in range(1000000000)][:1]"),
        ),
        (
            ".harness/tools/say_hello.md",
            &tool("def run(args):\n    print(\"thinking\")\n    return \"hello\""),
        ),
        (
            ".harness/hooks/guard.md",
            &hook(
                "tool.pre",
                "def handle(event, payload):\n    if payload[\"args\"].get(\"path\") == \"secret\":\n        return block(\"it is secret\")\n    return allow()",
            ),
        ),
    ])
}
