//! Runs the examples in artifacts and compares their results.

use serde_json::{Map, Value};
use std::path::{Component, Path};
use std::sync::Arc;
use tempfile::TempDir;
use tokio_util::sync::CancellationToken;
use tool_harness::HookAction;
use tool_harness::Refusal;
use tool_harness::ToolResult;
use tool_harness::artifact::hook::HookExample;
use tool_harness::artifact::tool::ToolExample;
use tool_harness::engine::{Engine, HookReport};
use tool_harness::outside::{Answers, Outside};
use tool_harness::{Arguments, Call, Door};

/// The outcome of an example.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum ExampleOutcome {
    /// The result is the expected one.
    Passed,
    /// The result is another one.
    Failed {
        /// What the example expects.
        expected: String,
        /// What happened.
        got: String,
    },
    /// Not run, with the reason.
    Skipped(String),
}

impl ExampleOutcome {
    fn compare(agrees: bool, expected: impl Into<String>, got: impl Into<String>) -> Self {
        if agrees {
            Self::Passed
        } else {
            Self::Failed {
                expected: expected.into(),
                got: got.into(),
            }
        }
    }
}

/// Runs a tool's example through every stage, in a new workspace with its files.
pub(crate) async fn run_tool(
    engine: &Engine,
    tool: &str,
    example: &ToolExample,
    cancel: &CancellationToken,
) -> anyhow::Result<ExampleOutcome> {
    let workspace = TempDir::with_prefix("harness-test-")?;
    for (path, text) in &example.files {
        if let Err(problem) = place_file(workspace.path(), path, text) {
            return Ok(ExampleOutcome::Failed {
                expected: format!("a file `{path}` in the workspace"),
                got: problem,
            });
        }
    }
    let mut call =
        Call::new(tool, Arguments::Value(Value::Object(example.args.clone()))).door(Door::Test);
    call.cancel = cancel.clone().into();
    let answers = Arc::new(Answers::new(&example.exec, &example.http));
    let result = engine
        .rehearsing(workspace.path(), Arc::clone(&answers) as Arc<dyn Outside>)?
        .call(call)
        .await;
    let problems = answers.problems();
    if !problems.is_empty() {
        let expected = "the answers of the example, each used once, in order".to_owned();
        let mut got = problems.join("; ");
        // Why an answer was not used is rarely in the script.
        if let Some(refusal) = &result.error {
            got = format!("{}; {got}", refused(refusal));
        }
        return Ok(ExampleOutcome::Failed { expected, got });
    }
    Ok(judge_tool(example, &result))
}

/// Why a call was refused or failed, and which hook or stage said so.
fn refused(refusal: &Refusal) -> String {
    let text = refusal.text().replace('\n', "; ");
    let hook = refusal.details.get("hook").and_then(Value::as_str);
    let by = match (hook, refusal.stage) {
        (Some(hook), _) => format!("the hook `{hook}` answered"),
        (None, Some(stage)) => format!("the stage `{stage}` answered"),
        (None, None) => "the tool itself answered".to_owned(),
    };
    match &refusal.place {
        Some(place) => format!("{text} ({by}, {place})"),
        None => format!("{text} ({by})"),
    }
}

/// Writes a file of an example, which must stay in the workspace.
fn place_file(workspace: &Path, path: &str, text: &str) -> Result<(), String> {
    let inside = Path::new(path)
        .components()
        .all(|part| matches!(part, Component::Normal(_) | Component::CurDir));
    if !inside {
        return Err("the path leaves the workspace".to_owned());
    }
    let target = workspace.join(path);
    let folders = target.parent().map_or(Ok(()), std::fs::create_dir_all);
    folders
        .and_then(|()| std::fs::write(&target, text))
        .map_err(|problem| problem.to_string())
}

fn judge_tool(example: &ToolExample, result: &ToolResult) -> ExampleOutcome {
    let got = || match (&result.error, &result.value) {
        (Some(refusal), None) => refused(refusal),
        (Some(refusal), Some(value)) => format!("{value} ({})", refusal.code),
        (None, Some(value)) => value.to_string(),
        (None, None) => Value::from(result.text()).to_string(),
    };
    if let Some(expected) = &example.result {
        let text = || Value::from(result.text());
        let agrees = result
            .value
            .as_ref()
            .map_or_else(|| text() == *expected, |value| value == expected);
        let both = agrees
            && example
                .is_error
                .is_none_or(|wanted| wanted == result.is_error);
        let error = example
            .is_error
            .map_or(String::new(), |wanted| format!(" with is_error: {wanted}"));
        return ExampleOutcome::compare(both, format!("{expected}{error}"), got());
    }
    let wanted = example.is_error.unwrap_or(false);
    ExampleOutcome::compare(
        wanted == result.is_error,
        if wanted {
            "an error"
        } else {
            "a result without an error"
        },
        got(),
    )
}

/// Runs a hook's example on its payload, in a new workspace.
pub(crate) async fn run_hook(
    engine: &Engine,
    hook: &str,
    event: &str,
    example: &HookExample,
) -> anyhow::Result<ExampleOutcome> {
    let workspace = TempDir::with_prefix("harness-test-")?;
    let event = example.event.as_deref().unwrap_or(event);
    let nothing: Arc<dyn Outside> = Arc::new(Answers::default());
    let report = engine
        .rehearsing(workspace.path(), nothing)?
        .run_hook(hook, event, example.payload.clone())
        .await;
    Ok(report.map_or_else(
        || ExampleOutcome::Skipped("the hook is not active".to_owned()),
        |report| judge_hook(example, &report),
    ))
}

