//! What the record says about calls that a client runs itself.

use crate::support::{Project, hook as hook_file};
use serde_json::{Value, json};
use tool_harness::Door;
use tool_harness::{Arguments, Call, Client, Judgement, Observation, Outcome};

const SCRIPT: &str = "def handle(event, payload):\n    return block(\"no\") if payload[\"args\"].get(\"path\") == \"bad\" else allow()";

fn call(tool: &str, input: Value) -> Call {
    let mut call = Call::new(tool, Arguments::Value(input))
        .session("s")
        .door(Door::Hook);
    call.id = "call_1".into();
    call
}

/// The names of the events with the ids of their calls, without decisions of hooks and rules.
fn recorded(project: &Project) -> Vec<(String, String)> {
    let of_call = |event: &tool_harness::event::Event| event.name().starts_with("tool.");
    let turns = |event: &tool_harness::event::Event| event.turn_id == "call_1";
    assert!(project.events.all().iter().all(turns), "one call, one turn");
    let all = project
        .events
        .all()
        .into_iter()
        .filter(of_call)
        .map(|event| (event.name().to_owned(), event.call_id.unwrap_or_default()))
        .collect();
    project.events.clear();
    all
}

#[tokio::test]
async fn the_record_shows_a_call_started_delegated_and_ended_by_its_second_hook() {
    let project = Project::new(&[(".harness/hooks/judge.md", &hook_file("tool.pre", SCRIPT))]);
    let engine = project
        .builder()
        .policy_only()
        .load()
        .await
        .expect("the project loads");
    let client = |name: &str| Client {
        name: name.into(),
        cwd: project.path().into(),
        home: None,
        programs: Vec::new(),
    };
    let named = |events: &[(&str, &str)]| {
        events
            .iter()
            .map(|(name, id)| ((*name).to_owned(), (*id).to_owned()))
            .collect::<Vec<_>>()
    };

    let bash = || call("Bash", json!({"command": "ls"}));
    assert_eq!(
        engine.judge(bash(), &client("claude-code")).await,
        Judgement::Nothing
    );
    assert_eq!(
        recorded(&project),
        named(&[("tool.started", "call_1"), ("tool.delegated", "call_1")])
    );
    let outcome = Outcome {
        response: json!({"stdout": "a", "stderr": ""}),
        error: None,
    };
    assert_eq!(
        engine
            .observe(bash(), &client("claude-code"), &outcome)
            .await,
        Observation::Nothing
    );
    assert_eq!(recorded(&project), named(&[("tool.completed", "call_1")]));
    let failed = Outcome {
        response: json!("Exit code 1"),
        error: Some("Exit code 1".into()),
    };
    assert_eq!(
        engine
            .observe(bash(), &client("claude-code"), &failed)
            .await,
        Observation::Nothing
    );
    assert_eq!(recorded(&project), named(&[("tool.failed", "call_1")]));

    // An id counts once.
    assert!(
        matches!(engine.judge(bash(), &client("claude-code")).await, Judgement::Refused(refusal) if refusal.code.text() == "tool.duplicate_call")
    );
    assert_eq!(recorded(&project), named(&[("tool.rejected", "call_1")]));
}

#[tokio::test]
async fn every_part_of_a_patch_ends_once() {
    let project = Project::new(&[(".harness/hooks/judge.md", &hook_file("tool.pre", SCRIPT))]);
    let engine = project
        .builder()
        .policy_only()
        .load()
        .await
        .expect("the project loads");
    let client = Client {
        name: "codex".into(),
        cwd: project.path().into(),
        home: None,
        programs: Vec::new(),
    };
    let patch = "*** Begin Patch\n*** Add File: good\n+x\n*** Add File: bad\n+x\n*** Add File: never\n+x\n*** End Patch";
    let judged = engine
        .judge(call("apply_patch", json!({"command": patch})), &client)
        .await;
    assert!(
        matches!(judged, Judgement::Refused(refusal) if refusal.code.text() == "tool.hook.blocked")
    );
    let expected = [
        ("tool.started", "call_1"),
        ("tool.started", "call_1/2"),
        ("tool.failed", "call_1/2"),
        ("tool.failed", "call_1"),
    ];
    assert_eq!(
        recorded(&project),
        expected.map(|(name, id)| (name.to_owned(), id.to_owned()))
    );
}
