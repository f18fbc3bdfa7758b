//! The types a host writes tools with.

use crate::support::{Number, SOON, bare, call, code, echo, load, until};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};
use tool_harness::Effects;
use tool_harness::content::{ContentBlock, Media};
use tool_harness::store::StoreScope;
use tool_harness::tool::{Inject, blocking, function};
use tool_harness::{Tool, ToolError, ToolOutput, ToolRequest, ToolRuntime, ToolSpec, TypedTool};

#[derive(Deserialize, schemars::JsonSchema)]
struct Search {
    /// What to look for.
    query: String,
    /// How many to return.
    #[serde(default)]
    limit: Option<u32>,
    /// The user, which the host injects.
    #[serde(default)]
    #[schemars(skip)]
    user: String,
}

#[derive(Serialize, schemars::JsonSchema)]
struct Found {
    hits: Vec<String>,
    searches: u64,
}

struct SearchOrders;

struct Orders {
    names: Vec<&'static str>,
    searches: AtomicU64,
}

struct Asker(&'static str);

impl TypedTool<Orders, Asker> for SearchOrders {
    type Input = Search;
    type Output = Found;

    fn spec(&self) -> ToolSpec {
        ToolSpec::new("search_orders", "Finds orders by a part of their name.")
            .effects(Effects::READ)
            .inject("user", Inject::Host("user".into()))
    }

    async fn call(
        &self,
        orders: &Orders,
        runtime: ToolRuntime<'_, Asker>,
        input: Search,
    ) -> Result<Found, ToolError> {
        if input.query.is_empty() {
            return Err(ToolError::repairable("empty_query", "say what to look for")
                .detail("path", "/query"));
        }
        runtime.progress(0.5, "half");
        runtime.emit("searched", &json!({"by": input.user}));
        let seen = runtime
            .store(StoreScope::Session)
            .update("seen", &mut |old| {
                Ok(Some(json!(
                    old.and_then(|old| old.as_i64()).unwrap_or(0) + 1
                )))
            });
        assert!(
            seen.is_ok()
                && runtime.time_left().as_secs() > 1
                && !runtime.cancellation().is_cancelled()
        );
        assert_eq!(
            (
                runtime.mode(),
                runtime.call_id().is_empty(),
                runtime.run_id().is_empty()
            ),
            ("default", false, false)
        );
        assert_eq!(
            (
                runtime.context().0,
                input.user.as_str(),
                runtime.session_id()
            ),
            ("ann", "user of shop", "shop")
        );
        let hits = orders
            .names
            .iter()
            .filter(|name| name.contains(&input.query))
            .take(input.limit.map_or(9, |limit| limit as usize));
        Ok(Found {
            hits: hits.map(|name| (*name).to_owned()).collect(),
            searches: orders.searches.fetch_add(1, Ordering::Relaxed) + 1,
        })
    }
}

#[tokio::test]
async fn a_typed_tool_gets_its_state_and_context_and_derives_its_schemas() {
    let orders = Orders {
        names: vec!["blue lamp", "red lamp", "chair"],
        searches: AtomicU64::new(0),
    };
    let builder = bare().state(orders).context::<Asker>().tool(SearchOrders);
    let (engine, events) = load(builder.inject("user", |call| {
        Some(json!(format!("user of {}", call.session_id)))
    }))
    .await;
    let surface = engine.surface("default").expect("a surface");
    let tool = surface
        .tools
        .iter()
        .find(|tool| tool.name == "search_orders")
        .expect("it is offered");
    let properties: Vec<&str> = tool.input_schema["properties"]
        .as_object()
        .expect("properties")
        .keys()
        .map(String::as_str)
        .collect();
    assert_eq!(
        (properties, &tool.input_schema["required"]),
        (vec!["query", "limit"], &json!(["query"]))
    );
    assert_eq!(
        tool.output_schema.as_ref().expect("a schema")["properties"]["hits"]["type"],
        "array"
    );
    assert!(
        engine.diagnostics().is_empty() && engine.check_surface().diagnostics.is_empty(),
        "{:?}",
        engine.report()
    );

    let run = engine.start(Asker("ann")).session("shop");
    let turn = run.turn().expect("a turn");
    let sent = |id: &str, arguments| ToolRequest::new(id, "search_orders", arguments);
    let turned = turn
        .call(vec![
            sent("a", json!({"query": "lamp"})),
            sent("b", json!({"query": "lamp", "limit": 1})),
            sent("c", json!({"query": ""})),
        ])
        .await;
    let [all, one, none] = &turned.results[..] else {
        panic!("three results")
    };
    assert_eq!(
        all.value.as_ref().expect("a value")["hits"],
        json!(["blue lamp", "red lamp"])
    );
    assert_eq!(
        (
            one.value.as_ref().expect("a value")["hits"]
                .as_array()
                .map(Vec::len),
            one.call_id.as_str()
        ),
        (Some(1), "b")
    );
    let error = none.error.as_ref().expect("an error").to_json();
    assert_eq!(
        (&error["code"], &error["class"]),
        (&json!("tool.failed"), &json!("repairable"))
    );
    assert_eq!(
        (&error["details"]["code"], &error["details"]["path"]),
        (&json!("empty_query"), &json!("/query"))
    );
    assert_eq!(all.to_json()["enforced"], "host");
    assert_eq!(
        (
            events.named("tool.progress").len(),
            events.named("custom.searched").len()
        ),
        (2, 2)
    );
    let messages = turned.messages().expect("messages");
    assert_eq!(
        messages
            .iter()
            .map(|message| message.call_id.as_str())
            .collect::<Vec<_>>(),
        ["a", "b", "c"]
    );
    assert!(messages[2].is_error && messages[2].text().contains("say what to look for"));
}

struct Draw;

impl Tool for Draw {
    fn spec(&self) -> ToolSpec {
        ToolSpec::new("draw_dot", "Draws a dot.")
            .pure()
            .input(json!({"type": "object", "properties": {"size": {"type": "integer"}}}))
    }

    async fn call(
        &self,
        (): &(),
        runtime: ToolRuntime<'_>,
        arguments: Map<String, Value>,
    ) -> Result<ToolOutput, ToolError> {
        let doubled = runtime
            .call("double", json!({"n": arguments["size"]}))
            .await;
        let mut output = ToolOutput::content(vec![
            ContentBlock::Image(Media {
                data: vec![1, 2, 3],
                media_type: "image/png".into(),
            }),
            ContentBlock::text(doubled.text()),
        ]);
        output.provider.insert("request_id".into(), json!("r-1"));
        Ok(output)
    }
}

#[tokio::test]
async fn a_tool_can_return_blocks_and_provider_data_and_call_other_tools() {
    let double = blocking(
        ToolSpec::new("double", "Doubles.").pure(),
        |input: Number| Ok(input.n * 2),
    );
    let (engine, events) = load(bare().tool(Draw).tool(double).tool(echo("echo"))).await;
    let result = engine.call(call("draw_dot", json!({"size": 21}))).await;
    let document = result.to_json();
    assert_eq!(document["content"][0]["media_type"], "image/png");
    assert_eq!(
        (
            &document["content"][1]["text"],
            &document["provider"]["request_id"]
        ),
        (&json!("42"), &json!("r-1"))
    );
    assert_eq!(
        events.ends(),
        ["tool.completed", "tool.completed"],
        "the nested call has its own events"
    );
    let inner = engine.call(call("draw_dot", json!({"size": "x"}))).await;
    assert_eq!(code(&inner), "tool.args.invalid_schema");
}

#[tokio::test]
async fn without_a_workspace_or_the_effect_a_tool_touches_no_file() {
    struct Reach;
    impl TypedTool for Reach {
        type Input = Number;
        type Output = ();
        fn spec(&self) -> ToolSpec {
            ToolSpec::new("reach_out", "Tries.").effects(Effects::READ)
        }
        async fn call(
            &self,
            (): &(),
            runtime: ToolRuntime<'_>,
            input: Number,
        ) -> Result<(), ToolError> {
            match input.n {
                0 => drop(runtime.files()?.read("a.txt", 100)?),
                1 => drop(runtime.files()?.write("b.txt", b"x")?),
                _ => drop(
                    runtime
                        .run(tool_harness::builtin::Program::new("true"))
                        .await?,
                ),
            }
            Ok(())
        }
    }
    let (engine, _) = load(bare().tool(Reach)).await;
    assert_eq!(
        code(&engine.call(call("reach_out", json!({"n": 0}))).await),
        "sandbox.denied"
    );
    let folder = tempfile::tempdir().expect("a folder");
    std::fs::write(folder.path().join("a.txt"), "hello").expect("a file");
    let (engine, _) = load(bare().workspace(folder.path()).tool(Reach)).await;
    let read = engine.call(call("reach_out", json!({"n": 0}))).await;
    assert!(!read.is_error, "{}", read.text());
    assert!(
        engine
            .call(call("reach_out", json!({"n": 1})))
            .await
            .is_error
            && !folder.path().join("b.txt").exists()
    );
    let run = engine.call(call("reach_out", json!({"n": 2}))).await;
    assert!(
        code(&run) == "sandbox.denied" && run.text().contains("does not declare"),
        "{}",
        run.text()
    );
}

/// Stores a text, or reads a stored one.
struct Keeper;

#[derive(Deserialize, schemars::JsonSchema)]
struct Handle {
    /// What to read.
    id: Option<String>,
}

impl TypedTool for Keeper {
    type Input = Handle;
    type Output = String;

    fn spec(&self) -> ToolSpec {
        ToolSpec::new("keep_text", "Keeps a text, or reads one.").pure()
    }

    async fn call(
        &self,
        _: &(),
        runtime: ToolRuntime<'_>,
        input: Handle,
    ) -> Result<String, ToolError> {
        match input.id {
            None => Ok(runtime
                .keep(
                    "with ghp_16C7e42F292c6912E7710c838347Ae178B4a in it",
                    "text/plain",
                )
                .await?
                .id),
            Some(id) => Ok(
                String::from_utf8_lossy(&runtime.read_artifact(&id, 0, 1000).await?).into_owned(),
            ),
        }
    }
}

#[tokio::test]
async fn artifacts_of_a_tool_contain_no_secrets_and_are_readable_only_in_their_session() {
    let (engine, events) = load(bare().tool(Keeper)).await;
    let within = |session: &str, arguments| {
        let mut call = call("keep_text", arguments);
        call.session_id = session.into();
        call
    };
    let kept = engine.call(within("own", json!({}))).await;
    assert_eq!(
        (
            kept.is_error,
            kept.artifacts.len(),
            events.named("artifact.stored").len()
        ),
        (false, 1, 1)
    );
    let id = kept.artifacts[0].id.clone();
    let read = engine.call(within("own", json!({"id": id}))).await;
    assert!(
        !read.is_error && read.text().starts_with("with ") && !read.text().contains("ghp_"),
        "{}",
        read.text()
    );
    let refused = engine.call(within("other", json!({"id": id}))).await;
    assert_eq!(code(&refused), "tool.failed");
}

#[tokio::test]
async fn a_tool_may_return_nothing_if_its_type_allows_it() {
    let maybe = function(
        ToolSpec::new("find_it", "Finds it.").pure(),
        |input: Number| async move { Ok((input.n > 0).then_some(input.n)) },
    );
    let (engine, _) = load(bare().tool(maybe)).await;
    let nothing = engine.call(call("find_it", json!({"n": 0}))).await;
    assert_eq!(
        (nothing.is_error, nothing.value.clone()),
        (false, None),
        "{}",
        nothing.text()
    );
    assert_eq!(
        engine.call(call("find_it", json!({"n": 3}))).await.value,
        Some(json!(3))
    );
}

/// Waits until its caller is gone, and then checks whether its call is over.
struct Late(Arc<Mutex<Option<bool>>>);

impl Tool for Late {
    fn spec(&self) -> ToolSpec {
        ToolSpec::new("be_late", "Is late.")
            .pure()
            .blocking()
            .timeout(Duration::from_millis(50))
    }

    async fn call(
        &self,
        (): &(),
        runtime: ToolRuntime<'_>,
        _: Map<String, Value>,
    ) -> Result<ToolOutput, ToolError> {
        let started = Instant::now();
        while !runtime.cancellation().is_cancelled() && started.elapsed() < SOON {
            std::thread::sleep(Duration::from_millis(5));
        }
        let paid = runtime.call("echo", json!({"n": 1})).await;
        *self.0.lock().expect("a lock") =
            Some(runtime.cancellation().is_cancelled() && paid.is_error);
        Ok(ToolOutput::default())
    }
}

#[tokio::test]
async fn a_tool_can_see_that_its_call_is_over_and_can_call_nothing_more() {
    let told = Arc::new(Mutex::new(None));
    let (engine, _) = load(bare().tool(Late(Arc::clone(&told))).tool(echo("echo"))).await;
    assert_eq!(
        code(&engine.call(call("be_late", json!({}))).await),
        "tool.timeout"
    );
    until(|| told.lock().expect("a lock").is_some()).await;
    assert_eq!(*told.lock().expect("a lock"), Some(true));
}
