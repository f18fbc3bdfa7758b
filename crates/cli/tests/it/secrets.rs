//! Secrets planted in every text of a call: none leaks, neither raw nor as base64 or in a URL.

use crate::support::program::{Ran, prepared};
use crate::support::{Events, Project, call, code, hook, tool, tool_with};
use serde_json::{Value, json};
use std::path::Path;
use tool_harness::ToolResult;

/// Recognised only because it is declared: it has no telling format.
const VALUE: &str = "tangerine/46 lamp+\"post\"";
/// Recognised by its format.
const TOKEN: &str = "ghp_16C7e42F292c6912E7710c838347Ae178B4a";

/// Where a text contains a secret, in any encoding.
fn leaks(text: &str) -> Vec<String> {
    let mut found = Vec::new();
    for secret in [VALUE, TOKEN] {
        let inside = |text: &str| {
            let quoted = json!(text).to_string();
            quoted[1..quoted.len() - 1].to_owned()
        };
        let mut forms = vec![secret.to_owned(), inside(secret), inside(&inside(secret))];
        forms.extend((0..3).map(|shift| base64_core(secret, shift)));
        forms.push(percent(secret));
        forms.push(percent(secret).to_lowercase());
        forms.push(percent(&inside(secret)));
        found.extend(
            forms
                .into_iter()
                .filter(|form| text.contains(form.as_str())),
        );
    }
    found
}

/// The base64 characters that depend only on the text, with this many bytes before it.
fn base64_core(text: &str, shift: usize) -> String {
    const LETTERS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let bits: Vec<u8> = text
        .bytes()
        .flat_map(|byte| (0..8).rev().map(move |bit| byte >> bit & 1))
        .collect();
    let skip = (6 - 8 * shift % 6) % 6;
    bits[skip..]
        .chunks_exact(6)
        .map(|six| char::from(LETTERS[six.iter().fold(0, |sum, bit| sum * 2 + usize::from(*bit))]))
        .collect()
}

fn percent(text: &str) -> String {
    text.bytes()
        .map(|byte| {
            if byte.is_ascii_alphanumeric() {
                char::from(byte).to_string()
            } else {
                format!("%{byte:02X}")
            }
        })
        .collect()
}

#[track_caller]
fn assert_clean(project: &Project, result: &ToolResult) {
    let events: Vec<Value> = project
        .events
        .all()
        .iter()
        .map(|event| event.to_json())
        .collect();
    for (what, text) in [
        ("result", result.to_json().to_string()),
        ("text", result.text()),
        ("events", json!(events).to_string()),
    ] {
        assert_eq!(leaks(&text), Vec::<String>::new(), "{what}: {text}");
    }
}

/// A project whose events include arguments and results.
fn asking(files: &[(&str, &str)]) -> Project {
    Project {
        events: Events::asking(),
        ..Project::new(files)
    }
}

const SAYS: &str = r#"
def run(args):
    s, t = args["value"], args["token"]
    how = args["how"]
    if how == "value":
        return {"a": s, "b": ["x" + t, base64.encode("k:" + s), url.encode(s)], s: 1, "json": json.encode({"in": s})}
    if how == "text":
        return "before " + s + " and " + t + " after"
    if how == "parts":
        return result(content = "said " + s, data = {"v": s}, refs = [{"kind": "file", "path": t}], metadata = {"m": [s]})
    if how == "address":
        return {"path": url.encode(s).replace("%2F", "/").replace("%2B", "+"), "twice": url.encode(url.encode(s)), "json": url.encode(json.encode(s)), "deep": json.encode(json.encode({"in": s}))}
    if how == "fail":
        fail("cannot use " + s + " or " + t)
    if how == "error":
        return error("bad", "cannot use " + s, metadata = {"sent": t})
    if how == "returned":
        return {"error": "no " + t, "detail": s}
    if how == "output":
        return exec.run("printf", ["%s\n", "got " + s + " " + t])
    log.info("using " + s, key = t)
    print("token", t)
    emit("used", {"with": s, "list": [t]})
    progress(0.5, "with " + t)
    return "done"
"#;

fn says() -> String {
    let fields = "inject: { value: \"secret:API\" }\nparameters:\n  how: { type: string }\n  token: { type: string }\n";
    tool_with(fields, SAYS)
}

