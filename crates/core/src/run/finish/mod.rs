//! Finish: hooks see the result ([`after`]); then it is redacted, and what a model reads is
//! bounded.

pub(super) mod after;
pub(super) mod bound;

use super::context::Context;
use super::cut::MOST_NAME;
use super::execute::Executed;
use crate::content::{ContentBlock, Link, Resource, ResourceBody};
use crate::redact::Pass;
use crate::refusal::Refusal;
use crate::result::{ArtifactRef, ToolResult, encoded_len};
use crate::tool::ToolOutput;
use after::{Amended, Hooks, after, shown};
use bound::{Size, bound, cut_all};
use serde_json::Value;
use std::sync::atomic::Ordering;
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
    ctx.append_stored_artifacts(&mut result.artifacts);
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

/// Redacts what the hooks left. The count includes redactions in stored artifacts. A redacted
/// result counts as changed, so that a client does not show the original.
fn redact(ctx: &Context, amended: &mut Amended) {
    let Amended {
        tool,
        success,
        error,
        content,
        hooks,
        ..
    } = amended;
    let mut pass = ctx.shared().redactor.pass(tool.redaction.as_ref());
    // Only the harness sets the count, and only its stores create handles.
    success.metadata.remove("redacted");
    success.artifacts.retain(ArtifactRef::is_well_formed);
    parts(&mut pass, success, error, content);
    if pass.count > 0 {
        *hooks = Hooks::ChangedIt;
    }
    let count = pass.count + ctx.0.redacted.load(Ordering::Relaxed);
    if count > 0 {
        success.metadata.insert("redacted".into(), count.into());
    }
}

/// Redacts each part. A value whose text is the content is scanned once.
fn parts(
    pass: &mut Pass<'_>,
    success: &mut ToolOutput,
    error: &mut Option<Refusal>,
    content: &mut Vec<ContentBlock>,
) {
    success.refs.iter_mut().for_each(|value| pass.value(value));
    pass.object(&mut success.metadata);
    pass.object(&mut success.provider);
    let is_own_text = success.content.is_none() && error.is_none();
    // A string is shown as it is, any other value as JSON.
    let is_text = matches!(success.value, Some(Value::String(_)));
    let is_clean = |text: &str| (is_text || pass.is_told_by(text)) && pass.is_clean(text);
    if is_own_text
        && !pass.has_patterns()
        && content
            .iter()
            .filter_map(ContentBlock::as_text)
            .all(is_clean)
    {
        return;
    }
    if let Some(value) = &mut success.value {
        pass.value(value);
    }
    if let Some(error) = error.as_mut() {
        pass.refusal(error);
    }
    if success.content.is_none() {
        // Built from the redacted error or value.
        *content = shown(success, error.as_ref());
    }
    content.iter_mut().for_each(|part| block(pass, part));
}

/// Redacts the text of a block. Images and audio stay as they are: a secret that they show
/// cannot be found in their bytes.
fn block(pass: &mut Pass<'_>, block: &mut ContentBlock) {
    let media_type = match block {
        ContentBlock::Text(_) => None,
        ContentBlock::Link(Link { media_type, .. })
        | ContentBlock::Resource(Resource { media_type, .. }) => media_type.as_mut(),
        ContentBlock::Image(media) | ContentBlock::Audio(media) => Some(&mut media.media_type),
    };
    if let Some(media_type) = media_type {
        pass.string(media_type);
    }
    match block {
        ContentBlock::Text(text) => pass.string(text),
        ContentBlock::Link(link) => {
            pass.string(&mut link.uri);
            pass.string(&mut link.name);
            if let Some(description) = &mut link.description {
                pass.string(description);
            }
        }
        ContentBlock::Resource(resource) => {
            pass.string(&mut resource.uri);
            match &mut resource.body {
                ResourceBody::Text(text) => pass.string(text),
                ResourceBody::Bytes(bytes) => pass.bytes(bytes),
            }
        }
        ContentBlock::Image(_) | ContentBlock::Audio(_) => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::redact::{RedactionPatterns, Redactor, SecretValues};
    use serde_json::json;
    use std::sync::Arc;

    #[test]
    fn a_value_is_clean_even_where_its_text_in_json_hides_a_secret() {
        for (secret, before) in [
            ("b1Z\"abcdefghij", "100%"),
            ("b1\"abcd", "100%"),
            ("a/b\\n2", "%"),
            ("12345678", "%"),
        ] {
            let values = SecretValues::default();
            values.learn(secret.as_bytes()).expect("long enough");
            let redactor = Redactor::new(Arc::new(values), RedactionPatterns::default());
            let said = format!("{before}{secret}");
            for value in [
                json!({"out": said}),
                json!([{"a": [said]}]),
                json!({said.as_str(): 1}),
                json!(said),
            ] {
                let mut success = ToolOutput::value(value.clone());
                let (mut pass, mut content) = (redactor.pass(None), shown(&success, None));
                parts(&mut pass, &mut success, &mut None, &mut content);
                let left = success.value.unwrap_or_default();
                assert!(
                    pass.count > 0
                        && left != value
                        && !left.to_string().contains(&json!(secret).to_string()[3..9]),
                    "{left}"
                );
                let text = content
                    .iter()
                    .filter_map(ContentBlock::as_text)
                    .collect::<String>();
                assert!(
                    text.contains(crate::redact::MARK)
                        && !text.contains(&secret[secret.len() - 4..]),
                    "{text}"
                );
            }
        }
    }
}
