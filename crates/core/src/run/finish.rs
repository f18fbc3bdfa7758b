//! Finish: hooks see the result and may amend or withhold it; what a model reads is bounded.

use super::chain::{Changed, fire, fire_emitted};
use super::context::Context;
use super::execute::{Executed, Failure, Success, fits_output};
use super::payload::{merge, tool_pre};
use super::refusal::{Code, Refusal};
use crate::redact::Pass;
use crate::registry::RegisteredTool;
use crate::result::{Content, Enforced, ToolResult};
use serde_json::{Map, Value, json};

/// Bytes of text a model reads unless the tool or the project says otherwise.
const DEFAULT_OUTPUT_BYTES: u64 = 16_384;

/// A result as the hooks leave it.
pub(super) struct Finished {
    pub(super) result: ToolResult,
    pub(super) hooks: Hooks,
}

/// What the hooks did to a result.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Hooks {
    /// Nothing.
    LeftIt,
    /// It says something else now.
    ChangedIt,
}

pub(super) async fn finish(ctx: &Context, executed: Executed) -> Finished {
    let Executed { tool, arguments, raw, outcome, enforced, .. } = executed;
    let (mut success, mut error) = match outcome {
        Ok(success) => (success, None),
        Err(Failure { error, rest }) => (rest, Some(error)),
    };
    let mut hooks = Hooks::LeftIt;
    let mut content = text(&success, error.as_ref());
    if ctx.registry().has_hooks("tool.post") {
        let mut payload = tool_pre(&ctx.call, &tool, &arguments, &raw);
        payload.insert("content".into(), content.as_str().into());
        payload.insert("result".into(), success.value.clone().unwrap_or_default());
        payload.insert("is_error".into(), json!(error.is_some()));
        payload.insert("error".into(), error.as_ref().map_or(Value::Null, Refusal::to_json));
        let mut judge = |payload: &Map<String, Value>, returned: &Value| {
            let after = merge(payload, returned, &["result", "content", "is_error"])?;
            match (&after["content"], &after["is_error"]) {
                (Value::String(_), Value::Bool(_)) => Ok(Changed::To(agreeing(payload, after, error.as_ref()))),
                (Value::String(_), _) => Err("changed `is_error` to something that is not a boolean".to_owned()),
                _ => Err("changed `content` to something that is not text".to_owned()),
            }
        };
        match fire(ctx, "tool.post", payload, &mut judge).await {
            Ok(fired) if !fired.modified => {}
            amended => {
                match amended {
                    Ok(fired) => amend(&tool, &fired.payload, &mut success, &mut error),
                    Err(refusal) => (success, error) = (Success::default(), Some(refusal)),
                }
                content = text(&success, error.as_ref());
                hooks = Hooks::ChangedIt;
            }
        }
    }
    fire_emitted(ctx).await;
    let mut pass = ctx.shared.redactor.pass(tool.words.as_ref());
    redact(&mut pass, &mut success, error.as_mut(), &mut content);
    if pass.count > 0 {
        // What was taken out must not stay in what a client shows, either.
        hooks = Hooks::ChangedIt;
        success.metadata.insert("redacted".into(), pass.count.into());
    }
    let value_bytes = match (&success.content, &success.value, &error) {
        (_, None, _) => 0,
        // The content is the value's own text.
        (None, Some(Value::Array(_) | Value::Object(_)), None) => content.len(),
        (_, Some(value), _) => encoded_len(value),
    };
    let bound = tool.limits.max_output_bytes.unwrap_or(DEFAULT_OUTPUT_BYTES);
    let mut result = ToolResult {
        call_id: ctx.call.id.clone(),
        name: tool.name().to_owned(),
        is_error: error.is_some(),
        content: vec![Content::Text(content)],
        value: success.value,
        refs: success.refs,
        metadata: success.metadata,
        error,
        enforced,
        elapsed: ctx.started.elapsed(),
    };
    bounded(&mut result, value_bytes, usize::try_from(bound).unwrap_or(usize::MAX));
    Finished { result, hooks }
}

/// Takes secrets out of all that a result says. A value whose own text is the content is looked at once.
fn redact(pass: &mut Pass<'_>, success: &mut Success, error: Option<&mut Refusal>, content: &mut String) {
    success.refs.iter_mut().for_each(|value| pass.value(value));
    pass.object(&mut success.metadata);
    let is_own_text = success.content.is_none() && error.is_none();
    if is_own_text && !pass.has_words() && pass.is_clean(content) {
        return;
    }
    if let Some(value) = &mut success.value {
        pass.value(value);
    }
    match error {
        Some(error) => {
            pass.refusal(error);
            match success.content {
                Some(_) => pass.string(content),
                None => *content = text(success, Some(error)),
            }
        }
        None if is_own_text => {
            *content = text(success, None);
            pass.string(content);
        }
        None => pass.string(content),
    }
}

/// What a hook made of a result, where `content` and `result` say the same. A model reads both, so what a hook took out of one of them must not
/// stay in the other, neither for the model nor for the next hook: a new result is the new content, and new content alone leaves no result.
fn agreeing(before: &Map<String, Value>, mut after: Map<String, Value>, error: Option<&Refusal>) -> Map<String, Value> {
    let changed = |key: &str| before.get(key) != after.get(key);
    match (changed("result"), changed("content")) {
        (true, false) => {
            let error = error.filter(|_| after["is_error"] == Value::Bool(true));
            let shown = text(&Success { value: after.get("result").cloned(), ..Success::default() }, error);
            after.insert("content".into(), shown.into());
        }
        (false, true) => drop(after.insert("result".into(), Value::Null)),
        _ => {}
    }
    after
}

