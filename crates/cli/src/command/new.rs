//! `harness new`.

use crate::exit::{Exit, usage};
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
        let shown = self.folder.display();
        match std::fs::read_dir(&self.folder).map(Iterator::count) {
            Ok(1..) => {
                let help = "`harness init DIR` adds a project to a folder that has files, and overwrites none";
                return Err(usage!("`{shown}` is not empty").help(help).into());
            }
            Ok(0) => {}
            Err(problem) if problem.kind() == io::ErrorKind::NotFound => {}
            Err(problem) => return Err(usage!("cannot use `{shown}`: {problem}").into()),
        }
        scaffold::write_and_report(&self.folder, output)?;
        Ok(Exit::Done)
    }
}
