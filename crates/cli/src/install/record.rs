//! What an installation inserted into a file, so that exactly that can be removed again. Kept in
//! the user's state folder.

use crate::replace::replace;
use serde::{Deserialize, Serialize};
use serde_json::json;
use std::fs;
use std::path::{Path, PathBuf};
use tool_harness::digest;

/// What an installation did to one file.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct InstallRecord {
    /// Whether the file existed before.
    pub(super) existed: bool,
    /// Folders that were created for it, outermost first.
    pub(super) folders: Vec<PathBuf>,
    /// What was inserted, in this order.
    pub(super) pieces: Vec<Piece>,
    /// The paths of the parents that were created in it for the entries.
    #[serde(rename = "made")]
    pub(super) created: Vec<Vec<String>>,
}

/// One insertion into a text.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Piece {
    /// Where in the text as it was then.
    pub(super) at: usize,
    pub(super) text: String,
}

impl InstallRecord {
    /// The text without the pieces; absent unless all of them are there unchanged.
    pub(super) fn undo(&self, text: &str) -> Option<String> {
        self.undo_in_place(text)
            .or_else(|| self.undo_anywhere(text))
    }

    /// For a text that is unchanged, at least up to the last piece.
    fn undo_in_place(&self, text: &str) -> Option<String> {
        self.pieces
            .iter()
            .rev()
            .try_fold(text.to_owned(), |text, piece| {
                let rest = text.get(piece.at..)?.strip_prefix(&piece.text)?;
                Some(format!("{}{rest}", text.get(..piece.at)?))
            })
    }

    /// For a text that was changed elsewhere: each piece must occur as often as it was inserted.
    fn undo_anywhere(&self, text: &str) -> Option<String> {
        let mut text = text.to_owned();
        let mut done: Vec<&String> = Vec::new();
        for Piece { text: piece, .. } in self.pieces.iter().rev() {
            if done.contains(&piece) {
                continue;
            }
            let inserted = self
                .pieces
                .iter()
                .filter(|other| other.text == *piece)
                .count();
            if piece.is_empty() || text.matches(piece.as_str()).count() != inserted {
                return None;
            }
            text = text.replace(piece.as_str(), "");
            done.push(piece);
        }
        Some(text)
    }

    /// The record about a file, if it exists and can be read.
    pub(super) fn read(state: &Path, file: &Path) -> Option<Self> {
        serde_json::from_slice(&fs::read(path(state, file)).ok()?).ok()
    }

    pub(super) fn write(&self, state: &Path, file: &Path) -> std::io::Result<()> {
        let mut document = serde_json::to_value(self)?;
        document["file"] = json!(file.to_string_lossy());
        let path = path(state, file);
        path.parent().map_or(Ok(()), fs::create_dir_all)?;
        replace(&path, &format!("{document:#}\n"))
    }

    pub(super) fn forget(state: &Path, file: &Path) {
        // A record that stays behind is only read for a file that has our entries.
        let _ = fs::remove_file(path(state, file));
    }
}

fn path(state: &Path, file: &Path) -> PathBuf {
    let digest = digest::of(&json!(file.to_string_lossy()));
    let name: String = digest.chars().filter(char::is_ascii_alphanumeric).collect();
    state.join("installed").join(format!("{name}.json"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pieces_are_removed_in_reverse_and_only_if_all_are_present() {
        let record = |pieces: &[(usize, &str)]| InstallRecord {
            pieces: pieces
                .iter()
                .map(|(at, text)| Piece {
                    at: *at,
                    text: (*text).to_owned(),
                })
                .collect(),
            ..InstallRecord::default()
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
    fn a_record_is_read_back_and_a_broken_one_is_ignored() {
        let state = tempfile::tempdir().expect("a folder");
        let file = Path::new("/a/b.json");
        let record = InstallRecord {
            existed: true,
            folders: vec!["/a".into()],
            pieces: vec![Piece {
                at: 7,
                text: "\r\n\"é\"".into(),
            }],
            created: vec![vec![], vec!["x".into()]],
        };
        record.write(state.path(), file).expect("written");
        assert_eq!(InstallRecord::read(state.path(), file), Some(record));
        fs::write(path(state.path(), file), "{").expect("written");
        assert_eq!(InstallRecord::read(state.path(), file), None);
    }
}