#[tokio::test]
async fn no_secret_appears_in_results_errors_events_or_logs() {
    let watching = hook(
        "tool.post",
        "def handle(event, payload):\n  log.info(\"saw\", result = payload[\"result\"])\n  return allow()",
    );
    let project = asking(&[
        (".harness/tools/say.md", &says()),
        (".harness/hooks/watch.md", &watching),
    ]);
    let engine = project
        .builder()
        .secret("API", VALUE)
        .load()
        .await
        .expect("the project loads");
    for how in [
        "value", "text", "parts", "address", "fail", "error", "returned", "output", "log",
    ] {
        project.events.clear();
        let result = engine
            .call(call("say", json!({"how": how, "token": TOKEN})))
            .await;
        assert_clean(&project, &result);
        let said = result.to_json().to_string()
            + &json!(
                project
                    .events
                    .all()
                    .iter()
                    .map(|event| event.to_json())
                    .collect::<Vec<_>>()
            )
            .to_string();
        assert!(said.contains("[redacted]"), "{how} printed nothing: {said}");
        let count = result.metadata.get("redacted").and_then(Value::as_u64);
        assert_eq!(
            count.is_some_and(|count| count > 0),
            how != "log",
            "{how}: {said}"
        );
        let last = project.events.all().pop().expect("a last event");
        assert_eq!(
            last.fields().get("redacted").and_then(Value::as_u64),
            count,
            "{how}: the record and the result have the same count"
        );
    }
}

#[tokio::test]
async fn a_refusal_does_not_repeat_secrets_from_arguments_or_names() {
    let blocking = hook(
        "tool.pre",
        "def handle(event, payload):\n  return block(\"not with \" + payload[\"args\"].get(\"token\", \"\"))",
    );
    let project = asking(&[
        (".harness/tools/say.md", &says()),
        (".harness/hooks/h.md", &blocking),
    ]);
    let engine = project
        .builder()
        .secret("API", VALUE)
        .load()
        .await
        .expect("the project loads");
    for (tool, arguments, expected) in [
        (
            "say",
            json!({"how": "text", "token": format!("{VALUE} {TOKEN}")}),
            "tool.hook.blocked",
        ),
        (
            "say",
            json!({"how": [VALUE, TOKEN], "token": 5}),
            "tool.args.invalid_schema",
        ),
        (
            "say",
            json!({"how": "text", VALUE: 1, "value": TOKEN}),
            "tool.args.invalid_schema",
        ),
        (TOKEN, json!({}), "tool.unknown"),
        (VALUE, json!({}), "tool.unknown"),
    ] {
        project.events.clear();
        let explained = format!("{:?}", engine.explain(call(tool, arguments.clone())).await);
        assert_eq!(leaks(&explained), Vec::<String>::new(), "{explained}");
        let result = engine.call(call(tool, arguments)).await;
        assert_eq!(code(&result), expected);
        assert_clean(&project, &result);
    }
}

#[tokio::test]
async fn an_explanation_shows_no_secrets_from_the_arguments() {
    let handle = "def handle(event, payload):\n  args = {\"how\": \"text\", \"token\": payload[\"args\"][\"token\"] + \"!\"}\n  return modify(dict(payload, args = args))";
    let changing = hook("tool.pre", handle);
    let project = Project::new(&[
        (".harness/tools/say.md", &says()),
        (".harness/hooks/h.md", &changing),
    ]);
    let engine = project
        .builder()
        .secret("API", VALUE)
        .load()
        .await
        .expect("the project loads");
    let explained = engine
        .explain(call(
            "say",
            json!({"how": "text", "token": format!("{VALUE} {TOKEN}")}),
        ))
        .await;
    let text = format!("{explained:?} {}", explained.to_json());
    assert!(
        explained.outcome.is_ok() && text.contains("[redacted]") && leaks(&text).is_empty(),
        "{text}"
    );
}

