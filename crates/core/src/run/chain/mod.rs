//! Runs the hooks of one event in order. A hook that fails refuses the call.

mod alone;
mod crossing;
pub(super) mod middleware_step;
pub(super) mod payload;

pub use alone::HookReport;
pub(crate) use alone::{load_artifacts, run_one};

use super::ask::{Ask, Asker};
use super::context::Context;
use crate::decision::HookAction;
use crate::event::{EventKind, LogLevel};
use crate::hook_event::{self, HookEvent};
use crate::refusal::{Code, Refusal};
use crate::span::{Position, Span};
use crate::view::ActiveHook;
use crate::worker::protocol::{Failure, PayloadUse, Verdict};
use crate::worker::{ChainLink, MAX_LINKS, ScriptError};
use crossing::HookCrossing;
use payload::object;
use serde_json::{Map, Value, json};
use std::sync::Arc;
use std::time::Duration;

/// The outcome of a chain that did not refuse.
#[derive(Debug)]
pub(super) struct Fired {
    /// The payload as the last hook left it.
    pub(super) payload: Map<String, Value>,
    /// The reasons to ask a person.
    pub(super) asks: Vec<Ask>,
    /// Whether a hook changed the payload.
    pub(super) modified: bool,
}

/// The effect of a `modify`.
pub(super) enum Changed {
    /// The payload stays the same.
    Nothing,
    /// Later hooks see this payload.
    To(Map<String, Value>),
}

/// Judges a `modify`, given the payload before it and the value the hook returned.
pub(super) type Merge<'a> =
    dyn FnMut(&Map<String, Value>, &Value) -> Result<Changed, String> + Send + 'a;

/// Custom events that one call may raise.
const MAX_EMITTED: usize = 100;

/// Runs the hooks of an event. The first block refuses, and so does every failure of a hook that
/// fails closed.
pub(super) async fn fire(
    ctx: &Context,
    event: &str,
    payload: Map<String, Value>,
    merge: &mut Merge<'_>,
) -> Result<Fired, Refusal> {
    refuse_if_broken(ctx, event)?;
    fire_these(ctx, event, &ctx.view().hooks_of(event), payload, merge).await
}

/// Runs the given hooks of an event.
pub(super) async fn fire_these(
    ctx: &Context,
    event: &str,
    hooks: &[Arc<ActiveHook>],
    payload: Map<String, Value>,
    merge: &mut Merge<'_>,
) -> Result<Fired, Refusal> {
    let mut fired = Fired {
        payload,
        asks: Vec::new(),
        modified: false,
    };
    let known = hook_event::find(event);
    let gating = known.is_some_and(|event| event.gating);
    let fails_closed = known.is_some_and(HookEvent::fails_closed);
    let mut rest = hooks;
    while !rest.is_empty() {
        let verdicts = run(
            ctx,
            event,
            &fired.payload,
            &rest[..rest.len().min(MAX_LINKS)],
        )
        .await;
        let mut judged = 0;
        for (hook, verdict) in rest.iter().zip(verdicts) {
            judged += 1;
            let decision = match verdict {
                Verdict::Skipped => {
                    rehearsed(ctx, hook, event, HookAction::Skip);
                    continue;
                }
                Verdict::Allowed(used) => {
                    unreturned(ctx, hook, event, used);
                    Ok(Decision::Allow)
                }
                Verdict::Returned(Value::Null, used) if !gating => {
                    unreturned(ctx, hook, event, used);
                    continue;
                }
                Verdict::Returned(returned, used) => {
                    unreturned(ctx, hook, event, used);
                    Decision::read(&returned).map_err(|problem| (problem, None))
                }
                Verdict::Failed(_) if ctx.call().cancel.is_cancelled() => {
                    return Err(cancelled(event));
                }
                Verdict::Failed(failure) => {
                    let error = ScriptError::from(failure);
                    Err((error.message, error.position))
                }
            };
            let outcome = match decision {
                Ok(Decision::Allow) => {
                    rehearsed(ctx, hook, event, HookAction::Allow);
                    continue;
                }
                Ok(Decision::Block(reason)) => {
                    decided(ctx, hook, event, HookAction::Block, &reason);
                    return Err(blocked(hook, event, &reason));
                }
                Ok(Decision::Ask(reason)) => {
                    decided(ctx, hook, event, HookAction::Ask, &reason);
                    fired.asks.push(Ask {
                        asker: Asker::Hook(hook.hook.name.clone()),
                        reason,
                        place: Some(hook.hook.place(Span::default())),
                    });
                    Ok(())
                }
                Ok(Decision::Modify(returned)) => match merge(&fired.payload, &returned) {
                    Ok(Changed::Nothing) => {
                        rehearsed(ctx, hook, event, HookAction::Allow);
                        Ok(())
                    }
                    Ok(Changed::To(payload)) => {
                        decided(ctx, hook, event, HookAction::Modify, "");
                        fired.payload = payload;
                        fired.modified = true;
                        Ok(())
                    }
                    Err(problem) => Err((problem, None)),
                },
                Ok(Decision::Delegate(_)) => Err((
                    format!("asked to delegate, which means nothing on `{event}`"),
                    None,
                )),
                Err(failure) => Err(failure),
            };
            if let Err((problem, position)) = outcome {
                decided(ctx, hook, event, HookAction::Failed, &problem);
                if hook.hook.blocks_on_error(fails_closed) {
                    return Err(failed(hook, event, &problem, position));
                }
                let message = format!(
                    "hook `{}` failed on `{event}` and was passed over: {problem}",
                    hook.hook.name
                );
                warn(ctx, hook, message);
            }
            // A decision ends this run of the worker; the remaining hooks see the changed payload.
            break;
        }
        rest = rest.get(judged.max(1)..).unwrap_or_default();
    }
    Ok(fired)
}

