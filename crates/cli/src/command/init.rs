//! `harness init`.

use crate::exit::Exit;
use crate::output::Output;
use crate::scaffold;
use clap::Args;
use std::path::PathBuf;

#[derive(Args)]
pub(crate) struct Init {
    /// The folder
    #[arg(default_value = ".", value_name = "DIR")]
    folder: PathBuf,
}

impl Init {
    pub(super) fn run(self, output: &mut Output) -> anyhow::Result<Exit> {
        let written = scaffold::write(&self.folder)?;
        output.print(&written.to_string())?;
        output.print(&scaffold::next_steps(&self.folder))?;
        Ok(Exit::Done)
    }
}