/// Takes over what the hooks changed, and nothing else.
fn amend(tool: &RegisteredTool, after: &Map<String, Value>, success: &mut Success, error: &mut Option<Refusal>) {
    let changed = |key: &str, before: Value| after.get(key).filter(|value| **value != before);
    let result = changed("result", success.value.clone().unwrap_or_default());
    let content = changed("content", text(success, error.as_ref()).into());
    let is_error = changed("is_error", error.is_some().into());
    if let Some(value) = result {
        success.value = Some(value.clone());
        success.content = None;
    }
    if let Some(text) = content.and_then(Value::as_str) {
        success.content = Some(text.to_owned());
        // Whoever rewords an error means all of it.
        if let Some(error) = error {
            *error = Refusal::new(error.code, text);
        }
    }
    match is_error.and_then(Value::as_bool) {
        Some(true) => *error = Some(Refusal::new(Code::Failed, format!("a hook marked the result of `{}` as an error", tool.name()))),
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

/// The result of a call that never reached its body.
pub(super) fn refuse(ctx: &Context, mut refusal: Refusal) -> ToolResult {
    let mut name = ctx.registry().find(&ctx.call.tool).map_or(ctx.call.tool.as_str(), |tool| tool.name()).to_owned();
    let mut pass = ctx.shared.redactor.pass(None);
    pass.refusal(&mut refusal);
    pass.string(&mut name);
    let mut result = ToolResult {
        call_id: ctx.call.id.clone(),
        name,
        is_error: true,
        content: vec![Content::Text(refusal.text())],
        value: None,
        refs: Vec::new(),
        metadata: (pass.count > 0).then(|| ("redacted".to_owned(), pass.count.into())).into_iter().collect(),
        error: Some(refusal),
        enforced: Enforced::Nothing,
        elapsed: ctx.started.elapsed(),
    };
    bounded(&mut result, 0, usize::try_from(DEFAULT_OUTPUT_BYTES).unwrap_or(usize::MAX));
    result
}

/// What the model reads: the tool's own words, or its value, or its error.
fn text(success: &Success, error: Option<&Refusal>) -> String {
    if let Some(content) = &success.content {
        return content.clone();
    }
    match (&success.value, error) {
        (Some(Value::String(text)), None) => text.clone(),
        (Some(value), None) => value.to_string(),
        (_, Some(error)) => error.text(),
        (None, None) => String::new(),
    }
}

/// Keeps the head and the tail of content that is too long, and drops a value that would be.
fn bounded(result: &mut ToolResult, value_bytes: usize, most: usize) {
    let mut left_out = 0;
    for Content::Text(text) in &mut result.content {
        left_out += cut(text, most);
    }
    if value_bytes > most {
        result.value = None;
        left_out = left_out.max(value_bytes);
    }
    if left_out > 0 {
        result.metadata.insert("truncated".into(), json!({"left_out_bytes": left_out, "limit_bytes": most}));
    }
    if let Some(error) = &mut result.error {
        cut(&mut error.message, most);
    }
}

/// Cuts the middle out, so that what stays and the mark of the cut are within the bound; says how many bytes went.
fn cut(text: &mut String, most: usize) -> usize {
    if text.len() <= most {
        return 0;
    }
    let mark = |gone: usize| format!("\n[… {gone} bytes left out …]\n");
    // No cut has more digits than the whole, so its mark is never longer. Where there is no room for one, the metadata still tell.
    let room = most.checked_sub(mark(text.len()).len());
    let half = room.unwrap_or(most) / 2;
    let head = text.floor_char_boundary(half);
    let tail = text.ceil_char_boundary(text.len() - half);
    let gone = tail - head;
    text.replace_range(head..tail, &room.map(|_| mark(gone)).unwrap_or_default());
    gone
}

/// The length of a value's JSON text, without writing it.
fn encoded_len(value: &Value) -> usize {
    struct Count(usize);
    impl std::io::Write for Count {
        fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
            self.0 += bytes.len();
            Ok(bytes.len())
        }
        fn flush(&mut self) -> std::io::Result<()> {
            Ok(())
        }
    }
    let mut count = Count(0);
    // Counting cannot fail.
    let _ = serde_json::to_writer(&mut count, value);
    count.0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_text_keeps_its_head_and_tail_on_character_boundaries() {
        let mut text = "é".repeat(100);
        let gone = cut(&mut text, 51);
        assert!(text.starts_with("éé") && text.ends_with("éé"));
        assert!(text.contains(&format!("[… {gone} bytes left out …]")));
        let mut short = "abc".to_owned();
        assert_eq!((cut(&mut short, 3), short.as_str()), (0, "abc"));
    }

    #[test]
    fn what_stays_of_a_long_text_is_within_the_bound_with_the_mark_of_the_cut() {
        for whole in ["é".repeat(600), "a".repeat(1200), "€a".repeat(300)] {
            for most in 0..1200 {
                let mut text = whole.clone();
                let gone = cut(&mut text, most);
                assert!(text.len() <= most, "{most}: {} bytes", text.len());
                let mark = format!("\n[… {gone} bytes left out …]\n");
                let kept = text.len() - if text.contains(&mark) { mark.len() } else { 0 };
                assert_eq!(kept + gone, whole.len(), "{most}");
            }
        }
    }
}
