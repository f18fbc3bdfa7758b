//! Client maps, rules over clients' tools, and where the project is found.

use super::{before, hook, refusal};
use crate::support::{Project, hook as hook_file};
use serde_json::json;
use std::process::Stdio;

fn judged(project: &Project, tool: &str, input: &serde_json::Value) -> Option<String> {
    refusal(hook(
        project.path(),
        "claude-code",
        &before(project.path(), tool, input),
    ))
}

#[test]
fn the_rules_of_the_project_apply_to_client_tools() {
    for (policy, refused, allowed) in [
        ("tools_policy: { deny: [http_get] }", "WebFetch", "Bash"),
        ("tools_policy: { allow: [read_file] }", "Bash", "Read"),
        ("policy: { side_effect_level: read_only }", "Write", "Read"),
        ("policy: { effects: [read, write] }", "Bash", "Edit"),
        (
            "policy: { tool_arg_constraints: [{ tool: write_file, arg_key: path, arg_patterns: [\"src/**\"] }] }",
            "Write",
            "Bash",
        ),
        (
            "policy: { side_effect_level: workspace_write }",
            "mcp__any__thing",
            "Write",
        ),
    ] {
        let project = Project::new(&[("harness.md", &format!("---\nformat: 1\n{policy}\n---\n"))]);
        let input = json!({"file_path": project.path().join("x"), "command": "ls", "url": "https://example.com", "content": ""});
        assert!(
            judged(&project, refused, &input).is_some_and(|reason| reason.contains("tool.denied")),
            "{policy}: {refused}"
        );
        assert_eq!(
            judged(&project, allowed, &input),
            None,
            "{policy}: {allowed}"
        );
    }
}

#[test]
fn a_client_map_of_the_project_overrides_the_built_in_one() {
    let map = "---\ntools:\n  Deploy: { as: run_command, args: { line: command }, commands: [command], effects: [exec] }\n  \"mcp__shell__*\": { as: run_command, args: { cmd: command }, commands: [command] }\n---\n";
    let script = "def handle(event, payload):\n    return block(\"seen \" + payload[\"name\"] + \" \" + payload[\"args\"].get(\"command\", \"\"))";
    let project = Project::new(&[
        (".harness/clients/claude-code.md", map),
        (".harness/hooks/see.md", &hook_file("tool.pre", script)),
    ]);
    assert!(
        judged(&project, "Deploy", &json!({"line": "now"}))
            .is_some_and(|reason| reason.contains("seen run_command now"))
    );
    assert!(
        judged(&project, "mcp__shell__run", &json!({"cmd": "ls"}))
            .is_some_and(|reason| reason.contains("seen run_command ls"))
    );
    assert!(
        judged(&project, "Bash", &json!({"command": "id"}))
            .is_some_and(|reason| reason.contains("seen run_command id"))
    );
}

#[test]
fn a_client_map_with_an_error_lets_nothing_through() {
    for (map, reason) in [
        (
            "---\ntool:\n  Bash: {}\n---\n",
            "is not a field of a client map",
        ),
        (
            "---\ntools:\n  Bash: { efects: [read] }\n---\n",
            "did you mean",
        ),
        (
            "---\ntools:\n  Bash: { effects: [reads] }\n---\n",
            "effects",
        ),
        ("---\ntools: [", "the map of claude-code's tools is broken"),
        ("no frontmatter", "does not start with"),
        ("---\ncontain: maybe\n---\n", "contain"),
    ] {
        let project = Project::new(&[(".harness/clients/claude-code.md", map)]);
        let ran = hook(
            project.path(),
            "claude-code",
            &before(project.path(), "Bash", &json!({"command": "ls"})),
        )
        .ends(2);
        let shown = reason == "did you mean" || ran.err.contains(reason);
        assert!(
            shown && ran.out.is_empty() && ran.err.contains("claude-code"),
            "{map}: {}",
            ran.err
        );
        // The other client is not affected.
        assert_eq!(
            refusal(hook(
                project.path(),
                "codex",
                &before(project.path(), "Bash", &json!({"command": "ls"}))
            )),
            None,
            "{map}"
        );
    }
    let fine = Project::new(&[(
        ".harness/clients/claude-code.md",
        "---\ncontain: false\n---\n",
    )]);
    assert_eq!(judged(&fine, "Bash", &json!({"command": "ls"})), None);
}

