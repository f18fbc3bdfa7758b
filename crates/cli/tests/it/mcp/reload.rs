//! Files that change while the server runs.

use super::client::{Client, WITHOUT};
use crate::support::{Project, hook, tool, tool_with};
use serde_json::{Value, json};

const CHANGED: &str = "notifications/tools/list_changed";

fn returns(value: &str) -> String {
    tool(&format!("def run(args):\n  return {value}"))
}

#[test]
fn new_changed_and_removed_files_take_effect() {
    let project = Project::new(&[(".harness/tools/a.md", &returns("1"))]);
    let mut client = Client::speaking(project.path(), "2025-11-25");
    assert_eq!(client.tools(), ["a"]);
    project.write(".harness/tools/b.md", returns("2").as_bytes());
    client.notification(CHANGED);
    assert_eq!(client.tools(), ["a", "b"]);
    std::fs::remove_file(project.path().join(".harness/tools/a.md")).expect("removed");
    client.notification(CHANGED);
    assert_eq!(client.tools(), ["b"]);
    // Only the script changed: the listing stays the same.
    project.write(".harness/tools/b.md", returns("3").as_bytes());
    client.wait_for_log("reloaded: 1 tool offered\nreloaded: 1 tool offered");
    assert_eq!(client.result("b", json!({}))["content"][0]["text"], "3");
    assert_eq!(client.rest(), Vec::<Value>::new());
}

