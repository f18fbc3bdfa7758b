//! Middleware that decides at once, later, or after deferring: the result is the same.

use crate::support::{bare, call, code, echo, load, numbered};
use serde_json::{Map, Value, json};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tool_harness::ToolSpec;
use tool_harness::middleware::{Decision, Judged, Middleware, Step};

/// What a middleware does each time it is asked; after the last step it allows.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Does {
    /// Sets another number.
    Puts(i64),
    /// Sets a value that nests too deep.
    PutsDeep,
    Allow,
    Ask,
    Refuse,
    Defer,
    Panic,
}

/// Does its next steps up to a decision, at once or after a while.
pub(crate) struct Script {
    name: &'static str,
    priority: i64,
    later: bool,
    steps: Vec<Does>,
    at: Mutex<usize>,
}

impl Script {
    pub(crate) fn new(name: &'static str, priority: i64, later: bool, steps: &[Does]) -> Self {
        Self {
            name,
            priority,
            later,
            steps: steps.to_vec(),
            at: Mutex::new(0),
        }
    }

    fn decides(&self, call: &mut Judged<'_>) -> Decision {
        loop {
            let step = {
                let mut at = self.at.lock().expect("a place");
                *at += 1;
                self.steps.get(*at - 1).copied().unwrap_or(Does::Allow)
            };
            return match step {
                Does::Puts(n) => {
                    call.set_arguments(Map::from_iter([("n".to_owned(), json!(n))]));
                    continue;
                }
                Does::PutsDeep => {
                    let deep = (0..100).fold(json!(1), |inner, _| json!([inner]));
                    call.set_arguments(Map::from_iter([("n".to_owned(), deep)]));
                    continue;
                }
                Does::Allow => Decision::Allow,
                Does::Ask => {
                    Decision::Ask(format!("{} asks with {}", self.name, call.arguments()["n"]))
                }
                Does::Refuse => Decision::Refuse(format!("{} says no", self.name)),
                Does::Defer => Decision::Defer(Duration::from_millis(2)),
                Does::Panic => panic!("on purpose"),
            };
        }
    }
}

impl Middleware for Script {
    fn name(&self) -> &str {
        self.name
    }

    fn priority(&self) -> i64 {
        self.priority
    }

    fn before<'a>(&'a self, call: &'a mut Judged<'_>) -> Step<'a, Decision> {
        if !self.later {
            return self.decides(call).into();
        }
        Step::later(async move {
            tokio::task::yield_now().await;
            let decision = self.decides(call);
            tokio::task::yield_now().await;
            decision
        })
    }
}

#[tokio::test]
async fn middleware_that_decides_at_once_later_or_after_deferring_gives_the_same_result() {
    use Does::{Allow, Ask, Defer, Panic, Puts, PutsDeep, Refuse};
    let malformed = "tool.args.malformed_json";
    // The steps, the outcome, the number that the body got, and the recorded events.
    type Case = (
        &'static [Does],
        &'static str,
        Option<i64>,
        &'static [&'static str],
    );
    let cases: [Case; 18] = [
        (&[Allow], "", Some(1), &[]),
        (&[Puts(2), Allow], "", Some(2), &["modify"]),
        (&[Puts(2), Puts(3), Allow], "", Some(3), &["modify"]),
        (&[Defer, Allow], "", Some(1), &["defer"]),
        (&[Puts(2), Defer, Allow], "", Some(2), &["defer", "modify"]),
        (
            &[Defer, Puts(2), Defer, Puts(3), Allow],
            "",
            Some(3),
            &["defer", "defer", "modify"],
        ),
        (
            &[Defer, Panic],
            "tool.hook.failed",
            None,
            &["defer", "failed"],
        ),
        (&[Puts(2), Panic], "tool.hook.failed", None, &["failed"]),
        (
            &[Puts(2), Defer, Panic],
            "tool.hook.failed",
            None,
            &["defer", "failed"],
        ),
        (&[Puts(2), Ask], "tool.approval.denied", None, &["ask"]),
        (
            &[Defer, Ask],
            "tool.approval.denied",
            None,
            &["defer", "ask"],
        ),
        (
            &[Defer, Refuse],
            "tool.hook.blocked",
            None,
            &["defer", "block"],
        ),
        (&[PutsDeep, Allow], malformed, None, &["failed"]),
        (&[PutsDeep, Ask], malformed, None, &["failed"]),
        (&[PutsDeep, Refuse], "tool.hook.blocked", None, &["block"]),
        (&[Puts(2), PutsDeep, Allow], malformed, None, &["failed"]),
        (
            &[PutsDeep, Defer, Allow],
            malformed,
            None,
            &["defer", "failed"],
        ),
        (
            &[PutsDeep, Defer, Puts(2), Allow],
            "",
            Some(2),
            &["defer", "modify"],
        ),
    ];
    for later in [false, true] {
        for (steps, expected, got, decided) in cases {
            let bodies = Arc::new(Mutex::new(Vec::new()));
            let seen = Arc::clone(&bodies);
            let tool = numbered(ToolSpec::new("t", "T.").pure(), move |n| {
                seen.lock().expect("bodies").push(n);
                async move { Ok(n) }
            });
            let (engine, events) = load(
                bare()
                    .middleware(Script::new("link", 100, later, steps))
                    .tool(tool),
            )
            .await;
            let result = engine.call(call("t", json!({"n": 1}))).await;
            assert_eq!(
                code(&result),
                expected,
                "{steps:?} {later}: {}",
                result.text()
            );
            assert_eq!(
                *bodies.lock().expect("bodies"),
                Vec::from_iter(got),
                "{steps:?} {later}"
            );
            assert_eq!(result.value, got.map(Value::from), "{steps:?} {later}");
            let actions: Vec<Value> = events
                .named("hook.decided")
                .iter()
                .map(|event| event.fields()["action"].clone())
                .collect();
            assert_eq!(
                actions,
                decided
                    .iter()
                    .map(|action| json!(action))
                    .collect::<Vec<_>>(),
                "{steps:?} {later}"
            );
            assert_eq!(events.ends().len(), 1, "{steps:?} {later}");
        }
    }
}

