//! Whatever a client writes, the server answers with protocol errors and goes on.

use super::client::{Client, WITHOUT};
use crate::support::Project;
use serde_json::{Value, json};

fn project() -> Project {
    Project::script("def run(args):\n  sleep(args.get(\"seconds\", 0))\n  return 1")
}

#[test]
fn malformed_messages_get_an_answer_and_the_server_goes_on() {
    let project = project();
    let mut client = Client::speaking(project.path(), "2025-11-25");
    let deep = format!("{}{}", "[".repeat(100_000), "]".repeat(100_000));
    let deep_arguments = format!(
        r#"{{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{{"name":"t","arguments":{{"a":{}1{}}}}}}}"#,
        "[".repeat(500),
        "]".repeat(500)
    );
    let rows: &[(&[u8], i64)] = &[
        (b"garbage", -32700),
        (b"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":", -32700),
        (b"\xff\xfe\x00", -32700),
        (b"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"\xc3\x28\"}", -32700),
        (deep.as_bytes(), -32700),
        (deep_arguments.as_bytes(), -32700),
        (b"[]", -32600),
        (b"[{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}]", -32600),
        (b"7", -32600),
        (b"\"text\"", -32600),
        (b"{}", -32600),
        (b"{\"id\":1,\"method\":\"ping\"}", -32600),
        (b"{\"jsonrpc\":\"1.0\",\"id\":1,\"method\":\"ping\"}", -32600),
        (b"{\"jsonrpc\":\"2.0\",\"id\":null,\"method\":\"ping\"}", -32600),
        (b"{\"jsonrpc\":\"2.0\",\"id\":1.5,\"method\":\"ping\"}", -32600),
        (b"{\"jsonrpc\":\"2.0\",\"id\":{},\"method\":\"ping\"}", -32600),
        (b"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":7}", -32600),
        (b"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\",\"result\":{}}", -32600),
        (b"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"\"}", -32601),
        (b"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"no/such\"}", -32601),
        (b"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"prompts/list\"}", -32601),
        (b"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"resources/list\",\"params\":{\"cursor\":\"2\"}}", -32602),
        (b"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"resources/read\",\"params\":{}}", -32602),
        (b"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tasks/get\",\"params\":{\"taskId\":\"x\"}}", -32601),
        (b"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/list\",\"params\":[]}", -32602),
        (b"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/list\",\"params\":{\"cursor\":\"2\"}}", -32602),
        (b"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/list\",\"params\":{\"cursor\":2}}", -32602),
        (b"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/call\"}", -32602),
        (b"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/call\",\"params\":{\"name\":1}}", -32602),
        (b"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/call\",\"params\":{\"name\":\"t\",\"arguments\":[]}}", -32602),
        (b"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/call\",\"params\":{\"name\":\"t\",\"_meta\":7}}", -32602),
        (b"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/call\",\"params\":{\"name\":\"t\",\"requestState\":\"x\"}}", -32602),
        (b"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"initialize\",\"params\":{}}", -32602),
    ];
    for (line, code) in rows {
        client.write(line);
        client.write(b"\n");
        let shown = String::from_utf8_lossy(&line[..line.len().min(200)]);
        let answer = client.wait_for(&shown, |message| message.get("error").is_some());
        assert_eq!(answer["error"]["code"], *code, "{shown}: {answer}");
    }
    for silent in [
        "",
        "   ",
        "\r",
        "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/unheard\"}",
        "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/cancelled\",\"params\":{\"requestId\":4711}}",
        "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/cancelled\",\"params\":7}",
        "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}}",
        "{\"jsonrpc\":\"2.0\",\"id\":1,\"error\":{\"code\":1,\"message\":\"x\"}}",
        "{\"jsonrpc\":\"2.0\",\"method\":\"tools/call\",\"params\":{\"name\":\"t\"}}",
    ] {
        client.write(format!("{silent}\n").as_bytes());
    }
    assert_eq!(client.rest(), Vec::<Value>::new());
    assert_eq!(client.result("t", json!({}))["isError"], false);
}

#[test]
fn a_request_with_invalid_characters_is_answered_under_its_id() {
    let project = project();
    let mut client = Client::speaking(project.path(), "2025-11-25");
    for (id, text) in [
        (41, "\\ud800"),
        (42, "\\udc00 \\\\ud83d"),
        (43, "\\ud800\\u0041"),
        (44, "\\ud83d\\ude00 \\udbff"),
    ] {
        let line = format!(
            r#"{{"jsonrpc":"2.0","id":{id},"method":"tools/call","params":{{"name":"t","arguments":{{"a":"{text}"}}}}}}"#
        );
        client.write(format!("{line}\n").as_bytes());
        assert_eq!(client.answer(id)["error"]["code"], -32700, "{line}");
    }
    client.write(b"{\"jsonrpc\":\"2.0\",\"id\":45,\"method\":\"\xc3\x28\"}\n");
    assert_eq!(client.answer(45)["error"]["code"], -32700);
    assert_eq!(
        client.result("t", json!({"a": "\u{1f600}"}))["isError"],
        false
    );
}

#[test]
fn an_unsupported_method_gets_an_explanation() {
    let project = project();
    let mut client = Client::speaking(project.path(), "2025-11-25");
    let answer = client.ask("prompts/list", json!({}));
    assert!(
        answer["error"]["message"]
            .as_str()
            .is_some_and(|message| message.contains("no prompts")),
        "{answer}"
    );
}

#[test]
fn a_message_in_pieces_with_a_byte_order_mark_or_carriage_return_is_read() {
    let project = project();
    let mut client = Client::speaking(project.path(), "2025-11-25");
    for part in [
        "\u{feff}{\"jsonrpc\":\"2.0\",",
        "\"id\":77,\"meth",
        "od\":\"ping\"}\r\n",
    ] {
        client.write(part.as_bytes());
        std::thread::sleep(std::time::Duration::from_millis(20));
    }
    assert_eq!(client.answer(77)["result"], json!({}));
}

#[test]
fn an_overlong_line_is_refused_without_buffering_it() {
    let project = project();
    let mut client = Client::speaking(project.path(), WITHOUT);
    let block = vec![b'x'; 1 << 20];
    for _ in 0..300 {
        client.write(&block);
    }
    client.write(b"\n");
    let answer = client.wait_for("the refusal", |message| message.get("error").is_some());
    assert_eq!(answer["error"]["code"], -32600, "{answer}");
    let memory =
        std::fs::read_to_string(format!("/proc/{}/status", client.child.id())).expect("its status");
    let peak: u64 = memory
        .lines()
        .find_map(|line| {
            line.strip_prefix("VmHWM:")?
                .trim()
                .strip_suffix(" kB")?
                .parse()
                .ok()
        })
        .expect("a peak");
    assert!(peak < 200_000, "{peak} kB");
    assert_eq!(client.tools(), ["t"]);
    // Long but valid: the tool's path refuses it, not the door.
    let long = client.result("t", json!({"text": "x".repeat(50 << 20)}));
    assert!(long.get("isError").is_some(), "{:.300}", long.to_string());
}

#[test]
fn a_truncated_last_message_is_answered_and_a_complete_one_is_served() {
    let project = project();
    let mut client = Client::speaking(project.path(), "2025-11-25");
    client.write(b"{\"jsonrpc\":\"2.0\",\"id\":5,\"method\":\"pi");
    client.hang_up();
    assert_eq!(client.code(), Some(0));
    assert_eq!(
        client.wait_for("an error", |_| true)["error"]["code"],
        -32700
    );
    let mut client = Client::speaking(project.path(), "2025-11-25");
    client.write(b"{\"jsonrpc\":\"2.0\",\"id\":5,\"method\":\"ping\"}");
    client.hang_up();
    assert_eq!(
        (client.answer(5)["result"].take(), client.code()),
        (json!({}), Some(0))
    );
}

#[test]
fn an_id_in_use_is_refused_and_the_first_request_keeps_its_answer() {
    let project = project();
    let mut client = Client::speaking(project.path(), "2025-11-25");
    let id = client.call("t", json!({"seconds": 0.5}));
    client.send(&json!({"jsonrpc": "2.0", "id": id, "method": "ping"}));
    let refused = client.wait_for("the refusal", |message| message.get("error").is_some());
    assert_eq!(
        (refused["error"]["code"].as_i64(), refused.get("id")),
        (Some(-32600), None),
        "{refused}"
    );
    assert_eq!(refused["error"]["data"], json!({"id": id}));
    assert_eq!(client.answer(id)["result"]["isError"], false);
    // Answered ids are free again; a cancelled id is free once its call has ended.
    client.send(&json!({"jsonrpc": "2.0", "id": id, "method": "ping"}));
    assert_eq!(client.answer(id)["result"], json!({}));
}

#[test]
fn before_the_handshake_only_requests_that_need_none_are_served() {
    let project = project();
    let mut client = Client::start(project.path());
    client.send(&json!({"jsonrpc": "2.0", "method": "notifications/initialized"}));
    client.send(&json!({"jsonrpc": "2.0", "id": 3, "result": {}}));
    assert_eq!(client.ask("ping", json!({}))["result"], json!({}));
    let early = client.ask("tools/list", json!({}));
    assert_eq!(early["error"]["code"], -32602, "{early}");
    let odd = json!({"io.modelcontextprotocol/protocolVersion": "1999-01-01", "io.modelcontextprotocol/clientCapabilities": {}});
    let answer = client.ask("tools/list", json!({"_meta": odd}));
    assert_eq!(answer["error"]["code"], -32022, "{answer}");
    let half = client.ask(
        "tools/list",
        json!({"_meta": {"io.modelcontextprotocol/protocolVersion": WITHOUT}}),
    );
    assert_eq!(half["error"]["code"], -32602, "{half}");
    let told = json!({"protocolVersion": "2030-01-01", "capabilities": {}, "clientInfo": {"name": "test", "version": "1"}});
    // Sent in one batch, as a script would.
    let hello = client.request("initialize", told);
    let list = client.request("tools/list", json!({}));
    assert_eq!(
        client.answer(hello)["result"]["protocolVersion"],
        "2025-11-25"
    );
    assert_eq!(client.answer(list)["result"]["tools"][1]["name"], "t");
}