/// Warns about a hook that changed its copy of the payload and did not return it.
fn unreturned(ctx: &Context, hook: &ActiveHook, event: &str, used: PayloadUse) {
    if used == PayloadUse::Changed {
        let name = &hook.hook.name;
        let message = format!(
            "hook `{name}` changed its copy of the payload of `{event}`, and nothing else was changed; return `modify(payload)`"
        );
        warn(ctx, hook, message);
    }
}

fn warn(ctx: &Context, hook: &ActiveHook, message: String) {
    ctx.record(|| EventKind::Log {
        level: LogLevel::Warn,
        message,
        fields: json!({}),
        source: hook.hook.name.clone(),
    });
}

/// Runs the hooks in one worker. If the worker is lost, the hook it was running has failed.
async fn run(
    ctx: &Context,
    event: &str,
    payload: &Map<String, Value>,
    hooks: &[Arc<ActiveHook>],
) -> Vec<Verdict> {
    let links: Vec<ChainLink<'_>> = hooks
        .iter()
        .map(|hook| ChainLink {
            when: hook.when.as_ref(),
            script: &hook.script,
            timeout: Duration::from_millis(hook.hook.timeout_ms),
        })
        .collect();
    let crossing = HookCrossing { ctx, hooks };
    let result = ctx
        .shared()
        .workers
        .run_chain(event, payload, &links, &ctx.call().cancel, &crossing)
        .await;
    result.unwrap_or_else(|lost| {
        let mut verdicts = vec![Verdict::Skipped; lost.link.unwrap_or(0)];
        let mut failure = Failure::from(lost.error);
        if lost.link.is_none() && hooks.len() > 1 {
            let names: Vec<String> = hooks
                .iter()
                .map(|hook| format!("`{}`", hook.hook.name))
                .collect();
            failure.message = format!("{} in one of {}", failure.message, names.join(", "));
        }
        verdicts.push(Verdict::Failed(failure));
        verdicts
    })
}

/// Refuses if a hook of the event could not be loaded.
pub(super) fn refuse_if_broken(ctx: &Context, event: &str) -> Result<(), Refusal> {
    let Some(broken) = ctx.catalogue().broken_for(event) else {
        return Ok(());
    };
    let message = format!(
        "hook `{}` could not be loaded, so nothing may pass `{event}`: {}",
        broken.name, broken.problem.message
    );
    let refusal = Refusal::new(Code::HookFailed, message)
        .help("a person must fix the hook's file; `harness validate` shows what is wrong")
        .detail("hook", broken.name.as_str())
        .detail("file", &*broken.source.path);
    Err(match &broken.problem.place {
        Some(place) => refusal.at(place.clone()),
        None => refusal,
    })
}

