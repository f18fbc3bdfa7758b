//! Cuts texts that are too long, and says what was left out.

use crate::result::ArtifactRef;

/// The most bytes of a field for programs: the metadata of a result, a field of an event.
pub(super) const MOST_FIELD: usize = 64 << 10;
/// The most bytes of a name that a caller or a script chose: of an unknown tool, or of an event.
pub(super) const MOST_NAME: usize = 256;

/// A stored artifact, and the tool that reads it, if there is one.
#[derive(Clone, Copy)]
pub(super) struct Handle<'a> {
    pub(super) artifact: &'a ArtifactRef,
    pub(super) reader: Option<&'static str>,
}

/// Cuts out the middle, so that the rest and the mark of the cut fit the bound; returns how many
/// bytes it removed.
pub(super) fn cut(text: &mut String, most: usize, handle: Option<&Handle<'_>>) -> usize {
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

/// Says how many bytes were left out, and where they are.
pub(super) fn mark(gone: usize, handle: Option<&Handle<'_>>) -> String {
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
