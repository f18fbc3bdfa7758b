//! A result as the protocol carries it.

use super::offer::Revision;
use rmcp::model::{CallToolResult, ContentBlock, ErrorData, MetaObject};
use serde_json::{Value, json};
use tool_harness::result::{Content, ToolResult};
use tool_harness::run::Code;

/// Whether the listing told the client what the result looks like.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Promise {
    /// Structured content that fits the output schema must come with every success.
    Output,
    /// Nothing is owed.
    None,
}

/// The answer to `tools/call`. A refusal or failure is a result that a model can act on; only a tool that does not exist is an error of
/// the protocol, because the protocol says so.
pub(super) fn answer(result: ToolResult, revision: Revision, promise: Promise) -> Result<CallToolResult, ErrorData> {
    let ToolResult { is_error, content, value, refs, metadata, error, .. } = result;
    if let Some(unknown) = error.as_ref().filter(|error| error.code == Code::ToolUnknown) {
        return Err(ErrorData::invalid_params(unknown.text(), Some(unknown.to_json())));
    }
    let mut texts: Vec<String> = content.into_iter().map(|Content::Text(text)| text).collect();
    let mut answer = CallToolResult::success(Vec::new());
    answer.is_error = Some(is_error);
    if let Some(value) = value {
        let text = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
        // Many clients show a model the text alone, so whatever is in the value is in the text as well.
        if texts.iter().all(|known| *known != text) {
            texts.push(text);
        }
        // A failure need not fit the schema of successes, and some clients look all the same.
        let fits = (revision == Revision::AnyJson || value.is_object()) && !(is_error && promise == Promise::Output);
        answer.structured_content = fits.then_some(value);
    }
    if promise == Promise::Output && !is_error && answer.structured_content.is_none() {
        answer.is_error = Some(true);
        texts.push("the call was done; its result is too long to be given as the tool's output schema promises".to_owned());
    }
    answer.content = texts.into_iter().map(ContentBlock::text).collect();
    let mut meta = MetaObject::default();
    let mut add = |key: &str, value: Option<Value>| meta.0.extend(value.map(|value| (format!("harness/{key}"), value)));
    add("error", error.map(|error| error.to_json()));
    add("refs", (!refs.is_empty()).then(|| json!(refs)));
    add("metadata", (!metadata.is_empty()).then(|| Value::Object(metadata)));
    answer.meta = (!meta.0.is_empty()).then_some(meta);
    Ok(answer)
}
