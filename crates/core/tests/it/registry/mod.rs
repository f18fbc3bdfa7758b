//! What can be registered, and that it behaves like any other tool.

mod governed;
mod registration;
mod secrets;

use crate::support::number_schema;
use serde_json::{Map, Value};
use tool_harness::engine::Error;
use tool_harness::tool::RegisterError;
use tool_harness::{EngineBuilder, Tool, ToolError, ToolOutput, ToolRuntime, ToolSpec};

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