/// Runs the hooks of custom events that scripts raised. Their decisions have no effect; their
/// failures are recorded.
pub(super) async fn fire_emitted(ctx: &Context) {
    for _ in 0..MAX_EMITTED {
        let Some((name, payload)) = ctx.next_emitted() else {
            return;
        };
        if !ctx.view().has_hooks(&name) {
            continue;
        }
        let payload = object(payload);
        // A custom event gates nothing, and its hooks' decisions are already recorded.
        let _ = fire(ctx, &name, payload, &mut |_, _| {
            Err("changed the payload of a custom event; nothing can be changed here".into())
        })
        .await;
    }
}

/// Records a decision that changes nothing, in a dry run only.
fn rehearsed(ctx: &Context, hook: &ActiveHook, event: &str, action: HookAction) {
    if ctx.is_rehearsed() {
        decided(ctx, hook, event, action, "");
    }
}

fn decided(ctx: &Context, hook: &ActiveHook, event: &str, action: HookAction, reason: &str) {
    record_decision(ctx, &hook.hook.name, event, action, reason);
}

/// Records the decision of a hook or a middleware.
pub(super) fn record_decision(
    ctx: &Context,
    name: &str,
    event: &str,
    action: HookAction,
    reason: &str,
) {
    ctx.record(|| EventKind::HookDecided {
        hook: name.to_owned(),
        event_name: event.to_owned(),
        action,
        reason: reason.to_owned(),
    });
}

fn blocked(hook: &ActiveHook, event: &str, reason: &str) -> Refusal {
    let name = &hook.hook.name;
    let path = &hook.hook.origin.source.path;
    Refusal::new(
        Code::HookBlocked,
        format!("hook `{name}` blocked the call: {reason}"),
    )
    .help(format!(
        "the policy is in {path}; a person can change it there"
    ))
    .detail("hook", name.as_str())
    .detail("event", event)
    .at(hook.hook.place(Span::default()))
}

/// The call was cancelled while a hook judged it; the hook did not fail.
fn cancelled(event: &str) -> Refusal {
    Refusal::new(
        Code::Cancelled,
        format!("cancelled while the hooks of `{event}` ran"),
    )
}

fn failed(hook: &ActiveHook, event: &str, problem: &str, position: Option<Position>) -> Refusal {
    let name = &hook.hook.name;
    let path = &hook.hook.origin.source.path;
    let (consequence, rule) = match event {
        "tool.post" => (
            "its result is withheld",
            "the call itself has run; no result passes without a decision",
        ),
        _ => ("the call is blocked", "nothing passes without a decision"),
    };
    let refusal = Refusal::new(
        Code::HookFailed,
        format!("hook `{name}` gave no decision, so {consequence}: {problem}"),
    )
    .help(format!(
        "{rule}; a person must look at {path}, and at what it was given"
    ))
    .detail("hook", name.as_str())
    .detail("event", event);
    match (position, &hook.hook.script) {
        (Some(position), Some(script)) => refusal.at(script.place_of(position)),
        _ => refusal.at(hook.hook.place(Span::default())),
    }
}

/// A hook's decision.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Decision {
    Allow,
    Block(String),
    Modify(Value),
    Ask(String),
    Delegate(Value),
}

impl Decision {
    /// Its name in events and reports.
    pub(super) fn action(&self) -> HookAction {
        match self {
            Self::Allow => HookAction::Allow,
            Self::Block(_) => HookAction::Block,
            Self::Modify(_) => HookAction::Modify,
            Self::Ask(_) => HookAction::Ask,
            Self::Delegate(_) => HookAction::Delegate,
        }
    }

