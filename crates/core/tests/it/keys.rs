//! Idempotency keys: an effect happens once, and only its owner gets the answer.

use crate::support::{Gate, SOON, bare, call, code, load, until};
use serde_json::{Map, Value, json};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};
use tokio::sync::Notify;
use tool_harness::Effects;
use tool_harness::artifact::Authority;
use tool_harness::middleware::Next;
use tool_harness::middleware::{Around, Later, Seen};
use tool_harness::tool::{Idempotency, Inject, RetryPolicy, blocking, function};
use tool_harness::{Tool, ToolError, ToolOutput, ToolRequest, ToolResult, ToolRuntime, ToolSpec};

/// Pays an order and counts payments. `answer` decides the result.
struct Pay<F> {
    spec: ToolSpec,
    paid: Arc<AtomicUsize>,
    answer: F,
}

impl<F> Tool for Pay<F>
where
    F: Fn(usize, &Map<String, Value>) -> Result<ToolOutput, ToolError> + Send + Sync + 'static,
{
    fn spec(&self) -> ToolSpec {
        self.spec.clone()
    }

    async fn call(
        &self,
        (): &(),
        runtime: ToolRuntime<'_>,
        arguments: Map<String, Value>,
    ) -> Result<ToolOutput, ToolError> {
        let paid = self.paid.fetch_add(1, Ordering::SeqCst) + 1;
        runtime
            .keep(format!("receipt {paid}"), "text/plain")
            .await?;
        (self.answer)(paid, &arguments)
    }
}

#[derive(serde::Deserialize, schemars::JsonSchema)]
struct Order {
    order: u64,
}

fn spec() -> ToolSpec {
    let schema = json!({"type": "object", "properties": {"order": {}, "note": {"type": "string"}}, "required": ["order"]});
    typed_spec().input(schema)
}

/// The same for a tool whose types are its schema.
fn typed_spec() -> ToolSpec {
    ToolSpec::new("pay", "Pays.")
        .effects(Effects::NET_WRITE)
        .idempotency(Idempotency::By(vec!["order".into()]))
}

fn pays(spec: ToolSpec) -> (impl Tool, Arc<AtomicUsize>) {
    answers(spec, |paid, arguments| {
        Ok(ToolOutput::value(
            json!({"paid": paid, "key": arguments.get("key")}),
        ))
    })
}

fn answers<F>(spec: ToolSpec, answer: F) -> (Pay<F>, Arc<AtomicUsize>)
where
    F: Fn(usize, &Map<String, Value>) -> Result<ToolOutput, ToolError> + Send + Sync + 'static,
{
    let paid = Arc::<AtomicUsize>::default();
    (
        Pay {
            spec,
            paid: Arc::clone(&paid),
            answer,
        },
        paid,
    )
}

fn is_repeated(result: &ToolResult) -> bool {
    result.metadata.get("repeated") == Some(&json!(true))
}

#[tokio::test]
async fn a_key_is_shared_across_sessions_but_not_across_injected_values() {
    let injected = spec()
        .inject("user", Inject::Host("user".into()))
        .inject("key", Inject::IdempotencyKey)
        .inject("call", Inject::CallId);
    let (pay, paid) = pays(injected);
    // A session id begins with the user's name.
    let user = |call: &tool_harness::Call| call.session_id.split('-').next().map(Value::from);
    let (engine, _) = load(bare().inject("user", user).tool(pay)).await;
    let pay = |session: &str| engine.call(call("pay", json!({"order": 7})).session(session));
    let first = pay("ann-1").await;
    let again = pay("ann-2").await;
    let other = pay("bob-1").await;
    assert_eq!(
        (
            is_repeated(&first),
            is_repeated(&again),
            is_repeated(&other)
        ),
        (false, true, false)
    );
    assert!(
        first.value == again.value && first.value != other.value,
        "{:?}",
        other.value
    );
    let key = |result: &ToolResult| result.value.as_ref().map(|value| value["key"].clone());
    assert_ne!(
        key(&first),
        key(&other),
        "the key that the tool passes on differs as well"
    );
    assert_eq!(paid.load(Ordering::SeqCst), 2);
}

