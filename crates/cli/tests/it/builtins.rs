//! The examples of built-ins that need the harness, run through a real engine.

use crate::support::{Project, call, tool};
use serde_json::{Value, json};
use tool_harness::builtin::{Body, all, full_name};

#[tokio::test(flavor = "multi_thread")]
async fn every_host_builtin_example_gives_its_expected_result() {
    let (mut ran, mut wrong) = (0, Vec::new());
    for (_, module, builtin) in all() {
        if !matches!(builtin.body, Body::Host(_) | Body::Note) {
            continue;
        }
        for example in builtin.examples {
            let project = Project::new(&[(
                ".harness/tools/run_example.md",
                &tool(&format!("def run(args):\n    return {}", example.script)),
            )]);
            let workspace = tempfile::tempdir().expect("a workspace");
            let engine = project
                .builder()
                .workspace(workspace.path())
                .load()
                .await
                .expect("loads");
            let result = engine.call(call("run_example", json!({}))).await;
            ran += 1;
            let fits = match example.gives.strip_prefix("error: ") {
                Some(part) => result.is_error && result.text().contains(part),
                None => result.value == serde_json::from_str::<Value>(example.gives).ok(),
            };
            if !fits {
                wrong.push(format!(
                    "{}: `{}` gives {:.300}, not {}",
                    full_name(module, builtin),
                    example.script,
                    result.text(),
                    example.gives
                ));
            }
        }
    }
    assert!(ran > 50, "only {ran} examples");
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[tokio::test(flavor = "multi_thread")]
async fn print_and_log_reach_the_record() {
    let project = Project::script(
        "def run(args):\n    print(\"a\", 1)\n    log.warn(\"b\", n = 2)\n    log(\"c\")\n    return 1",
    );
    assert!(
        !project
            .engine()
            .await
            .call(call("t", json!({})))
            .await
            .is_error
    );
    let logs: Vec<_> = project
        .events
        .all()
        .into_iter()
        .filter(|event| event.name() == "log")
        .collect();
    let seen: Vec<_> = logs
        .iter()
        .map(|event| {
            (
                event.fields()["level"].clone(),
                event.fields()["message"].clone(),
            )
        })
        .collect();
    assert_eq!(
        seen,
        [
            (json!("info"), json!("a 1")),
            (json!("warn"), json!("b")),
            (json!("info"), json!("c"))
        ]
    );
    assert_eq!(logs[1].fields()["fields"], json!({"n": 2}));
}
