//! `harness validate`.

use crate::exit::Exit;
use crate::fix;
use crate::output::{self, CheckReport, Output, ReportArgs};
use crate::project::ProjectArg;
use clap::Args;
use std::time::Instant;

#[derive(Args)]
pub(crate) struct ValidateArgs {
    #[command(flatten)]
    reporting: ReportArgs,
    /// Mend what can be mended safely: misspelled keys, other names of arguments in texts,
    /// arguments that every run needs
    #[arg(long)]
    fix: bool,
}

impl ValidateArgs {
    pub(super) async fn run(
        self,
        project: &ProjectArg,
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
            output.say(&format!(
                "mended {}",
                output::count(history.places, "place")
            ))?;
        }
        let registry = engine.registry();
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
