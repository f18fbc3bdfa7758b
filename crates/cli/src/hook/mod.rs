//! The door for a client's own tools: its hook messages to the engine's judgement, and back. It translates; the engine decides.

mod claude_code;
mod codex;
mod message;
mod project;

use crate::open::{self, Folder};
use anyhow::bail;
use message::{Message, ToolUse};
use serde_json::{Map, Value, json};
use std::io::{Read, Write};
use std::mem::ManuallyDrop;
use std::sync::{Arc, Mutex, PoisonError};
use tool_harness::call::Door;
use tool_harness::client::{Judgement, Observation, Outcome, inline};
use tool_harness::engine::Engine;
use tool_harness::event::{Delivery, EventRef, Sink};
use tool_harness::refusal::{Class, Refusal};
use tool_harness::{Arguments, Call, Client};
use tool_harness_sandbox::process::WorkerProcess;

/// The clients whose protocol is spoken.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum ClientName {
    /// Claude Code
    ClaudeCode,
    /// Codex
    Codex,
}

/// What is written for the client.
#[derive(Debug)]
pub(crate) enum Answer {
    /// Nothing: the client goes on as its own permissions say.
    Nothing,
    /// This document.
    Print(Value),
}

/// When in the life of a call a message comes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Moment {
    Before,
    After,
    Failed,
}

impl ClientName {
    const fn word(self) -> &'static str {
        match self {
            Self::ClaudeCode => "claude-code",
            Self::Codex => "codex",
        }
    }

    /// What an event is about: a call, or nothing that is judged.
    fn moment(self, event: &str) -> anyhow::Result<Option<Moment>> {
        let other = match self {
            Self::ClaudeCode => claude_code::OTHER_EVENTS,
            Self::Codex => codex::OTHER_EVENTS,
        };
        Ok(match event {
            "PreToolUse" => Some(Moment::Before),
            "PostToolUse" => Some(Moment::After),
            "PostToolUseFailure" if self == Self::ClaudeCode => Some(Moment::Failed),
            event if other.contains(&event) => None,
            event => bail!(
                "{} sent the event `{event}`, which this version of harness does not know; it knows PreToolUse, PostToolUse{}, and says \
                 nothing to {}",
                self.word(),
                if self == Self::ClaudeCode {
                    ", PostToolUseFailure"
                } else {
                    ""
                },
                other.join(", ")
            ),
        })
    }

    fn rewrite(self, input: Map<String, Value>) -> Answer {
        match self {
            Self::ClaudeCode => claude_code::rewrite(input),
            Self::Codex => codex::rewrite(input),
        }
    }

    fn deny(self, refusal: &Refusal) -> anyhow::Result<Answer> {
        let text = refusal.text();
        // What a model can mend is an answer; where a person must act first, the hook itself has failed.
        if refusal.code.class() != Class::Repairable {
            bail!("{text}");
        }
        Ok(match self {
            Self::ClaudeCode => claude_code::deny(&text),
            Self::Codex => codex::deny(&text),
        })
    }
}

/// Whether the folder the client was started in has hooks, as far as can be told before its message is read.
pub(crate) fn has_hooks(client: ClientName, folder: &Folder) -> bool {
    let projects = project::governing(client, folder, None);
    projects.is_ok_and(|projects| {
        projects
            .first()
            .is_some_and(|project| project.join(".harness/hooks").is_dir())
    })
}

/// Hooks that failed and were passed over: nothing else would tell.
#[derive(Default)]
struct PassedOver(Mutex<Vec<String>>);

impl Sink for PassedOver {
    fn record(&self, event: &EventRef<'_>) {
        let text = |key: &str| {
            event
                .fields()
                .get(key)
                .and_then(Value::as_str)
                .unwrap_or_default()
                .to_owned()
        };
        if event.name == "hook.decided" && text("action") == "failed" {
            let line = format!(
                "warning: hook `{}` failed on `{}` and decided nothing: {}",
                text("hook"),
                text("event_name"),
                text("reason")
            );
            self.0
                .lock()
                .unwrap_or_else(PoisonError::into_inner)
                .push(line.replace('\n', " "));
        }
    }

    fn delivery(&self) -> Delivery {
        Delivery::OnThePath
    }
}