#[test]
fn commands_of_a_contained_client_run_through_exec_and_hooks_see_the_original() {
    let script = "def handle(event, payload):\n    if payload[\"args\"].get(\"command\", \"\").startswith(\"echo \"):\n        return allow()\n    return block(\"saw \" + payload[\"args\"].get(\"command\", \"\"))";
    for (client, tool) in [("claude-code", "Bash"), ("codex", "Bash")] {
        let map = format!(".harness/clients/{client}.md");
        let project = Project::new(&[
            (&map, "---\ncontain: true\n---\nIts commands stay inside.\n"),
            (".harness/hooks/see.md", &hook_file("tool.pre", script)),
            (".harness/hooks/after.md", &hook_file("tool.post", script)),
        ]);
        let command = "echo it\\'s \"$HOME\" > a";
        let asked = |input: &serde_json::Value| {
            hook(project.path(), client, &before(project.path(), tool, input)).ends(0)
        };
        let answer = asked(&json!({"command": command})).document();
        let contained = answer["hookSpecificOutput"]["updatedInput"]["command"]
            .as_str()
            .expect("another command")
            .to_owned();
        assert!(
            contained.contains(" exec --project ") && contained.contains(" -- bash -c -- '"),
            "{contained}"
        );
        assert_eq!(
            answer["hookSpecificOutput"]
                .get("permissionDecision")
                .filter(|decision| *decision == "deny"),
            None
        );
        // A contained command is judged by the command inside, and contained only once.
        assert_eq!(asked(&json!({"command": contained})).document(), answer);
        let after = json!({
            "session_id": "s1", "cwd": project.path(), "hook_event_name": "PostToolUse", "tool_name": tool, "tool_use_id": "toolu_1",
            "tool_input": {"command": contained}, "tool_response": {"stdout": "x", "stderr": ""},
        });
        assert_eq!(
            hook(project.path(), client, &after.to_string()).ends(0).out,
            "",
            "the hook after it saw another command"
        );
        // A refusal stays a refusal, and tools without commands run unchanged.
        assert!(asked(&json!({"command": "rm x"})).out.contains("saw rm x"));
        // The shell restores the command as it was written.
        let shown = crate::support::program::command(
            "bash",
            project.path(),
            &[
                "-c",
                &format!(
                    "printf '%s' {}",
                    &contained[contained.find("bash -c -- ").expect("a shell") + 11..]
                ),
            ],
        );
        assert_eq!(
            super::Ran::from({
                let mut shown = shown;
                shown.output().expect("bash")
            })
            .out,
            command
        );
    }
}

#[test]
fn a_decision_to_ask_a_person_is_refused_with_the_reason() {
    let project = Project::new(&[(
        ".harness/hooks/ask.md",
        &hook_file(
            "tool.pre",
            "def handle(event, payload):\n    return ask(\"sure?\")",
        ),
    )]);
    let reason = judged(&project, "Bash", &json!({"command": "ls"})).expect("a refusal");
    assert!(
        reason.contains("`Bash` needs a person's approval") && reason.contains("sure?"),
        "{reason}"
    );
}

#[test]
fn the_project_is_found_upwards_and_without_one_the_hook_stays_silent() {
    let project = Project::new(&[(
        ".harness/hooks/no.md",
        &hook_file(
            "tool.pre",
            "def handle(event, payload):\n    return block(\"no\")",
        ),
    )]);
    let deep = project.path().join("a/b");
    std::fs::create_dir_all(&deep).expect("folders");
    let elsewhere = tempfile::tempdir().expect("a folder");
    let input = json!({"command": "ls"});
    assert!(
        refusal(hook(
            elsewhere.path(),
            "codex",
            &before(&deep, "Bash", &input)
        ))
        .is_some(),
        "from the client's folder"
    );
    assert_eq!(
        refusal(hook(
            elsewhere.path(),
            "codex",
            &before(elsewhere.path(), "Bash", &input)
        )),
        None
    );
    // A command that changes the folder does not escape the project: Claude Code says where it was started.
    let output = super::prepared(elsewhere.path(), &["hook", "claude-code"])
        .env("CLAUDE_PROJECT_DIR", &deep)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .and_then(|mut child| {
            use std::io::Write as _;
            child
                .stdin
                .take()
                .expect("its input")
                .write_all(before(elsewhere.path(), "Bash", &input).as_bytes())?;
            child.wait_with_output()
        })
        .expect("it ran");
    assert!(String::from_utf8_lossy(&output.stdout).contains("\"deny\""));
}

#[test]
fn other_events_get_no_answer() {
    let project = Project::new(&[(
        ".harness/hooks/no.md",
        &hook_file(
            "tool.pre",
            "def handle(event, payload):\n    return block(\"no\")",
        ),
    )]);
    for (client, event) in [
        ("claude-code", "SessionStart"),
        ("claude-code", "Stop"),
        ("claude-code", "PermissionRequest"),
        ("codex", "UserPromptSubmit"),
        ("codex", "Interrupt"),
    ] {
        let message = json!({"session_id": "s", "cwd": project.path(), "hook_event_name": event});
        let ran = hook(project.path(), client, &message.to_string()).ends(0);
        assert_eq!(ran.out, "", "{client} {event}");
    }
}
