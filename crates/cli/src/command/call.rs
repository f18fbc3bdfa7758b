//! `harness call`.

use crate::arguments::CallArguments;
use crate::exit::Exit;
use crate::interrupt;
use crate::output::{self, LogLine, Output, TypedCall, paint, plain, style};
use crate::project::ProjectArgs;
use clap::Args;
use std::io::{self, Write};
use std::sync::Arc;
use std::time::Duration;
use tool_harness::event::{Delivery, EventRef, Sink};

/// How long to wait for the last events to be read.
const FLUSH_TIMEOUT: Duration = Duration::from_secs(2);

#[derive(Args)]
pub(crate) struct CallArgs {
    /// The tool's name
    tool: String,
    #[command(flatten)]
    arguments: CallArguments,
    /// The whole result as one JSON document
    #[arg(long)]
    json: bool,
    /// Print the call's events to standard error, one JSON object a line
    #[arg(long)]
    events: bool,
    /// Give up after this many milliseconds
    #[arg(long, value_name = "N")]
    timeout_ms: Option<u64>,
}

impl CallArgs {
    pub(super) async fn run(
        self,
        project: &ProjectArgs,
        output: &mut Output,
    ) -> anyhow::Result<Exit> {
        let engine = match (self.events, self.json) {
            (true, _) => project.open_with(Arc::new(EventPrinter)).await?,
            (false, true) => project.open().await?,
            (false, false) => {
                project
                    .open_with(Arc::new(ToolLogPrinter(self.tool.clone())))
                    .await?
            }
        };
        let mut call = self.arguments.call(&engine, &self.tool)?;
        call.timeout = self.timeout_ms.map(Duration::from_millis);
        call.cancel = interrupt::cancelled_by_signals().into();
        let result = engine.call(call).await;
        // The log comes before the result, but a slow reader does not delay the result.
        engine.flush(FLUSH_TIMEOUT).await;
        if self.json {
            output.json(&result.to_json())?;
        } else if let Some(refusal) = &result.error {
            // A script's error value may say more than its message.
            if let Some(value) = &result.value
                && value.as_object().is_some_and(|map| map.len() > 1)
            {
                output.say(&plain(&value.to_string()))?;
            }
            let typed = TypedCall {
                arguments: engine.redactor().text(&self.arguments.words()).into_owned(),
                tool: self.tool,
            };
            output.say(&output::refusal(refusal, &typed))?;
        } else {
            output.print(&output::result(&result))?;
            for artifact in &result.artifacts {
                let place = engine
                    .blob_file(artifact)
                    .map(|file| format!(" in {}", file.display()))
                    .unwrap_or_default();
                let line = format!("kept: {} bytes as {}{place}", artifact.bytes, artifact.id);
                output.say(&paint(style::QUIET, &line))?;
            }
            let word = if result.is_error { "failed" } else { "done" };
            let elapsed = result.elapsed.as_secs_f64() * 1000.0;
            let line = format!("{}: {word} in {elapsed:.1} ms", result.name);
            output.say(&paint(style::QUIET, &line))?;
        }
        Ok(Exit::from(&result))
    }
}

/// Writes each event to standard error as it happens.
struct EventPrinter;

impl Sink for EventPrinter {
    fn record(&self, event: &EventRef<'_>) {
        // The call goes on if its events cannot be written.
        let _ = writeln!(io::stderr().lock(), "{}", event.to_event().to_json());
    }

    fn delivery(&self) -> Delivery {
        Delivery::Waiting
    }
}

/// Prints what the called tool logs.
struct ToolLogPrinter(String);

impl Sink for ToolLogPrinter {
    fn record(&self, event: &EventRef<'_>) {
        if let Some(line) = LogLine::of(event).filter(|line| line.source == self.0) {
            let level = line.level.word();
            let _ = writeln!(io::stderr().lock(), "{level}: {}", line.message);
        }
    }

    fn delivery(&self) -> Delivery {
        Delivery::Counting
    }
}
