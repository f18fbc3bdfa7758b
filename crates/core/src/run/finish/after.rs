//! After: hooks and middleware see the result and may amend or withhold it.

use crate::content::ContentBlock;
use crate::content::joined;
use crate::refusal::{Code, Refusal};
use crate::registry::RegisteredTool;
use crate::result::Enforced;
use crate::run::chain::middleware_step::Link;
use crate::run::chain::payload::{merge, tool_pre};
use crate::run::chain::{Changed, fire_emitted, fire_these};
use crate::run::context::Context;
use crate::run::execute::{Executed, Sent, fits_output};
use crate::run::outcome::Failure;
use crate::tool::ToolOutput as Success;
use crate::view::ActiveHook;
use crate::view::ActiveTool;
use crate::view::Segment;
use serde_json::{Map, Value, json};
use std::sync::Arc;

/// A body's result as the hooks leave it.
pub(in crate::run) struct Amended {
    pub(in crate::run) tool: Arc<ActiveTool>,
    pub(in crate::run) success: Box<Success>,
    pub(in crate::run) error: Option<Refusal>,
    /// What a model would read of it.
    pub(in crate::run) content: Vec<ContentBlock>,
    pub(in crate::run) enforced: Enforced,
    pub(in crate::run) hooks: Hooks,
}

/// Whether the hooks changed a result.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::run) enum Hooks {
    /// They did not.
    LeftIt,
    /// They did.
    ChangedIt,
}

pub(in crate::run) async fn after(ctx: &Context, executed: Executed) -> Amended {
    let Executed {
        tool,
        mut sent,
        outcome,
        enforced,
        ..
    } = executed;
    let (mut success, mut error) = match outcome {
        Ok(success) => (success, None),
        Err(Failure { error, rest, .. }) => (rest, Some(error)),
    };
    let halts = |error: &Option<Refusal>| {
        error
            .as_ref()
            .filter(|error| error.control.is_some())
            .cloned()
    };
    let (mut hooks, mut halted) = (Hooks::LeftIt, halts(&error));
    let mut content = shown(&success, error.as_ref());
    for segment in &ctx.view().post {
        let changed = match segment {
            Segment::Middleware(middleware) => {
                let changed = Link {
                    ctx,
                    tool: &tool,
                    middleware,
                }
                .after(&mut success, &mut error)
                .await;
                if changed
                    && error.is_none()
                    && let Err(refusal) = fits_output(&tool, success.value.as_ref())
                {
                    (*success, error) = (Success::default(), Some(refusal));
                }
                changed
            }
            Segment::Hooks(fired) => {
                let before = Before {
                    tool: &tool,
                    sent: sent.get_or_insert_default(),
                    content: &content,
                };
                Box::pin(shown_to(ctx, fired, &before, &mut success, &mut error)).await
            }
        };
        if changed {
            content = shown(&success, error.as_ref());
            hooks = Hooks::ChangedIt;
            halted = halted.or_else(|| halts(&error));
        }
    }
    // A hook must not turn an interruption of the run into a result.
    if let Some(halted) = halted.filter(|_| hooks == Hooks::ChangedIt) {
        (*success, error) = (Success::default(), Some(halted));
        content = shown(&success, error.as_ref());
    }
    if ctx.has_emitted() {
        Box::pin(fire_emitted(ctx)).await;
    }
    Amended {
        tool,
        success,
        error,
        content,
        enforced,
        hooks,
    }
}

/// What hooks see of a call besides its result.
struct Before<'a> {
    tool: &'a RegisteredTool,
    sent: &'a Sent,
    content: &'a [ContentBlock],
}

