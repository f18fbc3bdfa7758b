//! `harness test`.

use crate::example::{self, ExampleOutcome};
use crate::exit::{Exit, UsageError, usage};
use crate::interrupt;
use crate::output::{Output, count, paint, plain, style};
use crate::project::ProjectArgs;
use crate::watch::ProjectFiles;
use clap::Args;
use serde_json::{Value, json};
use std::collections::HashMap;
use std::io;
use std::time::Instant;
use tool_harness::Engine;
use tool_harness::diagnostic::Diagnostic;
use tool_harness::span::Place;

#[derive(Args)]
pub(crate) struct TestArgs {
    /// Only the examples of tools and hooks whose name contains this
    filter: Option<String>,
    /// Run them again whenever a file of the project changes, until Ctrl-C
    #[arg(long, conflicts_with = "json")]
    watch: bool,
    /// One JSON document
    #[arg(long)]
    json: bool,
}

impl TestArgs {
    pub(super) async fn run(
        self,
        project: &ProjectArgs,
        output: &mut Output,
    ) -> anyhow::Result<Exit> {
        if !self.watch {
            let ended = self.examples(project, output).await?;
            return ended.map_or_else(|| interrupt::stopped(output), Ok);
        }
        let folder = project.find()?;
        // To end the watch with Ctrl-C is the usual way, and no failure.
        let cancel = interrupt::cancelled_by_signals();
        loop {
            let before = ProjectFiles::of(&folder);
            // A project that cannot be read, or has no such example yet, is what the person edits.
            if let Err(problem) = self.examples(project, output).await {
                let help = problem
                    .downcast_ref::<UsageError>()
                    .and_then(|usage| usage.help.clone());
                output.error(&format!("{problem:#}"), help.as_deref())?;
            }
            let hint = format!("watching {}; Ctrl-C ends", count(before.len(), "file"));
            output.say(&paint(style::QUIET, &hint))?;
            let Some(changed) = before.changed(&folder, &cancel).await else {
                return Ok(Exit::Done);
            };
            let changed = format!("changed: {}", changed.join(", "));
            output.print(&format!("\n{}", paint(style::NAME, &plain(&changed))))?;
        }
    }

    /// Runs every example once; `None` if a signal stopped it.
    async fn examples(
        &self,
        project: &ProjectArgs,
        output: &mut Output,
    ) -> anyhow::Result<Option<Exit>> {
        let started = Instant::now();
        let engine = project.open().await?;
        let cancel = interrupt::cancelled_by_signals();
        let mut report = TestReport {
            json: self.json,
            lines: Vec::new(),
            numbers: HashMap::new(),
        };
        let wanted = |name: &str| {
            self.filter
                .as_deref()
                .is_none_or(|filter| name.contains(filter))
        };
        for (tool, place, example) in engine.tool_examples().filter(|(tool, ..)| wanted(tool)) {
            let outcome = example::run_tool(&engine, tool, example, &cancel).await?;
            report.add("tool", tool.to_owned(), place, outcome, output)?;
            if cancel.is_cancelled() {
                return Ok(None);
            }
        }
        for (hook, event, place, example) in
            engine.hook_examples().filter(|(hook, ..)| wanted(hook))
        {
            let outcome = example::run_hook(&engine, hook, event, example).await?;
            report.add("hook", hook.to_owned(), place, outcome, output)?;
            if cancel.is_cancelled() {
                return Ok(None);
            }
        }
        for (kind, name, problem) in broken_artifacts(&engine).filter(|broken| wanted(&broken.1)) {
            let Some(place) = problem.place.clone() else {
                continue;
            };
            let outcome = ExampleOutcome::Failed {
                expected: "an artifact without errors".to_owned(),
                got: problem.message.clone(),
            };
            report.add(kind, name, place, outcome, output)?;
        }
        if let (true, Some(filter)) = (report.lines.is_empty(), &self.filter) {
            return Err(usage!("no tool or hook with examples has `{filter}` in its name").into());
        }
        report.end(started, output).map(Some)
    }
}

/// Tools and hooks whose examples cannot run, with the reason.
fn broken_artifacts(engine: &Engine) -> impl Iterator<Item = (&'static str, String, &Diagnostic)> {
    let registry = engine.catalogue();
    let tools = registry
        .tools()
        .filter_map(|tool| Some(("tool", tool.name().to_owned(), tool.unusable.as_ref()?)));
    let files = registry
        .broken_tools()
        .iter()
        .map(|broken| ("tool", broken.name.clone(), &broken.problem));
    let hooks = registry
        .broken_hooks()
        .iter()
        .map(|broken| ("hook", broken.name.clone(), &broken.problem));
    tools.chain(files).chain(hooks)
}