#[tokio::test]
async fn a_secret_is_part_of_the_stored_key_but_not_of_the_key_that_a_tool_sees() {
    let folder = tempfile::tempdir().expect("a folder");
    let (layer, secret) = (
        folder.path().join("harness.md"),
        folder.path().join("secret"),
    );
    std::fs::write(
        &layer,
        format!(
            "---\nsecrets: {{ BANK: 'file:{}' }}\n---\n",
            secret.display()
        ),
    )
    .expect("a layer");
    let (pay, _) = pays(
        spec()
            .inject("token", Inject::Secret("BANK".into()))
            .inject("key", Inject::IdempotencyKey),
    );
    std::fs::write(&secret, "the secret of ann").expect("a secret");
    let (engine, _) = load(bare().layer(Authority::User, &layer).tool(pay)).await;
    let mut given = Vec::new();
    for whose in ["ann", "ann", "bob"] {
        std::fs::write(&secret, format!("the secret of {whose}")).expect("a secret");
        given.push(engine.call(call("pay", json!({"order": 7}))).await);
    }
    assert_eq!(
        given.iter().map(is_repeated).collect::<Vec<_>>(),
        [false, true, false],
        "{}",
        given[0].text()
    );
    let key = |result: &ToolResult| result.value.as_ref().map(|value| value["key"].clone());
    assert_eq!(
        key(&given[0]),
        key(&given[2]),
        "the visible key does not reveal the secret"
    );
}

