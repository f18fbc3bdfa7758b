//! Bounds what a model reads. The full result is stored, and the mark of the cut says how to read
//! on.

use crate::content::{ContentBlock, Link, Media, Resource, ResourceBody};
use crate::control::Control;
use crate::isolate;
use crate::refusal::{Class, Code, Refusal};
use crate::result::{ArtifactRef, MOST_LISTED, ToolResult, encoded_len};
use crate::run::context::Context;
use crate::run::record::object;
use crate::store::blob::BlobError;
use crate::tool::READER;
use serde_json::{Map, Value, json};
use std::sync::{Arc, PoisonError};

/// The size of a result.
pub(in crate::run) struct Size {
    /// The most bytes of text that a model may read.
    pub(in crate::run) most: usize,
    /// Bytes of the value as JSON, or as text if that is the content.
    pub(in crate::run) value: usize,
    /// Whether the content is the value's own text.
    pub(in crate::run) is_own_text: bool,
}

/// A stored artifact, and the tool that reads it, if there is one.
#[derive(Clone, Copy)]
pub(in crate::run) struct Handle<'a> {
    artifact: &'a ArtifactRef,
    reader: Option<&'static str>,
}

/// What each block after the first counts besides its text, so that many empty blocks are bounded
/// too.
const BLOCK: usize = 16;
/// The most bytes of images, audio and other media in a result.
const MOST_MEDIA: usize = 16 << 20;
/// The most bytes of each field for programs, such as the metadata.
const MOST_ABOUT: usize = 64 << 10;

/// Refuses to store more artifacts than the result may list.
pub(in crate::run) fn room_to_keep(ctx: &Context) -> Result<(), Refusal> {
    if ctx
        .0
        .kept
        .lock()
        .unwrap_or_else(PoisonError::into_inner)
        .len()
        < MOST_LISTED
    {
        return Ok(());
    }
    let message = format!("a call may keep {MOST_LISTED} artifacts, and has");
    Err(Refusal::new(Code::Limit, message)
        .class(Class::Repairable)
        .help("keep more in one, or make another call"))
}

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
                        description: Some(format!(
                            "{} bytes, too long to be brought along",
                            kept.bytes
                        )),
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
    let long = |map: &Map<String, Value>| !map.is_empty() && encoded_len(map) > MOST_ABOUT;
    !result.refs.is_empty() && encoded_len(&result.refs) > MOST_ABOUT
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
        let value = if bytes <= MOST_ABOUT {
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

/// Shortens each field of an event. Nothing is stored, because an event is never the only copy.
pub(in crate::run) fn short(fields: &mut Map<String, Value>) {
    for value in fields.values_mut() {
        match value {
            Value::String(text) => drop(cut(text, MOST_ABOUT, None)),
            Value::Array(_) | Value::Object(_) => {
                let bytes = encoded_len(value);
                if bytes > MOST_ABOUT {
                    *value = json!({"left_out": {"bytes": bytes}});
                }
            }
            _ => {}
        }
    }
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
            ctx.record("log", || {
                object(
                    json!({"level": "warn", "message": message, "fields": {}, "source": "harness"}),
                )
            });
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
            if bytes > MOST_ABOUT {
                error.details = Map::from_iter([("left_out".to_owned(), json!({"bytes": bytes}))]);
            }
        }
    }
}

fn mark(gone: usize, handle: Option<&Handle<'_>>) -> String {
    match handle {
        None => format!("\n[… {gone} bytes left out …]\n"),
        Some(Handle {
            artifact,
            reader: None,
        }) => format!(
            "\n[… {gone} bytes left out; all of it is kept as {} …]\n",
            artifact.id
        ),
        Some(Handle {
            artifact,
            reader: Some(reader),
        }) => {
            format!(
                "\n[… {gone} bytes left out; `{reader}` shows any part of it: id {}, {} bytes …]\n",
                artifact.id, artifact.bytes
            )
        }
    }
}

/// Cuts out the middle, so that the rest and the mark of the cut fit the bound; returns how many
/// bytes it removed.
fn cut(text: &mut String, most: usize, handle: Option<&Handle<'_>>) -> usize {
    if text.len() <= most {
        return 0;
    }
    // A cut never has more digits than the whole, so its mark is never longer. The mark must leave
    // room for text; if even the shortest does not, only the metadata report the cut.
    let longest = |handle: Option<&Handle<'_>>| mark(text.len(), handle).len();
    let handle = handle.filter(|handle| 2 * longest(Some(handle)) <= most);
    let room = most.checked_sub(longest(handle));
    let half = room.unwrap_or(most) / 2;
    let head = text.floor_char_boundary(half);
    let tail = text.ceil_char_boundary(text.len() - half);
    let gone = tail - head;
    let mark = room.map(|_| mark(gone, handle)).unwrap_or_default();
    // A new string, because the old one would keep its large allocation.
    *text = [&text[..head], &mark, &text[tail..]].concat();
    gone
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_text_keeps_its_head_and_tail_on_character_boundaries() {
        let mut text = "é".repeat(100);
        let gone = cut(&mut text, 51, None);
        assert!(text.starts_with("éé") && text.ends_with("éé"));
        assert!(text.contains(&format!("[… {gone} bytes left out …]")));
        let mut short = "abc".to_owned();
        assert_eq!((cut(&mut short, 3, None), short.as_str()), (0, "abc"));
    }

    #[test]
    fn what_stays_of_a_long_text_is_within_the_bound_with_the_mark_of_the_cut() {
        for whole in ["é".repeat(600), "a".repeat(1200), "€a".repeat(300)] {
            let artifact = ArtifactRef {
                id: "art_1".into(),
                media_type: "text/plain".into(),
                bytes: 9,
                digest: String::new(),
            };
            let named = Handle {
                artifact: &artifact,
                reader: Some("read_artifact"),
            };
            for (most, handle) in (0..1200).flat_map(|most| [(most, None), (most, Some(&named))]) {
                let mut text = whole.clone();
                let gone = cut(&mut text, most, handle);
                assert!(text.len() <= most, "{most}: {} bytes", text.len());
                let marks = [Some(mark(gone, handle)), Some(mark(gone, None))];
                let kept = text.len()
                    - marks
                        .iter()
                        .flatten()
                        .find(|mark| text.contains(*mark))
                        .map_or(0, String::len);
                assert_eq!(kept + gone, whole.len(), "{most}");
            }
        }
    }
}
