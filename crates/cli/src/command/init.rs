//! `harness init`.

use crate::exit::Exit;
use crate::output::Output;
use crate::project::Project;
use crate::scaffold;
use clap::Args;
use std::path::{Path, PathBuf};

#[derive(Args)]
pub(crate) struct InitArgs {
    /// The folder [default: the current one]
    #[arg(value_name = "DIR")]
    folder: Option<PathBuf>,
}

impl InitArgs {
    pub(super) fn run(self, project: &Project, output: &mut Output) -> anyhow::Result<Exit> {
        let target = self
            .folder
            .as_deref()
            .or(project.named())
            .unwrap_or(Path::new("."));
        let written = scaffold::write(target)?;
        output.print(&written.to_string())?;
        output.print(&scaffold::next_steps(target))?;
        Ok(Exit::Done)
    }
}
