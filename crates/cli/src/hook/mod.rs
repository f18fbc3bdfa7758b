//! Judges the calls of a client's own tools: translates its hook messages for the engine, and the
//! engine's decisions into answers.

mod message;
mod project;

use crate::client::{Amendment, CallPhase, ClientSpec, HookProtocol};
use crate::lock;
use crate::open;
use crate::project::ProjectArgs;
use anyhow::{Context as _, bail};
use message::{Message, ToolUse};
use serde_json::{Value, json};
use std::io::{Read, Write};
use std::mem::ManuallyDrop;
use std::sync::{Arc, Mutex};
use tool_harness::Door;
use tool_harness::HookAction;
use tool_harness::client::{Judgement, Observation, Outcome};
use tool_harness::engine::Engine;
use tool_harness::event::{Delivery, EventKind, EventName, EventRef, Sink};
use tool_harness::{Arguments, Call, Client};
use tool_harness::{Class, Refusal};
use tool_harness_sandbox::process::WorkerProcess;

impl ClientSpec {
    /// Its hooks. The command line accepts only clients that have some.
    fn protocol(&self) -> anyhow::Result<&HookProtocol> {
        self.hooks
            .as_ref()
            .with_context(|| format!("{} has no hooks", self.title))
    }

    /// The phase of the call that an event is about; none if it is about something else.
    fn phase(&self, event: &str) -> anyhow::Result<Option<CallPhase>> {
        let HookProtocol {
            events,
            other_events,
            ..
        } = self.protocol()?;
        if let Some((_, phase)) = events.iter().find(|(name, _)| *name == event) {
            return Ok(Some(*phase));
        }
        if other_events.contains(&event) {
            return Ok(None);
        }
        let known: Vec<&str> = events.iter().map(|(name, _)| *name).collect();
        bail!(
            "{} sent the event `{event}`, which this version of harness does not know; it judges {}, and ignores {}",
            self.name,
            known.join(", "),
            other_events.join(", ")
        )
    }
}

/// Whether the project that the client was started in has hooks, as far as that can be told
/// without its message.
pub(crate) fn has_hooks(client: &ClientSpec, project: &ProjectArgs) -> bool {
    let projects = client
        .protocol()
        .and_then(|protocol| project::governing(protocol, project, None));
    let innermost = projects.unwrap_or_default().into_iter().next();
    innermost.is_some_and(|project| project.join(".harness/hooks").is_dir())
}

/// Warnings about hooks that failed and decided nothing.
#[derive(Default)]
struct HookWarnings(Mutex<Vec<String>>);

impl Sink for HookWarnings {
    fn record(&self, event: &EventRef<'_>) {
        if event.name != EventName::HookDecided {
            return;
        }
        if let EventKind::HookDecided {
            hook,
            event_name,
            action: HookAction::Failed,
            reason,
        } = event.kind()
        {
            let line = format!(
                "warning: hook `{hook}` failed on `{event_name}` and decided nothing: {reason}"
            );
            lock(&self.0).push(line.replace('\n', " "));
        }
    }

    fn delivery(&self) -> Delivery {
        Delivery::OnThePath
    }
}

