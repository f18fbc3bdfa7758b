//! Results in the protocol's form.

use super::listing::Revision;
use super::resources;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use rmcp::model::{
    CallToolResult, ContentBlock, ErrorData, MetaObject, Resource, ResourceContents,
};
use serde_json::Value;
use tool_harness::Code;
use tool_harness::ToolMessage;
use tool_harness::ToolResult;
use tool_harness::content::{self, ResourceBody};

/// Whether the listing has an output schema for the result.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum OutputPromise {
    /// Every success must have structured content that matches the schema.
    Output,
    /// There is no schema.
    None,
}

/// The answer to `tools/call`. A refusal or failure is a result that a model can act on; only an
/// unknown tool is an error of the protocol, because the specification says so.
pub(super) fn answer(
    result: ToolResult,
    revision: Revision,
    promise: OutputPromise,
) -> Result<CallToolResult, ErrorData> {
    if let Some(error) = &result.error
        && error.code == Code::ToolUnknown
    {
        let (text, data) = (error.text(), error.to_json());
        return Err(ErrorData::invalid_params(text, Some(data)));
    }
    let links: Vec<ContentBlock> = match revision {
        Revision::Early => Vec::new(),
        Revision::Objects | Revision::AnyJson => {
            result.artifacts.iter().map(resources::link).collect()
        }
    };
    let ToolMessage {
        is_error,
        content,
        value,
        about,
        ..
    } = result.into();
    let mut answer = CallToolResult::success(Vec::new());
    answer.is_error = Some(is_error);
    answer.content = content.into_iter().map(block).chain(links).collect();
    // A failure need not match the schema, but some clients check it all the same.
    let fits = |value: &Value| {
        (revision == Revision::AnyJson || value.is_object())
            && !(is_error && promise == OutputPromise::Output)
    };
    answer.structured_content = value.filter(fits);
    if promise == OutputPromise::Output && !is_error && answer.structured_content.is_none() {
        answer.is_error = Some(true);
        let words = "the call ran, but its result is too long to fit the tool's output schema";
        answer.content.push(ContentBlock::text(words));
    }
    let about = about.into_iter();
    let meta = about.map(|(key, value)| (format!("harness/{key}"), value));
    answer.meta = Some(MetaObject(meta.collect())).filter(|meta| !meta.0.is_empty());
    Ok(answer)
}

/// A content block in the protocol's form.
fn block(block: content::ContentBlock) -> ContentBlock {
    match block {
        content::ContentBlock::Text(text) => ContentBlock::text(text),
        content::ContentBlock::Image(media) => {
            ContentBlock::image(STANDARD.encode(media.data), media.media_type)
        }
        content::ContentBlock::Audio(media) => {
            ContentBlock::audio(STANDARD.encode(media.data), media.media_type)
        }
        content::ContentBlock::Link(link) => {
            let mut resource = Resource::new(link.uri, link.name);
            resource.description = link.description;
            resource.mime_type = link.media_type;
            ContentBlock::resource_link(resource)
        }
        content::ContentBlock::Resource(resource) => {
            let contents = match resource.body {
                ResourceBody::Text(text) => ResourceContents::text(text, resource.uri),
                ResourceBody::Bytes(bytes) => {
                    ResourceContents::blob(STANDARD.encode(bytes), resource.uri)
                }
            };
            ContentBlock::resource(match resource.media_type {
                Some(media_type) => contents.with_mime_type(media_type),
                None => contents,
            })
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;
    use tool_harness::content::{Link, Media};

    #[test]
    fn every_kind_of_block_is_encoded_as_in_the_protocol() {
        let media = || Media {
            data: vec![0, 1, 2],
            media_type: "image/png".into(),
        };
        let link = || Link {
            uri: "u:a".into(),
            name: "a".into(),
            description: None,
            media_type: Some("text/plain".into()),
        };
        let resource = |body| content::Resource {
            uri: "u:b".into(),
            media_type: Some("text/plain".into()),
            body,
        };
        for (given, expected) in [
            (
                content::ContentBlock::text("t"),
                json!({"type": "text", "text": "t"}),
            ),
            (
                content::ContentBlock::Image(media()),
                json!({"type": "image", "data": "AAEC", "mimeType": "image/png"}),
            ),
            (
                content::ContentBlock::Audio(media()),
                json!({"type": "audio", "data": "AAEC", "mimeType": "image/png"}),
            ),
            (
                content::ContentBlock::Link(link()),
                json!({"type": "resource_link", "uri": "u:a", "name": "a", "mimeType": "text/plain"}),
            ),
            (
                content::ContentBlock::Resource(resource(ResourceBody::Text("t".into()))),
                json!({"type": "resource", "resource": {"uri": "u:b", "mimeType": "text/plain", "text": "t"}}),
            ),
            (
                content::ContentBlock::Resource(resource(ResourceBody::Bytes(vec![0, 1, 2]))),
                json!({"type": "resource", "resource": {"uri": "u:b", "mimeType": "text/plain", "blob": "AAEC"}}),
            ),
        ] {
            assert_eq!(serde_json::to_value(block(given)).expect("JSON"), expected);
        }
    }
}