#[tokio::test]
async fn tools_and_projects_can_name_fields_and_patterns_to_redact() {
    let fields = "safety: { redact: [pin, \"*_code\"] }\n";
    let script = "def run(args):\n  log.info(\"x\", phone = \"555-0199\")\n  return {\"pin\": 1234, \"door_code\": {\"a\": 1}, \"customer\": \"CUS-778899\", \"text\": \"pin: 1234, ok\", \"name\": \"Ada\"}";
    let other = tool("def run(args):\n  return {\"pin\": 1234, \"customer\": \"CUS-778899\"}");
    let project = Project::new(&[
        (
            "harness.md",
            "---\nredaction: [\"/CUS-[0-9]+/\", phone]\n---\n",
        ),
        (".harness/tools/show.md", &tool_with(fields, script)),
        (".harness/tools/show_other.md", &other),
    ]);
    let engine = project.engine().await;
    let result = engine.call(call("show", json!({}))).await;
    let mark = "[redacted]";
    let expected = json!({"pin": mark, "door_code": mark, "customer": mark, "text": "pin: [redacted], ok", "name": "Ada"});
    assert_eq!(
        (result.value.as_ref(), result.text()),
        (Some(&expected), expected.to_string())
    );
    assert_eq!(result.metadata["redacted"], 4);
    let log = project
        .events
        .all()
        .into_iter()
        .find(|event| event.name() == "log")
        .expect("the log");
    assert_eq!(log.fields()["fields"]["phone"], mark);
    let other = engine.call(call("show_other", json!({}))).await;
    assert_eq!(
        other.value,
        Some(json!({"pin": 1234, "customer": mark})),
        "a redaction of one tool does not apply to another"
    );
}

#[tokio::test]
async fn a_named_field_is_redacted_in_events_and_handles_of_artifacts_stay_whole() {
    let script = "def run(args):\n  log.debug(\"a plan\", n = 1)\n  emit(\"done\", {\"n\": 1})\n  return \"x\" * 100000";
    let refuses = "def handle(event, payload):\n  return block(\"the budget\") if payload[\"args\"].get(\"stop\") else allow()";
    let project = Project::new(&[
        (
            "harness.md",
            "---\nredaction: [message, reason, payload, \"/[0-9a-f]{32,}/\"]\n---\n",
        ),
        (".harness/tools/show.md", &tool(script)),
        (".harness/hooks/refuse.md", &hook("tool.pre", refuses)),
    ]);
    let engine = project.engine().await;
    let result = engine.call(call("show", json!({}))).await;
    engine.call(call("show", json!({"stop": true}))).await;
    let events = project.events.all();
    let fields = |name: &str| {
        let event = events.iter().find(|event| event.name() == name);
        event.unwrap_or_else(|| panic!("no {name}")).fields()
    };
    let mark = json!("[redacted]");
    let log = fields("log");
    assert_eq!((&log["level"], &log["message"]), (&json!("debug"), &mark));
    assert_eq!(fields("custom.done")["payload"], mark);
    assert_eq!(fields("hook.decided")["reason"], mark);
    let (stored, artifact) = (fields("artifact.stored"), &result.artifacts[0]);
    assert_eq!(
        (&stored["id"], &stored["digest"]),
        (&json!(artifact.id), &json!(artifact.digest))
    );
}

#[tokio::test]
async fn an_unusable_redaction_pattern_is_an_error_and_fails_closed() {
    let show = tool_with(
        "safety: { redact: [\"/(/\"] }\n",
        "def run(args):\n  return 1",
    );
    let project = Project::new(&[(".harness/tools/show.md", &show)]);
    let engine = project.engine().await;
    assert!(!engine.is_valid() && engine.call(call("show", json!({}))).await.is_error);
    let project = Project::new(&[("harness.md", "---\nredaction: [\"*\"]\n---\n")]);
    assert!(project.engine().await.stopped().is_some());
}

/// A project whose tool returns its injected secret, and a user file.
fn with_user_file(secrets: &str, root: &str) -> (Project, tempfile::TempDir) {
    let give = tool_with(
        "inject: { key: \"secret:API\" }\n",
        "def run(args):\n  return {\"length\": len(args[\"key\"]), \"key\": args[\"key\"]}",
    );
    let project = Project::new(&[(".harness/tools/give.md", &give), ("harness.md", root)]);
    let user = tempfile::tempdir().expect("a folder");
    std::fs::create_dir(user.path().join("harness")).expect("a folder");
    std::fs::write(
        user.path().join("harness/harness.md"),
        format!("---\n{secrets}---\n"),
    )
    .expect("the file");
    (project, user)
}

fn give(project: &Project, user: &Path, words: &[&str]) -> Ran {
    let mut command = prepared(project.path(), words);
    Ran::from(
        command
            .env("XDG_CONFIG_HOME", user)
            .env("MY_KEY", VALUE)
            .env("HOME", user)
            .output()
            .expect("it runs"),
    )
}

