//! Listing and calling, in every revision.

use super::client::{Client, WITH_HANDSHAKE, WITHOUT};
use crate::support::program::descendants;
use crate::support::program::until;
use crate::support::{Project, hook, tool, tool_with};
use serde_json::{Value, json};

fn every_revision() -> impl Iterator<Item = &'static str> {
    WITH_HANDSHAKE.into_iter().chain([WITHOUT])
}

fn text(result: &Value) -> String {
    let blocks = result["content"].as_array().expect("content");
    blocks
        .iter()
        .filter_map(|block| block["text"].as_str())
        .collect::<Vec<_>>()
        .join("\n")
}

#[test]
fn every_revision_can_list_call_and_get_refusals() {
    let project = Project::new(&[
        (
            ".harness/tools/add.md",
            &tool_with(
                "parameters:\n  a: {type: integer, required: true}\n",
                "def run(args):\n  return {\"sum\": args[\"a\"] + 1}",
            ),
        ),
        (
            ".harness/tools/zap.md",
            &tool("def run(args):\n  return \"never\""),
        ),
        (
            ".harness/hooks/guard.md",
            &hook(
                "tool.pre",
                "def handle(event, payload):\n  return block(\"not today\") if payload[\"name\"] == \"zap\" else allow()",
            ),
        ),
    ]);
    for revision in every_revision() {
        let mut client = Client::speaking(project.path(), revision);
        let listed = client.ask("tools/list", json!({}))["result"].take();
        assert_eq!(listed["tools"][0]["name"], "add", "{revision}");
        assert_eq!(listed["tools"][0]["inputSchema"]["required"], json!(["a"]));
        let hints = listed["tools"][0]["annotations"]
            .as_object()
            .expect("hints");
        assert_eq!(hints.len(), 4, "{hints:?}");
        assert_eq!(
            (listed["ttlMs"].is_u64(), listed["cacheScope"] == "private"),
            (revision == WITHOUT, revision == WITHOUT),
            "{revision}"
        );

        let sum = client.result("add", json!({"a": 41}));
        assert_eq!(
            (
                &sum["structuredContent"],
                text(&sum).as_str(),
                &sum["isError"]
            ),
            (&json!({"sum": 42}), "{\"sum\":42}", &json!(false))
        );

        let refused = client.result("zap", json!({}));
        assert_eq!(
            (
                &refused["isError"],
                &refused["_meta"]["harness/error"]["code"]
            ),
            (&json!(true), &json!("tool.hook.blocked"))
        );
        assert!(
            text(&refused).contains("not today") && text(&refused).contains("guard.md"),
            "{refused}"
        );
        let unfit = client.result("add", json!({"a": "x"}));
        assert!(
            text(&unfit).contains("accepted: a (integer, required)"),
            "{unfit}"
        );

        let unknown = client.ask("tools/call", json!({"name": "ad"}));
        assert_eq!(unknown["error"]["code"], -32602, "{unknown}");
        assert!(
            unknown["error"]["message"]
                .as_str()
                .is_some_and(|text| text.contains("nearest: `add`")),
            "{unknown}"
        );
        client.hang_up();
        assert_eq!(
            (client.code(), client.rest()),
            (Some(0), Vec::<Value>::new()),
            "{revision}"
        );
    }
}

