//! Hooks outside of a call: their examples, and the loading of artifacts.

use super::payload::filled_in;
use super::{Decision, fire, run};
use crate::decision::HookAction;
use crate::refusal::Refusal;
use crate::run::ask::answer;
use crate::run::context::Context;
use crate::view::ActiveHook;
use crate::worker::protocol::Verdict;
use serde_json::{Map, Value};
use std::sync::Arc;

/// What one hook decided about one payload, for its examples.
#[derive(Clone, Debug, PartialEq)]
pub struct HookReport {
    /// What it decided.
    pub action: HookAction,
    /// The reason it gave.
    pub reason: Option<String>,
    /// The payload it returned with `modify`.
    pub modified: Option<Value>,
}

/// Runs one hook on one payload, with missing fields filled in as a call would.
pub(crate) async fn run_one(
    ctx: &Context,
    hook: &Arc<ActiveHook>,
    event: &str,
    payload: Map<String, Value>,
) -> HookReport {
    let payload = filled_in(event, ctx.call(), &payload);
    let verdicts = run(ctx, event, &payload, std::slice::from_ref(hook)).await;
    let report = |action, reason, modified| HookReport {
        action,
        reason,
        modified,
    };
    match verdicts.into_iter().next() {
        None | Some(Verdict::Skipped) => report(HookAction::Skip, None, None),
        Some(Verdict::Allowed(_)) => report(HookAction::Allow, None, None),
        Some(Verdict::Failed(failure)) => report(HookAction::Failed, Some(failure.message), None),
        Some(Verdict::Returned(returned, _)) => match Decision::read(&returned) {
            Err(problem) => report(HookAction::Failed, Some(problem), None),
            Ok(decision) => {
                let action = decision.action();
                match decision {
                    Decision::Allow => report(action, None, None),
                    Decision::Block(reason) | Decision::Ask(reason) => {
                        report(action, Some(reason), None)
                    }
                    Decision::Modify(value) | Decision::Delegate(value) => {
                        report(action, None, Some(value))
                    }
                }
            }
        },
    }
}

/// Asks the `artifact.load` hooks about one artifact; the error says which hook refused it and why.
pub(crate) async fn load_artifacts(
    ctx: &Context,
    payload: Map<String, Value>,
) -> Result<(), Refusal> {
    let fired = fire(ctx, "artifact.load", payload, &mut |_, _| {
        Err("changed an artifact; nothing can be changed here".into())
    })
    .await?;
    match fired.asks.as_slice() {
        [] => Ok(()),
        asks => answer(ctx, None, asks).await,
    }
}