#[test]
fn users_provide_secrets_by_variable_file_or_command_and_no_door_shows_them() {
    for (from, length) in [
        ("secrets: { API: \"env:MY_KEY\" }\n", VALUE.len()),
        ("secrets: { API: \"file:~/key\" }\n", VALUE.len()),
        ("secrets: { API: { command: [cat, key] } }\n", VALUE.len()),
    ] {
        let (project, user) = with_user_file(from, "---\nformat: 1\n---\n");
        project.write("key", VALUE.as_bytes());
        std::fs::write(user.path().join("key"), format!("{VALUE}\n")).expect("the key");
        let ran = give(
            &project,
            user.path(),
            &["call", "give", "--json", "--events"],
        )
        .ends(0);
        assert_eq!(
            ran.document()["value"],
            json!({"length": length, "key": "[redacted]"}),
            "{from}"
        );
        assert_eq!(leaks(&(ran.out + &ran.err)), Vec::<String>::new(), "{from}");
    }
}

#[test]
fn a_call_is_refused_if_its_secret_is_missing_or_defined_only_by_the_project() {
    let (project, user) = with_user_file(
        "secrets: { API: \"env:NO_SUCH_KEY\" }\n",
        "---\nformat: 1\n---\n",
    );
    let ran = give(&project, user.path(), &["call", "give", "--json"]);
    assert_eq!(ran.document()["error"]["code"], "tool.secret.missing");
    assert!(ran.out.contains("NO_SUCH_KEY"), "{}", ran.out);
    let (project, user) = with_user_file(
        "format: 1\n",
        "---\nsecrets: { API: \"env:MY_KEY\" }\n---\n",
    );
    let ran = give(&project, user.path(), &["call", "give", "--json"]);
    assert_eq!(ran.document()["error"]["code"], "tool.secret.missing");
    assert!(ran.out.contains("project.untrusted"), "{}", ran.out);
    let (project, user) = with_user_file(
        "secrets: { API: \"file:~/key\" }\n",
        "---\nformat: 1\n---\n",
    );
    std::fs::write(user.path().join("key"), "abc\n").expect("the key");
    let ran = give(&project, user.path(), &["call", "give", "--json"]);
    assert!(ran.out.contains("shorter than 4 bytes"), "{}", ran.out);
}

#[test]
fn a_sandboxed_command_shows_no_secret_even_split_in_two() {
    let (project, user) = with_user_file(
        "secrets: { API: \"env:MY_KEY\" }\n",
        "---\nformat: 1\n---\n",
    );
    let (first, second) = TOKEN.split_at(9);
    let script = format!(
        "printf 'a {first}'; sleep 0.2; printf '{second} b\\n'; printf '%s\\n' 'tangerine/46 lamp+\"post\"' >&2"
    );
    let ran = give(&project, user.path(), &["exec", "--", "sh", "-c", &script]).ends(0);
    assert_eq!(
        (ran.out.as_str(), ran.err.as_str()),
        ("a [redacted] b\n", "[redacted]\n")
    );
}

#[test]
fn a_denial_of_a_command_shows_no_secret() {
    let (project, user) = with_user_file(
        "secrets: { API: \"file:~/key\" }\n",
        "---\nnetwork: { allowed_domains: [a.example.com] }\n---\n",
    );
    std::fs::write(user.path().join("key"), "tangerine46lamp\n").expect("the key");
    for (words, expected) in [
        (
            &["getent", "hosts", "tangerine46lamp.example.com"][..],
            "host \"[redacted].example.com\" is not in",
        ),
        (&["tangerine46lamp"], "program `[redacted]` not found"),
    ] {
        let ran = give(&project, user.path(), &[&["exec", "--"], words].concat());
        assert!(
            ran.err.contains(expected) && !ran.err.contains("tangerine"),
            "{}",
            ran.err
        );
    }
}

#[test]
fn secrets_in_command_line_arguments_are_not_echoed() {
    let project = Project::new(&[(
        ".harness/tools/say.md",
        &tool_with(
            "parameters: { n: { type: integer } }\n",
            "def run(args):\n  return 1",
        ),
    )]);
    let ran =
        crate::support::program::harness(project.path(), &["call", "say", &format!("n={TOKEN}")]);
    assert_ne!(ran.code, Some(0));
    assert_eq!(leaks(&(ran.out + &ran.err)), Vec::<String>::new());
}