/// The examples run so far.
struct TestReport {
    json: bool,
    lines: Vec<ExampleLine>,
    /// The number of examples of each artifact.
    numbers: HashMap<(&'static str, String), usize>,
}

/// One example and its outcome.
struct ExampleLine {
    kind: &'static str,
    name: String,
    number: usize,
    place: Place,
    outcome: ExampleOutcome,
}

impl TestReport {
    fn add(
        &mut self,
        kind: &'static str,
        name: String,
        place: Place,
        outcome: ExampleOutcome,
        output: &mut Output,
    ) -> io::Result<()> {
        let number = self.numbers.entry((kind, name.clone())).or_default();
        *number += 1;
        let line = ExampleLine {
            kind,
            name,
            number: *number,
            place,
            outcome,
        };
        if !self.json {
            output.print(&line.text())?;
        }
        self.lines.push(line);
        Ok(())
    }

    fn end(self, started: Instant, output: &mut Output) -> anyhow::Result<Exit> {
        let count = |wanted: fn(&ExampleOutcome) -> bool| {
            self.lines
                .iter()
                .filter(|line| wanted(&line.outcome))
                .count()
        };
        let passed = count(|outcome| matches!(outcome, ExampleOutcome::Passed));
        let failed = count(|outcome| matches!(outcome, ExampleOutcome::Failed { .. }));
        let skipped = count(|outcome| matches!(outcome, ExampleOutcome::Skipped(_)));
        if self.json {
            let examples: Vec<Value> = self.lines.iter().map(ExampleLine::to_json).collect();
            output.json(&json!({"passed": passed, "failed": failed, "skipped": skipped, "examples": examples}))?;
        } else {
            let (style, verdict) = if failed == 0 {
                (style::GOOD, "ok")
            } else {
                (style::BAD, "FAILED")
            };
            let counts = format!("{passed} passed, {failed} failed, {skipped} skipped");
            output.print(&format!(
                "{}: {counts} in {} ms",
                paint(style, verdict),
                started.elapsed().as_millis()
            ))?;
            if self.lines.is_empty() {
                output.say("no tool or hook has `examples:`; each example is a test that reviewers can read")?;
            }
        }
        Ok(Exit::failed_if(failed > 0))
    }
}

impl ExampleLine {
    fn text(&self) -> String {
        let (style, word) = match self.outcome {
            ExampleOutcome::Passed => (style::GOOD, "ok     "),
            ExampleOutcome::Failed { .. } => (style::BAD, "FAILED "),
            ExampleOutcome::Skipped(_) => (style::CAREFUL, "skipped"),
        };
        let at = paint(
            style::QUIET,
            &format!("{}:{}", self.place.source.path, self.place.position().line),
        );
        let mut text = format!(
            "{} {} {} #{}  {at}",
            paint(style, word),
            self.kind,
            plain(&self.name),
            self.number
        );
        match &self.outcome {
            ExampleOutcome::Passed => {}
            ExampleOutcome::Failed { expected, got } => text.push_str(&format!(
                "\n        expected {}\n        got      {}",
                plain(expected),
                plain(got)
            )),
            ExampleOutcome::Skipped(reason) => text.push_str(&format!("  {reason}")),
        }
        text
    }

    fn to_json(&self) -> Value {
        let mut object = json!({
            "kind": self.kind,
            "name": self.name,
            "example": self.number,
            "file": &*self.place.source.path,
            "line": self.place.position().line,
        });
        match &self.outcome {
            ExampleOutcome::Passed => object["outcome"] = json!("passed"),
            ExampleOutcome::Failed { expected, got } => {
                object["outcome"] = json!("failed");
                object["expected"] = json!(expected);
                object["got"] = json!(got);
            }
            ExampleOutcome::Skipped(reason) => {
                object["outcome"] = json!("skipped");
                object["reason"] = json!(reason);
            }
        }
        object
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tool_harness::span::{Source, Span};

    #[test]
    fn each_outcome_has_its_line() {
        let place = Place::new(&Source::new("x.md", "---\n- a\n"), Span::new(4, 5));
        let line = |outcome| {
            let line = ExampleLine {
                kind: "tool",
                name: "read_file".into(),
                number: 2,
                place: place.clone(),
                outcome,
            };
            anstream::adapter::strip_str(&line.text()).to_string()
        };
        let failed = ExampleOutcome::Failed {
            expected: "1".into(),
            got: "2".into(),
        };
        let all = [
            line(ExampleOutcome::Passed),
            line(failed),
            line(ExampleOutcome::Skipped("exec is not available yet".into())),
        ]
        .join("\n");
        insta::assert_snapshot!(all, @r"
        ok      tool read_file #2  x.md:2
        FAILED  tool read_file #2  x.md:2
                expected 1
                got      2
        skipped tool read_file #2  x.md:2  exec is not available yet
        ");
    }
}
