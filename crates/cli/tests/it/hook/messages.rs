//! Every tool of both clients: allowed, refused, rewritten, amended.

use super::hook;
use crate::support::{Project, hook as hook_file};
use serde_json::{Value, json};
use std::path::Path;

struct Fixture {
    tool: String,
    seen_as: String,
    pre: Value,
    post: Value,
}

/// The messages of a client, with the project's folder in place of the placeholder.
fn fixtures(client: &str, project: &Path) -> Vec<Fixture> {
    let folder = crate::support::program::repository("crates/cli/tests/it/hook").join(client);
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder).expect("fixtures").flatten() {
        let Some(tool) = entry
            .file_name()
            .to_str()
            .and_then(|name| name.strip_suffix(".json"))
            .map(str::to_owned)
        else {
            continue;
        };
        let text = std::fs::read_to_string(entry.path())
            .expect("text")
            .replace("$PROJECT", &project.to_string_lossy());
        let mut whole: Value = serde_json::from_str(&text).expect("JSON");
        let seen_as = whole["seen_as"].as_str().expect("a name").to_owned();
        found.push(Fixture {
            tool,
            seen_as,
            pre: whole["pre"].take(),
            post: whole["post"].take(),
        });
    }
    assert!(found.len() > 10, "{client}");
    found
}

fn project(event: &str, script: &str) -> Project {
    Project::new(&[(".harness/hooks/judge.md", &hook_file(event, script))])
}

#[test]
fn every_tool_passes_silently_if_no_hook_objects() {
    for client in ["claude-code", "codex"] {
        let project = project(
            "tool.pre",
            "def handle(event, payload):\n    return allow()",
        );
        for fixture in fixtures(client, project.path()) {
            let ran = hook(project.path(), client, &fixture.pre.to_string()).ends(0);
            assert_eq!(
                (ran.out.as_str(), ran.err.as_str()),
                ("", ""),
                "{client} {}",
                fixture.tool
            );
            let ran = hook(project.path(), client, &fixture.post.to_string()).ends(0);
            assert_eq!(
                (ran.out.as_str(), ran.err.as_str()),
                ("", ""),
                "{client} {}",
                fixture.tool
            );
        }
    }
}

#[test]
fn every_tool_is_refused_with_the_reason_and_hooks_see_the_common_name() {
    for client in ["claude-code", "codex"] {
        let script = "def handle(event, payload):\n    return block(payload[\"client\"] + \" \" + payload[\"native\"] + \" as \" + payload[\"name\"])";
        let project = project("tool.pre", script);
        for fixture in fixtures(client, project.path()) {
            let reason = super::refusal(hook(project.path(), client, &fixture.pre.to_string()))
                .expect("a refusal");
            assert!(
                reason.contains(&format!("{client} {} as {}", fixture.tool, fixture.seen_as)),
                "{reason}"
            );
            assert!(
                reason.contains("hook `judge` blocked the call")
                    && reason.contains(".harness/hooks/judge.md"),
                "{reason}"
            );
        }
    }
}

/// Changes the main argument of each tool.
const REWRITES: &str = r#"
def handle(event, payload):
    args = dict(payload["args"])
    for key in ["command", "content", "url", "prompt", "text", "path"]:
        if key in args:
            args[key] = args[key] + ".changed"
            return modify({"args": args})
    args["added"] = "changed"
    return modify({"args": args})
"#;

