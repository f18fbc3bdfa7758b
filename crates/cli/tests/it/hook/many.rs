//! Many hooks of one project at once: separate processes that share nothing.

use super::{before, hook, refusal};
use crate::support::{Project, hook as hook_file};
use serde_json::json;
use std::time::{Duration, Instant};

#[test]
fn a_hundred_concurrent_hooks_answer_correctly_in_time() {
    let script = "def handle(event, payload):\n    return block(\"no\") if \"bad\" in payload[\"args\"][\"command\"] else allow()";
    let project = Project::new(&[(".harness/hooks/guard.md", &hook_file("tool.pre", script))]);
    let started = Instant::now();
    let answers: Vec<(usize, bool, Duration)> = std::thread::scope(|scope| {
        let one = |index: usize| {
            let (project, client) = (
                &project,
                if index.is_multiple_of(2) {
                    "claude-code"
                } else {
                    "codex"
                },
            );
            scope.spawn(move || {
                let command = if index.is_multiple_of(3) {
                    "bad"
                } else {
                    "good"
                };
                let started = Instant::now();
                let refused = refusal(hook(
                    project.path(),
                    client,
                    &before(project.path(), "Bash", &json!({"command": command})),
                ))
                .is_some();
                (index, refused, started.elapsed())
            })
        };
        let running: Vec<_> = (0..100).map(one).collect();
        running
            .into_iter()
            .map(|thread| thread.join().expect("an answer"))
            .collect()
    });
    for (index, refused, _) in &answers {
        assert_eq!(*refused, index.is_multiple_of(3), "{index}");
    }
    // A client waits for a minute. `./bench/run hook` measures the real program; this one is built for debugging and shares the machine with other tests.
    let longest = answers
        .iter()
        .map(|(_, _, time)| *time)
        .max()
        .unwrap_or_default();
    assert!(
        longest < Duration::from_secs(60),
        "{longest:?} of {:?}",
        started.elapsed()
    );
}
