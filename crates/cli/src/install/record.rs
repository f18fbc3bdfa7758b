//! What was put into a file, so that exactly that can be taken out again. Kept in the user's state folder.

use super::file;
use serde_json::{Value, json};
use std::fs;
use std::path::{Path, PathBuf};
use tool_harness::digest;

/// What an installation did to one file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Record {
    /// Whether the file was there before.
    pub(super) existed: bool,
    /// Folders that were made for it, the outer ones first.
    pub(super) folders: Vec<PathBuf>,
    /// What was put in, in this order, and where in the text that was then.
    pub(super) pieces: Vec<(usize, String)>,
    /// The paths of what was made in it to hold the entries.
    pub(super) made: Vec<Vec<String>>,
}

impl Record {
    /// The text without the pieces; absent when they are not all there as they were put in.
    pub(super) fn undo(&self, text: &str) -> Option<String> {
        self.undo_in_place(text)
            .or_else(|| self.undo_anywhere(text))
    }

    /// For a text that is as it was left, at least up to the pieces.
    fn undo_in_place(&self, text: &str) -> Option<String> {
        self.pieces
            .iter()
            .rev()
            .try_fold(text.to_owned(), |text, (at, piece)| {
                let rest = text.get(*at..)?.strip_prefix(piece.as_str())?;
                Some(format!("{}{rest}", text.get(..*at)?))
            })
    }

    /// For a text that was changed elsewhere: each piece has to be there as often as it was put in.
    fn undo_anywhere(&self, text: &str) -> Option<String> {
        let mut text = text.to_owned();
        let mut done: Vec<&String> = Vec::new();
        for (_, piece) in self.pieces.iter().rev() {
            if done.contains(&piece) {
                continue;
            }
            let put_in = self
                .pieces
                .iter()
                .filter(|(_, other)| other == piece)
                .count();
            if piece.is_empty() || text.matches(piece.as_str()).count() != put_in {
                return None;
            }
            text = text.replace(piece.as_str(), "");
            done.push(piece);
        }
        Some(text)
    }

    pub(super) fn read(state: &Path, of: &Path) -> Option<Self> {
        let document: Value = serde_json::from_slice(&fs::read(place(state, of)).ok()?).ok()?;
        let texts = |value: &Value| -> Option<Vec<String>> {
            value
                .as_array()?
                .iter()
                .map(|one| one.as_str().map(str::to_owned))
                .collect()
        };
        let piece = |value: &Value| {
            Some((
                usize::try_from(value["at"].as_u64()?).ok()?,
                value["text"].as_str()?.to_owned(),
            ))
        };
        Some(Self {
            existed: document["existed"].as_bool()?,
            folders: texts(&document["folders"])?
                .into_iter()
                .map(PathBuf::from)
                .collect(),
            pieces: document["pieces"]
                .as_array()?
                .iter()
                .map(piece)
                .collect::<Option<_>>()?,
            made: document["made"]
                .as_array()?
                .iter()
                .map(texts)
                .collect::<Option<_>>()?,
        })
    }

    pub(super) fn write(&self, state: &Path, of: &Path) -> std::io::Result<()> {
        let folders: Vec<_> = self
            .folders
            .iter()
            .map(|folder| folder.to_string_lossy())
            .collect();
        let pieces: Vec<Value> = self
            .pieces
            .iter()
            .map(|(at, text)| json!({"at": at, "text": text}))
            .collect();
        let document = json!({"file": of.to_string_lossy(), "existed": self.existed, "folders": folders, "pieces": pieces, "made": self.made});
        let place = place(state, of);
        place.parent().map_or(Ok(()), fs::create_dir_all)?;
        file::replace(&place, &format!("{document:#}\n"))
    }

    pub(super) fn forget(state: &Path, of: &Path) {
        // A record that stays behind is only read for a file that has our entries.
        let _ = fs::remove_file(place(state, of));
    }
}

fn place(state: &Path, of: &Path) -> PathBuf {
    let digest = digest::of(&json!(of.to_string_lossy()));
    let name: String = digest.chars().filter(char::is_ascii_alphanumeric).collect();
    state.join("installed").join(format!("{name}.json"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pieces_come_out_in_reverse_and_only_when_all_are_there() {
        let record = |pieces: &[(usize, &str)]| Record {
            pieces: pieces
                .iter()
                .map(|(at, piece)| (*at, (*piece).to_owned()))
                .collect(),
            ..Record::default()
        };
        for (pieces, text, expected) in [
            (&[(1, "bb")][..], "abba", Some("aa")),
            (&[(1, "bb")], "cabba", Some("caa")),
            (&[(0, "(x)"), (2, "y")], "(xy)z", Some("z")),
            (&[(0, "(x)"), (2, "y")], "z(xy)", Some("z")),
            (&[(0, "(x)"), (2, "y")], "(x!y)", None),
            (&[(0, "[h]"), (3, "h")], "[h]ha", Some("a")),
            (&[(0, "h"), (2, "h")], "hah", Some("a")),
            (&[(1, "h"), (3, "h")], "hah", Some("a")),
            (&[(0, "h"), (2, "h")], "ha", None),
            (&[(1, "h")], "hah", None),
            (&[(9, "h")], "é", None),
        ] {
            assert_eq!(
                record(pieces).undo(text).as_deref(),
                expected,
                "{pieces:?} {text}"
            );
        }
    }

    #[test]
    fn a_record_is_read_back_and_a_broken_one_is_none() {
        let state = tempfile::tempdir().expect("a folder");
        let of = Path::new("/a/b.json");
        let record = Record {
            existed: true,
            folders: vec!["/a".into()],
            pieces: vec![(7, "\r\n\"é\"".into())],
            made: vec![vec![], vec!["x".into()]],
        };
        record.write(state.path(), of).expect("written");
        assert_eq!(Record::read(state.path(), of), Some(record));
        fs::write(place(state.path(), of), "{").expect("written");
        assert_eq!(Record::read(state.path(), of), None);
    }
}
