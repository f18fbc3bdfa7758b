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
use crate::run::outcome::{Failure, describe, error_in};
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
    let content = joined(before.content);
    payload.insert("result".into(), result_of(success, &content));
    payload.insert("content".into(), content.into());
    payload.insert("is_error".into(), json!(error.is_some()));
    payload.extend(described(error.as_ref()));
    let amending = Amending {
        tool: before.tool,
        error: error.as_ref(),
        has_value: success.value.is_some(),
    };
    let mut judge = |payload: &Map<String, Value>, returned: &Value| {
        let after = merge(payload, returned, &["result", "content", "is_error"])?;
        match (&after["content"], &after["is_error"]) {
            (Value::String(_), Value::Bool(_)) => {
                Ok(Changed::To(amending.agreeing(payload, after)))
            }
            (Value::String(_), _) => {
                Err("changed `is_error` to something that is not a boolean".to_owned())
            }
            _ => Err("changed `content` to something that is not a string".to_owned()),
        }
    };
    match fire_these(ctx, "tool.post", hooks, payload, &mut judge).await {
        Ok(fired) if !fired.modified => return false,
        Ok(fired) => amend(before.tool, &fired.payload, success, error),
        Err(refusal) => (*success, *error) = (Success::default(), Some(refusal)),
    }
    true
}

/// What hooks see as `result`: the value, or the text of a call that left none, so that a hook that
/// searches text can search every result.
fn result_of(success: &Success, content: &str) -> Value {
    success.value.clone().unwrap_or_else(|| content.into())
}

/// What hooks see of an error. `error` is always a string, because audit hooks put it into their
/// messages; what a program decides by is beside it.
fn described(error: Option<&Refusal>) -> [(String, Value); 3] {
    let details = error.map(|error| error.to_json()["details"].take());
    [
        (
            "error",
            error.map_or("", |error| error.message.as_str()).into(),
        ),
        (
            "error_code",
            error.map_or("", |error| error.code.text()).into(),
        ),
        (
            "error_details",
            details
                .filter(Value::is_object)
                .unwrap_or_else(|| json!({})),
        ),
    ]
    .map(|(key, value)| (key.to_owned(), value))
}

/// What a hook's change is judged by.
struct Amending<'a> {
    tool: &'a RegisteredTool,
    error: Option<&'a Refusal>,
    /// Whether the body left a value. If not, `result` is `content` again.
    has_value: bool,
}

impl Amending<'_> {
    /// Makes `content`, `result` and `error` agree after a hook changed one of them. A model reads
    /// all of them, so what a hook removed from one must not stay in another, for the model or for
    /// the next hook: a new result becomes the content, new content alone removes the result, and
    /// either is the new text of an error.
    fn agreeing(
        &self,
        before: &Map<String, Value>,
        mut after: Map<String, Value>,
    ) -> Map<String, Value> {
        let changed = |key: &str| before.get(key) != after.get(key);
        let is_error = after["is_error"] == Value::Bool(true);
        let is_text = !self.has_value && before["result"] == before["content"];
        match (changed("result"), changed("content")) {
            (true, false) => {
                let text = match self.error.filter(|_| is_error) {
                    Some(error) => reworded(self.tool, error, &after["result"]),
                    None => Some(text_of(&after["result"])),
                };
                text.map(|text| after.insert("content".into(), text.into()));
            }
            (false, true) => {
                let result = match is_text {
                    true => after["content"].clone(),
                    false => Value::Null,
                };
                after.insert("result".into(), result);
            }
            _ => {}
        }
        let changed = |key: &str| before.get(key) != after.get(key);
        if changed("content") || changed("is_error") {
            let text = after["content"].as_str().unwrap_or_default();
            let error = match (self.error, is_error) {
                (_, false) => None,
                (Some(error), true) if changed("content") => Some(Refusal::new(error.code, text)),
                (Some(error), true) => Some(error.clone()),
                (None, true) => Some(marked(self.tool)),
            };
            after.extend(described(error.as_ref()));
        }
        after
    }
}

/// What a model reads of a failed call whose result a hook replaced; `None` if the new result says
/// the same.
fn reworded(tool: &RegisteredTool, error: &Refusal, result: &Value) -> Option<String> {
    match error_in(result).map(|message| describe(tool, error.code, &message)) {
        Some(message) if message == error.message => None,
        Some(message) => Some(message),
        None => Some(text_of(result)),
    }
}

/// The error of a result that a hook marked as one.
fn marked(tool: &RegisteredTool) -> Refusal {
    Refusal::new(
        Code::Failed,
        format!("a hook marked the result of `{}` as an error", tool.name()),
    )
}

/// Applies what the hooks changed, and nothing else.
fn amend(
    tool: &RegisteredTool,
    after: &Map<String, Value>,
    success: &mut Success,
    error: &mut Option<Refusal>,
) {
    let text = joined(&shown(success, error.as_ref()));
    let changed = |key: &str, before: Value| after.get(key).filter(|value| **value != before);
    // Where there is no value, the content repeated is none either.
    let is_text = success.value.is_none() && after.get("result") == after.get("content");
    let result = changed("result", result_of(success, &text)).filter(|_| !is_text);
    let content = changed("content", text.as_str().into());
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
        Some(true) => *error = Some(marked(tool)),
        Some(false) => {
            *error = None;
            // The model reads what the hook accepted.
            if success.value.is_none() {
                success
                    .content
                    .get_or_insert_with(|| vec![ContentBlock::Text(text)]);
            }
        }
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
        (Some(value), None) => text_of(value),
        (_, Some(error)) => error.text(),
        (None, None) => String::new(),
    };
    vec![ContentBlock::Text(text)]
}

/// A value as a model reads it.
fn text_of(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        // Writing JSON into memory cannot fail.
        other => serde_json::to_string(other).unwrap_or_default(),
    }
}
