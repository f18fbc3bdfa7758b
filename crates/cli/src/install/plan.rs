//! What would change in the files of a client, worked out before anything is written.

use super::record::Record;
use super::{Client, Found, Setting, Target, file};
use crate::exit::Usage;
use std::fs;
use std::path::{Path, PathBuf};

/// Every file of one installation, or of its undoing.
pub(crate) struct Plan {
    state: PathBuf,
    changes: Vec<Change>,
}

/// What becomes of one file.
pub(crate) struct Change {
    /// The file, as people know it.
    pub(crate) path: PathBuf,
    real: PathBuf,
    /// Its text now; absent where there is no file.
    pub(crate) before: Option<String>,
    /// Its text then; absent where the file goes.
    pub(crate) after: Option<String>,
    /// What is remembered of it now.
    remembered: Option<Record>,
    /// What to remember then; absent when it is undone.
    record: Option<Record>,
    /// Folders that go with the file when they are empty.
    folders: Vec<PathBuf>,
}

impl Plan {
    /// Puts harness into the files of a client. `state` is where is remembered what was done.
    pub(crate) fn install(
        client: Client,
        setting: &Setting<'_>,
        state: &Path,
    ) -> Result<Self, Usage> {
        Self::of(client, setting, state, |target, change| {
            let mut record = change.remembered.clone().unwrap_or_default();
            let text = change.before.clone().unwrap_or_default();
            let found = look(target, &text)?;
            if found.iter().all(|found| *found == Found::Same) {
                change.record = None;
                return Ok(text);
            }
            let clean = if found.iter().all(|found| *found == Found::Absent) {
                record = Record {
                    existed: change.before.is_some(),
                    folders: file::missing_folders(&change.real),
                    ..Record::default()
                };
                text
            } else {
                strip(target, &text, Some(&record))?
            };
            (record.pieces, record.made) = (Vec::new(), Vec::new());
            let mut made = clean;
            for entry in &target.entries {
                let added = target.syntax.add(&made, entry)?;
                record.pieces.push((added.at, added.piece));
                record.made.extend(added.made);
                made = added.text;
            }
            change.record = Some(record);
            Ok(made)
        })
    }

    /// Takes harness out of the files of a client again.
    pub(crate) fn uninstall(
        client: Client,
        setting: &Setting<'_>,
        state: &Path,
    ) -> Result<Self, Usage> {
        Self::of(client, setting, state, |target, change| {
            let Some(text) = change.before.clone() else {
                return Ok(String::new());
            };
            if look(target, &text)?
                .iter()
                .all(|found| *found == Found::Absent)
            {
                return Ok(text);
            }
            let bare = strip(target, &text, change.remembered.as_ref())?;
            if let Some(record) = change
                .remembered
                .as_ref()
                .filter(|record| !record.existed && bare.is_empty())
            {
                (change.after, change.folders) = (None, record.folders.clone());
            }
            Ok(bare)
        })
    }

    fn of(
        client: Client,
        setting: &Setting<'_>,
        state: &Path,
        work_out: impl Fn(&Target, &mut Change) -> Result<String, String>,
    ) -> Result<Self, Usage> {
        let mut changes = Vec::new();
        for target in (client.about().targets)(setting)? {
            let real = file::real(&target.path, &target.root)?;
            let before = file::read(&real)?;
            let remembered = Record::read(state, &real);
            let after = Some(before.clone().unwrap_or_default());
            let mut change = Change {
                path: target.path.clone(),
                real,
                before,
                after,
                remembered,
                record: None,
                folders: Vec::new(),
            };
            let text = work_out(&target, &mut change).map_err(|why| {
                Usage::new(format!("cannot change `{}`: {why}", target.path.display()))
                    .help("nothing was written; mend the file first")
            })?;
            // Absent stays absent: that is a file that goes, or one that never was.
            change.after = change
                .after
                .filter(|_| change.before.is_some() || !text.is_empty())
                .map(|_| text);
            changes.push(change);
        }
        Ok(Self {
            state: state.to_owned(),
            changes,
        })
    }

