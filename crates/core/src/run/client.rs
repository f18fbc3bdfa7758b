//! Calls that a client runs itself. They pass the same stages, except that the client runs the body
//! between `before` and `finish`.

use super::admit::{AdmittedClientCall, admit_client_call, claim};
use super::approve::approve;
use super::authorize::authorize;
use super::before::before;
use super::context::Context;
use super::execute::executed_elsewhere;
use super::finish::after::Hooks;
use super::finish::{finish, refuse};
use super::shared::Shared;
use crate::call::{Arguments, Call};
use crate::client::{self, Client, Judgement, Observation, Outcome, Part};
use crate::refusal::{Code, Refusal};
use crate::stage::{Stage, Stopwatch};
use serde_json::{Map, Value};
use std::sync::Arc;

/// Judges a call that a client is about to run. A call that touches several files is judged for
/// each file, and runs only if all pass.
pub(crate) async fn judge(shared: &Arc<Shared>, call: Call, client: &Client) -> Judgement {
    let (ctx, sent) = Context::new(shared, call);
    let watch = ctx.stopwatch();
    let admitted = claim(&ctx)
        .and_then(|()| admit_client_call(&ctx, client, sent))
        .and_then(|call| Ok((parts(&call)?, call)));
    match admitted {
        Err(refusal) => {
            ctx.record_rejected(refuse(&ctx, refusal.clone()), &watch);
            Judgement::Refused(ctx.cleaned(refusal))
        }
        Ok((parts, _)) if parts.is_empty() => Judgement::Nothing,
        Ok((parts, call)) => match judge_parts(&ctx, &call, &parts)
            .await
            .and_then(|judged| rewritten(&call, &parts, &judged))
        {
            Ok(None) => Judgement::Nothing,
            Ok(Some(input)) => Judgement::Instead(input),
            Err(refusal) => Judgement::Refused(ctx.cleaned(refusal)),
        },
    }
}

/// The parts to judge; empty if the call is judged elsewhere.
fn parts(call: &AdmittedClientCall) -> Result<Vec<Part>, Refusal> {
    match call.foreign() {
        Some(foreign) if !foreign.is_judged_elsewhere() => foreign.parts(call.input()),
        _ => Ok(Vec::new()),
    }
}

fn rewritten(
    call: &AdmittedClientCall,
    before: &[Part],
    after: &[Part],
) -> Result<Option<Map<String, Value>>, Refusal> {
    call.foreign().map_or(Ok(None), |foreign| {
        foreign.rewritten(call.input(), before, after)
    })
}

/// The arguments of a judged call, with its commands wrapped in the sandbox; `None` if the client's
/// map does not ask for that.
pub(crate) fn contain(
    shared: &Shared,
    call: &Call,
    client: &Client,
) -> Result<Option<Map<String, Value>>, Refusal> {
    let foreign = client::ClientToolCall::find(
        &shared.catalogue.clients,
        shared.workspace()?,
        client,
        &call.tool,
    )?;
    match &call.arguments {
        Arguments::Value(Value::Object(input)) => {
            foreign.contained(&foreign.uncontained(input.clone()))
        }
        _ => Ok(None),
    }
}

/// The arguments of each part as the hooks leave them. A refusal also ends the parts that passed.
async fn judge_parts(
    whole: &Context,
    call: &AdmittedClientCall,
    parts: &[Part],
) -> Result<Vec<Part>, Refusal> {
    let mut passed = Vec::with_capacity(parts.len());
    for (index, part) in parts.iter().enumerate() {
        let (ctx, mut watch) = part_context(whole, index);
        let authorized = authorize(&ctx, call.part(part.clone()));
        watch.lap(Stage::Authorize);
        let authorized = match authorized {
            Ok(authorized) => {
                ctx.record_started(authorized.tool(), authorized.arguments());
                authorized
            }
            Err(refusal) => {
                ctx.record_rejected(refuse(&ctx, refusal.clone()), &watch);
                end(passed);
                return Err(refusal);
            }
        };
        let prepared = match ctx.refuse_if_unrecorded(authorized.tool()) {
            Ok(()) => before(&ctx, authorized).await,
            Err(refusal) => Err(refusal),
        };
        watch.lap(Stage::Before);
        let approved = match prepared {
            Ok(prepared) => approve(&ctx, prepared).awaited().await,
            Err(refusal) => Err(refusal),
        };
        match approved {
            Ok(approved) => passed.push((ctx, watch, approved.arguments().clone())),
            Err(refusal) => {
                ctx.record_ended(refuse(&ctx, refusal.clone()), &watch);
                end(passed);
                return Err(refusal);
            }
        }
    }
    let delegated = |(ctx, watch, arguments): (Context, Stopwatch, Part)| {
        call.foreign()
            .into_iter()
            .for_each(|foreign| ctx.record_delegated(foreign, &watch));
        arguments
    };
    Ok(passed.into_iter().map(delegated).collect())
}

/// Ends the parts that passed, because another part was refused.
fn end(passed: Vec<(Context, Stopwatch, Part)>) {
    for (ctx, watch, _) in passed {
        let refusal = Refusal::new(Code::Denied, "another part of the same call was refused");
        ctx.record_ended(refuse(&ctx, refusal), &watch);
    }
}

/// The context of one part. The first part keeps the call's id, so that a call with one part has
/// the client's id.
fn part_context(whole: &Context, index: usize) -> (Context, Stopwatch) {
    let mut call = whole.call().clone();
    if index > 0 {
        call.outermost.get_or_insert_with(|| call.id.clone());
        call.id = format!("{}/{}", call.id, index + 1).into();
    }
    let (ctx, _) = Context::new(whole.shared(), call);
    let watch = ctx.stopwatch();
    (ctx, watch)
}

/// Shows the outcome of a client's call to the hooks, and returns what the model may read of it.
pub(crate) async fn observe(
    shared: &Arc<Shared>,
    call: Call,
    client: &Client,
    outcome: &Outcome,
) -> Observation {
    let (ctx, sent): (Context, Arguments) = Context::new(shared, call);
    let admitted = admit_client_call(&ctx, client, sent).and_then(|call| Ok((parts(&call)?, call)));
    let (parts, call) = match admitted {
        Ok((parts, call)) if !parts.is_empty() => (parts, call),
        Ok(_) => return Observation::Nothing,
        Err(refusal) => {
            let watch = ctx.stopwatch();
            let text = ctx.record_ended(refuse(&ctx, refusal), &watch).text();
            return Observation::Instead {
                text,
                response: None,
            };
        }
    };
    let Some(entry) = call.foreign().map(client::ClientToolCall::entry) else {
        return Observation::Nothing;
    };
    let mut observation = Observation::Nothing;
    for (index, part) in parts.into_iter().enumerate() {
        let (ctx, mut watch) = part_context(&ctx, index);
        let executed = executed_elsewhere(
            call.part(part),
            outcome,
            client::text(entry, &outcome.response),
        );
        let finished = finish(&ctx, executed).await;
        watch.done(finished.result.elapsed);
        let result = *ctx.record_ended(finished.result, &watch);
        // All parts share one result, so the first one that a hook changed decides.
        if finished.hooks == Hooks::ChangedIt && observation == Observation::Nothing {
            let text = result.text();
            // A hook that changed only the text leaves no value.
            let amended = result.value.filter(|value| {
                result.error.is_none() && !value.is_null() && *value != outcome.response
            });
            let response = amended.or_else(|| client::instead(entry, &outcome.response, &text));
            observation = Observation::Instead { text, response };
        }
    }
    observation
}