/// Shows a result to some hooks; returns whether they changed it.
async fn shown_to(
    ctx: &Context,
    hooks: &[Arc<ActiveHook>],
    before: &Before<'_>,
    success: &mut Success,
    error: &mut Option<Refusal>,
) -> bool {
    let Sent { arguments, raw } = before.sent;
    let mut payload = tool_pre(ctx.call(), before.tool, arguments, raw);
    payload.insert("content".into(), joined(before.content).into());
    payload.insert("result".into(), success.value.clone().unwrap_or_default());
    payload.insert("is_error".into(), json!(error.is_some()));
    payload.insert(
        "error".into(),
        error.as_ref().map_or(Value::Null, Refusal::to_json),
    );
    let mut judge = |payload: &Map<String, Value>, returned: &Value| {
        let after = merge(payload, returned, &["result", "content", "is_error"])?;
        match (&after["content"], &after["is_error"]) {
            (Value::String(_), Value::Bool(_)) => {
                Ok(Changed::To(agreeing(payload, after, error.as_ref())))
            }
            (Value::String(_), _) => {
                Err("changed `is_error` to something that is not a boolean".to_owned())
            }
            _ => Err("changed `content` to something that is not text".to_owned()),
        }
    };
    match fire_these(ctx, "tool.post", hooks, payload, &mut judge).await {
        Ok(fired) if !fired.modified => return false,
        Ok(fired) => amend(before.tool, &fired.payload, success, error),
        Err(refusal) => (*success, *error) = (Success::default(), Some(refusal)),
    }
    true
}

/// Makes `content` and `result` agree after a hook changed one of them. A model reads both, so what
/// a hook removed from one must not stay in the other, for the model or for the next hook: a new
/// result becomes the content, and new content alone removes the result.
fn agreeing(
    before: &Map<String, Value>,
    mut after: Map<String, Value>,
    error: Option<&Refusal>,
) -> Map<String, Value> {
    let changed = |key: &str| before.get(key) != after.get(key);
    match (changed("result"), changed("content")) {
        (true, false) => {
            let error = error.filter(|_| after["is_error"] == Value::Bool(true));
            let shown = shown(
                &Success {
                    value: after.get("result").cloned(),
                    ..Success::default()
                },
                error,
            );
            after.insert("content".into(), joined(&shown).into());
        }
        (false, true) => drop(after.insert("result".into(), Value::Null)),
        _ => {}
    }
    after
}

/// Applies what the hooks changed, and nothing else.
fn amend(
    tool: &RegisteredTool,
    after: &Map<String, Value>,
    success: &mut Success,
    error: &mut Option<Refusal>,
) {
    let changed = |key: &str, before: Value| after.get(key).filter(|value| **value != before);
    let result = changed("result", success.value.clone().unwrap_or_default());
    let content = changed("content", joined(&shown(success, error.as_ref())).into());
    let is_error = changed("is_error", error.is_some().into());
    if let Some(value) = result {
        success.value = Some(value.clone());
        success.content = None;
    }
    if let Some(text) = content.and_then(Value::as_str) {
        success.content = Some(vec![ContentBlock::text(text)]);
        // A hook that rewords an error replaces all of it.
        if let Some(error) = error {
            *error = Refusal::new(error.code, text);
        }
    }
    match is_error.and_then(Value::as_bool) {
        Some(true) => {
            *error = Some(Refusal::new(
                Code::Failed,
                format!("a hook marked the result of `{}` as an error", tool.name()),
            ))
        }
        Some(false) => *error = None,
        None => {}
    }
    if error.is_none()
        && result.is_some()
        && let Err(refusal) = fits_output(tool, success.value.as_ref())
    {
        let refusal = match result {
            Some(Value::Null) => refusal.help("a hook that changes `content` of a tool with an `output_schema` must give `result` as well"),
            _ => refusal,
        };
        (*success, *error) = (Success::default(), Some(refusal));
    }
}

/// What the model reads: the tool's own content, its value or its error.
pub(in crate::run) fn shown(success: &Success, error: Option<&Refusal>) -> Vec<ContentBlock> {
    if let Some(content) = &success.content {
        return content.clone();
    }
    let text = match (&success.value, error) {
        (Some(Value::String(text)), None) => text.clone(),
        // Writing JSON into memory cannot fail.
        (Some(value), None) => serde_json::to_string(value).unwrap_or_default(),
        (_, Some(error)) => error.text(),
        (None, None) => String::new(),
    };
    vec![ContentBlock::Text(text)]
}
