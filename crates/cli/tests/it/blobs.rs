//! Results too long for a conversation are stored, redacted, for their own session.

use crate::support::program::{Ran, prepared};
use crate::support::{Project, call, code, tool, tool_with};
use serde_json::{Value, json};
use std::path::Path;
use tool_harness::{Call, ToolError, ToolResult};

const TOKEN: &str = "ghp_16C7e42F292c6912E7710c838347Ae178B4a";
const LONG: &str = "def run(args):\n  return \"\\n\".join([\"line %d\" % n for n in range(5000)])";

fn in_session(session: &str, tool: &str, arguments: Value) -> Call {
    call(tool, arguments).session(session)
}

/// The text below the header line.
fn body(result: &ToolResult) -> String {
    assert!(!result.is_error, "{:?}", result.error);
    result
        .text()
        .split_once('\n')
        .expect("a line above")
        .1
        .to_owned()
}

#[tokio::test]
async fn a_long_result_keeps_head_and_tail_and_gets_a_handle_for_its_session_only() {
    let project = Project::new(&[(".harness/tools/say_much.md", &tool(LONG))]);
    let engine = project.engine().await;
    let whole: String = (0..5000)
        .map(|line| format!("line {line}"))
        .collect::<Vec<_>>()
        .join("\n");
    let result = engine.call(in_session("one", "say_much", json!({}))).await;
    let text = result.text();
    assert!(
        text.len() <= 16_384 && text.starts_with("line 0\n") && text.ends_with("line 4999"),
        "{}",
        text.len()
    );
    let [artifact] = result.artifacts.as_slice() else {
        panic!("{:?}", result.artifacts)
    };
    assert!(
        text.contains(&format!(
            "`read_artifact` shows any part of it: id {}, {} bytes",
            artifact.id,
            whole.len()
        )),
        "{text}"
    );
    assert_eq!(
        (artifact.bytes, artifact.media_type.as_str()),
        (whole.len() as u64, "text/plain")
    );
    assert_eq!(
        result.metadata["truncated"]["artifact"],
        artifact.id.as_str()
    );
    let events = project.events.all();
    let stored = events
        .iter()
        .find(|event| event.name() == "artifact.stored")
        .expect("its event");
    assert_eq!(
        (&stored.fields()["id"], &stored.fields()["digest"]),
        (&json!(artifact.id), &json!(artifact.digest))
    );
    let last = events.last().expect("the last event");
    assert_eq!(
        last.fields()["artifacts"],
        json!([{"id": artifact.id, "digest": artifact.digest}])
    );

    let read = |arguments: Value| {
        let mut arguments = arguments;
        arguments["id"] = json!(artifact.id);
        engine.call(in_session("one", "read_artifact", arguments))
    };
    assert_eq!(
        body(&read(json!({"offset": 7, "length": 13})).await),
        "line 1\nline 2"
    );
    assert_eq!(
        body(&read(json!({"line": 4000, "lines": 1})).await),
        "line 3999\n"
    );
    assert!(body(&read(json!({"search": "line 4321"})).await).starts_with("4322 (offset "));
    let first = read(json!({})).await;
    assert!(
        first.artifacts.is_empty() && first.text().len() > 11_000,
        "what was read is not stored again"
    );
    assert_eq!(
        code(&read(json!({"search": "x", "line": 1})).await),
        "tool.failed"
    );

    let foreign = engine
        .call(in_session(
            "two",
            "read_artifact",
            json!({"id": artifact.id}),
        ))
        .await;
    assert!(
        code(&foreign) == "tool.failed" && foreign.text().contains("no artifact"),
        "{}",
        foreign.text()
    );
    let forged = engine
        .call(in_session(
            "two",
            "read_artifact",
            json!({"id": artifact.id, "session": "one"}),
        ))
        .await;
    assert_eq!(
        code(&forged),
        "tool.args.invalid_schema",
        "a caller cannot choose the session"
    );

    // The same through the library.
    assert_eq!(
        engine.blobs("one").read(&artifact.id, 0, 6).expect("read"),
        b"line 0"
    );
    assert!(engine.blobs("two").read(&artifact.id, 0, 6).is_err());
}

