//! The door for a client's own tools: its hook messages to the engine's judgement, and back. It translates; the engine decides.

mod claude_code;
mod codex;
mod message;

use crate::open;
use anyhow::bail;
use message::{Message, ToolUse};
use serde_json::Value;
use std::io::Read;
use std::mem::ManuallyDrop;
use std::path::{Path, PathBuf};
use tool_harness::call::Door;
use tool_harness::client::{Judgement, Observation, Outcome};
use tool_harness::engine::Engine;
use tool_harness::run::{Class, Refusal};
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
            event => bail!("{} sent the event `{event}`, which this version of harness does not know", self.word()),
        })
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
pub(crate) fn has_hooks(client: ClientName) -> bool {
    find_project(client, None).is_ok_and(|project| project.is_some_and(|project| project.join(".harness/hooks").is_dir()))
}

/// Answers one message, with a worker that is starting already. An error means that the call must not run.
pub(crate) async fn answer(client: ClientName, input: impl Read, worker: Option<WorkerProcess>) -> anyhow::Result<Answer> {
    let mut message = Message::read(input)?;
    let Some(moment) = client.moment(&message.event)? else { return Ok(Answer::Nothing) };
    let Some(project) = find_project(client, message.cwd.as_deref())? else { return Ok(Answer::Nothing) };
    let ToolUse { tool, input, id } = message.tool_use()?;
    // Never dropped: the process ends with its answer, and the worker with the process. To end it first would keep the client waiting.
    let engine = ManuallyDrop::new(open::load_policy(&project, worker).await?);
    let caller = Client {
        name: client.word().to_owned(),
        cwd: message.cwd.clone().unwrap_or(project),
        home: open::home(),
        container: std::env::current_exe().ok(),
    };
    let mut call = Call::new(&tool, Arguments::Value(input)).door(Door::Hook);
    call.id = id.unwrap_or(call.id);
    call.session_id = message.session.take().unwrap_or(call.session_id);
    match moment {
        Moment::Before => judge(client, &engine, call, &caller).await,
        Moment::After | Moment::Failed => {
            let error =
                (moment == Moment::Failed).then(|| message.text("error").unwrap_or_else(|| "the client gives no reason".to_owned()));
            let response = error.clone().map_or_else(|| message.response(), Value::from);
            Ok(match engine.observe(call, &caller, &Outcome { response, error }).await {
                Observation::Nothing => Answer::Nothing,
                Observation::Instead { text, response } => {
                    let text = if text.trim().is_empty() { "the result is withheld" } else { &text };
                    match client {
                        ClientName::ClaudeCode => claude_code::amend(moment, &tool, text, response),
                        ClientName::Codex => codex::amend(text),
                    }
                }
            })
        }
    }
}

async fn judge(client: ClientName, engine: &Engine, call: Call, caller: &Client) -> anyhow::Result<Answer> {
    match engine.judge(call, caller).await {
        Judgement::Nothing => Ok(Answer::Nothing),
        Judgement::Instead(input) => Ok(match client {
            ClientName::ClaudeCode => claude_code::rewrite(input),
            ClientName::Codex => codex::rewrite(input),
        }),
        Judgement::Refused(refusal) => client.deny(&refusal),
    }
}

/// The project that governs the client: upwards from the folder it was started in, where it says so, and then from the one it works in.
/// In this order, because a command of the model's can change the second.
fn find_project(client: ClientName, cwd: Option<&Path>) -> anyhow::Result<Option<PathBuf>> {
    let started_in = if client == ClientName::ClaudeCode { open::claude_project() } else { None };
    let here = std::env::current_dir().ok();
    let mut starts = started_in.into_iter().chain(cwd.map(Path::to_path_buf)).chain(here).peekable();
    if starts.peek().is_none() {
        bail!("the client does not say in which folder it works");
    }
    Ok(starts.find_map(|start| start.ancestors().find(|folder| open::holds_project(folder)).map(Path::to_path_buf)))
}
