//! The two servers that `mcp` compares: `serve governed PROJECT` is the MCP server of `harness`
//! with a Rust body, `serve bare` is a minimal `rmcp` server.

// The code compiled in here is tested in its own crate.
#![cfg(not(test))]

use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CallToolResult, ContentBlock, ServerCapabilities,
    ServerConfig,
};
use rmcp::service::{RequestContext, RoleServer};
use rmcp::{ErrorData, ServerHandler, ServiceExt};
use serde_json::{Value, json};
use std::sync::Arc;
use tokio_util::sync::CancellationToken;
use tool_harness::DEFAULT_MODE;
use tool_harness::EngineBuilder;
use tool_harness::engine::Live;
use tool_harness_cli::mcp;

#[tokio::main]
async fn main() -> anyhow::Result<()> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    match words.as_slice() {
        ["governed", project] => {
            let routes = Arc::new(mcp::ProgressRoutes::default());
            let builder = EngineBuilder::new(project)
                .sink(Arc::clone(&routes) as _)
                .body("look", |args| async move { Ok(found(&args)) });
            mcp::serve(
                Live::load(builder).await?,
                routes,
                DEFAULT_MODE,
                CancellationToken::new(),
            )
            .await
        }
        ["bare"] => {
            Bare.serve((tokio::io::stdin(), tokio::io::stdout()))
                .await?
                .waiting()
                .await?;
            Ok(())
        }
        _ => anyhow::bail!("accepted: `serve governed PROJECT`, `serve bare`"),
    }
}

/// The answer of both servers.
fn found(args: &Value) -> Value {
    json!({"query": args["query"], "count": 3})
}

struct Bare;

impl ServerHandler for Bare {
    fn get_info(&self) -> ServerConfig {
        ServerConfig::new(ServerCapabilities::builder().enable_tools().build())
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        _: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let value = found(&Value::Object(request.arguments.unwrap_or_default()));
        let mut result = CallToolResult::success(vec![ContentBlock::text(value.to_string())]);
        result.structured_content = Some(value);
        Ok(result.into())
    }
}
