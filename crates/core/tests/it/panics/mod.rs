//! Host code may panic anywhere: the call fails with a code and ends once, and its caller goes on.

mod calls;
mod host;

use crate::support::{Events, call, code};
use serde_json::json;
use std::panic::panic_any;
use tool_harness::middleware::{
    Around, Decision, Judged, Later, Middleware, Next, Reply, Seen, Step, TurnView,
};
use tool_harness::registry::OfferedTool;
use tool_harness::{Engine, ToolError, ToolOutput};

/// Panics on drop, even as the payload of a panic.
struct Boom;

impl Drop for Boom {
    fn drop(&mut self) {
        if !std::thread::panicking() {
            panic!("on purpose, while it is dropped");
        }
    }
}

/// Makes a call that must fail with this code, and one that works.
async fn fails(engine: &Engine, events: &Events, tool: &str, expected: &str) {
    let before = events.ends().len();
    let result = engine.call(call(tool, json!({}))).await;
    assert_eq!(code(&result), expected, "{tool}: {}", result.text());
    assert_eq!(
        events.ends().len(),
        before + 1,
        "{tool}: {:?}",
        events.ends()
    );
}

/// Panics in the given place.
struct Panics(&'static str);

impl Panics {
    fn at(&self, place: &str) {
        if self.0 == place {
            panic_any(Boom);
        }
    }
}

impl Middleware for Panics {
    fn name(&self) -> &str {
        self.at("name");
        "panics"
    }

    fn priority(&self) -> i64 {
        self.at("priority");
        1
    }

    fn before<'a>(&'a self, _: &'a mut Judged<'_>) -> Step<'a, Decision> {
        self.at("before");
        match self.0 {
            "before later" => Step::later(async { panic_any(Boom) }),
            "before dropped" => Step::later(async {
                let _boom = Boom;
                std::future::pending().await
            }),
            _ => Decision::Allow.into(),
        }
    }

    fn after<'a>(&'a self, _: &'a Seen<'_>, _: &'a mut Reply<'_>) -> Step<'a, ()> {
        self.at("after");
        match self.0 {
            "after later" => Step::later(async { panic_any(Boom) }),
            _ => ().into(),
        }
    }

    fn offers(&self, _: &TurnView<'_>, tool: &OfferedTool) -> bool {
        if tool.name == "echo" {
            self.at("offers");
        }
        true
    }
}

impl Around for Panics {
    fn name(&self) -> &str {
        self.at("layer name");
        "panics"
    }

    fn around<'a>(
        &'a self,
        _: Seen<'a>,
        next: Next<'a>,
    ) -> Later<'a, Result<ToolOutput, ToolError>> {
        self.at("around");
        match self.0 {
            "around later" => Box::pin(async { panic_any(Boom) }),
            "around dropped" => Box::pin(async {
                let _boom = Boom;
                std::future::pending().await
            }),
            _ => Box::pin(next.finish()),
        }
    }
}
