//! Places: how many calls run at once, for the engine, for a tool, and for the values of some
//! arguments.

use super::hold::Hold;
use crate::digest;
use crate::effect::Effects;
use crate::path::normalise;
use crate::refusal::{Code, Refusal};
use crate::registry::RegisteredTool;
use crate::run::context::Context;
use crate::run::deadline::{Deadline, deadline};
use crate::slots::{Caller, Held, NoSlot, Slots, Waits};
use crate::tool::Runs;
use serde_json::{Map, Value};
use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError, Weak};

/// What a call holds while its body runs.
#[derive(Default)]
pub(in crate::run) struct Place {
    /// What it holds exclusively, if anything.
    pub(in crate::run) hold: Option<Arc<Hold>>,
    _at_once: Vec<Held>,
}

impl Place {
    /// The call's idempotency key.
    pub(in crate::run) fn key(&self) -> Option<&str> {
        self.hold.as_ref()?.key()
    }
}

/// Waits until the call may run, or until its deadline.
pub(in crate::run) async fn place(
    ctx: &Context,
    tool: &RegisteredTool,
    arguments: &Map<String, Value>,
    key: Option<String>,
) -> Result<Place, Refusal> {
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
        return Ok(Place::default());
    }
    // One limit covers all the waits.
    let limit = deadline(ctx, tool);
    let callers: Arc<[Caller]> = std::iter::once(ctx.caller())
        .chain(ctx.call().inside.iter().copied())
        .collect();
    let hold = match is_held {
        false => None,
        true => Some(Arc::new(Hold::new(
            key,
            slots(ctx, tool, &callers, alone, limit).await?,
        ))),
    };
    hold.iter().for_each(|hold| ctx.holds(hold));
    Ok(Place {
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
                "`{}` runs as often as it may at once, and whoever could make room waits for this call",
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

/// One place for each key that a call holds or waits for.
#[derive(Debug, Default)]
pub(crate) struct Keys {
    known: Mutex<Known>,
    /// Which calls hold and wait for keys and other places.
    waits: Arc<Waits>,
}

#[derive(Debug, Default)]
struct Known {
    slots: HashMap<String, Weak<Slots>>,
    /// The number of keys at which the unused ones are dropped.
    full: usize,
}

/// Unused keys are dropped once there are this many, or twice as many as were in use the last time.
const MANY: usize = 1024;

impl Keys {
    fn of(&self, key: String) -> Arc<Slots> {
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(slots) = known.slots.get(&key).and_then(Weak::upgrade) {
            return slots;
        }
        if known.slots.len() >= known.full.max(MANY) {
            known.slots.retain(|_, slots| slots.strong_count() > 0);
            known.full = 2 * known.slots.len();
        }
        let slots = Slots::new(1);
        known.slots.insert(key, Arc::downgrade(&slots));
        slots
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Instant;

    #[test]
    fn keys_that_are_held_are_not_gone_through_for_each_new_one_and_the_others_are_forgotten() {
        let keys = Keys::default();
        let started = Instant::now();
        let held: Vec<Arc<Slots>> = (0..60_000)
            .map(|key| keys.of(format!("held {key}")))
            .collect();
        // Scanning all keys for each new one would take minutes.
        assert!(
            started.elapsed() < std::time::Duration::from_secs(10),
            "{:?}",
            started.elapsed()
        );
        drop(held);
        (0..200_000).for_each(|key| drop(keys.of(format!("later {key}"))));
        assert!(keys.known.lock().expect("keys").slots.len() <= MANY);
    }
}
