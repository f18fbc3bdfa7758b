//! Permits: how many calls run at once, for the engine, for a tool, and for the values of some
//! arguments.

use crate::digest;
use crate::effect::Effects;
use crate::path::normalise;
use crate::refusal::{Code, Refusal};
use crate::registry::RegisteredTool;
use crate::run::context::Context;
use crate::run::deadline::Deadline;
use crate::run::in_flight::Hold;
use crate::slots::{Caller, Held, NoSlot, Slots};
use crate::tool::Runs;
use serde_json::{Map, Value};
use std::sync::Arc;

/// What a call holds while its body runs.
#[derive(Default)]
pub(in crate::run) struct Permit {
    /// What it holds exclusively, if anything.
    pub(in crate::run) hold: Option<Arc<Hold>>,
    _at_once: Vec<Held>,
}

impl Permit {
    /// The call's idempotency key.
    pub(in crate::run) fn key(&self) -> Option<&str> {
        self.hold.as_ref()?.key()
    }
}

/// Waits until the call may run, or until its deadline.
pub(in crate::run) async fn permit(
    ctx: &Context,
    tool: &RegisteredTool,
    arguments: &Map<String, Value>,
    key: Option<String>,
) -> Result<Permit, Refusal> {
    let in_flight = &ctx.shared().in_flight;
    // A nested call uses the engine place of its outer call.
    let everywhere = in_flight.places.iter().filter(|_| !ctx.call().is_nested());
    let mut alone: Vec<Arc<Slots>> = Vec::new();
    if key.is_some() || !tool.serial.is_empty() || writes_paths(tool) {
        alone.extend(
            keys(tool, arguments, key.as_deref())
                .into_iter()
                .map(|key| in_flight.keys.of(key)),
        );
    }
    // An abandoned thread keeps the tool's place and its keys until it ends.
    let has_thread = tool.runs == Runs::Blocking;
    let (of_thread, of_call) = if has_thread {
        (&tool.at_once, &None)
    } else {
        (&None, &tool.at_once)
    };
    alone.extend(of_thread.iter().cloned());
    let at_once: Vec<Arc<Slots>> = of_call.iter().chain(everywhere).cloned().collect();
    // A blocking tool always needs a hold, which records whether its thread was abandoned.
    let is_held = has_thread || !alone.is_empty();
    if !is_held && at_once.is_empty() {
        return Ok(Permit::default());
    }
    let alone = is_held.then_some(alone);
    // Most calls need no permit, so their futures have no room to wait for one.
    Box::pin(taken(ctx, tool, key, alone, at_once)).await
}

/// Takes what the call must hold exclusively, if anything, and then its other places.
async fn taken(
    ctx: &Context,
    tool: &RegisteredTool,
    key: Option<String>,
    alone: Option<Vec<Arc<Slots>>>,
    at_once: Vec<Arc<Slots>>,
) -> Result<Permit, Refusal> {
    // One limit covers all the waits.
    let limit = ctx.ends().for_tool(tool);
    let callers: Arc<[Caller]> = std::iter::once(ctx.caller())
        .chain(ctx.call().inside.iter().copied())
        .collect();
    let hold = match alone {
        None => None,
        Some(alone) => Some(Arc::new(Hold::new(
            key,
            slots(ctx, tool, &callers, alone, limit).await?,
        ))),
    };
    hold.iter().for_each(|hold| ctx.holds(hold));
    Ok(Permit {
        hold,
        _at_once: slots(ctx, tool, &callers, at_once, limit).await?,
    })
}

impl Context {
    /// The identity of the call among those that wait.
    pub(in crate::run) fn caller(&self) -> Caller {
        Caller::of(&*self.0)
    }
}

/// Takes one slot of each, in order.
async fn slots(
    ctx: &Context,
    tool: &RegisteredTool,
    callers: &Arc<[Caller]>,
    wanted: Vec<Arc<Slots>>,
    limit: Deadline,
) -> Result<Vec<Held>, Refusal> {
    let waits = &ctx.shared().in_flight.keys.waits;
    let mut held = Vec::with_capacity(wanted.len());
    for slots in wanted {
        held.push(match waits.take(&slots, callers) {
            Some(slot) => slot,
            None => {
                Box::pin(waited_for(
                    ctx,
                    tool,
                    waits.wait_for(&slots, callers),
                    limit,
                ))
                .await?
            }
        });
    }
    Ok(held)
}

async fn waited_for(
    ctx: &Context,
    tool: &RegisteredTool,
    slot: impl Future<Output = Result<Held, NoSlot>>,
    deadline: Deadline,
) -> Result<Held, Refusal> {
    tokio::select! {
        biased;
        slot = slot => slot.map_err(|problem| no_slot(tool, problem)),
        () = ctx.call().cancel.cancelled() => Err(Refusal::new(Code::Cancelled, "cancelled while waiting for its turn")),
        () = tokio::time::sleep_until(deadline.at) => Err(deadline.refusal(tool, "did not get its turn")),
    }
}

fn no_slot(tool: &RegisteredTool, problem: NoSlot) -> Refusal {
    match problem {
        NoSlot::Gone => Refusal::new(Code::Internal, "the places of calls are gone"),
        NoSlot::Never => {
            let message = format!(
                "`{}` would wait for ever: every call that could make room for it waits for this one",
                tool.name()
            );
            Refusal::new(Code::Limit, message).help("let the outer call end first")
        }
    }
}

/// Whether two calls could write the same declared path.
fn writes_paths(tool: &RegisteredTool) -> bool {
    tool.effects.contains(Effects::WRITE) && !tool.tool.annotations.path_params.is_empty()
}

/// The keys that two calls may not hold at the same time. Every call takes them in the same order,
/// so that calls cannot deadlock.
fn keys(tool: &RegisteredTool, arguments: &Map<String, Value>, key: Option<&str>) -> Vec<String> {
    let mut keys: Vec<String> = key.map(|key| format!("key {key}")).into_iter().collect();
    let values = tool
        .serial
        .iter()
        .filter_map(|name| Some((name, arguments.get(name)?)));
    keys.extend(
        values.map(|(name, value)| {
            format!("value {} {name} {}", tool.name(), digest::of_worth(value))
        }),
    );
    if writes_paths(tool) {
        let paths = tool
            .tool
            .annotations
            .path_params
            .iter()
            .filter_map(|name| arguments.get(name));
        let texts = paths.flat_map(|value| match value {
            Value::Array(items) => items.iter().filter_map(Value::as_str).collect::<Vec<_>>(),
            one => one.as_str().into_iter().collect(),
        });
        keys.extend(texts.map(|path| format!("path {}", normalise(path))));
    }
    keys.sort_unstable();
    keys.dedup();
    keys
}
