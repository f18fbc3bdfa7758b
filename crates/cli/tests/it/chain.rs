//! Hooks from files and middleware from the host form one chain.

use crate::support::{Project, call, code, hook_with, tool_with};
use serde_json::{Value, json};
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tool_harness::middleware::{Decision, Judged, Middleware, Step};

/// Adds its letter to the word and notes what it saw, at once or after deferring the call.
struct Adds {
    letter: &'static str,
    priority: i64,
    how: &'static str,
    seen: Arc<Mutex<Vec<Value>>>,
}

impl Middleware for Adds {
    fn name(&self) -> &str {
        self.letter
    }

    fn priority(&self) -> i64 {
        self.priority
    }

    fn before<'a>(&'a self, call: &'a mut Judged<'_>) -> Step<'a, Decision> {
        let word = call.arguments()["word"].clone();
        let asked = {
            let mut seen = self.seen.lock().expect("words");
            seen.push(word.clone());
            seen.len()
        };
        match self.how {
            "never" => return Step::later(std::future::pending()),
            "nothing" => return Decision::Allow.into(),
            "put off" if asked == 1 => return Decision::Defer(Duration::from_millis(3)).into(),
            _ => {}
        }
        let mut arguments = call.arguments().clone();
        arguments.insert(
            "word".into(),
            json!(format!(
                "{}{}",
                word.as_str().unwrap_or_default(),
                self.letter
            )),
        );
        match self.how {
            "later" => Step::later(async move {
                tokio::task::yield_now().await;
                call.set_arguments(arguments);
                Decision::Allow
            }),
            _ => {
                call.set_arguments(arguments);
                Decision::Allow.into()
            }
        }
    }
}

fn project() -> Project {
    let schema =
        "input_schema: {type: object, properties: {word: {type: string}}, required: [word]}\n";
    let says = tool_with(schema, "def run(args):\n  return args[\"word\"]");
    let adds = |letter: &str| {
        format!(
            "def handle(event, payload):\n  return modify({{\"args\": {{\"word\": payload[\"args\"][\"word\"] + \"{letter}\"}}}})"
        )
    };
    let sees = "def handle(event, payload):\n  return modify({\"result\": payload[\"result\"] + \" of \" + payload[\"args\"][\"word\"]})";
    Project::new(&[
        (".harness/tools/t.md", &says),
        (
            ".harness/hooks/early.md",
            &hook_with("tool.pre", "priority: 20\n", &adds("1")),
        ),
        (
            ".harness/hooks/late.md",
            &hook_with("tool.pre", "priority: 40\n", &adds("2")),
        ),
        (".harness/hooks/after.md", &hook_with("tool.post", "", sees)),
    ])
}

#[tokio::test]
async fn each_hook_and_middleware_sees_earlier_changes_and_post_hooks_see_what_the_body_got() {
    for how in ["at once", "later", "put off", "nothing"] {
        for timeout in [None, Some(Duration::from_secs(60)), Some(Duration::MAX)] {
            let project = project();
            let seen: Vec<Arc<Mutex<Vec<Value>>>> = (0..3).map(|_| Arc::default()).collect();
            let links = [("a", 10), ("b", 30), ("c", 50)].into_iter().zip(&seen);
            let builder = links.fold(project.builder(), |builder, ((letter, priority), seen)| {
                builder.middleware(Adds {
                    letter,
                    priority,
                    how,
                    seen: Arc::clone(seen),
                })
            });
            let engine = builder.load().await.expect("an engine");
            let mut asked = call("t", json!({"word": "w"}));
            asked.timeout = timeout;
            let result = engine.call(asked).await;
            let (words, last) = match how {
                "nothing" => (["w", "w1", "w12"], "w12"),
                _ => (["w", "wa1", "wa1b2"], "wa1b2c"),
            };
            assert_eq!(
                result.value,
                Some(json!(format!("{last} of {last}"))),
                "{how}: {}",
                result.text()
            );
            let times = if how == "put off" { 2 } else { 1 };
            for (seen, word) in seen.iter().zip(words) {
                assert_eq!(
                    *seen.lock().expect("words"),
                    vec![json!(word); times],
                    "{how}"
                );
            }
        }
    }
}

#[tokio::test]
async fn middleware_that_never_decides_ends_at_the_callers_deadline() {
    let project = project();
    let never = Adds {
        letter: "x",
        priority: 30,
        how: "never",
        seen: Arc::default(),
    };
    let engine = project
        .builder()
        .middleware(never)
        .load()
        .await
        .expect("an engine");
    let mut asked = call("t", json!({"word": "w"}));
    asked.timeout = Some(Duration::from_millis(1500));
    let result = engine.call(asked).await;
    assert_eq!(code(&result), "tool.timeout", "{}", result.text());
    let asked = call("t", json!({"word": "w"}));
    let cancel = asked.cancel.clone();
    let (result, ()) = tokio::join!(engine.call(asked), async {
        tokio::time::sleep(Duration::from_millis(300)).await;
        cancel.cancel();
    });
    assert_eq!(code(&result), "tool.cancelled", "{}", result.text());
}

#[tokio::test]
async fn explain_tells_a_hook_and_middleware_of_the_same_name_apart() {
    let blocks = hook_with(
        "tool.pre",
        "priority: 20\n",
        "def handle(event, payload):\n  return block(\"no\")",
    );
    let says = tool_with(
        "input_schema: {type: object}\n",
        "def run(args):\n  return 1",
    );
    let project = Project::new(&[
        (".harness/tools/t.md", &says),
        (".harness/hooks/h.md", &blocks),
    ]);
    let same = Adds {
        letter: "h",
        priority: 10,
        how: "nothing",
        seen: Arc::default(),
    };
    let engine = project
        .builder()
        .middleware(same)
        .load()
        .await
        .expect("an engine");
    let explained = engine.explain(call("t", json!({"word": "w"}))).await;
    let lines: Vec<&String> = explained
        .stages
        .iter()
        .flat_map(|stage| &stage.lines)
        .collect();
    assert!(
        lines.iter().any(|line| line.contains("hook `h`: block")),
        "{lines:?}"
    );
}
