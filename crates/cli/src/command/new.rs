//! `harness new`.

use crate::exit::{Exit, UsageError};
use crate::output::Output;
use crate::scaffold;
use clap::Args;
use std::io;
use std::path::PathBuf;

#[derive(Args)]
pub(crate) struct NewArgs {
    /// The folder to create
    #[arg(value_name = "DIR")]
    folder: PathBuf,
}

impl NewArgs {
    pub(super) fn run(self, output: &mut Output) -> anyhow::Result<Exit> {
        match std::fs::read_dir(&self.folder).map(Iterator::count) {
            Ok(1..) => {
                return Err(UsageError::new(format!("`{}` is not empty", self.folder.display()))
                    .help("`harness init DIR` adds a project to a folder that has files, and overwrites none")
                    .into());
            }
            Ok(0) => {}
            Err(problem) if problem.kind() == io::ErrorKind::NotFound => {}
            Err(problem) => {
                return Err(UsageError::new(format!(
                    "cannot use `{}`: {problem}",
                    self.folder.display()
                ))
                .into());
            }
        }
        let written = scaffold::write(&self.folder)?;
        output.print(&written.to_string())?;
        output.print(&scaffold::next_steps(&self.folder))?;
        Ok(Exit::Done)
    }
}
