//! What may be registered, and that it is like any tool from then on.

mod governed;
mod registration;
mod secrets;

use crate::support::{Number, bare, call, code, echo, load, load_asking, number_schema, numbered};
use serde_json::{Map, Value, json};
use std::time::Duration;
use tool_harness::content::Media;
use tool_harness::control::Control;
use tool_harness::effect::Effects;
use tool_harness::error::Error;
use tool_harness::tool::READER;
use tool_harness::tool::{
    Idempotency, Inject, Limits, NameProblem, RegisterError, RetryPolicy, blocking,
};
use tool_harness::{
    ContentBlock, EngineBuilder, Tool, ToolError, ToolOutput, ToolRuntime, ToolSpec,
};

struct Spec(ToolSpec);

impl Tool for Spec {
    fn spec(&self) -> ToolSpec {
        self.0.clone()
    }

    async fn call(
        &self,
        (): &(),
        _: ToolRuntime<'_>,
        arguments: Map<String, Value>,
    ) -> Result<ToolOutput, ToolError> {
        Ok(ToolOutput::value(Value::Object(arguments)))
    }
}

async fn refused(builder: EngineBuilder) -> RegisterError {
    match builder.load().await {
        Err(Error::Register(problem)) => problem,
        other => panic!("{other:?}"),
    }
}

fn spec(name: &str) -> ToolSpec {
    ToolSpec::new(name, "A tool.").pure().input(number_schema())
}
