//! Translates a client's arguments to those that hooks and policy see, and back.

use super::ClientToolCall;
use super::patch::{Touched, by_name, touched};
use super::path::real;
use crate::artifact::client::Split;
use crate::refusal::{Code, Refusal};
use serde_json::{Map, Value, json};
use std::path::{Path, PathBuf};

/// The arguments of one judgement.
pub(crate) type Part = Map<String, Value>;

impl ClientToolCall {
    /// The parts of one call to judge: usually one; several if the call touches several files.
    pub(crate) fn parts(&self, input: &Map<String, Value>) -> Result<Vec<Part>, Refusal> {
        let mut whole = self.renamed(input)?;
        match self.entry.split {
            None => Ok(vec![self.placed(whole, &self.cwd())?]),
            Some(Split::Edits) => {
                let Some(Value::Array(edits)) = whole.remove("edits") else {
                    return Err(self.unreadable("edits", "a list of edits"));
                };
                let mut parts = Vec::with_capacity(edits.len());
                for edit in &edits {
                    let edit = edit
                        .as_object()
                        .ok_or_else(|| self.unreadable("edits", "a list of edits"))?;
                    let mut part = whole.clone();
                    part.extend(self.renamed(edit)?);
                    parts.push(self.placed(part, &self.cwd())?);
                }
                if parts.is_empty() {
                    Err(self.unreadable("edits", "at least one edit"))
                } else {
                    Ok(parts)
                }
            }
            Some(Split::Patch) => {
                let text = whole
                    .get("patch")
                    .and_then(Value::as_str)
                    .ok_or_else(|| self.unreadable("patch", "the text of a patch"))?;
                let files = touched(text).map_err(|problem| {
                    self.unreadable("patch", &format!("a patch that can be read: {problem}"))
                })?;
                let part = |file: &Touched, place: &Path| {
                    let fields = [
                        ("path", self.shown(place)),
                        ("content", file.content.clone()),
                        ("change", file.change.to_owned()),
                    ];
                    Part::from_iter(fields.map(|(key, value)| (key.to_owned(), json!(value))))
                };
                let parts = files.iter().flat_map(|file| {
                    let places = self.places_in_patch(&file.path);
                    places.into_iter().map(move |place| part(file, &place))
                });
                Ok(parts.collect())
            }
        }
    }

    /// The real paths that a path in a patch can mean: versions of Codex differ, so each counts.
    /// None of them knows `~` or URLs.
    fn places_in_patch(&self, path: &str) -> Vec<PathBuf> {
        let followed = real(&self.cwd().join(path));
        let named = real(&by_name(&self.client.cwd, path));
        if followed == named {
            vec![followed]
        } else {
            vec![followed, named]
        }
    }

    /// Normalises paths after a hook changed the arguments: relative paths are now relative to the
    /// project.
    pub(crate) fn normalised(&self, part: Part) -> Result<Part, Refusal> {
        self.placed(part, self.project())
    }

    /// The client's arguments after hooks changed parts; `None` if nothing changed.
    pub(crate) fn rewritten(
        &self,
        input: &Map<String, Value>,
        before: &[Part],
        after: &[Part],
    ) -> Result<Option<Map<String, Value>>, Refusal> {
        if before == after {
            return Ok(None);
        }
        let mut output = input.clone();
        for (index, (before, after)) in before.iter().zip(after).enumerate() {
            if before == after {
                continue;
            }
            let target = match self.entry.split {
                None => Some(&mut output),
                Some(Split::Edits) => output
                    .get_mut("edits")
                    .and_then(|edits| edits.get_mut(index))
                    .and_then(Value::as_object_mut),
                Some(Split::Patch) => None,
            };
            self.put_back(
                target.ok_or_else(|| self.unwritable("its parts"))?,
                before,
                after,
            )?;
        }
        Ok(Some(output))
    }

