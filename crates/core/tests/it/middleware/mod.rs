//! Middleware: before, after, around, selection.

mod layers;
mod links;
mod ready;

use serde_json::json;
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tool_harness::middleware::{
    Around, Decision, Judged, Later, Middleware, Next, Reply, Seen, Step,
};
use tool_harness::{ToolError, ToolOutput};

type Log = Arc<Mutex<Vec<String>>>;

/// Notes each time it is asked.
struct Marker(&'static str, i64, Log);

impl Middleware for Marker {
    fn name(&self) -> &str {
        self.0
    }

    fn priority(&self) -> i64 {
        self.1
    }

    fn before<'a>(&'a self, call: &'a mut Judged<'_>) -> Step<'a, Decision> {
        let mut arguments = call.arguments().clone();
        self.2
            .lock()
            .expect("log")
            .push(format!("{} {}", self.0, arguments["n"]));
        arguments.insert("n".into(), json!(arguments["n"].as_i64().unwrap_or(0) + 1));
        call.set_arguments(arguments);
        Decision::Allow.into()
    }

    fn after<'a>(&'a self, call: &'a Seen<'_>, answer: &'a mut Reply<'_>) -> Step<'a, ()> {
        Step::later(async move {
            tokio::task::yield_now().await;
            self.2
                .lock()
                .expect("log")
                .push(format!("{} after {}", self.0, call.tool().name()));
            let value = answer
                .output()
                .value
                .as_ref()
                .and_then(|value| value.as_i64())
                .unwrap_or(0);
            answer.answer(ToolOutput::value(value * 10));
        })
    }
}

/// Never returns, in one of the three places that run host code.
struct Waits(&'static str);

impl Middleware for Waits {
    fn name(&self) -> &str {
        "waits"
    }

    fn before<'a>(&'a self, _: &'a mut Judged<'_>) -> Step<'a, Decision> {
        match self.0 {
            "before" => Step::later(std::future::pending()),
            "defer" => Decision::Defer(Duration::ZERO).into(),
            _ => Decision::Allow.into(),
        }
    }

    fn after<'a>(&'a self, _: &'a Seen<'_>, _: &'a mut Reply<'_>) -> Step<'a, ()> {
        if self.0 == "after" {
            Step::later(std::future::pending())
        } else {
            ().into()
        }
    }
}

impl Around for Waits {
    fn name(&self) -> &str {
        "waits"
    }

    fn around<'a>(
        &'a self,
        _: Seen<'a>,
        next: Next<'a>,
    ) -> Later<'a, Result<ToolOutput, ToolError>> {
        Box::pin(async move {
            if self.0 == "around" {
                std::future::pending().await
            } else {
                next.finish().await
            }
        })
    }
}
