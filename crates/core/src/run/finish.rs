//! Finish: what comes after the body ([`after`]); then secrets are taken out, and what a model reads is bounded.

use super::after::{Amended, Hooks, after};
use super::context::Context;
use super::execute::Executed;
use super::redact::redact;
use super::refusal::Refusal;
use crate::content::ContentBlock;
use crate::result::{Enforced, ToolResult};
use serde_json::{Map, Value, json};

/// Bytes of text a model reads unless the tool or the project says otherwise.
const DEFAULT_OUTPUT_BYTES: u64 = 16_384;

/// A result as the hooks leave it.
pub(super) struct Finished {
    pub(super) result: ToolResult,
    pub(super) hooks: Hooks,
}

pub(super) async fn finish(ctx: &Context, executed: Executed) -> Finished {
    let mut amended = after(ctx, executed).await;
    redact(ctx, &mut amended);
    let Amended { tool, success, error, content, enforced, hooks } = amended;
    let value_bytes = match (&success.content, &success.value, &error) {
        (_, None, _) => 0,
        // The content is the value's own text.
        (None, Some(Value::Array(_) | Value::Object(_)), None) => content.first().and_then(ContentBlock::as_text).map_or(0, str::len),
        (_, Some(value), _) => encoded_len(value),
    };
    let bound = tool.limits.max_output_bytes.unwrap_or(DEFAULT_OUTPUT_BYTES);
    let mut result = ToolResult {
        call_id: ctx.call.id.clone(),
        name: tool.name().to_owned(),
        is_error: error.is_some(),
        content,
        value: success.value,
        artifacts: success.artifacts,
        refs: success.refs,
        metadata: success.metadata,
        provider: success.provider,
        error,
        enforced,
        elapsed: ctx.started.elapsed(),
    };
    bounded(&mut result, value_bytes, usize::try_from(bound).unwrap_or(usize::MAX));
    Finished { result, hooks }
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
        content: vec![ContentBlock::Text(refusal.text())],
        value: None,
        artifacts: Vec::new(),
        refs: Vec::new(),
        metadata: (pass.count > 0).then(|| ("redacted".to_owned(), pass.count.into())).into_iter().collect(),
        provider: Map::new(),
        error: Some(refusal),
        enforced: Enforced::Nothing,
        elapsed: ctx.started.elapsed(),
    };
    bounded(&mut result, 0, usize::try_from(DEFAULT_OUTPUT_BYTES).unwrap_or(usize::MAX));
    result
}

/// Keeps the head and the tail of content that is too long, and drops a value that would be.
fn bounded(result: &mut ToolResult, value_bytes: usize, most: usize) {
    let (mut left_out, mut left) = (0, most);
    for block in &mut result.content {
        if let ContentBlock::Text(text) = block {
            left_out += cut(text, left);
            left -= text.len();
        }
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
