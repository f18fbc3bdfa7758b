//! Values that nest too deep to walk: refused at the boundary, and dropped without recursion.

use crate::support::{Number, bare, call, code, echo, load, text};
use serde_json::{Map, Value, json};
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use tool_harness::Control;
use tool_harness::middleware::{
    Around, Decision, Judged, Later, Middleware, Next, Reply, Seen, Step,
};
use tool_harness::store::StoreScope;
use tool_harness::tool::{Inject, function};
use tool_harness::{Code, Refusal};
use tool_harness::{Tool, ToolError, ToolOutput, ToolRuntime, ToolSpec};

/// A list in a list, and so on.
fn nested(levels: usize) -> Value {
    (0..levels).fold(json!(1), |inner, _| Value::Array(vec![inner]))
}

/// An object of one key, which `json!` would walk.
fn of(key: &str, value: Value) -> Value {
    Value::Object(Map::from_iter([(key.to_owned(), value)]))
}

const DEEP: usize = 100_000;

#[tokio::test]
async fn arguments_that_nest_too_deep_are_refused_in_every_form() {
    let (engine, events) = load(bare().tool(Gives("value"))).await;
    let mut twice = call("give_value", of("a", nested(DEEP))).session("s");
    twice.id = "same".into();
    assert_eq!(code(&engine.call(twice).await), "tool.args.malformed_json");
    let mut twice = call("give_value", of("a", nested(DEEP))).session("s");
    twice.id = "same".into();
    assert_eq!(code(&engine.call(twice).await), "tool.duplicate_call");
    assert_eq!(
        code(
            &engine
                .call(call("no_such_tool", of("a", nested(DEEP))))
                .await
        ),
        "tool.unknown"
    );
    assert_eq!(
        code(&engine.call(call("give_value", nested(DEEP))).await),
        "tool.args.malformed_json"
    );
    let written = format!("{{\"a\": {}1{}}}", "[".repeat(DEEP), "]".repeat(DEEP));
    assert_eq!(
        code(&engine.call(text("give_value", &written)).await),
        "tool.args.malformed_json"
    );
    assert!(
        engine
            .explain(call("give_value", of("a", nested(DEEP))))
            .await
            .outcome
            .is_err()
    );
    let result = engine.call(call("give_value", of("a", nested(65)))).await;
    assert!(result.text().contains("64 levels"), "{}", result.text());
    assert_eq!(
        result.error.expect("refused").details["path"],
        format!("/a{}", "/0".repeat(64))
    );
    assert_eq!(events.ends(), vec!["tool.rejected"; 6]);
    assert!(
        !engine
            .call(call("give_value", json!({"a": nested(63), "levels": 1})))
            .await
            .is_error
    );
}