#[test]
fn changed_arguments_come_back_under_the_names_of_the_client() {
    for client in ["claude-code", "codex"] {
        let project = project("tool.pre", REWRITES);
        for fixture in fixtures(client, project.path()) {
            let ran = hook(project.path(), client, &fixture.pre.to_string());
            let as_list = fixture.pre["tool_input"]["command"].is_array();
            if fixture.tool == "apply_patch" || as_list {
                // A patch or a list of words cannot be written back.
                let ran = ran.ends(2);
                assert!(
                    ran.err.contains("cannot carry the change") && ran.out.is_empty(),
                    "{}",
                    ran.err
                );
                continue;
            }
            let ran = ran.ends(0);
            let answer = &ran.document()["hookSpecificOutput"];
            // Codex accepts new arguments only with this word; for Claude Code it would be a permission.
            let word = if client == "codex" {
                json!("allow")
            } else {
                Value::Null
            };
            assert_eq!(
                answer["permissionDecision"], word,
                "{client} {}",
                fixture.tool
            );
            let (sent, changed) = (&fixture.pre["tool_input"], &answer["updatedInput"]);
            let key = [
                "command",
                "cmd",
                "chars",
                "content",
                "new_string",
                "new_source",
                "edits",
                "url",
                "prompt",
                "message",
                "pattern",
                "file_path",
            ];
            let key = key
                .iter()
                .chain(&["path", "notebook_path", "added"])
                .find(|key| !changed[**key].is_null() && changed[**key] != sent[**key]);
            let key = *key.unwrap_or_else(|| panic!("{client} {}: {changed}", fixture.tool));
            let text = if key == "edits" {
                changed["edits"][1]["new_string"].to_string()
            } else {
                changed[key].to_string()
            };
            assert!(
                text.contains("changed"),
                "{client} {}: {changed}",
                fixture.tool
            );
            for (other, value) in sent
                .as_object()
                .expect("an object")
                .iter()
                .filter(|(other, _)| *other != key)
            {
                assert_eq!(&changed[other], value, "{client} {} {other}", fixture.tool);
            }
        }
    }
}

#[test]
fn a_changed_path_comes_back_absolute() {
    let script = "def handle(event, payload):\n    args = dict(payload[\"args\"])\n    args[\"path\"] = \"safe/\" + args[\"path\"]\n    return modify({\"args\": args})";
    let project = project("tool.pre", script);
    let input = json!({"file_path": project.path().join("a.txt"), "content": "x"});
    let ran = hook(
        project.path(),
        "claude-code",
        &super::before(project.path(), "Write", &input),
    )
    .ends(0);
    let expected = project
        .path()
        .canonicalize()
        .expect("a path")
        .join("safe/a.txt");
    assert_eq!(
        ran.document()["hookSpecificOutput"]["updatedInput"],
        json!({"file_path": expected, "content": "x"})
    );
}

#[test]
fn results_are_amended_in_the_format_of_the_client() {
    let script = "def handle(event, payload):\n    return modify({\"content\": \"amended\"})";
    let project = project("tool.post", script);
    for fixture in fixtures("claude-code", project.path()) {
        let ran = hook(project.path(), "claude-code", &fixture.post.to_string()).ends(0);
        let (answer, response) = (ran.document(), &fixture.post["tool_response"]);
        let updated = &answer["hookSpecificOutput"]["updatedToolOutput"];
        let mut expected = response.clone();
        match fixture.tool.as_str() {
            "Bash" | "PowerShell" => expected["stdout"] = json!("amended"),
            "Read" => expected["file"]["content"] = json!("amended"),
            "Grep" => expected["content"] = json!("amended"),
            "Glob" => expected["filenames"] = json!(["amended"]),
            "WebFetch" => expected["result"] = json!("amended"),
            "WebSearch" => expected["results"] = json!(["amended"]),
            "Agent" | "Task" => expected["content"] = json!([{"type": "text", "text": "amended"}]),
            _ if response.is_string() => expected = json!("amended"),
            _ if response.is_array() => expected = json!([{"type": "text", "text": "amended"}]),
            _ => {
                assert_eq!(
                    answer,
                    json!({"decision": "block", "reason": "amended"}),
                    "{}",
                    fixture.tool
                );
                continue;
            }
        }
        assert_eq!(updated, &expected, "{}", fixture.tool);
        if fixture.tool.starts_with("mcp__") {
            assert_eq!(
                answer["hookSpecificOutput"]["updatedMCPToolOutput"],
                expected
            );
        }
    }
    for fixture in fixtures("codex", project.path()) {
        let ran = hook(project.path(), "codex", &fixture.post.to_string()).ends(0);
        assert_eq!(
            ran.document(),
            json!({"decision": "block", "reason": "amended"}),
            "{}",
            fixture.tool
        );
    }
}