/// Answers one message, with a worker that is already starting. No answer means that the client
/// goes on as its own permissions say; an error means that the call must not run.
pub(crate) async fn answer(
    client: &ClientSpec,
    project: &ProjectArgs,
    input: impl Read,
    mut worker: Option<WorkerProcess>,
) -> anyhow::Result<Option<Value>> {
    let mut message = Message::read(input)?;
    let protocol = client.protocol()?;
    let Some(phase) = client.phase(&message.event)? else {
        return Ok(None);
    };
    let projects = project::governing(protocol, project, message.cwd.as_deref())?;
    let Some(project) = projects.first() else {
        return Ok(None);
    };
    let ToolUse { tool, input, id } = message.tool_use()?;
    let caller = Client {
        name: client.name.to_owned(),
        cwd: message.cwd.clone().unwrap_or_else(|| project.clone()),
        home: open::home(),
        programs: open::programs(),
    };
    let warnings = Arc::new(HookWarnings::default());
    let mut engines = Vec::with_capacity(projects.len());
    for project in &projects {
        // Never dropped: the process ends with its answer, and the worker with the process. Ending
        // the worker first would keep the client waiting.
        engines.push(ManuallyDrop::new(
            open::load_policy(project, worker.take(), warnings.clone()).await?,
        ));
    }
    let mut call = Call::new(&tool, Arguments::Value(input)).door(Door::Hook);
    call.id = id.map_or(call.id, Into::into);
    call.session_id = message.session.take().unwrap_or(call.session_id);
    let judges = Judges {
        protocol,
        engines: &engines,
        caller: &caller,
    };
    let answer = match phase {
        CallPhase::Before => judges.judge(call).await?,
        CallPhase::After | CallPhase::Failed => {
            let error = (phase == CallPhase::Failed).then(|| {
                let error = message.text("error");
                error.unwrap_or_else(|| "the client gave no reason".to_owned())
            });
            let response = match &error {
                Some(error) => json!(error),
                None => message.response(),
            };
            let outcome = Outcome { response, error };
            judges.observe(call, phase, outcome).await
        }
    };
    for line in lock(&warnings.0).iter() {
        // The answer stands, even if no one can read the warning.
        let _ = writeln!(std::io::stderr(), "{line}");
    }
    Ok(answer)
}

/// The engines of the projects that judge a call, innermost first.
struct Judges<'a> {
    protocol: &'a HookProtocol,
    engines: &'a [ManuallyDrop<Engine>],
    caller: &'a Client,
}

impl Judges<'_> {
    /// Each project sees the arguments as the one inside it left them, so the outermost sees what
    /// runs.
    async fn judge(&self, mut call: Call) -> anyhow::Result<Option<Value>> {
        let mut instead = None;
        for engine in self.engines {
            match engine.judge(call.clone(), self.caller).await {
                Judgement::Nothing => {}
                Judgement::Instead(input) => {
                    call.arguments = Arguments::Value(Value::Object(input.clone()));
                    instead = Some(input);
                }
                Judgement::Refused(refusal) => return self.deny(&refusal),
            }
        }
        for (inner, caller) in (self.protocol.inner_calls)(&call, self.caller) {
            for engine in self.engines {
                if let Judgement::Refused(refusal) = engine.judge(inner.clone(), &caller).await {
                    return self.deny(&refusal);
                }
            }
        }
        // The outermost project that contains commands decides, so that no project inside it can
        // widen what they may touch.
        for engine in self.engines.iter().rev() {
            match engine.contain(&call, self.caller) {
                Ok(None) => {}
                Ok(Some(contained)) => return Ok(Some((self.protocol.rewrite)(contained))),
                Err(refusal) => return self.deny(&refusal),
            }
        }
        Ok(instead.map(self.protocol.rewrite))
    }

    fn deny(&self, refusal: &Refusal) -> anyhow::Result<Option<Value>> {
        let text = refusal.text();
        // What a model can fix is an answer; where a person must act first, the hook itself fails.
        if refusal.code.class() != Class::Repairable {
            bail!("{text}");
        }
        Ok(Some((self.protocol.deny)(&text)))
    }

    async fn observe(&self, call: Call, phase: CallPhase, mut outcome: Outcome) -> Option<Value> {
        let mut answer = None;
        for engine in self.engines {
            if let Observation::Instead { text, response } =
                engine.observe(call.clone(), self.caller, &outcome).await
            {
                let text = if text.trim().is_empty() {
                    "the result is withheld"
                } else {
                    &text
                };
                outcome.response = response.clone().unwrap_or_else(|| json!(text));
                answer = Some((self.protocol.amend)(Amendment {
                    phase,
                    tool: &call.tool,
                    text,
                    response,
                }));
            }
        }
        answer
    }
}