#[test]
fn a_result_that_is_not_an_object_is_structured_content_only_in_the_new_revision() {
    let script = "def run(args):\n  return [1, 2]";
    let list = tool_with("output_schema: {type: array}\n", script);
    let long = tool_with(
        "output_schema: {type: object}\n",
        "def run(args):\n  return {\"text\": \"x\" * 40000}",
    );
    let failing = tool_with(
        "output_schema: {type: object, required: [a]}\n",
        "def run(args):\n  return error(\"no luck\")",
    );
    let project = Project::new(&[
        (".harness/tools/get_list.md", &list),
        (".harness/tools/get_long.md", &long),
        (".harness/tools/get_none.md", &failing),
        (
            ".harness/tools/get_number.md",
            &tool("def run(args):\n  return 12345678901234567890123"),
        ),
    ]);
    for revision in every_revision() {
        let newer = revision == WITHOUT;
        let mut client = Client::speaking(project.path(), revision);
        let listed = client.ask("tools/list", json!({}))["result"]["tools"].take();
        assert_eq!(listed[0].get("outputSchema").is_some(), newer, "{revision}");
        assert!(listed[1].get("outputSchema").is_some());
        let result = client.result("get_list", json!({}));
        assert_eq!(
            (result.get("structuredContent"), text(&result).as_str()),
            (newer.then_some(&json!([1, 2])), "[1,2]")
        );
        let number = client.result("get_number", json!({}));
        assert_eq!(
            (
                number.get("structuredContent").is_some(),
                text(&number).as_str()
            ),
            (newer, "12345678901234567890123")
        );
        // A result that breaks the listed schema is not reported as a success.
        let cut = client.result("get_long", json!({}));
        assert_eq!(
            (cut.get("structuredContent"), &cut["isError"]),
            (None, &json!(true))
        );
        assert!(text(&cut).contains("the call ran"), "{revision}");
        let failed = client.result("get_none", json!({}));
        assert_eq!(
            (failed.get("structuredContent"), &failed["isError"]),
            (None, &json!(true)),
            "{failed}"
        );
    }
}

#[test]
fn progress_arrives_before_the_answer_and_only_grows() {
    let script = "def run(args):\n  progress(0.25, \"a quarter\")\n  progress(0.1, \"back\")\n  progress(0.5)\n  progress(1.0, \"done\")\n  return 1";
    let project = Project::script(script);
    for revision in ["2025-11-25", WITHOUT] {
        let mut client = Client::speaking(project.path(), revision);
        let id = client.request(
            "tools/call",
            json!({"name": "t", "_meta": {"progressToken": "tok"}}),
        );
        let mut told = Vec::new();
        loop {
            let message = client.wait_for("anything", |_| true);
            if message["id"] == id {
                break;
            }
            assert_eq!(
                (&message["method"], &message["params"]["progressToken"]),
                (&json!("notifications/progress"), &json!("tok"))
            );
            told.push((
                message["params"]["progress"].as_f64(),
                message["params"]["message"].as_str().map(str::to_owned),
            ));
        }
        let expected = [
            (Some(0.25), Some("a quarter".to_owned())),
            (Some(0.5), None),
            (Some(1.0), Some("done".to_owned())),
        ];
        assert_eq!(told, expected, "{revision}");
        client.result("t", json!({}));
        assert_eq!(
            client.rest(),
            Vec::<Value>::new(),
            "no progress without a token"
        );
    }
}