#[tokio::test]
async fn in_runs_with_a_context_a_key_is_per_session_unless_the_host_injects_an_owner() {
    for (spec, shared) in [
        (typed_spec(), false),
        (
            typed_spec().inject("user", Inject::Host("user".into())),
            true,
        ),
    ] {
        let paid = Arc::<AtomicUsize>::default();
        let counted = Arc::clone(&paid);
        let pay = function(spec, move |input: Order| {
            counted.fetch_add(1, Ordering::SeqCst);
            async move { Ok(input.order) }
        });
        let (engine, _) = load(
            bare()
                .context::<String>()
                .inject("user", |_| Some(json!("ann")))
                .tool(pay),
        )
        .await;
        let mut repeated = Vec::new();
        for (index, session) in ["one", "one", "two"].into_iter().enumerate() {
            let run = engine.start("somebody".to_owned()).session(session);
            let request = ToolRequest::new(format!("c{index}"), "pay", json!({"order": 7}));
            repeated.push(is_repeated(
                &run.turn()
                    .expect("a turn")
                    .call(vec![request])
                    .await
                    .results[0],
            ));
        }
        assert_eq!(
            (repeated, paid.load(Ordering::SeqCst)),
            (vec![false, true, shared], if shared { 1 } else { 2 })
        );
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_key_waits_for_an_abandoned_thread_and_then_has_its_result() {
    let (begun, gate) = (Arc::<AtomicUsize>::default(), Gate::default());
    let (counted, held) = (Arc::clone(&begun), gate.clone());
    let retry = RetryPolicy {
        max_attempts: 3,
        initial_backoff_ms: 1,
        max_backoff_ms: 1,
        multiplier: 1.0,
    };
    let slow = typed_spec().retry(retry);
    let pay = blocking(
        slow.timeout(Duration::from_millis(20)),
        move |input: Order| {
            counted.fetch_add(1, Ordering::SeqCst);
            held.pass();
            Ok(input.order)
        },
    );
    let (engine, _) = load(bare().tool(pay)).await;
    let first = engine.call(call("pay", json!({"order": 7}))).await;
    until(|| begun.load(Ordering::SeqCst) > 0).await;
    assert_eq!(
        (code(&first), begun.load(Ordering::SeqCst)),
        ("tool.timeout", 1),
        "it is not retried while it runs"
    );
    let second = engine.call(call("pay", json!({"order": 7}))).await;
    let class = second.error.as_ref().map(|error| error.class.to_string());
    assert_eq!(
        (code(&second), class.as_deref()),
        ("tool.timeout", Some("retryable")),
        "{}",
        second.text()
    );
    gate.open();
    let started = Instant::now();
    let last = loop {
        let result = engine.call(call("pay", json!({"order": 7}))).await;
        if !result.is_error || started.elapsed() > SOON {
            break result;
        }
    };
    assert_eq!(
        (
            last.value.as_ref(),
            is_repeated(&last),
            begun.load(Ordering::SeqCst)
        ),
        (Some(&json!(7)), true, 1)
    );
}

#[tokio::test]
async fn a_call_without_any_key_value_is_never_repeated() {
    let schema = json!({"type": "object", "properties": {"order": {"type": ["integer", "null"]}, "part": {}}});
    let by = Idempotency::By(vec!["order".into(), "part".into()]);
    let (pay, paid) = pays(spec().input(schema).idempotency(by));
    let (engine, _) = load(bare().tool(pay)).await;
    let calls = [
        (json!({}), false),
        (json!({}), false),
        (json!({"order": null}), false),
        (json!({"order": null, "part": 1}), false),
        (json!({"part": 1}), true),
    ];
    for (arguments, repeated) in calls {
        assert_eq!(
            is_repeated(&engine.call(call("pay", arguments.clone())).await),
            repeated,
            "{arguments}"
        );
    }
    assert_eq!(paid.load(Ordering::SeqCst), 4);
}

#[tokio::test]
async fn a_completed_effect_is_never_repeated_whatever_its_result() {
    let (pay, paid) = answers(spec().output(json!({"type": "object"})), |_, _| {
        Ok(ToolOutput::value("no object"))
    });
    let (engine, events) = load(bare().tool(pay)).await;
    for repeated in [false, true] {
        let result = engine.call(call("pay", json!({"order": 7}))).await;
        assert_eq!(
            (code(&result), is_repeated(&result)),
            ("tool.output.invalid_schema", repeated)
        );
    }
    assert_eq!(
        (paid.load(Ordering::SeqCst), events.ends()),
        (1, vec!["tool.failed".to_owned(); 2])
    );
    // Its keys are not strings, so it cannot be JSON.
    #[derive(serde::Serialize, schemars::JsonSchema)]
    struct Strange(#[schemars(with = "String")] std::collections::BTreeMap<Vec<u8>, u8>);
    let paid = Arc::<AtomicUsize>::default();
    let counted = Arc::clone(&paid);
    let pay = function(typed_spec(), move |_: Order| {
        counted.fetch_add(1, Ordering::SeqCst);
        async { Ok(Strange([(vec![1], 2)].into())) }
    });
    let (engine, _) = load(bare().tool(pay)).await;
    for repeated in [false, true] {
        let result = engine.call(call("pay", json!({"order": 7}))).await;
        assert_eq!(
            (
                code(&result),
                is_repeated(&result),
                paid.load(Ordering::SeqCst)
            ),
            ("tool.failed", repeated, 1)
        );
    }
    let (pay, paid) = answers(spec(), |_, _| {
        Err(ToolError::retryable("down", "the bank is down"))
    });
    let (engine, _) = load(bare().tool(pay)).await;
    for _ in 0..2 {
        assert_eq!(
            code(&engine.call(call("pay", json!({"order": 7}))).await),
            "tool.failed"
        );
    }
    assert_eq!(
        paid.load(Ordering::SeqCst),
        2,
        "a reported failure is retried"
    );
}

/// Withholds every result, a moment after signalling that there is one.
struct Withholds(Arc<Notify>);

impl Around for Withholds {
    fn name(&self) -> &str {
        "withholds"
    }

    fn around<'a>(
        &'a self,
        _: Seen<'a>,
        next: Next<'a>,
    ) -> Later<'a, Result<ToolOutput, ToolError>> {
        Box::pin(async move {
            next.finish().await?;
            self.0.notify_one();
            tokio::time::sleep(Duration::from_millis(50)).await;
            Err(ToolError::repairable("withheld", "not for you"))
        })
    }
}

#[tokio::test]
async fn a_result_withheld_by_a_layer_stays_withheld_and_the_effect_happens_once() {
    for gives_up in [false, true] {
        let (pay, paid) = pays(spec());
        let paying = Arc::<Notify>::default();
        let (engine, _) = load(bare().around(Withholds(Arc::clone(&paying))).tool(pay)).await;
        tokio::select! {
            _ = engine.call(call("pay", json!({"order": 7}))) => {}
            () = paying.notified(), if gives_up => {}
        }
        let again = engine.call(call("pay", json!({"order": 7}))).await;
        assert_eq!(
            (code(&again), is_repeated(&again), again.value.is_none()),
            ("tool.failed", true, true),
            "{}",
            again.text()
        );
        assert_eq!(paid.load(Ordering::SeqCst), 1);
    }
}

#[tokio::test]
async fn equal_numbers_give_the_same_key() {
    let (pay, paid) = pays(spec());
    let (engine, _) = load(bare().tool(pay)).await;
    for (order, expected) in [("1", 1), ("1.0", 1), ("10e-1", 1), ("1.5", 2), ("\"1\"", 3)] {
        let order: Value = serde_json::from_str(order).expect("JSON");
        engine.call(call("pay", json!({ "order": order }))).await;
        assert_eq!(paid.load(Ordering::SeqCst), expected, "{order}");
    }
}

#[tokio::test]
async fn a_repeated_result_lists_only_artifacts_that_its_session_can_read() {
    let (pay, _) = pays(spec());
    let (engine, _) = load(bare().tool(pay)).await;
    let pay = |session: &str| engine.call(call("pay", json!({"order": 7})).session(session));
    let first = pay("one").await;
    assert_eq!(first.artifacts.len(), 1);
    let again = pay("one").await;
    assert_eq!(
        (&again.artifacts, again.metadata.get("artifacts_left_out")),
        (&first.artifacts, None)
    );
    let elsewhere = pay("two").await;
    assert_eq!(
        (
            elsewhere.artifacts.len(),
            elsewhere.metadata.get("artifacts_left_out")
        ),
        (0, Some(&json!(1)))
    );
    assert_eq!(elsewhere.value, first.value);
}