    fn put_back(
        &self,
        target: &mut Map<String, Value>,
        before: &Part,
        after: &Part,
    ) -> Result<(), Refusal> {
        let keys = before
            .keys()
            .chain(after.keys().filter(|key| !before.contains_key(*key)));
        for key in keys.filter(|key| before.get(*key) != after.get(*key)) {
            let mut spellings = self
                .entry
                .args
                .iter()
                .filter(|(_, seen)| seen == key)
                .map(|(native, _)| native);
            let native = spellings
                .clone()
                .find(|native| target.contains_key(*native))
                .or_else(|| spellings.next())
                .unwrap_or(key);
            if self.entry.split.is_some() && !target.contains_key(native) {
                return Err(self.unwritable(key));
            }
            match (after.get(key), target.get(native)) {
                (None, _) => drop(target.remove(native)),
                // A list of words was shown as one command, which cannot become a list again.
                (Some(_), Some(Value::Array(_))) if self.entry.commands.contains(key) => {
                    return Err(self.unwritable(key));
                }
                (Some(Value::String(path)), _) if self.is_path(key) => {
                    target.insert(
                        native.clone(),
                        json!(self.project().join(path).to_string_lossy()),
                    );
                }
                (Some(value), _) => drop(target.insert(native.clone(), value.clone())),
            }
        }
        Ok(())
    }

    fn renamed(&self, input: &Map<String, Value>) -> Result<Part, Refusal> {
        let mut part = Part::with_capacity(input.len());
        for (native, value) in input {
            let key = self
                .entry
                .args
                .iter()
                .find(|(known, _)| known == native)
                .map_or(native, |(_, seen)| seen);
            if part.insert(key.clone(), value.clone()).is_some() {
                let message = format!("`{}` got `{key}` twice, under two names", self.native);
                return Err(Refusal::new(Code::ArgsInvalid, message)
                    .help("send it once")
                    .detail("path", format!("/{native}")));
            }
        }
        Ok(part)
    }

    /// Replaces paths by their targets, and commands by one text.
    fn placed(&self, mut part: Part, base: &Path) -> Result<Part, Refusal> {
        for (key, value) in &mut part {
            if self.is_path(key) {
                self.place(value, base);
            }
            if self.entry.commands.contains(key) {
                *value = match value {
                    Value::String(_) | Value::Null => continue,
                    Value::Array(words) => {
                        let words: Option<Vec<String>> =
                            words.iter().map(|word| word.as_str().map(quoted)).collect();
                        json!(words.ok_or_else(|| self.unreadable(key, "text"))?.join(" "))
                    }
                    _ => return Err(self.unreadable(key, "text")),
                };
            }
        }
        Ok(part)
    }

    fn place(&self, value: &mut Value, base: &Path) {
        match value {
            Value::String(path) => *path = self.shown(&self.resolve(path, base)),
            Value::Array(paths) => paths.iter_mut().for_each(|path| self.place(path, base)),
            _ => {}
        }
    }

    fn is_path(&self, key: &str) -> bool {
        self.entry.paths.iter().any(|path| path == key)
    }

    fn unreadable(&self, key: &str, accepted: &str) -> Refusal {
        let message = format!("`{key}` of `{}` must be {accepted}", self.native);
        Refusal::new(Code::ArgsInvalid, message)
            .help("what cannot be read cannot be judged")
            .detail("path", format!("/{key}"))
    }

    fn unwritable(&self, key: &str) -> Refusal {
        let message = format!(
            "a hook changed `{key}` of `{}`, and the client's own form of the call cannot carry the change",
            self.native
        );
        Refusal::new(Code::HookFailed, message)
            .help("a person must have the hook block the call instead")
    }
}

/// Quotes a word for a shell.
pub(super) fn quoted(word: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_./=:,@%+".contains(c);
    if !word.is_empty() && word.chars().all(plain) {
        word.to_owned()
    } else {
        format!("'{}'", word.replace('\'', "'\\''"))
    }
}