#[test]
fn a_cancelled_call_ends_its_script_and_gets_no_answer() {
    let project = Project::new(&[
        (
            ".harness/tools/spin.md",
            &tool(
                "def run(args):\n  fs.write(\"started\", \"\")\n  for i in range(1000000000):\n    pass\n  return 1",
            ),
        ),
        (
            ".harness/tools/wait.md",
            &tool("def run(args):\n  fs.write(\"started\", \"\")\n  sleep(600)\n  return 1"),
        ),
    ]);
    let started = project.path().join("started");
    for revision in ["2025-11-25", WITHOUT] {
        let mut client = Client::speaking(project.path(), revision);
        for name in ["spin", "wait"] {
            let id = client.call(name, json!({}));
            until("the script", || started.exists());
            std::fs::remove_file(&started).expect("removed");
            let busy = descendants(client.child.id());
            client.send(&json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": id, "reason": "enough"}}));
            until(&format!("the end of the worker of {name}"), || {
                let left = descendants(client.child.id());
                busy.iter().any(|worker| !left.contains(worker))
            });
        }
        assert_eq!(client.rest(), Vec::<Value>::new(), "{revision}");
        assert_eq!(client.tools(), ["spin", "wait"]);
    }
}

#[test]
fn three_hundred_calls_in_flight_each_get_their_own_answer() {
    let project = Project::script("def run(args):\n  sleep(0.02)\n  return {\"n\": args[\"n\"]}");
    let mut client = Client::speaking(project.path(), WITHOUT);
    let ids: Vec<i64> = (0..300)
        .map(|n| client.call("t", json!({"n": n})))
        .collect();
    for (n, id) in ids.into_iter().enumerate() {
        assert_eq!(client.answer(id)["result"]["structuredContent"]["n"], n);
    }
}

#[test]
fn numbers_and_the_order_of_keys_arrive_as_they_were_sent() {
    let project = Project::script("def run(args):\n  return args");
    let mut client = Client::speaking(project.path(), WITHOUT);
    let sent = r#"{"z":12345678901234567890,"a":1,"m":{"y":0.5,"b":-0}}"#;
    let params = format!(
        r#"{{"name":"t","arguments":{sent},"_meta":{{"io.modelcontextprotocol/protocolVersion":"{WITHOUT}","io.modelcontextprotocol/clientCapabilities":{{}}}}}}"#
    );
    client.write(format!("{{\"jsonrpc\":\"2.0\",\"id\":\"text id\",\"method\":\"tools/call\",\"params\":{params}}}\n").as_bytes());
    let answer = client.wait_for("the answer", |message| message["id"] == "text id");
    assert_eq!(
        text(&answer["result"]),
        r#"{"z":12345678901234567890,"a":1,"m":{"y":0.5,"b":0}}"#
    );
}

#[test]
fn scripts_print_to_the_log_and_cache_and_state_live_as_long_as_the_connection() {
    let project = Project::script(
        "def run(args):\n  print(\"hello\", 1)\n  return [state.increment(\"n\"), cache.increment(\"n\"), ctx.increment(\"n\")]",
    );
    let counted = |client: &mut Client| text(&client.result("t", json!({})));
    for revision in ["2025-06-18", WITHOUT] {
        let mut client = Client::speaking(project.path(), revision);
        assert_eq!(counted(&mut client), "[1,1,1]", "{revision}");
        assert_eq!(
            counted(&mut client),
            "[2,2,1]",
            "{revision}: a connection is one session and one run, and a call is one turn"
        );
        client.wait_for_log("info: t: hello 1");
    }
    assert_eq!(
        counted(&mut Client::speaking(project.path(), "2025-06-18")),
        "[1,1,1]",
        "another connection sees nothing of it"
    );
}

#[test]
fn a_note_that_one_call_stores_is_found_by_the_next_also_after_the_files_changed() {
    let get = tool("def run(args):\n  return cache.get(\"note\", \"no note\")");
    let project = Project::new(&[
        (
            ".harness/tools/store_note.md",
            &tool_with(
                "parameters:\n  note: {type: string, required: true}\n",
                "def run(args):\n  cache.set(\"note\", args[\"note\"])\n  emit(\"custom.stored\", {})\n  return \"stored\"",
            ),
        ),
        (".harness/tools/get_note.md", &get),
        (
            ".harness/hooks/mark.md",
            &hook(
                "custom.stored",
                "def handle(event, payload):\n  cache.set(\"note\", cache.get(\"note\") + \"!\")\n  return allow()",
            ),
        ),
    ]);
    let mut client = Client::speaking(project.path(), "2025-11-25");
    assert_eq!(text(&client.result("get_note", json!({}))), "no note");
    client.result("store_note", json!({"note": "milk"}));
    assert_eq!(text(&client.result("get_note", json!({}))), "milk!");
    project.write(
        ".harness/tools/get_note.md",
        get.replace("no note", "none").as_bytes(),
    );
    client.wait_for_log("reloaded: 2 tools offered");
    assert_eq!(text(&client.result("get_note", json!({}))), "milk!");
}