#[test]
fn only_subscribers_of_the_new_revision_get_change_notifications() {
    let project = Project::new(&[(".harness/tools/a.md", &returns("1"))]);
    let mut deaf = Client::speaking(project.path(), WITHOUT);
    let mut client = Client::speaking(project.path(), WITHOUT);
    let id = client.request(
        "subscriptions/listen",
        json!({"notifications": {"toolsListChanged": true, "promptsListChanged": true}}),
    );
    let agreed = client.notification("notifications/subscriptions/acknowledged");
    assert_eq!(
        agreed["params"]["notifications"],
        json!({"toolsListChanged": true}),
        "{agreed}"
    );
    assert_eq!(deaf.tools(), ["a"]);
    project.write(".harness/tools/b.md", returns("2").as_bytes());
    let told = client.notification(CHANGED);
    assert_eq!(
        told["params"]["_meta"]["io.modelcontextprotocol/subscriptionId"], id,
        "{told}"
    );
    client.send(&json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": id}}));
    assert_eq!(client.tools(), ["a", "b"]);
    project.write(".harness/tools/c.md", returns("3").as_bytes());
    client.wait_for_log("reloaded: 3 tools offered");
    deaf.wait_for_log("reloaded: 3 tools offered");
    assert_eq!((client.rest(), deaf.rest()), (Vec::new(), Vec::new()));
}

#[test]
fn the_last_good_version_of_a_broken_tool_hook_and_root_stays_in_use() {
    let guard = hook(
        "tool.pre",
        "def handle(event, payload):\n  return block(\"guarded\") if payload[\"name\"] == \"b\" else allow()",
    );
    let root = "---\nformat: 1\ntools_policy: {mode: denylist, deny: [c]}\n---\n";
    let project = Project::new(&[
        (".harness/tools/a.md", &returns("1")),
        (".harness/tools/b.md", &returns("2")),
        (".harness/tools/c.md", &returns("3")),
        (".harness/hooks/guard.md", &guard),
        ("harness.md", root),
    ]);
    let mut client = Client::speaking(project.path(), "2025-11-25");
    let holds = |client: &mut Client, when: &str| {
        assert_eq!(client.tools(), ["a", "b"], "{when}");
        assert_eq!(
            client.result("a", json!({}))["content"][0]["text"],
            "1",
            "{when}"
        );
        let code = |client: &mut Client, name: &str| {
            client.result(name, json!({}))["_meta"]["harness/error"]["code"].take()
        };
        assert_eq!(
            (code(client, "b"), code(client, "c")),
            (json!("tool.hook.blocked"), json!("tool.denied")),
            "{when}"
        );
    };
    holds(&mut client, "at first");
    for (path, text) in [
        (
            ".harness/tools/a.md",
            "---\nscript: |\n  def run(args)\n---\nA.\n",
        ),
        (
            ".harness/hooks/guard.md",
            "---\nevent: tool.pre\nscript: |\n  def handle(:\n---\n",
        ),
        ("harness.md", "---\nformat: 1\ntools_polcy: {}\n---\n"),
        (".harness/hooks/guard.md", "\0"),
        ("harness.yaml", "format: 1\n"),
    ] {
        let before = client.log().matches("reloaded").count();
        project.write(path, text.as_bytes());
        let kept = if path == "harness.yaml" {
            "harness.md"
        } else {
            path
        };
        client.wait_for_log(&format!(
            "`{kept}` broke; its last good version stays in use"
        ));
        while client.log().matches("reloaded").count() == before {
            std::thread::sleep(std::time::Duration::from_millis(10));
        }
        holds(&mut client, path);
    }
    client.wait_for_log("error[SCRIPT_SYNTAX]");
    std::fs::remove_file(project.path().join("harness.yaml")).expect("removed");
    // Fixed: the new version takes effect.
    project.write(".harness/tools/a.md", returns("10").as_bytes());
    project.write("harness.md", b"---\nformat: 1\n---\n");
    project.write(
        ".harness/hooks/guard.md",
        hook("tool.pre", "def handle(event, payload):\n  return allow()").as_bytes(),
    );
    client.notification(CHANGED);
    assert_eq!(client.tools(), ["a", "b", "c"]);
    assert_eq!(client.result("a", json!({}))["content"][0]["text"], "10");
    assert_eq!(client.result("b", json!({}))["content"][0]["text"], "2");
}

#[test]
fn a_root_that_was_never_valid_closes_everything() {
    let project = Project::new(&[(".harness/tools/a.md", &returns("1"))]);
    let mut client = Client::speaking(project.path(), "2025-11-25");
    assert_eq!(client.result("a", json!({}))["isError"], false);
    project.write("harness.md", b"---\nformat: 99\n---\n");
    client.notification(CHANGED);
    assert!(client.tools().is_empty());
    assert_eq!(
        client.result("a", json!({}))["_meta"]["harness/error"]["code"],
        "project.broken"
    );
    std::fs::remove_file(project.path().join("harness.md")).expect("removed");
    client.notification(CHANGED);
    assert_eq!(client.tools(), ["a"]);
}

#[test]
fn a_call_in_flight_ends_on_the_version_it_started_with() {
    // Each waits until there are two of them.
    let old = "def run(args):\n  state.increment(\"n\")\n  print(\"begun\")\n  for i in range(400):\n    if state.get(\"n\") == 2:\n      break\n    sleep(0.05)\n  return {\"version\": \"old\", \"n\": state.get(\"n\")}";
    let project = Project::new(&[(".harness/tools/a.md", &tool(old))]);
    let mut client = Client::speaking(project.path(), WITHOUT);
    assert_eq!(client.tools(), ["a"], "the first version is there");
    let first = client.call("a", json!({}));
    client.wait_for_log("begun");
    project.write(
        ".harness/tools/a.md",
        tool(&old.replace("old", "new")).as_bytes(),
    );
    client.wait_for_log("reloaded");
    assert_eq!(
        client.result("a", json!({}))["structuredContent"],
        json!({"version": "new", "n": 2})
    );
    assert_eq!(
        client.answer(first)["result"]["structuredContent"],
        json!({"version": "old", "n": 2})
    );
}

#[test]
fn calls_in_flight_on_the_old_version_count_against_the_new_limit() {
    let text = |seconds: &str| {
        tool_with(
            "limits: {max_concurrency: 1}\n",
            &format!(
                "def run(args):\n  print(\"begun\")\n  sleep({seconds})\n  state.append(\"ended\", \"{seconds}\")\n  return state.get(\"ended\")"
            ),
        )
    };
    let project = Project::new(&[(".harness/tools/a.md", &text("2"))]);
    let mut client = Client::speaking(project.path(), WITHOUT);
    assert_eq!(client.tools(), ["a"], "the first version is there");
    let first = client.call("a", json!({}));
    client.wait_for_log("begun");
    project.write(".harness/tools/a.md", text("0").as_bytes());
    client.wait_for_log("reloaded");
    assert_eq!(
        client.result("a", json!({}))["structuredContent"],
        json!(["2", "0"])
    );
    assert_eq!(
        client.answer(first)["result"]["structuredContent"],
        json!(["2"])
    );
}