#[tokio::test]
async fn a_long_value_is_stored_as_json_and_a_denied_reader_is_not_mentioned() {
    let many = tool("def run(args):\n  return {\"rows\": [{\"n\": n} for n in range(4000)]}");
    let both = tool(
        "def run(args):\n  return result(content = \"short\", data = {\"rows\": [\"row\"] * 5000})",
    );
    let files = [
        (
            "harness.md",
            "---\ntools_policy: { deny: [read_artifact] }\n---\n",
        ),
        (".harness/tools/list_many.md", &*many),
        (".harness/tools/list_both.md", &*both),
    ];
    let project = Project::new(&files);
    let engine = project.engine().await;
    let result = engine.call(in_session("s", "list_many", json!({}))).await;
    assert!(
        result.value.is_none() && !result.text().contains("read_artifact"),
        "{}",
        result.text()
    );
    assert!(
        result
            .text()
            .contains(&format!("all of it is kept as {}", result.artifacts[0].id))
    );
    assert_eq!(result.artifacts[0].media_type, "application/json");
    let kept = engine
        .blobs("s")
        .read(&result.artifacts[0].id, 0, u64::MAX)
        .expect("read");
    assert_eq!(
        serde_json::from_slice::<Value>(&kept).expect("JSON")["rows"]
            .as_array()
            .map(Vec::len),
        Some(4000)
    );
    let denied = engine
        .call(in_session(
            "s",
            "read_artifact",
            json!({"id": result.artifacts[0].id}),
        ))
        .await;
    assert_eq!(code(&denied), "tool.denied");
    let both = engine.call(in_session("s", "list_both", json!({}))).await;
    assert_eq!(
        (both.text().as_str(), both.artifacts[0].media_type.as_str()),
        ("short", "application/json")
    );
}

#[tokio::test]
async fn stored_process_output_and_script_artifacts_contain_no_secrets() {
    // The secret lies where the output is cut, so a naive cut would leave half of it.
    let flood = "def run(args):\n  got = exec.run(\"sh\", [\"-c\", \"i=0; while [ $i -lt 60000 ]; do echo TOKEN; i=$((i+1)); done\"])\n  \
                 kept = got[\"artifacts\"][\"stdout\"]\n  return {\"cut\": got[\"truncated\"], \"head\": got[\"stdout\"][:200], \
                 \"kept\": kept, \"part\": artifact.read(kept[\"id\"], 0, 22), \"all\": got[\"stdout\"]}";
    let aside = tool(
        "def run(args):\n  return artifact.write(\"TOKEN and more\", \"text/x-notes\")"
            .replace("TOKEN", TOKEN)
            .as_str(),
    );
    let project = Project::new(&[
        (
            ".harness/tools/run_flood.md",
            &tool_with(
                "limits: { max_output_bytes: 4000000 }\n",
                &flood.replace("TOKEN", TOKEN),
            ),
        ),
        (".harness/tools/put_aside.md", &aside),
        ("harness.md", "---\nformat: 1\n---\n"),
    ]);
    let engine = project.engine().await;
    let result = engine.call(in_session("s", "run_flood", json!({}))).await;
    let value = result
        .value
        .as_ref()
        .unwrap_or_else(|| panic!("{:?}", result.error));
    assert_eq!(
        (&value["cut"], &value["part"]),
        (&json!(true), &json!("[redacted]\n[redacted]\n"))
    );
    assert_eq!(value["kept"]["bytes"], 60_000 * 11);
    for piece in [&TOKEN[..12], &TOKEN[10..], &TOKEN[24..]] {
        assert!(
            !result.to_json().to_string().contains(piece),
            "half of the secret is left: {piece}"
        );
    }
    assert_eq!(
        result.artifacts[0].id,
        value["kept"]["id"].as_str().expect("an id")
    );
    let aside = engine.call(in_session("s", "put_aside", json!({}))).await;
    assert_eq!(
        engine
            .blobs("s")
            .read(&aside.artifacts[0].id, 0, 99)
            .expect("read"),
        b"[redacted] and more"
    );
    assert_eq!(aside.artifacts[0].media_type, "text/x-notes");
    assert_eq!(
        (&result.metadata["redacted"], &aside.metadata["redacted"]),
        (&json!(60_000), &json!(1)),
        "the event counts the stored bytes"
    );
}

#[tokio::test]
async fn a_gigabyte_of_output_shows_head_and_tail_and_its_start_is_stored() {
    let project = Project::new(&[(
        ".harness/tools/make_much.md",
        "---\nrisk: safe\n---\nMakes much.\n",
    )]);
    let body = |_| async { Ok::<_, ToolError>(Value::from("abcd".repeat(1 << 28))) };
    let engine = project
        .builder()
        .body("make_much", body)
        .load()
        .await
        .expect("the project loads");
    let result = engine.call(in_session("s", "make_much", json!({}))).await;
    assert!(!result.is_error && result.text().len() <= 16_384 && result.value.is_none());
    assert!(
        result
            .content
            .iter()
            .all(|block| block.as_text().is_some_and(|text| text.len() <= 16_384))
    );
    assert_eq!(result.artifacts[0].bytes, 64 << 20);
    let ends =
        project.events.names().into_iter().filter(|name| {
            ["tool.completed", "tool.failed", "tool.rejected"].contains(&name.as_str())
        });
    assert_eq!(ends.collect::<Vec<_>>(), ["tool.completed"]);
}

