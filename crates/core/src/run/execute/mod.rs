//! Execute: runs the body under its limits. A failure does not skip the rest: it goes on to finish.

mod around;
mod body;
mod idempotency;
mod inject;
mod permit;
mod repeat;
mod rust_call;
mod script;

pub(super) use rust_call::{RustCall, refusal_of};

use super::admit::Admitted;
use super::approve::Approved;
use super::context::Context;
use super::outcome::{BodyResult, Failure, describe};
use crate::client;
use crate::content::ContentBlock;
use crate::refusal::{Code, Refusal};
use crate::registry::RegisteredTool;
use crate::result::Enforced;
use crate::rule::judged_paths;
use crate::tool::ToolOutput;
use crate::view::ActiveTool;
use around::layered;
use body::run_body;
use idempotency::{key, stored};
use inject::inject;
use permit::permit;
use repeat::repeated;
use script::run_script;
use serde_json::{Map, Value, json};
use std::sync::Arc;
use tool_harness_sandbox::file::JudgedPath;

/// A call whose body ran or could not run.
pub(super) struct Executed {
    pub(super) tool: Arc<ActiveTool>,
    /// For the hooks that see the result; absent if there are none, as for most calls.
    pub(super) sent: Option<Box<Sent>>,
    pub(super) outcome: BodyResult,
    pub(super) enforced: Enforced,
    _made_here: (),
}

/// The arguments of a call, before values were injected.
#[derive(Default)]
pub(super) struct Sent {
    pub(super) arguments: Map<String, Value>,
    /// As text, before anything changed them.
    pub(super) raw: String,
}

pub(super) async fn execute(ctx: &Context, approved: Approved) -> Executed {
    let (tool, arguments, raw) = approved.into_parts();
    let sent = ctx.view().is_hooked.then(|| {
        let arguments = arguments.clone();
        Box::new(Sent { arguments, raw })
    });
    ctx.judged(judged(ctx, &tool, &arguments));
    let (outcome, enforced) = carried_out(ctx, &tool, arguments).await;
    Executed {
        tool,
        sent,
        outcome,
        enforced,
        _made_here: (),
    }
}

/// The paths in the arguments that constraints judged.
fn judged(ctx: &Context, tool: &ActiveTool, arguments: &Map<String, Value>) -> Vec<JudgedPath> {
    let (rules, jail) = (&ctx.view().rules, ctx.shared().jail.as_deref());
    let (Some(jail), Some(relevant)) = (jail, &tool.rules) else {
        return Vec::new();
    };
    judged_paths(
        relevant.iter().filter_map(|index| rules.get(*index)),
        tool.name(),
        &tool.tool.annotations.path_params,
        arguments,
        jail.root(),
    )
}

/// Waits for a permit, injects values, and runs the body, unless the call repeats one that was done.
async fn carried_out(
    ctx: &Context,
    tool: &Arc<ActiveTool>,
    mut arguments: Map<String, Value>,
) -> (BodyResult, Enforced) {
    // Tells background work of the tool that the call is over, however it ends.
    let _over = ctx.tell_when_over();
    let not_run = |refusal: Refusal| (Err(Failure::from(refusal)), Enforced::Nothing);
    let key = match tool.key {
        None => None,
        Some(_) => match Box::pin(key(ctx, tool, &mut arguments)).await {
            Ok(key) => key,
            Err(refusal) => return not_run(refusal),
        },
    };
    let permit = match permit(ctx, tool, &arguments, key).await {
        Ok(permit) => permit,
        Err(refusal) => return not_run(refusal),
    };
    if let Some(key) = permit.key()
        && let Some(outcome) = Box::pin(stored(ctx, tool, key)).await
    {
        return (outcome, Enforced::Nothing);
    }
    // `key` has already injected values for a tool with a key.
    if tool.key.is_none()
        && !tool.tool.inject.is_empty()
        && let Err(refusal) = Box::pin(inject(ctx, tool, &mut arguments)).await
    {
        return not_run(refusal);
    }
    let (outcome, enforced) = match ctx.shared().host.around.is_empty() {
        true => attempts(ctx, tool, &mut arguments).await,
        // Boxed like slow bodies: most engines have no layers.
        false => Box::pin(layered(ctx, tool, &mut arguments)).await,
    };
    let outcome = halted(ctx, tool, outcome);
    if let Some(hold) = &permit.hold {
        hold.layers_ended(ctx, tool, &outcome);
    }
    (outcome, enforced)
}

/// Runs the body once, or as often as its retry policy says.
async fn attempts(
    ctx: &Context,
    tool: &Arc<ActiveTool>,
    arguments: &mut Map<String, Value>,
) -> (BodyResult, Enforced) {
    match tool.retries() {
        None => attempt(ctx, tool, arguments).await,
        Some(retry) => Box::pin(repeated(ctx, tool, arguments, retry)).await,
    }
}