    /// Reads `{"action": ...}`; the error says what was returned instead.
    pub(super) fn read(returned: &Value) -> Result<Self, String> {
        let accepted = "accepted: allow(), block(reason), modify(payload), ask(reason)";
        let Some(map) = returned.as_object() else {
            return Err(format!(
                "returned {}, which is not a decision; {accepted}",
                describe(returned)
            ));
        };
        let Some(action) = map.get("action") else {
            return Err(format!(
                "returned a dict without `action`, which is not a decision; {accepted}"
            ));
        };
        let reason = || match map.get("reason") {
            Some(Value::String(text)) if !text.is_empty() => Ok(text.clone()),
            None | Some(Value::Null | Value::String(_)) => Ok("no reason given".to_owned()),
            Some(other) => Err(format!(
                "gave {} as the reason; accepted: text",
                describe(other)
            )),
        };
        let part = |key: &str| match map.get(key) {
            Some(value @ Value::Object(_)) => Ok(value.clone()),
            Some(other) => Err(format!(
                "gave {} as `{key}`; accepted: a dict",
                describe(other)
            )),
            None => Err(format!("gave no `{key}`")),
        };
        match action.as_str() {
            Some("allow" | "continue") => Ok(Self::Allow),
            Some("block") => reason().map(Self::Block),
            Some("ask") => reason().map(Self::Ask),
            Some("modify") => part("payload").map(Self::Modify),
            Some("delegate") => part("request").map(Self::Delegate),
            _ => Err(format!(
                "returned the action {action}, which means nothing here; {accepted}"
            )),
        }
    }
}

fn describe(value: &Value) -> String {
    match value {
        Value::Null => "None".into(),
        Value::Bool(_) | Value::Number(_) => value.to_string(),
        Value::String(_) => "text".into(),
        Value::Array(_) => "a list".into(),
        Value::Object(_) => "a dict".into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::call::{Arguments, Call};
    use crate::engine::EngineBuilder;

    #[tokio::test]
    async fn a_custom_event_is_kept_for_its_hooks_and_not_where_it_has_none() {
        let folder = tempfile::tempdir().expect("a folder");
        let hooks = folder.path().join(".harness/hooks");
        std::fs::create_dir_all(&hooks).expect("a folder in it");
        let hook = "---\nevent: custom.seen\nscript: |\n  def handle(event, payload):\n      return allow()\n---\nSees it.\n";
        std::fs::write(hooks.join("see_it.md"), hook).expect("a hook");
        let engine = EngineBuilder::new(folder.path())
            .load()
            .await
            .expect("an engine");
        let (ctx, _) = Context::new(&engine.shared, Call::new("t", Arguments::Value(json!({}))));
        for _ in 0..MAX_EMITTED {
            ctx.emit("t", "unseen", &json!({"n": 1}));
        }
        assert!(!ctx.has_emitted(), "no hook would ever take them");
        ctx.emit("t", "seen", &json!({"n": 2}));
        assert!(ctx.has_emitted());
        assert_eq!(
            ctx.next_emitted(),
            Some(("custom.seen".to_owned(), json!({"n": 2})))
        );
        assert!(ctx.next_emitted().is_none() && !ctx.has_emitted());
    }

    #[test]
    fn only_plain_decisions_count() {
        for (returned, expected) in [
            (json!({"action": "allow"}), Some(Decision::Allow)),
            (json!({"action": "continue"}), Some(Decision::Allow)),
            (
                json!({"action": "block", "reason": "no"}),
                Some(Decision::Block("no".into())),
            ),
            (
                json!({"action": "block"}),
                Some(Decision::Block("no reason given".into())),
            ),
            (
                json!({"action": "ask", "reason": "sure?"}),
                Some(Decision::Ask("sure?".into())),
            ),
            (
                json!({"action": "modify", "payload": {"args": {}}}),
                Some(Decision::Modify(json!({"args": {}}))),
            ),
            (json!({"action": "modify"}), None),
            (json!({"action": "modify", "payload": 1}), None),
            (json!({"action": "block", "reason": 1}), None),
            (json!({"action": "deny"}), None),
            (json!({"decision": "block"}), None),
            (json!({"block": true}), None),
            (json!(42), None),
            (json!(null), None),
            (json!(true), None),
            (json!("allow"), None),
            (json!([]), None),
        ] {
            assert_eq!(Decision::read(&returned).ok(), expected, "{returned}");
        }
    }
}