/// Returns a deep value.
struct Gives(&'static str);

impl Tool for Gives {
    fn spec(&self) -> ToolSpec {
        ToolSpec::new(format!("give_{}", self.0), "Gives something deep.")
            .pure()
            .input(json!({"type": "object"}))
    }

    async fn call(
        &self,
        (): &(),
        runtime: ToolRuntime<'_>,
        arguments: Map<String, Value>,
    ) -> Result<ToolOutput, ToolError> {
        let levels = arguments
            .get("levels")
            .and_then(Value::as_u64)
            .and_then(|levels| usize::try_from(levels).ok())
            .unwrap_or(DEEP);
        let value = nested(levels);
        let in_map = |value| Map::from_iter([("deep".to_owned(), value)]);
        Ok(match self.0 {
            "refs" => ToolOutput {
                refs: vec![value],
                ..ToolOutput::text("x")
            },
            "metadata" => ToolOutput {
                metadata: in_map(value),
                ..ToolOutput::text("x")
            },
            "provider" => ToolOutput {
                provider: in_map(value),
                ..ToolOutput::text("x")
            },
            "details" => {
                return Err(ToolError::repairable("mine", "it went wrong").detail("deep", value));
            }
            "state" => {
                let stored = runtime.store(StoreScope::Session).set("deep", value);
                return Err(ToolError::repairable("state", format!("{stored:?}")));
            }
            "event" => {
                runtime.emit("deep", &value);
                drop_deep(value);
                ToolOutput::text("x")
            }
            "inner" => {
                let result = runtime.call("give_value", of("a", value)).await;
                ToolOutput::text(result.text())
            }
            _ => ToolOutput::value(value),
        })
    }
}

/// More links than the stack can drop.
const DEEP_LINKS: i64 = 1_000_000;

/// The host drops what it created.
fn drop_deep(mut value: Value) {
    while let Value::Array(mut items) = value {
        value = items.pop().unwrap_or_default();
    }
}

#[tokio::test]
async fn results_that_nest_too_deep_fail_only_their_call() {
    let tools = [
        "value", "refs", "metadata", "provider", "details", "state", "event", "inner",
    ];
    let (engine, events) = load(
        tools
            .into_iter()
            .fold(bare(), |builder, tool| builder.tool(Gives(tool))),
    )
    .await;
    for (tool, expected) in [
        ("value", "tool.output.invalid_schema"),
        ("refs", "tool.output.invalid_schema"),
        ("metadata", "tool.output.invalid_schema"),
        ("provider", "tool.output.invalid_schema"),
        ("details", "tool.failed"),
        ("state", "tool.failed"),
        ("event", ""),
        ("inner", ""),
    ] {
        let result = engine.call(call(&format!("give_{tool}"), json!({}))).await;
        assert_eq!(code(&result), expected, "{tool}: {}", result.text());
        assert!(
            !["refs", "value", "state"].contains(&tool) || result.text().contains("64 levels"),
            "{tool}: {}",
            result.text()
        );
    }
    let typed = function(
        ToolSpec::new("typed", "Gives something deep.").pure(),
        |input: Number| async move { Ok(nested(usize::try_from(input.n).unwrap_or(0))) },
    );
    let (other, _) = load(bare().tool(typed)).await;
    for (levels, expected) in [
        (64, ""),
        (65, "tool.output.invalid_schema"),
        (DEEP, "tool.output.invalid_schema"),
    ] {
        let result = other.call(call("typed", json!({"n": levels}))).await;
        assert_eq!(code(&result), expected, "{levels}: {}", result.text());
    }
    assert!(events.named("custom.deep")[0].fields()["payload"].is_string());
    let shallow = engine.call(call("give_value", json!({"levels": 64}))).await;
    assert!(!shallow.is_error, "{}", shallow.text());
}

/// A linked list that counts dropped links.
#[derive(serde::Serialize)]
struct Link(f64, Option<Box<Link>>, #[serde(skip)] Arc<AtomicI64>);

impl Drop for Link {
    fn drop(&mut self) {
        self.2.fetch_add(1, Ordering::SeqCst);
    }
}

impl schemars::JsonSchema for Link {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Link".into()
    }

    fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        true.into()
    }
}

#[tokio::test]
async fn a_typed_result_that_is_too_deep_is_dropped_unless_the_stack_would_overflow() {
    let dropped = Arc::new(AtomicI64::new(0));
    let counter = Arc::clone(&dropped);
    let chain = function(
        ToolSpec::new("chain", "Gives a chain.").pure(),
        move |input: Number| {
            let counter = Arc::clone(&counter);
            async move {
                // Another error may be found first.
                let number = if input.n % 2 == 0 { 1.0 } else { f64::NAN };
                let link = |next| Some(Box::new(Link(number, next, Arc::clone(&counter))));
                (0..input.n)
                    .fold(None, |next, _| link(next))
                    .map(|link| *link)
                    .ok_or_else(|| ToolError::fatal("none", "none"))
            }
        },
    );
    let (engine, _) = load(bare().tool(chain)).await;
    for (links, expected) in [
        (70, 70),
        (71, 71),
        (500, 500),
        (DEEP_LINKS, 0),
        (DEEP_LINKS + 1, 0),
    ] {
        dropped.store(0, Ordering::SeqCst);
        let result = engine.call(call("chain", json!({"n": links}))).await;
        assert_eq!(
            code(&result),
            "tool.output.invalid_schema",
            "{links}: {}",
            result.text()
        );
        assert_eq!(
            dropped.load(Ordering::SeqCst),
            expected,
            "a value too deep to drop is leaked, and the program goes on"
        );
    }
}