#[tokio::test]
async fn each_middleware_gets_the_arguments_the_previous_one_left() {
    use Does::{Allow, Ask, Defer, Panic, Puts};
    let silent = |priority| Script::new("silent", priority, false, &[]);
    for later in [false, true] {
        // One changes the arguments, one does nothing, one defers, and some ask with what they see.
        let changes = Script::new("changes", 1, later, &[Puts(7), Allow]);
        let defers = Script::new("defers", 2, later, &[Defer, Allow]);
        let asks = Script::new("asks", 3, !later, &[Defer, Ask]);
        let asks_too = Script::new("asks_too", 5, later, &[Puts(8), Ask]);
        let last = Script::new("last", 7, later, &[Ask]);
        let builder = bare()
            .middleware(last)
            .middleware(asks_too)
            .middleware(silent(4))
            .middleware(asks)
            .middleware(silent(2));
        let tool = numbered(ToolSpec::new("t", "T.").pure().confirm(), |n| async move {
            Ok(n)
        });
        let (engine, events) =
            load(builder.middleware(defers).middleware(changes).tool(tool)).await;
        let result = engine.call(call("t", json!({"n": 1}))).await;
        let reasons = result.error.as_ref().expect("refused").details["reasons"].clone();
        let own = "the tool says `requires_approval`";
        let said = ["asks", "asks_too", "last"]
            .iter()
            .zip([7, 8, 8])
            .map(|(name, n)| format!("middleware `{name}`: {name} asks with {n}"));
        assert_eq!(
            reasons,
            json!(said.chain([own.to_owned()]).collect::<Vec<_>>()),
            "{later}"
        );
        let decided: Vec<String> = events
            .named("hook.decided")
            .iter()
            .map(|event| format!("{} {}", event.fields()["hook"], event.fields()["action"]))
            .collect();
        let expected = [
            "changes modify",
            "defers defer",
            "asks defer",
            "asks ask",
            "asks_too ask",
            "last ask",
        ];
        assert_eq!(
            decided,
            expected.map(|one| one
                .split(' ')
                .map(|word| json!(word).to_string())
                .collect::<Vec<_>>()
                .join(" ")),
            "{later}"
        );

        // Changed arguments do not run if the next middleware panics.
        let builder = bare()
            .middleware(Script::new("changes", 1, later, &[Puts(7), Allow]))
            .tool(echo("echo"));
        let (engine, events) =
            load(builder.middleware(Script::new("panics", 2, later, &[Panic]))).await;
        let result = engine.call(call("echo", json!({"n": 1}))).await;
        assert_eq!(
            (code(&result), result.value, events.ends()),
            ("tool.hook.failed", None, vec!["tool.failed".to_owned()]),
            "{later}"
        );
        let error = result.error.expect("refused");
        assert_eq!(error.details["hook"], "panics");
    }
}

#[tokio::test]
async fn explain_applies_all_middleware_and_has_no_side_effects() {
    use Does::{Allow, Ask, Defer, Panic, Puts, PutsDeep};
    for later in [false, true] {
        for (steps, expected) in [
            (&[Puts(2), Allow][..], Ok(json!({"n": 2}))),
            (&[], Ok(json!({"n": 1}))),
            (&[Puts(2), Ask], Err("tool.approval.denied")),
            (&[Defer], Err("tool.limit")),
            (&[PutsDeep, Allow], Err("tool.args.malformed_json")),
            (&[Panic], Err("tool.hook.failed")),
        ] {
            let ran = Arc::new(AtomicUsize::new(0));
            let counted = Arc::clone(&ran);
            let tool = numbered(ToolSpec::new("t", "T.").pure(), move |n| {
                counted.fetch_add(1, Ordering::SeqCst);
                async move { Ok(n) }
            });
            let builder = bare()
                .middleware(Script::new("quiet", 1, later, &[]))
                .middleware(Script::new("link", 2, later, steps));
            let (engine, events) = load(builder.tool(tool)).await;
            let explained = engine.explain(call("t", json!({"n": 1}))).await;
            assert_eq!(
                explained.outcome.map_err(|refusal| refusal.code.text()),
                expected,
                "{steps:?} {later}"
            );
            assert_eq!(
                (ran.load(Ordering::SeqCst), events.all().len()),
                (0, 0),
                "{steps:?} {later}"
            );
        }
    }
}

#[tokio::test]
async fn explain_names_every_middleware() {
    use Does::{Allow, Puts};
    let links = [
        Script::new("quiet", 1, false, &[]),
        Script::new("slow", 2, true, &[]),
        Script::new("changes", 3, false, &[Puts(2), Allow]),
    ];
    let builder = links
        .into_iter()
        .fold(bare(), |builder, link| builder.middleware(link));
    let (engine, _) = load(builder.tool(echo("echo"))).await;
    let explained = engine.explain(call("echo", json!({"n": 1}))).await;
    for (name, action) in [("quiet", "allow"), ("slow", "allow"), ("changes", "modify")] {
        let lines: Vec<&String> = explained
            .stages
            .iter()
            .flat_map(|stage| &stage.lines)
            .filter(|line| line.contains(name))
            .collect();
        assert!(
            lines.len() == 1 && lines[0].contains(action),
            "{name}: {}",
            explained.to_json()
        );
    }
}
