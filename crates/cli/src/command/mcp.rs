//! `harness mcp`.

use crate::exit::Exit;
use crate::mcp;
use crate::open::Folder;
use clap::Args;
use tool_harness::call::DEFAULT_MODE;

#[derive(Args)]
pub(crate) struct Mcp {
    /// The mode whose tools are served
    #[arg(long, default_value = DEFAULT_MODE)]
    mode: String,
}

impl Mcp {
    pub(super) async fn run(self, folder: &Folder) -> anyhow::Result<Exit> {
        mcp::serve(&folder.find()?, &self.mode).await?;
        Ok(Exit::Done)
    }
}
