//! What a model reads is bounded. The whole is kept, and the mark of the cut says how to read on.

use super::context::{Context, object};
use crate::content::ContentBlock;
use crate::isolate::caught;
use crate::message::joined;
use crate::registry::READER;
use crate::result::{ArtifactRef, ToolResult};
use crate::store::kept::KeptError;
use serde_json::json;

/// How long a result is.
pub(super) struct Size {
    /// Bytes of text that a model may read.
    pub(super) most: usize,
    /// Bytes of the value as JSON; of its text, where that is the content.
    pub(super) value: usize,
    /// Whether the content is the value's own text.
    pub(super) is_own_text: bool,
}

/// Something kept, and the tool that reads it, if there is one.
#[derive(Clone, Copy)]
pub(super) struct Handle<'a> {
    artifact: &'a ArtifactRef,
    reader: Option<&'static str>,
}

/// Keeps what is too long, and leaves its head, its tail and a handle.
pub(super) async fn bound(ctx: &Context, result: &mut ToolResult, size: Size) {
    let Size { most, value, is_own_text } = size;
    let text: usize = result.content.iter().filter_map(ContentBlock::as_text).map(str::len).sum();
    if text <= most && value <= most {
        return cut_error(result, most);
    }
    let too_long = result.value.take_if(|_| value > most);
    let is_json = too_long.as_ref().is_some_and(|value| value.is_array() || value.is_object());
    let mut whole = None;
    if text > most {
        let media_type = if is_own_text && is_json { "application/json" } else { "text/plain" };
        let all = match result.content.as_mut_slice() {
            [ContentBlock::Text(text)] => std::mem::take(text),
            blocks => joined(blocks),
        };
        let (kept, all) = keep(ctx, result, all, media_type).await;
        whole = kept;
        if let [ContentBlock::Text(text)] = result.content.as_mut_slice() {
            *text = all;
        }
    }
    if let Some(value) = too_long.filter(|_| !is_own_text) {
        let (kept, _) = keep(ctx, result, value.to_string(), "application/json").await;
        whole = whole.or(kept);
    }
    let tools = ctx.registry();
    let reader = tools.find(READER).filter(|tool| tools.is_offered(tool)).map(|_| READER);
    let gone = cut_all(result, most, whole.as_ref().map(|artifact| Handle { artifact, reader }).as_ref());
    let mut about = json!({"left_out_bytes": gone.max(if value > most { value } else { 0 }), "limit_bytes": most});
    if let Some(artifact) = whole {
        about["artifact"] = artifact.id.into();
    }
    result.metadata.insert("truncated".into(), about);
}

/// Keeps a text, and gives it back. A store that cannot is no reason to lose the result: it is said, and the call goes on.
async fn keep(ctx: &Context, result: &mut ToolResult, text: String, media_type: &'static str) -> (Option<ArtifactRef>, String) {
    let shelf = ctx.shared().shelf(&ctx.call().session_id, &result.name);
    let crashed = || Err(KeptError::Failed("the store crashed".to_owned()));
    let writing = tokio::task::spawn_blocking(move || (caught(|| shelf.write(text.as_bytes(), media_type)), text));
    let (kept, text) = writing.await.unwrap_or_default();
    let kept = match kept.unwrap_or_else(crashed) {
        Ok(artifact) => {
            ctx.journal.record_stored(&artifact);
            result.artifacts.push(artifact.clone());
            Some(artifact)
        }
        Err(problem) => {
            let message = format!("the whole of a long result is lost: {problem}");
            ctx.record("log", || object(json!({"level": "warn", "message": message, "fields": {}, "source": "harness"})));
            None
        }
    };
    (kept, text)
}

/// Cuts every text of a result to what is left of the bound, and says how many bytes went.
pub(super) fn cut_all(result: &mut ToolResult, most: usize, handle: Option<&Handle<'_>>) -> usize {
    let (mut gone, mut left) = (0, most);
    for block in &mut result.content {
        if let ContentBlock::Text(text) = block {
            gone += cut(text, left, handle);
            left -= text.len();
        }
    }
    cut_error(result, most);
    gone
}

fn cut_error(result: &mut ToolResult, most: usize) {
    if let Some(error) = &mut result.error {
        cut(&mut error.message, most, None);
    }
}

fn mark(gone: usize, handle: Option<&Handle<'_>>) -> String {
    match handle {
        None => format!("\n[… {gone} bytes left out …]\n"),
        Some(Handle { artifact, reader: None }) => format!("\n[… {gone} bytes left out; all of it is kept as {} …]\n", artifact.id),
        Some(Handle { artifact, reader: Some(reader) }) => {
            format!("\n[… {gone} bytes left out; `{reader}` shows any part of it: id {}, {} bytes …]\n", artifact.id, artifact.bytes)
        }
    }
}

/// Cuts the middle out, so that what stays and the mark of the cut are within the bound; says how many bytes went.
fn cut(text: &mut String, most: usize, handle: Option<&Handle<'_>>) -> usize {
    if text.len() <= most {
        return 0;
    }
    // No cut has more digits than the whole, so its mark is never longer. A mark must leave room for text beside it, and where
    // there is none even for the shortest, the metadata still tell.
    let longest = |handle: Option<&Handle<'_>>| mark(text.len(), handle).len();
    let handle = handle.filter(|handle| 2 * longest(Some(handle)) <= most);
    let room = most.checked_sub(longest(handle));
    let half = room.unwrap_or(most) / 2;
    let head = text.floor_char_boundary(half);
    let tail = text.ceil_char_boundary(text.len() - half);
    let gone = tail - head;
    let mark = room.map(|_| mark(gone, handle)).unwrap_or_default();
    // A new text, so that what is left of a huge one is not huge.
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
            let artifact = ArtifactRef { id: "art_1".into(), media_type: "text/plain".into(), bytes: 9, digest: String::new() };
            let named = Handle { artifact: &artifact, reader: Some("read_artifact") };
            for (most, handle) in (0..1200).flat_map(|most| [(most, None), (most, Some(&named))]) {
                let mut text = whole.clone();
                let gone = cut(&mut text, most, handle);
                assert!(text.len() <= most, "{most}: {} bytes", text.len());
                let marks = [Some(mark(gone, handle)), Some(mark(gone, None))];
                let kept = text.len() - marks.iter().flatten().find(|mark| text.contains(*mark)).map_or(0, String::len);
                assert_eq!(kept + gone, whole.len(), "{most}");
            }
        }
    }
}
