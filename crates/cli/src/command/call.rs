//! `harness call`.

use crate::arguments::Request;
use crate::exit::Exit;
use crate::interrupt;
use crate::open::Folder;
use crate::output::{self, Asked, Output, look, paint, plain};
use clap::Args;
use serde_json::Value;
use std::io::{self, Write};
use std::sync::Arc;
use std::time::Duration;
use tool_harness::event::{Delivery, EventRef, Sink};

/// How long a reader of events has for the last of them.
const LAST_WORDS: Duration = Duration::from_secs(2);

#[derive(Args)]
pub(crate) struct Call {
    /// The tool's name
    tool: String,
    #[command(flatten)]
    request: Request,
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

impl Call {
    pub(super) async fn run(self, folder: &Folder, output: &mut Output) -> anyhow::Result<Exit> {
        let engine = match (self.events, self.json) {
            (true, _) => folder.open_with(Arc::new(EveryEvent)).await?,
            (false, true) => folder.open().await?,
            (false, false) => folder.open_with(Arc::new(LogOf(self.tool.clone()))).await?,
        };
        let mut call = self.request.call(&engine, &self.tool)?;
        call.timeout = self.timeout_ms.map(Duration::from_millis);
        call.cancel = interrupt::cancelled_by_signals().into();
        let result = engine.call(call).await;
        // What it logged comes before what it came to. Whoever does not read it is not waited for.
        engine.flush(LAST_WORDS).await;
        if self.json {
            output.json(&result.to_json())?;
        } else if let Some(refusal) = &result.error {
            // A script's own error value may say more than the message made from it.
            if let Some(value) = result
                .value
                .as_ref()
                .filter(|value| value.as_object().is_some_and(|map| map.len() > 1))
            {
                output.say(&plain(&value.to_string()))?;
            }
            let arguments = engine.redactor().text(&self.request.words()).into_owned();
            output.say(&output::refusal(
                refusal,
                &Asked {
                    tool: self.tool,
                    arguments,
                },
            ))?;
        } else {
            output.print(&output::result(&result))?;
            for artifact in &result.artifacts {
                let place = engine
                    .blob_file(artifact)
                    .map(|file| format!(" in {}", file.display()))
                    .unwrap_or_default();
                output.say(&paint(
                    look::QUIET,
                    &format!("kept: {} bytes as {}{place}", artifact.bytes, artifact.id),
                ))?;
            }
            let word = if result.is_error { "failed" } else { "done" };
            output.say(&paint(
                look::QUIET,
                &format!(
                    "{}: {word} in {:.1} ms",
                    result.name,
                    result.elapsed.as_secs_f64() * 1000.0
                ),
            ))?;
        }
        Ok(Exit::from(&result))
    }
}

/// Writes each event to standard error as it happens.
struct EveryEvent;

impl Sink for EveryEvent {
    fn record(&self, event: &EventRef<'_>) {
        // The call goes on when nobody reads its events.
        let _ = writeln!(io::stderr().lock(), "{}", event.to_event().to_json());
    }

    fn delivery(&self) -> Delivery {
        Delivery::Waiting
    }
}

/// Shows what the called tool itself logs or prints.
struct LogOf(String);

impl Sink for LogOf {
    fn record(&self, event: &EventRef<'_>) {
        let text = |key: &str| event.fields().get(key).and_then(Value::as_str);
        if event.name == "log" && text("source") == Some(self.0.as_str()) {
            let fields = event
                .fields()
                .get("fields")
                .filter(|fields| fields.as_object().is_some_and(|map| !map.is_empty()));
            let fields = fields
                .map(|fields| format!(" {fields}"))
                .unwrap_or_default();
            let message = format!("{}{fields}", text("message").unwrap_or_default());
            let _ = writeln!(
                io::stderr().lock(),
                "{}: {}",
                text("level").unwrap_or("info"),
                plain(&message)
            );
        }
    }

    fn delivery(&self) -> Delivery {
        Delivery::Counting
    }
}