#[tokio::test]
async fn a_failing_store_loses_the_rest_but_not_the_result() {
    let flood = "def run(args):\n  return exec.run(\"sh\", [\"-c\", \"i=0; while [ $i -lt 60000 ]; do echo TOKEN; i=$((i+1)); done\"])[\"stdout\"]";
    let project = Project::new(&[
        (".harness/tools/say_much.md", &tool(LONG)),
        (
            ".harness/tools/run_flood.md",
            &tool_with(
                "limits: { max_output_bytes: 4000000 }\n",
                &flood.replace("TOKEN", TOKEN),
            ),
        ),
        ("harness.md", "---\nformat: 1\n---\n"),
    ]);
    project.write("occupied", b"a file where the store's folder would be");
    let store = tool_harness::store::blob::DiskBlobs::new(project.path().join("occupied/store"));
    let engine = project
        .builder()
        .blobs_in(std::sync::Arc::new(store))
        .load()
        .await
        .expect("the project loads");
    let result = engine.call(call("say_much", json!({}))).await;
    assert!(
        !result.is_error
            && result.artifacts.is_empty()
            && result.text().contains("bytes left out …]"),
        "{}",
        result.text()
    );
    let log = project
        .events
        .all()
        .into_iter()
        .find(|event| event.name() == "log")
        .expect("a warning");
    assert!(
        log.fields()["message"]
            .as_str()
            .is_some_and(|message| message.contains("is lost")),
        "{:?}",
        log.fields()
    );
    let result = engine.call(call("run_flood", json!({}))).await;
    assert!(
        result.artifacts.is_empty() && result.text().starts_with("[redacted]\n[redacted]\n"),
        "{:?}",
        result.error
    );
    assert!(
        result.metadata["redacted"] == 60_000
            && !result.text().contains(&TOKEN[..12])
            && !result.text().contains(&TOKEN[24..])
    );
}

fn files(folder: &Path, found: &mut Vec<Vec<u8>>) {
    for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
        match entry.path().is_dir() {
            true => files(&entry.path(), found),
            false => found.push(std::fs::read(entry.path()).expect("a file")),
        }
    }
}

#[test]
fn the_program_stores_artifacts_in_its_state_folder_without_secrets_in_any_encoding() {
    let script = format!(
        "def run(args):\n  s = args[\"key\"]\n  lines = [s, base64.encode(s), base64.encode(\"x\" + s), url.encode(s), \"{TOKEN}\"]\n  return \"\\n\".join(lines * 300)"
    );
    let project = Project::new(&[(
        ".harness/tools/say_much.md",
        &tool_with("inject: { key: \"secret:KEY\" }\n", &script),
    )]);
    let user = tempfile::tempdir().expect("a folder");
    std::fs::create_dir(user.path().join("harness")).expect("a folder");
    std::fs::write(
        user.path().join("harness/harness.md"),
        "---\nsecrets: { KEY: \"env:MY_KEY\" }\n---\n",
    )
    .expect("the file");
    let secret = "violet 17/lantern+moss";
    let mut command = prepared(project.path(), &["call", "say_much", "--events"]);
    command
        .env("XDG_CONFIG_HOME", user.path())
        .env("XDG_STATE_HOME", user.path().join("state"))
        .env("MY_KEY", secret);
    let ran = Ran::from(command.output().expect("it runs")).ends(0);
    let mut kept = Vec::new();
    files(&user.path().join("state"), &mut kept);
    assert!(
        kept.iter().any(|file| file.len() > 16_384),
        "it is stored there"
    );
    let everything = [kept.concat(), ran.out.into_bytes(), ran.err.into_bytes()].concat();
    // A distinctive part of each encoding: raw, the three alignments of base64, and a URL.
    for form in [
        secret,
        TOKEN,
        "dmlvbGV0IDE3L2xhbnRlcm4rbW9z",
        "aW9sZXQgMTcvbGFudGVybittb3",
        "pb2xldCAxNy9sYW50ZXJuK21vc3",
        "violet%2017%2Flantern%2Bmoss",
    ] {
        assert!(
            !everything
                .windows(form.len())
                .any(|window| window == form.as_bytes()),
            "{form}"
        );
    }
    assert!(
        everything
            .windows(10)
            .filter(|window| window == b"[redacted]")
            .count()
            > 1000
    );
    let folder = std::fs::read_dir(user.path().join("state/harness"))
        .expect("the folder")
        .flatten()
        .next()
        .expect("a project");
    let mode = std::os::unix::fs::MetadataExt::mode(&folder.metadata().expect("its mode"));
    assert_eq!(mode & 0o077, 0, "only its owner may enter");
}
