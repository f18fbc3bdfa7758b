//! Behaviour across stages as Markdown pages: files, calls, expected results and events. `tests/cases/README.md` documents the format.

mod page;

use crate::support::program::repository;
use crate::support::{Events, Project};
use page::{Page, Step};
use serde_json::{Value, json};
use std::path::Path;
use tool_harness::diagnostic::{Diagnostic, Severity};
use tool_harness::engine::Engine;
use tool_harness::event::{Event, EventKind, Sink};
use tool_harness::{Arguments, Call};

#[tokio::test(flavor = "multi_thread")]
async fn every_case_does_what_its_page_says() {
    let mut pages: Vec<_> = std::fs::read_dir(repository("tests/cases"))
        .expect("the cases")
        .flatten()
        .map(|entry| entry.path())
        .filter(|path| {
            path.extension().is_some_and(|extension| extension == "md")
                && !path.ends_with("README.md")
        })
        .collect();
    pages.sort();
    assert!(pages.len() >= 12, "only {} cases", pages.len());
    let mut wrong = Vec::new();
    for path in &pages {
        if let Err(problem) = play(path).await {
            wrong.push(format!(
                "{}: {problem}",
                path.file_name().unwrap_or_default().to_string_lossy()
            ));
        }
    }
    assert!(
        wrong.is_empty(),
        "{} of {} cases:\n{}",
        wrong.len(),
        pages.len(),
        wrong.join("\n")
    );
}

/// Reads a page, creates its project, and makes its calls in one session.
async fn play(path: &Path) -> Result<(), String> {
    let page = Page::read(&std::fs::read_to_string(path).map_err(|problem| problem.to_string())?)?;
    let files: Vec<(&str, &str)> = page
        .files
        .iter()
        .map(|(path, text)| (path.as_str(), text.as_str()))
        .collect();
    let project = Project::new(&files);
    let engine = project.engine().await;
    judge_diagnostics(page.diagnostics.as_deref(), &engine.report())?;
    for step in &page.steps {
        match step {
            Step::Surface(expected) => {
                let found = surface(&engine)?;
                fits(expected, &found, "surface")
                    .map_err(|problem| format!("{problem}; the surface is {found:.600}"))?;
            }
            Step::Call {
                tool,
                arguments,
                result,
                events,
            } => {
                project.events.clear();
                let answer = engine
                    .call(Call::new(tool, Arguments::Text(arguments.clone())).session("page"))
                    .await
                    .to_json();
                let of = |problem: String| {
                    format!(
                        "call of `{tool}` with `{:.80}`: {problem}",
                        arguments.trim()
                    )
                };
                fits(result, &answer, "result")
                    .map_err(|problem| of(format!("{problem}; the result is {answer:.600}")))?;
                happened(events, &project.events).map_err(of)?;
            }
        }
    }
    Ok(())
}

fn surface(engine: &Engine) -> Result<Value, String> {
    let surface = engine
        .surface("default")
        .map_err(|problem| problem.to_string())?;
    // The built-in tool is in every surface; pages do not list it.
    let tools: Vec<Value> = surface
        .tools
        .iter()
        .filter(|tool| tool.name != "read_artifact")
        .map(|tool| {
            let effects: Vec<&str> = tool.effects.names().collect();
            json!({"name": tool.name, "description": tool.description, "input_schema": tool.input_schema, "effects": effects})
        })
        .collect();
    Ok(json!({"mode": surface.mode, "tools": tools}))
}

/// The diagnostics are exactly those of the page, without notes unless it names one. Without a list there must be none.
fn judge_diagnostics(expected: Option<&[String]>, found: &[Diagnostic]) -> Result<(), String> {
    let expected = expected.unwrap_or_default();
    let notes = expected.iter().any(|line| line.starts_with("note "));
    let found: Vec<String> = found
        .iter()
        .filter(|found| notes || found.severity != Severity::Note)
        .map(|found| {
            let place = found
                .place
                .as_ref()
                .map(|place| format!(" {}:{}", place.source.path, place.position().line))
                .unwrap_or_default();
            format!("{} {}{place}", found.severity, found.code)
        })
        .collect();
    if found == expected {
        Ok(())
    } else {
        Err(format!("the diagnostics are {found:?}, not {expected:?}"))
    }
}

/// The named events happened in this order, with others possibly in between.
fn happened(expected: &[String], events: &Events) -> Result<(), String> {
    let names = events.names();
    let mut rest = names.iter();
    match expected
        .iter()
        .find(|wanted| !rest.any(|name| name == *wanted))
    {
        None => Ok(()),
        Some(missing) => Err(format!("no `{missing}` at its place among {names:?}")),
    }
}

/// Whether `found` has everything in `expected`. A text that starts with `~` need only be contained; `null` means absent.
fn fits(expected: &Value, found: &Value, at: &str) -> Result<(), String> {
    match (expected, found) {
        (Value::Object(wanted), Value::Object(map)) => {
            wanted.iter().try_for_each(|(key, value)| {
                fits(
                    value,
                    map.get(key).unwrap_or(&Value::Null),
                    &format!("{at}/{key}"),
                )
            })
        }
        (Value::Array(wanted), Value::Array(items)) if wanted.len() == items.len() => wanted
            .iter()
            .zip(items)
            .enumerate()
            .try_for_each(|(index, (value, item))| fits(value, item, &format!("{at}/{index}"))),
        (Value::String(wanted), Value::String(text))
            if wanted
                .strip_prefix('~')
                .is_some_and(|part| text.contains(part)) =>
        {
            Ok(())
        }
        (wanted, found) if wanted == found => Ok(()),
        (wanted, found) => Err(format!(
            "{at} is `{:.200}`, not `{wanted}`",
            found.to_string()
        )),
    }
}

#[test]
fn a_partial_expectation_matches_and_a_wrong_one_does_not() {
    let found = json!({"a": {"b": [1, {"c": "a long text"}]}, "n": null});
    for (expected, agrees) in [
        (json!({}), true),
        (json!({"a": {"b": [1, {}]}}), true),
        (json!({"a": {"b": [1, {"c": "~long"}]}}), true),
        (json!({"a": {"b": [1, {"c": "long"}]}}), false),
        (json!({"a": {"b": [1]}}), false),
        (json!({"a": 1}), false),
        (json!({"gone": null}), true),
        (json!({"a": null}), false),
        (json!({"gone": 1}), false),
    ] {
        assert_eq!(fits(&expected, &found, "x").is_ok(), agrees, "{expected}");
    }
}

#[test]
fn events_are_matched_in_order() {
    let events = Events::default();
    for name in ["custom.first", "custom.second", "custom.third"] {
        let event = Event {
            kind: EventKind::Custom {
                event: name.to_owned(),
                payload: json!({}),
                source: "t".to_owned(),
            },
            time: std::time::SystemTime::now(),
            sequence: 1,
            session_id: String::new(),
            run_id: String::new(),
            turn_id: String::new(),
            call_id: None,
        };
        Sink::record(&events, &event.as_it_happened());
    }
    for (expected, agrees) in [
        (["custom.first", "custom.third"].as_slice(), true),
        (&["custom.second"], true),
        (&["custom.third", "custom.first"], false),
        (&["custom.second", "custom.second"], false),
    ] {
        let expected: Vec<String> = expected.iter().map(|&name| name.to_owned()).collect();
        assert_eq!(happened(&expected, &events).is_ok(), agrees, "{expected:?}");
    }
}