fn judge_hook(example: &HookExample, report: &HookReport) -> ExampleOutcome {
    let mut expected = example.decision.clone();
    let mut got = report.action.word().to_owned();
    // A hook whose `when` is false lets the call pass, as `allow` does.
    let passed_by = report.action == HookAction::Skip && example.decision == "allow";
    let mut agrees = passed_by || example.decision == report.action.word();
    if let Some(part) = &example.reason {
        let reason = report.reason.as_deref().unwrap_or_default();
        expected.push_str(&format!(", the reason containing `{part}`"));
        got.push_str(&format!(", the reason being `{reason}`"));
        agrees &= reason.contains(part.as_str());
    } else if let Some(reason) = &report.reason {
        got.push_str(&format!(" ({reason})"));
    }
    if let Some(part) = &example.modified {
        let modified = report.modified.clone().unwrap_or(Value::Null);
        expected.push_str(&format!(" to {part}"));
        got.push_str(&format!(" to {modified}"));
        agrees &= holds(&modified, part);
    }
    ExampleOutcome::compare(agrees, expected, got)
}

/// Whether `whole` has every key of `part` with the same value.
fn holds(whole: &Value, part: &Value) -> bool {
    let all = |whole: &Map<String, Value>, part: &Map<String, Value>| {
        part.iter()
            .all(|(key, value)| whole.get(key) == Some(value))
    };
    match (whole, part) {
        (Value::Object(whole), Value::Object(part)) => all(whole, part),
        (whole, part) => whole == part,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;
    use std::time::Duration;
    use tool_harness::Code;
    use tool_harness::Enforced;
    use tool_harness::content::ContentBlock;

    fn gave(value: Option<Value>, error: Option<Refusal>) -> ToolResult {
        ToolResult {
            call_id: "call_1".into(),
            name: "x".into(),
            is_error: error.is_some(),
            content: vec![ContentBlock::text("said")],
            value,
            artifacts: Vec::new(),
            refs: Vec::new(),
            metadata: Map::new(),
            provider: Map::new(),
            error,
            enforced: Enforced::Nothing,
            elapsed: Duration::ZERO,
        }
    }

    fn wants(result: Option<Value>, is_error: Option<bool>) -> ToolExample {
        ToolExample {
            result,
            is_error,
            ..ToolExample::default()
        }
    }

    #[test]
    fn a_tool_example_compares_what_it_names() {
        let denied = || Some(Refusal::new(Code::Denied, "no"));
        for (example, result, passes) in [
            (wants(None, None), gave(Some(json!(1)), None), true),
            (wants(None, None), gave(None, denied()), false),
            (wants(None, Some(true)), gave(None, denied()), true),
            (wants(None, Some(true)), gave(Some(json!(1)), None), false),
            (
                wants(Some(json!({"a": 1})), None),
                gave(Some(json!({"a": 1})), None),
                true,
            ),
            (
                wants(Some(json!({"a": 1})), None),
                gave(Some(json!({"a": 1, "b": 2})), None),
                false,
            ),
            (
                wants(Some(json!({"error": "x"})), Some(true)),
                gave(Some(json!({"error": "x"})), denied()),
                true,
            ),
            (
                wants(Some(json!({"error": "x"})), Some(false)),
                gave(Some(json!({"error": "x"})), denied()),
                false,
            ),
            (wants(Some(json!("said")), None), gave(None, None), true),
        ] {
            assert_eq!(
                judge_tool(&example, &result) == ExampleOutcome::Passed,
                passes,
                "{example:?} {result:?}"
            );
        }
    }

    #[test]
    fn a_hook_example_compares_what_it_names() {
        let example = |decision: &str, reason: Option<&str>, modified: Option<Value>| HookExample {
            event: None,
            payload: json!({}),
            decision: decision.into(),
            reason: reason.map(Into::into),
            modified,
        };
        let report = |action, reason: Option<&str>, modified: Option<Value>| HookReport {
            action,
            reason: reason.map(Into::into),
            modified,
        };
        for (example, report, passes) in [
            (
                example("allow", None, None),
                report(HookAction::Allow, None, None),
                true,
            ),
            (
                example("allow", None, None),
                report(HookAction::Skip, None, None),
                true,
            ),
            (
                example("block", None, None),
                report(HookAction::Skip, None, None),
                false,
            ),
            (
                example("allow", None, None),
                report(HookAction::Block, Some("no"), None),
                false,
            ),
            (
                example("block", Some("delete"), None),
                report(HookAction::Block, Some("would delete all"), None),
                true,
            ),
            (
                example("block", Some("delete"), None),
                report(HookAction::Block, Some("no"), None),
                false,
            ),
            (
                example("block", None, None),
                report(HookAction::Failed, Some("raised"), None),
                false,
            ),
            (
                example("modify", None, Some(json!({"a": 1}))),
                report(HookAction::Modify, None, Some(json!({"a": 1, "b": 2}))),
                true,
            ),
            (
                example("modify", None, Some(json!({"a": 1}))),
                report(HookAction::Modify, None, Some(json!({"a": 2}))),
                false,
            ),
        ] {
            let outcome = judge_hook(&example, &report);
            assert_eq!(
                outcome == ExampleOutcome::Passed,
                passes,
                "{example:?} {outcome:?}"
            );
        }
    }

    #[test]
    fn the_files_of_an_example_stay_in_its_workspace() {
        let scratch = tempfile::tempdir().expect("a folder");
        let workspace = scratch.path().join("workspace");
        for (path, allowed) in [
            ("a/b.txt", true),
            ("./c.txt", true),
            ("../out.txt", false),
            ("a/../../out.txt", false),
            ("/tmp/out.txt", false),
        ] {
            assert_eq!(
                place_file(&workspace, path, "text").is_ok(),
                allowed,
                "{path}"
            );
        }
        assert!(workspace.join("a/b.txt").is_file() && !scratch.path().join("out.txt").exists());
    }
}
