//! `harness demo`.

use crate::exit::Exit;
use crate::interrupt;
use crate::lock;
use crate::open;
use crate::output::{self, Output, indented, paint, plain, quoted, style};
use crate::scaffold::{create, template};
use clap::Args;
use serde_json::{Value, json};
use std::fs;
use std::path::Path;
use std::sync::{Arc, Mutex};
use tempfile::TempDir;
use tokio_util::sync::CancellationToken;
use tool_harness::Code;
use tool_harness::Stage;
use tool_harness::ToolResult;
use tool_harness::engine::Engine;
use tool_harness::event::{Delivery, Event, EventKind, EventRef, Sink};
use tool_harness::{Arguments, Call, Door};

#[derive(Args)]
pub(crate) struct DemoArgs {}

/// The built-in project.
const FILES: [(&str, &str); 6] = [
    template!(".harness/tools/count_words.md", "demo/count_words.md"),
    template!(".harness/tools/save_note.md", "demo/save_note.md"),
    template!(".harness/tools/read_note.md", "demo/read_note.md"),
    template!(".harness/tools/fill_memory.md", "demo/fill_memory.md"),
    template!(".harness/hooks/no_passwords.md", "demo/no_passwords.md"),
    template!(".harness/hooks/tidy_names.md", "demo/tidy_names.md"),
];

/// The content of a file beside the workspace, which no tool may read.
const CANARY: &str = "the secret recipe";

/// One call of the session and its expected result.
struct Scene {
    title: &'static str,
    tool: &'static str,
    args: Value,
    /// The value, or the code of the refusal.
    expected: Result<Value, Code>,
    /// What it shows.
    moral: &'static str,
}

fn scenes() -> Vec<Scene> {
    vec![
        Scene {
            title: "a good call",
            tool: "count_words",
            args: json!({"text": "small tools, well governed"}),
            expected: Ok(json!({"words": 4})),
            moral: "every call takes the same six stages",
        },
        Scene {
            title: "wrong arguments",
            tool: "count_words",
            args: json!({"text": 42}),
            expected: Err(Code::ArgsInvalid),
            moral: "refused before any script or hook ran; a number never becomes text by accident",
        },
        Scene {
            title: "blocked by a hook",
            tool: "save_note",
            args: json!({"path": "notes.md", "text": "the password is swordfish"}),
            expected: Err(Code::HookBlocked),
            moral: "the hook is a file in the project: policy that changes by pull request",
        },
        Scene {
            title: "modified by a hook",
            tool: "save_note",
            args: json!({"path": "Shopping List", "text": "milk, bread"}),
            expected: Ok(json!({"saved": "shopping_list.md"})),
            moral: "the changed arguments were validated and authorized again",
        },
        Scene {
            title: "a script that tries to leave the workspace",
            tool: "read_note",
            args: json!({"path": "../secret.txt"}),
            expected: Err(Code::Failed),
            moral: "the script checks nothing; the file jail does, below it",
        },
        Scene {
            title: "a script that eats memory",
            tool: "fill_memory",
            args: json!({}),
            expected: Err(Code::ScriptMemory),
            moral: "scripts run in worker processes with limits; this one is gone, the harness is not",
        },
        Scene {
            title: "and the next call works",
            tool: "count_words",
            args: json!({"text": "still here"}),
            expected: Ok(json!({"words": 2})),
            moral: "the harness goes on as if nothing had happened",
        },
    ]
}

impl DemoArgs {
    pub(super) async fn run(self, output: &mut Output) -> anyhow::Result<Exit> {
        let scratch = TempDir::with_prefix("harness-demo-")?;
        let project = scratch.path().join("project");
        set_stage(&project)?;
        let events = Arc::new(EventBuffer::default());
        let engine = open::load(open::builder(&project).sink(Arc::clone(&events) as _)).await?;
        output.print("A project with 4 tools and 2 hooks, in a temporary folder.")?;
        let scenes = scenes();
        let cancel = interrupt::cancelled_by_signals();
        let mut as_expected = 0;
        for (number, scene) in (1..).zip(&scenes) {
            let title = format!("{number}. {}", scene.title);
            output.print(&format!("\n{}", paint(style::STRONG, &title)))?;
            as_expected += usize::from(play(&engine, &events, scene, &cancel, output).await?);
            if cancel.is_cancelled() {
                return interrupt::stopped(output);
            }
        }
        let served = format!(
            "one process (pid {}) served all {} calls",
            std::process::id(),
            scenes.len()
        );
        let wrong = scenes.len() - as_expected;
        let (mark, end) = if wrong == 0 {
            let next = "`harness new DIR` starts a project of your own";
            (
                paint(style::GOOD, "✓"),
                format!(", and is still here; {next}"),
            )
        } else {
            (
                paint(style::BAD, "✗"),
                format!("; {wrong} did not end as expected"),
            )
        };
        output.print(&format!("\n{mark} {served}{end}"))?;
        Ok(Exit::failed_if(wrong > 0))
    }
}