    /// The files that change.
    pub(crate) fn changes(&self) -> impl Iterator<Item = &Change> {
        self.changes
            .iter()
            .filter(|change| change.before != change.after)
    }

    /// Every file it looked at.
    pub(crate) fn files(&self) -> impl Iterator<Item = &Path> {
        self.changes.iter().map(|change| change.path.as_path())
    }

    /// Writes every change; when one fails, those before it are undone.
    pub(crate) fn write(&self) -> Result<(), Usage> {
        for change in self.changes() {
            if file::read(&change.real)? != change.before {
                return Err(Usage::new(format!(
                    "`{}` has changed in the meantime",
                    change.path.display()
                ))
                .help("nothing was written; try again"));
            }
        }
        let mut done: Vec<&Change> = Vec::new();
        for change in self.changes() {
            if let Err((path, problem)) = change.write(&self.state) {
                for earlier in done.iter().rev() {
                    earlier.put_back(&self.state);
                }
                change.put_back(&self.state);
                return Err(
                    Usage::new(format!("cannot write `{}`: {problem}", path.display()))
                        .help("nothing was changed"),
                );
            }
            done.push(change);
        }
        Ok(())
    }
}

impl Change {
    /// Writes it; an error comes with what could not be written.
    fn write(&self, state: &Path) -> Result<(), (PathBuf, std::io::Error)> {
        if let Some(record) = &self.record {
            record
                .write(state, &self.real)
                .map_err(|problem| (state.join("installed"), problem))?;
        }
        self.write_file()
            .map_err(|problem| (self.path.clone(), problem))?;
        if self.record.is_none() {
            Record::forget(state, &self.real);
        }
        Ok(())
    }

    fn write_file(&self) -> std::io::Result<()> {
        match &self.after {
            Some(text) => {
                self.real.parent().map_or(Ok(()), fs::create_dir_all)?;
                file::replace(&self.real, text)?;
            }
            None => {
                fs::remove_file(&self.real)?;
                // Folders that others use by now are not empty and stay.
                self.folders
                    .iter()
                    .rev()
                    .for_each(|folder| drop(fs::remove_dir(folder)));
            }
        }
        Ok(())
    }

    /// The state before, as far as it can be had: whatever made writing fail may do so again.
    fn put_back(&self, state: &Path) {
        let _ = match &self.before {
            Some(text) => file::replace(&self.real, text),
            None => fs::remove_file(&self.real),
        };
        self.record
            .iter()
            .flat_map(|record| record.folders.iter().rev())
            .for_each(|folder| drop(fs::remove_dir(folder)));
        match &self.remembered {
            Some(record) => drop(record.write(state, &self.real)),
            None => Record::forget(state, &self.real),
        }
    }
}

fn look(target: &Target, text: &str) -> Result<Vec<Found>, String> {
    let found = target.entries.iter().map(|entry| {
        let found = target.syntax.look(text, entry)?;
        let path = entry.path.join(".");
        if found == Found::Foreign {
            Err(format!(
                "it has a `{path}.harness` that harness did not write"
            ))
        } else {
            Ok(found)
        }
    });
    found.collect()
}

/// The text without our entries: byte for byte as it was where it can be told, otherwise by their place in the structure.
fn strip(target: &Target, text: &str, record: Option<&Record>) -> Result<String, String> {
    let is_clean = |text: &str| {
        look(target, text).is_ok_and(|found| found.iter().all(|found| *found == Found::Absent))
    };
    if let Some(bare) = record
        .and_then(|record| record.undo(text))
        .filter(|bare| is_clean(bare))
    {
        return Ok(bare);
    }
    let made = record.map_or(&[][..], |record| &record.made);
    target
        .entries
        .iter()
        .rev()
        .try_fold(text.to_owned(), |text, entry| {
            target.syntax.remove(&text, entry, made)
        })
}
