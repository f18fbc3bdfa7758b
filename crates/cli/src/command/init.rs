//! `harness init`.

use crate::exit::Exit;
use crate::output::Output;
use crate::project::ProjectArgs;
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
    pub(super) fn run(self, project: &ProjectArgs, output: &mut Output) -> anyhow::Result<Exit> {
        let target = self
            .folder
            .as_deref()
            .or(project.named())
            .unwrap_or(Path::new("."));
        scaffold::write_and_report(target, output)?;
        Ok(Exit::Done)
    }
}
