//! `harness validate`.

use crate::exit::Exit;
use crate::fix;
use crate::open::Folder;
use crate::output::{self, Looked, Output, Reporting};
use clap::Args;
use std::time::Instant;

#[derive(Args)]
pub(crate) struct Validate {
    #[command(flatten)]
    reporting: Reporting,
    /// Mend what can be mended safely: misspelled keys, other names of arguments in texts, arguments that every run needs
    #[arg(long)]
    fix: bool,
}

impl Validate {
    pub(super) async fn run(self, folder: &Folder, output: &mut Output) -> anyhow::Result<Exit> {
        let started = Instant::now();
        let mut engine = folder.load().await?;
        if self.fix {
            let mut tried = fix::Tried::default();
            for _ in 0..fix::ROUNDS {
                let mended = fix::mend(&folder.find()?, &tried.fresh(engine.report()))?;
                if mended == 0 {
                    break;
                }
                tried.places += mended;
                engine = folder.load().await?;
            }
            output.say(&format!("mended {}", output::count(tried.places, "place")))?;
        }
        let registry = engine.catalogue();
        let tools = registry.tools().count() + registry.broken_tools().len();
        let hooks = registry.hooks().count() + registry.broken_hooks().len();
        let counted = format!(
            "{}, {}",
            output::count(tools, "tool"),
            output::count(hooks, "hook")
        );
        let prefix = output::prefix(&folder.find()?);
        self.reporting.write(
            &Looked {
                findings: &engine.report(),
                counted,
                started,
                prefix,
            },
            output,
        )
    }
}
