//! `harness mcp`.

use crate::exit::Exit;
use crate::interrupt;
use crate::mcp;
use crate::open::{self, Folder};
use crate::output::Output;
use clap::Args;
use std::io::{self, IsTerminal};
use std::sync::Arc;
use tool_harness::call::DEFAULT_MODE;
use tool_harness::engine::Live;

#[derive(Args)]
pub(crate) struct Mcp {
    /// The mode whose tools are served
    #[arg(long, default_value = DEFAULT_MODE)]
    mode: String,
}

impl Mcp {
    pub(super) async fn run(self, folder: &Folder, output: &mut Output) -> anyhow::Result<Exit> {
        let routes = Arc::new(mcp::Routes::default());
        let builder = open::builder(&folder.find()?)
            .sink(Arc::clone(&routes) as _)
            .sink(Arc::new(mcp::Log));
        let live = Live::load(builder).await?;
        open::running(&live.engine())?;
        open::offering(&live.engine())?;
        if io::stdin().is_terminal() {
            output.say("this speaks MCP over standard input and output: a client starts it; Ctrl-D ends it")?;
        }
        mcp::serve(live, routes, &self.mode, interrupt::cancelled_by_signals()).await?;
        Ok(Exit::Done)
    }
}
