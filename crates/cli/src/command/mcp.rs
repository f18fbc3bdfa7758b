//! `harness mcp`.

use crate::exit::Exit;
use crate::interrupt;
use crate::mcp;
use crate::open;
use crate::output::Output;
use crate::project::ProjectArgs;
use clap::Args;
use std::io::{self, IsTerminal};
use std::sync::Arc;
use tool_harness::DEFAULT_MODE;
use tool_harness::engine::Live;

#[derive(Args)]
pub(crate) struct McpArgs {
    /// The mode whose tools are served
    #[arg(long, default_value = DEFAULT_MODE)]
    mode: String,
}

impl McpArgs {
    pub(super) async fn run(
        self,
        project: &ProjectArgs,
        output: &mut Output,
    ) -> anyhow::Result<Exit> {
        let routes = Arc::new(mcp::ProgressRoutes::default());
        let builder = open::builder(&project.find()?)
            .sink(Arc::clone(&routes) as _)
            .sink(Arc::new(mcp::ScriptLog));
        let live = Live::load(builder).await?;
        open::ensure_root_is_sound(&live.engine())?;
        open::ensure_surface_is_sound(&live.engine())?;
        if io::stdin().is_terminal() {
            output.say("serving MCP over standard input and output, for a client that starts this program; Ctrl-D ends it")?;
        }
        mcp::serve(live, routes, &self.mode, interrupt::cancelled_by_signals()).await?;
        Ok(Exit::Done)
    }
}
