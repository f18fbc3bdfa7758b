//! `harness validate`.

use crate::exit::Exit;
use crate::fix;
use crate::output::{self, CheckReport, Output, ReportArgs};
use crate::project::ProjectArgs;
use clap::Args;
use std::time::Instant;

#[derive(Args)]
pub(crate) struct ValidateArgs {
    #[command(flatten)]
    reporting: ReportArgs,
    /// Fix what is safe to fix: misspelled keys, wrong argument names in texts, arguments missing
    /// from `required`
    #[arg(long)]
    fix: bool,
}

impl ValidateArgs {
    pub(super) async fn run(
        self,
        project: &ProjectArgs,
        output: &mut Output,
    ) -> anyhow::Result<Exit> {
        let started = Instant::now();
        let mut engine = project.load().await?;
        if self.fix {
            let mut history = fix::FixHistory::default();
            for _ in 0..fix::ROUNDS {
                let fixed = fix::fix_project(&project.find()?, &history.fresh(engine.report()))?;
                if fixed == 0 {
                    break;
                }
                history.places += fixed;
                engine = project.load().await?;
            }
            output.say(&format!("fixed {}", output::count(history.places, "place")))?;
        }
        let registry = engine.catalogue();
        let tools = registry.tools().count() + registry.broken_tools().len();
        let hooks = registry.hooks().count() + registry.broken_hooks().len();
        let counted = format!(
            "{}, {}",
            output::count(tools, "tool"),
            output::count(hooks, "hook")
        );
        let prefix = output::prefix(&project.find()?);
        self.reporting.write(
            &CheckReport {
                findings: &engine.report(),
                counted,
                started,
                prefix,
            },
            output,
        )
    }
}
