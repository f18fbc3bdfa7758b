//! `harness completions`.

use crate::exit::Exit;
use crate::output::Output;
use clap::{Args, CommandFactory};
use clap_complete::Shell;

#[derive(Args)]
pub(crate) struct CompletionsArgs {
    /// The shell
    #[arg(value_enum)]
    shell: Shell,
}

impl CompletionsArgs {
    pub(super) fn run(self, output: &mut Output) -> anyhow::Result<Exit> {
        // To memory first: the generator panics if its stream closes early.
        let mut script = Vec::new();
        clap_complete::generate(
            self.shell,
            &mut crate::Cli::command(),
            "harness",
            &mut script,
        );
        output.raw(&String::from_utf8_lossy(&script))?;
        Ok(Exit::Done)
    }
}
