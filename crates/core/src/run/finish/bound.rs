//! Bounds what a model reads. The full result is stored, and the mark of the cut says how to read
//! on.

use crate::content::{ContentBlock, Link, Media, Resource, ResourceBody};
use crate::control::Control;
use crate::event::EventKind;
use crate::isolate;
use crate::result::{ArtifactRef, ToolResult, encoded_len};
use crate::run::context::Context;
use crate::run::cut::{Handle, MOST_FIELD, cut, mark};
use crate::store::blob::BlobError;
use crate::tool::READER;
use serde_json::{Map, Value, json};
use std::sync::Arc;

/// The size of a result.
pub(in crate::run) struct Size {
    /// The most bytes of text that a model may read.
    pub(in crate::run) most: usize,
    /// Bytes of the value as JSON, or as text if that is the content.
    pub(in crate::run) value: usize,
    /// Whether the content is the value's own text.
    pub(in crate::run) is_own_text: bool,
}

/// What each block after the first counts besides its text, so that many empty blocks are bounded
/// too.
const BLOCK: usize = 16;
/// The most bytes of images, audio and other media in a result.
const MOST_MEDIA: usize = 16 << 20;
/// Stores what is too long, and leaves its head, its tail and a handle.
pub(in crate::run) async fn bound(ctx: &Context, result: &mut ToolResult, size: Size) {
    if result
        .content
        .iter()
        .map(ContentBlock::media_len)
        .sum::<usize>()
        > MOST_MEDIA
    {
        Box::pin(bound_media(ctx, result)).await;
    }
    if says_much(result) {
        Box::pin(bound_about(ctx, result)).await;
    }
    let text = spoken(&result.content);
    if text <= size.most && (size.is_own_text || text + size.value <= size.most) {
        return cut_error(result, size.most);
    }
    Box::pin(bound_text(ctx, result, text, size)).await;
}

async fn bound_text(ctx: &Context, result: &mut ToolResult, text: usize, size: Size) {
    let Size {
        most,
        value,
        is_own_text,
    } = size;
    // A short value is always shown. A long one is left out in favour of the tool's own content,
    // unless that is the value's text.
    let is_told = |result: &ToolResult| {
        let said = result.value.as_ref().map(|value| {
            value
                .as_str()
                .map_or_else(|| value.to_string(), str::to_owned)
        });
        said.is_none_or(|said| {
            result
                .content
                .iter()
                .any(|block| block.as_text() == Some(&*said))
        })
    };
    let besides = if is_own_text || text <= most && is_told(result) {
        0
    } else {
        value
    };
    if text + besides <= most {
        return cut_error(result, most);
    }
    let too_long = result.value.take_if(|_| {
        if is_own_text {
            value > most
        } else {
            besides > most / 4
        }
    });
    let most_text = if is_own_text || too_long.is_some() {
        most
    } else {
        most - besides
    };
    let is_json = too_long
        .as_ref()
        .is_some_and(|value| value.is_array() || value.is_object());
    let mut whole = None;
    if text > most_text {
        let media_type = if is_own_text && is_json {
            "application/json"
        } else {
            "text/plain"
        };
        let all = match result.content.as_mut_slice() {
            [ContentBlock::Text(text)] => std::mem::take(text),
            blocks => all_text(blocks),
        };
        let (kept, all) = match all.is_empty() {
            true => (None, all),
            false => keep(ctx, result, all, media_type.to_owned()).await,
        };
        whole = kept;
        if let [ContentBlock::Text(text)] = result.content.as_mut_slice() {
            *text = all;
        }
    }
    let mut gone_value = 0;
    if let Some(too_long) = too_long {
        gone_value = value;
        if !is_own_text {
            let (kept, _) = keep(
                ctx,
                result,
                too_long.to_string(),
                "application/json".to_owned(),
            )
            .await;
            whole = whole.or(kept);
        }
    }
    let tools = ctx.view();
    let reader = tools
        .find(READER)
        .filter(|tool| tools.is_offered(tool))
        .map(|_| READER);
    let (gone, dropped) = cut_all(
        result,
        most_text,
        whole
            .as_ref()
            .map(|artifact| Handle { artifact, reader })
            .as_ref(),
    );
    let mut about = json!({"left_out_bytes": gone.max(gone_value), "limit_bytes": most});
    if dropped > 0 {
        about["left_out_blocks"] = dropped.into();
    }
    if let Some(artifact) = whole {
        about["artifact"] = artifact.id.into();
    }
    result.metadata.insert("truncated".into(), about);
}

