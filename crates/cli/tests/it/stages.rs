//! The last event of a call says how long each stage took.

use crate::support::{Project, call, hook, tool};
use serde_json::json;

const ALL: [&str; 5] = ["admit", "authorize", "before", "execute", "finish"];

async fn check(project: &Project, name: &str, event: &str, expected: &[&str]) {
    project.events.clear();
    project.engine().await.call(call(name, json!({}))).await;
    let last = project.events.all().pop().expect("an event");
    let fields = last.fields();
    let stages = fields["stages_ms"].as_object().expect("an object");
    assert_eq!(
        (
            last.name(),
            stages.keys().map(String::as_str).collect::<Vec<_>>()
        ),
        (event, expected.to_vec())
    );
    let elapsed = last.fields()["elapsed_ms"].as_f64().expect("a number");
    let sum: f64 = stages
        .values()
        .map(|time| time.as_f64().expect("a number"))
        .sum();
    assert!(
        sum > 0.0 && sum < elapsed + 50.0,
        "{sum} ms in stages, {elapsed} ms in all"
    );
}

#[tokio::test]
async fn the_last_event_names_the_stages_a_call_reached() {
    let plain = Project::script("def run(args):\n  return 1");
    check(&plain, "t", "tool.completed", &ALL).await;
    check(&plain, "absent", "tool.rejected", &ALL[..1]).await;
    let failing = Project::script("def run(args):\n  fail(\"no\")");
    check(&failing, "t", "tool.failed", &ALL).await;
    let blocking = hook(
        "tool.pre",
        "def handle(event, payload):\n  return block(\"no\")",
    );
    let blocked = Project::new(&[
        (".harness/tools/t.md", &tool("def run(args):\n  return 1")),
        (".harness/hooks/h.md", &blocking),
    ]);
    check(&blocked, "t", "tool.failed", &ALL[..3]).await;
}

#[tokio::test]
async fn a_refusal_says_which_stage_refused() {
    use tool_harness::Stage;
    let tools = [
        ("plain", tool("def run(args):\n  return 1")),
        (
            "later",
            "---\nrequires_approval: args[\"a\"]\nscript: |\n  def run(args):\n    return 1\n---\nLater.\n".to_owned(),
        ),
        (
            "asking",
            "---\nrequires_approval: true\nscript: |\n  def run(args):\n    return 1\n---\nAsks.\n"
                .to_owned(),
        ),
        ("failing", tool("def run(args):\n  fail(\"no\")")),
    ];
    let root = "---\ntools_policy: {deny: [plain]}\n---\n".to_owned();
    let mut files: Vec<(String, String)> = tools
        .into_iter()
        .map(|(name, text)| (format!(".harness/tools/{name}.md"), text))
        .collect();
    files.push(("harness.md".to_owned(), root));
    let files: Vec<(&str, &str)> = files
        .iter()
        .map(|(path, text)| (path.as_str(), text.as_str()))
        .collect();
    let engine = Project::new(&files).engine().await;
    for (name, expected) in [
        ("absent", Some(Stage::Admit)),
        ("later", Some(Stage::Admit)),
        ("plain", Some(Stage::Authorize)),
        ("asking", Some(Stage::Approve)),
        ("failing", None),
    ] {
        let error = engine.call(call(name, json!({}))).await.error;
        let stage = error.expect("refused or failed").stage;
        assert_eq!(stage, expected, "{name}");
    }
}