fn set_stage(project: &Path) -> std::io::Result<()> {
    for (path, text) in FILES {
        create(&project.join(path), text)?;
    }
    project.parent().map_or(Ok(()), |outside| {
        fs::write(outside.join("secret.txt"), CANARY)
    })
}

/// Makes one call and shows it; returns whether it ended as expected.
async fn play(
    engine: &Engine,
    events: &EventBuffer,
    scene: &Scene,
    cancel: &CancellationToken,
    output: &mut Output,
) -> anyhow::Result<bool> {
    let command = command_line(scene.tool, &scene.args);
    output.print(&format!("   {}", paint(style::NAME, &command)))?;
    let mut call = Call::new(scene.tool, Arguments::Value(scene.args.clone())).door(Door::Cli);
    call.cancel = cancel.clone().into();
    let result = engine.call(call).await;
    output.print(&format!("   {}", stages(&result)))?;
    for decision in events.take().iter().filter_map(decision) {
        output.print(&format!("   {}", paint(style::QUIET, &plain(&decision))))?;
    }
    match &result.error {
        Some(refusal) => output.print(&format!(
            "   {} {}",
            paint(style::BAD, refusal.code.text()),
            indented(3, &plain(&refusal.message)).trim_start()
        ))?,
        None => output.print(&indented(3, &output::result(&result)))?,
    }
    let fits = ends_as(&result, &scene.expected);
    let (style, mark) = if fits {
        (style::GOOD, "✓")
    } else {
        (style::BAD, "✗ not as expected:")
    };
    output.print(&format!("   {} {}", paint(style, mark), scene.moral))?;
    Ok(fits)
}

/// Whether the call ended as expected, and leaked nothing from outside the workspace.
fn ends_as(result: &ToolResult, expected: &Result<Value, Code>) -> bool {
    let leaked = result.to_json().to_string().contains(CANARY);
    let fits = match (expected, &result.error) {
        (Ok(value), None) => !result.is_error && result.value.as_ref() == Some(value),
        (Err(code), Some(refusal)) => refusal.code == *code,
        _ => false,
    };
    fits && !leaked
}

/// The command that would make this call.
fn command_line(tool: &str, args: &Value) -> String {
    let mut words = vec![format!("harness call {tool}")];
    for (key, value) in args.as_object().into_iter().flatten() {
        words.push(match value {
            Value::String(text) => format!("{key}={}", quoted(text)),
            other => format!("{key}:={}", quoted(&other.to_string())),
        });
    }
    words.join(" ")
}

/// The stages, each with a mark for how far the call came.
fn stages(result: &ToolResult) -> String {
    // A call whose body fails still goes through `finish`.
    let refused = result.error.as_ref();
    let stopped = refused.map(|refusal| refusal.stage.unwrap_or(Stage::Execute));
    let marked = Stage::ALL.iter().map(|stage| match stopped {
        Some(end) if *stage == end => format!("{stage} {}", paint(style::BAD, "✗")),
        Some(end) if *stage > end && end != Stage::Execute => {
            paint(style::QUIET, &format!("{stage} ·"))
        }
        _ => format!("{stage} {}", paint(style::GOOD, "✓")),
    });
    marked.collect::<Vec<_>>().join("  ")
}

/// What decided about the call, if the event says that.
fn decision(event: &Event) -> Option<String> {
    match &event.kind {
        EventKind::FileDenied {
            builtin, message, ..
        } => Some(format!("{builtin} refused: {message}")),
        EventKind::HookDecided {
            hook,
            action,
            reason,
            ..
        } => {
            let colon = if reason.is_empty() { "" } else { ": " };
            let action = action.word();
            Some(format!("hook {hook} decided {action}{colon}{reason}"))
        }
        _ => None,
    }
}

/// Collects events.
#[derive(Default)]
struct EventBuffer(Mutex<Vec<Event>>);

impl EventBuffer {
    fn take(&self) -> Vec<Event> {
        std::mem::take(&mut *lock(&self.0))
    }
}

impl Sink for EventBuffer {
    fn record(&self, event: &EventRef<'_>) {
        lock(&self.0).push(event.to_event());
    }

    fn delivery(&self) -> Delivery {
        Delivery::OnThePath
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_line_can_be_typed_as_shown() {
        assert_eq!(
            command_line("x", &json!({"a": "b", "c": "d e", "n": 1})),
            "harness call x a=b c='d e' n:=1"
        );
    }
}