/// Stores the media that exceed the bound, and links to them.
async fn bound_media(ctx: &Context, result: &mut ToolResult) {
    let mut left = MOST_MEDIA;
    for at in 0..result.content.len() {
        match left.checked_sub(result.content[at].media_len()) {
            Some(rest) => left = rest,
            None => {
                let (data, media_type) =
                    match std::mem::replace(&mut result.content[at], ContentBlock::text("")) {
                        ContentBlock::Image(Media { data, media_type })
                        | ContentBlock::Audio(Media { data, media_type }) => (data, media_type),
                        ContentBlock::Resource(Resource {
                            body: ResourceBody::Bytes(bytes),
                            media_type,
                            ..
                        }) => (
                            bytes,
                            media_type.unwrap_or_else(|| "application/octet-stream".to_owned()),
                        ),
                        other => {
                            result.content[at] = other;
                            continue;
                        }
                    };
                let (kept, _) = keep(ctx, result, data, media_type).await;
                result.content[at] = match kept {
                    Some(kept) => ContentBlock::Link(Link {
                        uri: format!("artifact:///{}", kept.id),
                        name: kept.id,
                        description: Some(format!("{} bytes, too long to include", kept.bytes)),
                        media_type: Some(kept.media_type),
                    }),
                    None => ContentBlock::text("[something too long was left out]"),
                };
            }
        }
    }
}

/// Whether a field for programs is too long.
fn says_much(result: &ToolResult) -> bool {
    let about = [&result.metadata, &result.provider];
    let details = result.error.as_ref().map(|error| &error.details);
    let long = |map: &Map<String, Value>| !map.is_empty() && encoded_len(map) > MOST_FIELD;
    !result.refs.is_empty() && encoded_len(&result.refs) > MOST_FIELD
        || about.into_iter().chain(details).any(long)
}

/// Stores fields for programs that are too long, and says where.
async fn bound_about(ctx: &Context, result: &mut ToolResult) {
    let redacted = result.metadata.remove("redacted");
    for part in ["refs", "metadata", "provider", "details"] {
        let value = match (part, &mut result.error) {
            ("refs", _) => Value::Array(std::mem::take(&mut result.refs)),
            ("metadata", _) => Value::Object(std::mem::take(&mut result.metadata)),
            ("provider", _) => Value::Object(std::mem::take(&mut result.provider)),
            (_, Some(error)) => Value::Object(std::mem::take(&mut error.details)),
            (_, None) => continue,
        };
        let bytes = encoded_len(&value);
        let value = if bytes <= MOST_FIELD {
            value
        } else {
            let (kept, _) = keep(
                ctx,
                result,
                value.to_string(),
                "application/json".to_owned(),
            )
            .await;
            let left_out =
                json!({"left_out": {"bytes": bytes, "artifact": kept.map(|kept| kept.id)}});
            if part == "refs" {
                json!([left_out])
            } else {
                left_out
            }
        };
        match (part, value, &mut result.error) {
            (_, Value::Array(refs), _) => result.refs = refs,
            ("metadata", Value::Object(map), _) => result.metadata = map,
            ("provider", Value::Object(map), _) => result.provider = map,
            (_, Value::Object(map), Some(error)) => error.details = map,
            _ => {}
        }
    }
    result
        .metadata
        .extend(redacted.map(|count| ("redacted".to_owned(), count)));
}

/// Bytes that a model reads.
fn spoken(content: &[ContentBlock]) -> usize {
    content.iter().map(|block| block.text_len()).sum::<usize>()
        + BLOCK * content.len().saturating_sub(1)
}