/// Passes on a deep value at the given place.
struct Hands(&'static str);

impl Middleware for Hands {
    fn name(&self) -> &str {
        "hands"
    }

    fn before<'a>(&'a self, call: &'a mut Judged<'_>) -> Step<'a, Decision> {
        if self.0.starts_with("before") {
            call.set_arguments(Map::from_iter([
                ("n".to_owned(), json!(1)),
                ("deep".to_owned(), nested(DEEP)),
            ]));
        }
        if self.0 == "before and refuse" {
            Decision::Refuse("no".into())
        } else {
            Decision::Allow
        }
        .into()
    }

    fn after<'a>(&'a self, _: &'a Seen<'_>, answer: &'a mut Reply<'_>) -> Step<'a, ()> {
        match self.0 {
            "after" => answer.answer(ToolOutput::value(nested(DEEP))),
            "after fails" => answer.fail(
                "echo",
                ToolError::fatal("mine", "no").detail("deep", nested(DEEP)),
            ),
            _ => {}
        }
        ().into()
    }
}

impl Around for Hands {
    fn name(&self) -> &str {
        "hands"
    }

    fn around<'a>(
        &'a self,
        _: Seen<'a>,
        next: Next<'a>,
    ) -> Later<'a, Result<ToolOutput, ToolError>> {
        match self.0 {
            "around" => Box::pin(async { Ok(ToolOutput::value(nested(DEEP))) }),
            "around fails" => {
                Box::pin(async { Err(ToolError::fatal("mine", "no").detail("deep", nested(DEEP))) })
            }
            "around refuses" => Box::pin(async {
                Err(Refusal::new(Code::Denied, "no")
                    .detail("deep", nested(DEEP))
                    .into())
            }),
            "around stops" => Box::pin(async {
                let stop = ToolError::control(Control::Stop("enough".into()));
                Err(stop.detail("deep", nested(DEEP)).detail("after", 3))
            }),
            _ => Box::pin(next.finish()),
        }
    }
}

#[tokio::test]
async fn middleware_layers_and_injection_cannot_pass_on_deep_values() {
    for (place, expected) in [
        ("before", "tool.args.malformed_json"),
        ("before and refuse", "tool.hook.blocked"),
        ("after", "tool.output.invalid_schema"),
        ("after fails", "tool.failed"),
        ("around", "tool.output.invalid_schema"),
        ("around fails", "tool.failed"),
        ("around refuses", "tool.denied"),
        ("around stops", "tool.interrupted"),
    ] {
        let (engine, events) = load(
            bare()
                .tool(echo("echo"))
                .middleware(Hands(place))
                .around(Hands(place)),
        )
        .await;
        let result = engine.call(call("echo", json!({"n": 1}))).await;
        assert_eq!(
            (code(&result), events.ends().len()),
            (expected, 1),
            "{place}: {}",
            result.text()
        );
        let error = result.error.expect("an error");
        assert_eq!(
            error.details.get("after"),
            (place == "around stops").then_some(&json!(3)),
            "{place}"
        );
    }
    struct Takes;
    impl Tool for Takes {
        fn spec(&self) -> ToolSpec {
            ToolSpec::new("take", "Takes it.")
                .pure()
                .input(json!({"type": "object"}))
                .inject("it", Inject::Host("it".into()))
        }
        async fn call(
            &self,
            (): &(),
            _: ToolRuntime<'_>,
            _: Map<String, Value>,
        ) -> Result<ToolOutput, ToolError> {
            Ok(ToolOutput::default())
        }
    }
    let (engine, _) = load(bare().tool(Takes).inject("it", |_| Some(nested(DEEP)))).await;
    assert_eq!(
        code(&engine.call(call("take", json!({}))).await),
        "internal"
    );
}
