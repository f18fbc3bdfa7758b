//! Which hosts requests and processes can reach.

use super::run;
use crate::support::{Project, call, code, hook_with, tool, tool_with};
use serde_json::json;
use std::io::{Read, Write};
use tempfile::TempDir;
use tool_harness::artifact::Authority;
use tool_harness_sandbox::tier::Tier;

const FETCH: &str = "def run(args):\n    return http.get(args[\"url\"], timeout_seconds=5)";

/// A server on loopback that answers every request, until the test ends.
#[expect(
    clippy::disallowed_types,
    reason = "the server under test is this test's own"
)]
fn server() -> u16 {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
    let port = listener.local_addr().expect("an address").port();
    std::thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let mut stream = stream;
            let mut asked = [0; 4096];
            let _ = stream.read(&mut asked);
            let body = if asked.starts_with(b"GET /large ") {
                "x".repeat(9 << 20)
            } else {
                "hello".to_owned()
            };
            let head = format!(
                "HTTP/1.1 200 OK\r\nContent-Length: {}\r\nX-Seen: yes\r\nConnection: close\r\n\r\n",
                body.len()
            );
            let _ = stream
                .write_all(head.as_bytes())
                .and_then(|()| stream.write_all(body.as_bytes()));
        }
    });
    port
}

#[tokio::test(flavor = "multi_thread")]
async fn requests_reach_only_listed_hosts_and_layers_and_tools_only_narrow_the_list() {
    let port = server();
    let (url, listed) = (
        format!("http://127.0.0.1:{port}/a"),
        format!("\"127.0.0.1:{port}\""),
    );
    let layers = TempDir::new().expect("a folder");
    let layer = layers.path().join("harness.md");
    for (project_list, tool_list, machine_list, reached) in [
        (Some(listed.as_str()), None, None, true),
        (Some(&*listed), Some(&*listed), Some(&*listed), true),
        (None, None, None, false),
        (None, Some(&*listed), Some(&*listed), false),
        (Some("example.com"), Some(&*listed), None, false),
        (Some(&*listed), Some("example.com"), None, false),
        (Some(&*listed), None, Some("example.com"), false),
        (Some("\"*\""), None, None, false),
    ] {
        let root = project_list.map_or(String::new(), |list| {
            format!("network: {{allowed_domains: [{list}]}}\n")
        });
        let fields = tool_list.map_or(String::new(), |list| {
            format!("permissions: [{{kind: network, hosts: [{list}]}}]\n")
        });
        let project = Project::new(&[
            ("harness.md", &format!("---\n{root}---\n")),
            (".harness/tools/t.md", &tool_with(&fields, FETCH)),
        ]);
        let above = machine_list.map_or(String::new(), |list| {
            format!("network: {{allowed_domains: [{list}]}}\n")
        });
        std::fs::write(&layer, format!("---\n{above}---\n")).expect("a file");
        let engine = project
            .builder()
            .layer(Authority::Machine, &layer)
            .load()
            .await
            .expect("loads");
        let result = engine.call(call("t", json!({"url": url}))).await;
        let case = format!(
            "{project_list:?} {tool_list:?} {machine_list:?}: {}",
            result.text()
        );
        if reached {
            let value = result.value.expect("a value");
            assert_eq!(
                (&value["ok"], &value["status"], &value["body"]),
                (&json!(true), &json!(200), &json!("hello")),
                "{case}"
            );
            assert_eq!(
                (&value["headers"]["x-seen"], &value["url"]),
                (&json!("yes"), &json!(url)),
                "{case}"
            );
        } else {
            assert_eq!(code(&result), "sandbox.denied", "{case}");
            assert!(result.text().contains("127.0.0.1"), "{case}");
            let denied = project
                .events
                .all()
                .into_iter()
                .find(|event| event.name() == "network.denied")
                .expect("an event");
            assert_eq!(
                (&denied.fields()["host"], &denied.fields()["builtin"]),
                (&json!("127.0.0.1"), &json!("http.get"))
            );
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_truncated_response_says_that_there_was_more() {
    let port = server();
    let script = "def run(args):\n    got = http.get(args[\"url\"])\n    return [len(got[\"body\"]), got[\"truncated\"]]";
    let root = format!("---\nnetwork: {{allowed_domains: [\"127.0.0.1:{port}\"]}}\n---\n");
    let project = Project::new(&[
        ("harness.md", &root),
        (".harness/tools/t.md", &tool_with("", script)),
    ]);
    let engine = project.engine().await;
    for (path, expected) in [
        ("large", json!([8 << 20, true])),
        ("small", json!([5, false])),
    ] {
        let result = engine
            .call(call(
                "t",
                json!({"url": format!("http://127.0.0.1:{port}/{path}")}),
            ))
            .await;
        assert_eq!(
            result.value.as_ref(),
            Some(&expected),
            "{path}: {}",
            result.text()
        );
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn processes_reach_the_same_hosts_unless_the_tool_or_a_ceiling_denies_the_network() {
    let port = server();
    let command = format!(
        "exec 3<>/dev/tcp/127.0.0.1/{port} && printf 'GET / HTTP/1.1\\r\\nHost: 127.0.0.1:{port}\\r\\n\\r\\n' >&3 && cat <&3"
    );
    let script = "def run(args):\n    return exec.run(\"bash\", [\"-c\", args[\"command\"]], 5000)";
    for (root, fields, reached) in [
        ("", "", true),
        ("policy: {side_effect_level: process_exec}\n", "", false),
        ("policy: {effects: [read, write, exec]}\n", "", false),
        ("", "safety: {local_only: true}\n", false),
    ] {
        let root =
            format!("---\nnetwork: {{allowed_domains: [\"127.0.0.1:{port}\"]}}\n{root}---\n");
        let project = Project::new(&[
            ("harness.md", &root),
            (".harness/tools/t.md", &tool_with(fields, script)),
        ]);
        let engine = project.engine().await;
        if engine.outside().tier() != Tier::A {
            println!("skipped: processes have no network below tier A");
            return;
        }
        let value = run(&engine, &command).await;
        assert_eq!(
            value["stdout"]
                .as_str()
                .is_some_and(|text| text.contains("hello")),
            reached,
            "{root} {fields}: {value}"
        );
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_hook_reaches_the_hosts_it_declares_and_only_those() {
    let port = server();
    let script = format!(
        "def handle(event, payload):\n    return allow() if http.get(\"http://127.0.0.1:{port}/\")[\"body\"] == \"hello\" else block(\"no\")"
    );
    let root = format!("---\nnetwork: {{allowed_domains: [\"127.0.0.1:{port}\"]}}\n---\n");
    for (fields, expected) in [
        (
            format!(
                "timeout_ms: 5000\npermissions: [{{kind: network, hosts: [\"127.0.0.1:{port}\"]}}]\n"
            ),
            "none",
        ),
        (
            "timeout_ms: 5000\npermissions: [{kind: network, hosts: [example.com]}]\n".to_owned(),
            "tool.hook.failed",
        ),
        ("timeout_ms: 5000\n".to_owned(), "tool.hook.failed"),
    ] {
        let echo = tool("def run(args):\n    return 1");
        let project = Project::new(&[
            ("harness.md", &root),
            (".harness/tools/t.md", &echo),
            (
                ".harness/hooks/ask_elsewhere.md",
                &hook_with("tool.pre", &fields, &script),
            ),
        ]);
        let result = project.engine().await.call(call("t", json!({}))).await;
        assert_eq!(code(&result), expected, "{fields}: {}", result.text());
    }
}