/// Everything that a model would read, line by line.
fn all_text(content: &[ContentBlock]) -> String {
    let mut lines: Vec<&str> = Vec::new();
    for block in content {
        match block {
            ContentBlock::Text(text)
            | ContentBlock::Resource(Resource {
                body: ResourceBody::Text(text),
                ..
            }) => lines.push(text),
            ContentBlock::Link(link) => lines.extend([
                &*link.uri,
                &*link.name,
                link.description.as_deref().unwrap_or_default(),
            ]),
            ContentBlock::Resource(resource) => lines.push(&resource.uri),
            ContentBlock::Image(_) | ContentBlock::Audio(_) => {}
        }
    }
    lines.join("\n")
}

/// Stores something, and gives it back. If the store fails, the result says so and the call goes
/// on.
async fn keep<T>(
    ctx: &Context,
    result: &mut ToolResult,
    whole: T,
    media_type: String,
) -> (Option<ArtifactRef>, T)
where
    T: AsRef<[u8]> + Clone + Send + Sync + 'static,
{
    let blobs = ctx
        .shared()
        .session_blobs(&ctx.call().session_id, &result.name);
    let failed = |why: &str| Err(BlobError::Failed(why.to_owned()));
    let whole = Arc::new(whole);
    let there = Arc::clone(&whole);
    let kept = tokio::select! {
        biased;
        kept = isolate::blocking(move || blobs.write((*there).as_ref(), &media_type)) => kept.unwrap_or_else(|| failed("the store crashed")),
        // A slow disk must not hold up the call.
        () = ctx.call().cancel.cancelled() => failed("the call was cancelled before it was kept"),
        () = tokio::time::sleep_until(ctx.ends().at) => failed("the time of the call was over before it was kept"),
    };
    let kept = match kept {
        Ok(artifact) => {
            ctx.record_stored(&artifact);
            result.artifacts.push(artifact.clone());
            Some(artifact)
        }
        Err(problem) => {
            let message = format!("the whole of a long result is lost: {problem}");
            ctx.record(|| EventKind::warning(message, json!({})));
            None
        }
    };
    (
        kept,
        Arc::try_unwrap(whole).unwrap_or_else(|whole| T::clone(&whole)),
    )
}

/// Cuts every text of a result to the bound, drops blocks that no longer fit, and returns how many
/// bytes and blocks it removed.
pub(in crate::run) fn cut_all(
    result: &mut ToolResult,
    most: usize,
    handle: Option<&Handle<'_>>,
) -> (usize, usize) {
    let (mut gone, mut left, mut dropped) = (0, Some(most), 0_usize);
    result.content.retain_mut(|block| {
        let before = block.text_len();
        let room = left.and_then(|left| left.checked_sub(block.fixed_len()));
        let Some(room) = room else {
            (gone, dropped) = (gone + before, dropped + 1);
            return false;
        };
        let mut rest = room;
        if let ContentBlock::Text(text)
        | ContentBlock::Resource(Resource {
            body: ResourceBody::Text(text),
            ..
        }) = block
        {
            gone += cut(text, room, handle);
            rest -= text.len();
        }
        left = rest.checked_sub(BLOCK);
        true
    });
    if result.content.is_empty() && dropped > 0 {
        let mut mark = mark(gone, handle);
        cut(&mut mark, most, None);
        result.content.push(ContentBlock::Text(mark));
    }
    cut_error(result, most);
    (gone, dropped)
}

fn cut_error(result: &mut ToolResult, most: usize) {
    if let Some(error) = &mut result.error {
        cut(&mut error.message, most, None);
        if let Some(help) = &mut error.help {
            cut(help, most, None);
        }
        if let Some(Control::Stop(reason) | Control::Pause(reason)) = &mut error.control {
            cut(reason, most, None);
        }
        if !error.details.is_empty() {
            let bytes = encoded_len(&error.details);
            if bytes > MOST_FIELD {
                error.details = Map::from_iter([("left_out".to_owned(), json!({"bytes": bytes}))]);
            }
        }
    }
}