/// Answers one message, with a worker that is starting already. An error means that the call must not run.
pub(crate) async fn answer(
    client: ClientName,
    folder: &Folder,
    input: impl Read,
    mut worker: Option<WorkerProcess>,
) -> anyhow::Result<Answer> {
    let mut message = Message::read(input)?;
    let Some(moment) = client.moment(&message.event)? else {
        return Ok(Answer::Nothing);
    };
    let projects = project::governing(client, folder, message.cwd.as_deref())?;
    let Some(project) = projects.first() else {
        return Ok(Answer::Nothing);
    };
    let ToolUse { tool, input, id } = message.tool_use()?;
    let cwd = message.cwd.clone().unwrap_or_else(|| project.clone());
    let caller = Client {
        name: client.word().to_owned(),
        cwd,
        home: open::home(),
        programs: open::programs(),
    };
    let passed_over = Arc::new(PassedOver::default());
    let mut engines = Vec::with_capacity(projects.len());
    for project in &projects {
        // Never dropped: the process ends with its answer, and the worker with the process. To end it first would keep the client waiting.
        engines.push(ManuallyDrop::new(
            open::load_policy(project, worker.take(), passed_over.clone()).await?,
        ));
    }
    let mut call = Call::new(&tool, Arguments::Value(input)).door(Door::Hook);
    call.id = id.map_or(call.id, Into::into);
    call.session_id = message.session.take().unwrap_or(call.session_id);
    let answer = match moment {
        Moment::Before => judge(client, &engines, call, &caller).await?,
        Moment::After | Moment::Failed => {
            let error = (moment == Moment::Failed).then(|| {
                message
                    .text("error")
                    .unwrap_or_else(|| "the client gives no reason".to_owned())
            });
            let response = error
                .clone()
                .map_or_else(|| message.response(), Value::from);
            observe(
                client,
                &engines,
                call,
                &caller,
                (moment, Outcome { response, error }),
            )
            .await
        }
    };
    for line in passed_over
        .0
        .lock()
        .unwrap_or_else(PoisonError::into_inner)
        .iter()
    {
        // Whether anybody reads it changes nothing.
        let _ = writeln!(std::io::stderr(), "{line}");
    }
    Ok(answer)
}

/// Each project sees the arguments as the one inside it leaves them, so that the outermost has seen what runs.
async fn judge(
    client: ClientName,
    engines: &[ManuallyDrop<Engine>],
    mut call: Call,
    caller: &Client,
) -> anyhow::Result<Answer> {
    let mut instead = None;
    for engine in engines {
        match engine.judge(call.clone(), caller).await {
            Judgement::Nothing => {}
            Judgement::Instead(input) => {
                call.arguments = Arguments::Value(Value::Object(input.clone()));
                instead = Some(input);
            }
            Judgement::Refused(refusal) => return client.deny(&refusal),
        }
    }
    if let Some((patch, caller)) = applied_by_codex(client, &call, caller) {
        for engine in engines {
            if let Judgement::Refused(refusal) = engine.judge(patch.clone(), &caller).await {
                return client.deny(&refusal);
            }
        }
    }
    // The plan of the outermost project that wants commands contained: one that lies in it cannot widen what it may touch.
    for engine in engines.iter().rev() {
        match engine.contain(&call, caller) {
            Ok(None) => {}
            Ok(Some(contained)) => return Ok(client.rewrite(contained)),
            Err(refusal) => return client.deny(&refusal),
        }
    }
    Ok(instead.map_or(Answer::Nothing, |input| client.rewrite(input)))
}

/// The patch in a command of Codex's shell, as a call of its own: Codex takes it out and applies it itself.
fn applied_by_codex(client: ClientName, call: &Call, caller: &Client) -> Option<(Call, Client)> {
    let Arguments::Value(Value::Object(input)) = &call.arguments else {
        return None;
    };
    let text = |value: &Value| match value {
        Value::Array(words) => words
            .iter()
            .rev()
            .find_map(Value::as_str)
            .map(str::to_owned),
        value => value.as_str().map(str::to_owned),
    };
    let command = ["command", "cmd"]
        .iter()
        .find_map(|key| input.get(*key))
        .and_then(text)?;
    let found =
        inline(&command).filter(|_| client == ClientName::Codex && call.tool != "apply_patch")?;
    let patch = Map::from_iter([("command".to_owned(), json!(found.patch))]);
    let mut caller = caller.clone();
    caller.cwd.extend(found.folder);
    let mut patch =
        Call::new("apply_patch", Arguments::Value(Value::Object(patch))).door(Door::Hook);
    (patch.id, patch.session_id) = (format!("{}/patch", call.id).into(), call.session_id.clone());
    Some((patch, caller))
}

async fn observe(
    client: ClientName,
    engines: &[ManuallyDrop<Engine>],
    call: Call,
    caller: &Client,
    (moment, mut outcome): (Moment, Outcome),
) -> Answer {
    let tool = call.tool.clone();
    let mut answer = Answer::Nothing;
    for engine in engines {
        if let Observation::Instead { text, response } =
            engine.observe(call.clone(), caller, &outcome).await
        {
            let text = if text.trim().is_empty() {
                "the result is withheld"
            } else {
                &text
            };
            outcome.response = response.clone().unwrap_or_else(|| json!(text));
            answer = match client {
                ClientName::ClaudeCode => claude_code::amend(moment, &tool, text, response),
                ClientName::Codex => codex::amend(text),
            };
        }
    }
    answer
}
