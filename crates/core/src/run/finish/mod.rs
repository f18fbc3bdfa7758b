//! Finish: hooks see the result ([`after`]); then it is redacted, and what a model reads is
//! bounded.

pub(super) mod after;
pub(super) mod bound;
mod redact;

use super::context::Context;
use super::cut::MOST_NAME;
use super::execute::Executed;
use crate::content::ContentBlock;
use crate::refusal::Refusal;
use crate::result::{ToolResult, encoded_len};
use after::{Amended, Hooks, after};
use bound::{Size, bound, cut_all};
use redact::redact;
use std::time::Duration;

/// Bytes of text that a model reads unless the tool or the project sets a limit.
const DEFAULT_OUTPUT_BYTES: u64 = 16_384;

/// The final result. Boxed, because it is passed on often.
pub(super) struct Finished {
    pub(super) result: Box<ToolResult>,
    pub(super) hooks: Hooks,
}

pub(super) async fn finish(ctx: &Context, executed: Executed) -> Finished {
    let mut amended = after(ctx, executed).await;
    redact(ctx, &mut amended);
    let Amended {
        tool,
        success,
        error,
        content,
        enforced,
        hooks,
    } = amended;
    let value_bytes = match (&success.content, &success.value, &error) {
        (_, None, _) => 0,
        // The content is the value's own text.
        (None, Some(_), None) => content
            .first()
            .and_then(ContentBlock::as_text)
            .map_or(0, str::len),
        (_, Some(value), _) => encoded_len(value),
    };
    let most = usize::try_from(tool.limits.max_output_bytes.unwrap_or(DEFAULT_OUTPUT_BYTES))
        .unwrap_or(usize::MAX);
    let is_own_text = success.content.is_none() && error.is_none();
    let mut result = Box::new(ToolResult {
        call_id: ctx.call().id.clone(),
        name: tool.canonical().clone(),
        is_error: error.is_some(),
        content,
        value: success.value,
        artifacts: success.artifacts,
        refs: success.refs,
        metadata: success.metadata,
        provider: success.provider,
        error,
        enforced,
        elapsed: Duration::ZERO,
    });
    ctx.list_stored(&mut result.artifacts);
    bound(
        ctx,
        &mut result,
        Size {
            most,
            value: value_bytes,
            is_own_text,
        },
    )
    .await;
    result.elapsed = ctx.started().elapsed();
    Finished { result, hooks }
}

/// The result of a call that never reached its body.
pub(super) fn refuse(ctx: &Context, mut refusal: Refusal) -> Box<ToolResult> {
    let tool = ctx.view().find(&ctx.call().tool);
    let mut pass = ctx
        .shared()
        .redactor
        .pass(tool.and_then(|tool| tool.redaction.as_ref()));
    pass.refusal(&mut refusal);
    let name = match tool {
        Some(tool) => tool.canonical().clone(),
        None => {
            let mut asked = ctx.call().tool.clone();
            pass.string(&mut asked);
            asked.truncate(asked.floor_char_boundary(MOST_NAME));
            asked.as_str().into()
        }
    };
    let mut result = Box::new(ToolResult::refused(ctx.call().id.clone(), name, refusal));
    if pass.count > 0 {
        result.metadata.insert("redacted".into(), pass.count.into());
    }
    result.elapsed = ctx.started().elapsed();
    cut_all(
        &mut result,
        usize::try_from(DEFAULT_OUTPUT_BYTES).unwrap_or(usize::MAX),
        None,
    );
    result
}