/// Runs the body once. It takes `arguments`.
async fn attempt(
    ctx: &Context,
    tool: &Arc<ActiveTool>,
    arguments: &mut Map<String, Value>,
) -> (BodyResult, Enforced) {
    let deadline = ctx.ends().for_tool(tool);
    let hold = ctx.hold();
    if hold.as_ref().is_some_and(|hold| hold.was_left()) {
        let message = describe(
            tool,
            Code::Limit,
            "a previous attempt of the call is still running, so it is not tried again",
        );
        return (
            Err(Refusal::new(Code::Limit, message).into()),
            Enforced::Nothing,
        );
    }
    if ctx.interrupted().is_some() {
        return (halted(ctx, tool, Ok(Box::default())), Enforced::Nothing);
    }
    let (outcome, enforced) = match (&tool.script, &tool.body) {
        // Slow bodies are boxed, which keeps the future of a quick body small and cheap to move.
        (Some(script), _) => {
            Box::pin(run_script(
                ctx,
                tool,
                script,
                std::mem::take(arguments),
                deadline,
            ))
            .await
        }
        (None, Some(body)) => (
            run_body(ctx, tool, body, arguments, deadline).await,
            Enforced::Host,
        ),
        (None, None) => (Err(no_body(tool).into()), Enforced::Nothing),
    };
    let outcome = settled(ctx, tool, outcome);
    if let Some(hold) = hold {
        hold.body_ended(ctx, tool, &outcome);
    }
    (outcome, enforced)
}

/// Checks the body's result against the tool's output schema.
pub(super) fn settled(ctx: &Context, tool: &RegisteredTool, outcome: BodyResult) -> BodyResult {
    let outcome = outcome.and_then(|success| match fits_output(tool, success.value.as_ref()) {
        Ok(()) => Ok(success),
        Err(refusal) => Err(Failure::when_done(refusal)),
    });
    halted(ctx, tool, outcome)
}

/// If the body, a nested call or a layer interrupted the run, that becomes the outcome of the call.
pub(super) fn halted(ctx: &Context, tool: &RegisteredTool, outcome: BodyResult) -> BodyResult {
    if let Err(Failure { error, .. }) = &outcome
        && let Some(control) = &error.control
    {
        ctx.interrupt(control.clone());
        return outcome;
    }
    match ctx.interrupted() {
        None => outcome,
        Some(control) => {
            let message = format!("`{}`: {}", tool.name(), control.reason());
            Err(Refusal::new(Code::Interrupted, message)
                .control(control.clone())
                .into())
        }
    }
}

/// A call that a client ran itself, with the outcome it reported.
pub(super) fn executed_elsewhere(
    admitted: Admitted,
    outcome: &client::Outcome,
    text: String,
) -> Executed {
    let (tool, arguments, raw) = admitted.into_parts();
    let rest = ToolOutput {
        content: Some(vec![ContentBlock::Text(text)]),
        value: Some(outcome.response.clone()).filter(|value| !value.is_null()),
        ..ToolOutput::default()
    };
    let outcome = match &outcome.error {
        None => Ok(Box::new(rest)),
        Some(error) => Err(Failure::with(
            Refusal::new(Code::Failed, describe(&tool, Code::Failed, error)),
            rest,
        )),
    };
    Executed {
        tool,
        sent: Some(Box::new(Sent { arguments, raw })),
        outcome,
        enforced: Enforced::Nothing,
        _made_here: (),
    }
}

/// Checks a value against the tool's output schema.
pub(super) fn fits_output(tool: &RegisteredTool, value: Option<&Value>) -> Result<(), Refusal> {
    let Some(schema) = tool.output() else {
        return Ok(());
    };
    let mut errors = Vec::new();
    let problem = match (schema, value) {
        (Err(problem), _) => problem.to_owned(),
        (Ok(schema), value) => match schema.violations(value.unwrap_or(&Value::Null)).first() {
            None => return Ok(()),
            Some(_) if value.is_none() => "there is no value".to_owned(),
            Some(violation) => {
                errors.push(json!({"path": violation.path, "message": violation.message}));
                let path = Some(violation.path.as_str()).filter(|path| !path.is_empty());
                path.map_or_else(
                    || violation.message.clone(),
                    |path| format!("{path}: {}", violation.message),
                )
            }
        },
    };
    let message = format!(
        "the result of `{}` does not fit its output schema: {problem}",
        tool.name()
    );
    let refusal = Refusal::new(Code::OutputInvalid, message)
        .help("a person must fix the tool or its `output_schema`");
    Err(if errors.is_empty() {
        refusal
    } else {
        refusal.detail("errors", errors)
    })
}

pub(super) fn no_body(tool: &RegisteredTool) -> Refusal {
    Refusal::new(
        Code::NoBody,
        format!(
            "`{}` has no script, and no Rust body is registered for it",
            tool.name()
        ),
    )
    .help(format!(
        "add a `script` to {}, or register a body of this name",
        tool.path()
    ))
    .at(tool.tool.place(tool.tool.name_span))
}