#[test]
fn a_withheld_result_names_only_who_withheld_it() {
    let project = project(
        "tool.post",
        "def handle(event, payload):\n    return block(\"not for models\")",
    );
    let fixture = fixtures("claude-code", project.path())
        .into_iter()
        .find(|fixture| fixture.tool == "Bash")
        .expect("a fixture");
    let ran = hook(project.path(), "claude-code", &fixture.post.to_string()).ends(0);
    let stdout = ran.document()["hookSpecificOutput"]["updatedToolOutput"]["stdout"].to_string();
    assert!(
        stdout.contains("not for models") && !ran.out.contains("ok 12 tests"),
        "{}",
        ran.out
    );
}

#[test]
fn hooks_see_a_failed_call_and_can_add_text() {
    let script = "def handle(event, payload):\n    if payload[\"is_error\"]:\n        return modify({\"content\": \"seen: \" + payload[\"error\"]})\n    return allow()";
    let project = project("tool.post", script);
    let message = json!({
        "session_id": "s", "cwd": project.path(), "hook_event_name": "PostToolUseFailure", "tool_name": "Bash", "tool_use_id": "toolu_1",
        "tool_input": {"command": "npm test"}, "error": "Exit code 1", "is_interrupt": false,
    });
    let ran = hook(project.path(), "claude-code", &message.to_string()).ends(0);
    let answer = &ran.document()["hookSpecificOutput"];
    assert_eq!(answer["hookEventName"], json!("PostToolUseFailure"));
    assert!(
        answer["additionalContext"]
            .as_str()
            .expect("text")
            .contains("seen: `run_command` failed: Exit code 1"),
        "{answer}"
    );
}

#[test]
fn one_guard_judges_project_tools_and_client_tools() {
    let script = "def handle(event, payload):\n    return block(\"no\") if \"rm -rf\" in payload[\"args\"].get(\"command\", \"\") else allow()";
    let project = Project::new(&[(
        ".harness/hooks/guard.md",
        &crate::support::hook_with(
            "tool.pre",
            "when: payload[\"name\"] == \"run_command\"\n",
            script,
        ),
    )]);
    for (client, tool, input) in [
        ("claude-code", "Bash", json!({"command": "rm -rf x"})),
        ("codex", "Bash", json!({"command": "rm -rf x"})),
        ("codex", "exec_command", json!({"cmd": "rm -rf x"})),
        (
            "codex",
            "shell",
            json!({"command": ["bash", "-lc", "rm -rf x"]}),
        ),
    ] {
        assert!(
            super::refusal(hook(
                project.path(),
                client,
                &super::before(project.path(), tool, &input)
            ))
            .is_some(),
            "{client} {tool}"
        );
    }
    assert_eq!(
        super::refusal(hook(
            project.path(),
            "claude-code",
            &super::before(project.path(), "Bash", &json!({"command": "ls"}))
        )),
        None
    );
}

#[test]
fn every_file_of_a_patch_is_judged() {
    let script = "def handle(event, payload):\n    return block(\"no \" + payload[\"args\"][\"path\"]) if payload[\"args\"][\"path\"].endswith(\".lock\") else allow()";
    let project = project("tool.pre", script);
    let judged = |patch: &str| {
        let input = json!({"command": format!("*** Begin Patch\n{patch}*** End Patch")});
        super::refusal(hook(
            project.path(),
            "codex",
            &super::before(project.path(), "apply_patch", &input),
        ))
    };
    assert!(
        judged("*** Add File: a\n+x\n*** Delete File: Cargo.lock\n")
            .is_some_and(|reason| reason.contains("no Cargo.lock"))
    );
    assert!(judged("*** Update File: a\n*** Move to: b.lock\n@@\n-x\n+y\n").is_some());
    assert_eq!(
        judged("*** Add File: a\n+x\n*** Delete File: Cargo.toml\n"),
        None
    );
    assert!(
        judged("*** Rename File: a\n").is_some_and(|reason| reason.contains("is not understood"))
    );
}
