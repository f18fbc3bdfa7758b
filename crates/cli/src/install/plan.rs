//! The changes to a client's files, worked out before anything is written.

use super::record::InstallRecord;
use super::{ConfigFile, EntryState, InstallContext, file};
use crate::client::ClientSpec;
use crate::exit::{UsageError, usage};
use crate::replace::replace;
use std::fs;
use std::path::{Path, PathBuf};

/// Every change that one installation, or its removal, makes.
pub(crate) struct InstallPlan {
    state: PathBuf,
    changes: Vec<FileChange>,
}

/// The change to one file.
pub(crate) struct FileChange {
    /// The file as the client names it, links not followed.
    pub(crate) path: PathBuf,
    real: PathBuf,
    /// Its text now, if it exists.
    pub(crate) before: Option<String>,
    /// Its text afterwards; absent if the file is removed.
    pub(crate) after: Option<String>,
    /// What an earlier installation recorded about it.
    recorded: Option<InstallRecord>,
    /// What to record; absent when the installation is undone.
    record: Option<InstallRecord>,
    /// Folders to remove with the file if they are empty.
    folders: Vec<PathBuf>,
}

impl InstallPlan {
    /// Adds harness to the files of a client. `state` is the folder for the records.
    pub(crate) fn install(
        client: &ClientSpec,
        context: &InstallContext<'_>,
        state: &Path,
    ) -> Result<Self, UsageError> {
        Self::of(client, context, state, |config, change| {
            let mut record = change.recorded.clone().unwrap_or_default();
            let text = change.before.clone().unwrap_or_default();
            let found = look(config, &text)?;
            if found.iter().all(|found| *found == EntryState::Current) {
                change.record = None;
                return Ok(text);
            }
            let mut text = if is_absent(&found) {
                record = InstallRecord {
                    existed: change.before.is_some(),
                    folders: file::missing_folders(&change.real),
                    ..InstallRecord::default()
                };
                text
            } else {
                strip(config, &text, Some(&record))?
            };
            (record.pieces, record.created) = (Vec::new(), Vec::new());
            for entry in &config.entries {
                let added = config.syntax.add(&text, entry)?;
                record.pieces.push(added.piece);
                record.created.extend(added.created);
                text = added.text;
            }
            change.record = Some(record);
            Ok(text)
        })
    }

    /// Removes harness from the files of a client.
    pub(crate) fn uninstall(
        client: &ClientSpec,
        context: &InstallContext<'_>,
        state: &Path,
    ) -> Result<Self, UsageError> {
        Self::of(client, context, state, |config, change| {
            let Some(text) = change.before.clone() else {
                return Ok(String::new());
            };
            if is_absent(&look(config, &text)?) {
                return Ok(text);
            }
            let bare = strip(config, &text, change.recorded.as_ref())?;
            if let Some(record) = &change.recorded
                && !record.existed
                && bare.is_empty()
            {
                (change.after, change.folders) = (None, record.folders.clone());
            }
            Ok(bare)
        })
    }

    fn of(
        client: &ClientSpec,
        context: &InstallContext<'_>,
        state: &Path,
        work_out: impl Fn(&ConfigFile, &mut FileChange) -> Result<String, String>,
    ) -> Result<Self, UsageError> {
        let mut changes = Vec::new();
        for config in (client.files)(context)? {
            let real = file::real(&config.path, &config.root)?;
            let before = file::read(&real)?;
            let recorded = InstallRecord::read(state, &real);
            let after = Some(before.clone().unwrap_or_default());
            let mut change = FileChange {
                path: config.path.clone(),
                real,
                before,
                after,
                recorded,
                record: None,
                folders: Vec::new(),
            };
            let text = work_out(&config, &mut change).map_err(|why| {
                usage!("cannot change `{}`: {why}", config.path.display())
                    .help("nothing was written; fix the file first")
            })?;
            // An absent file stays absent, and so does one that is removed.
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
    pub(crate) fn changes(&self) -> impl Iterator<Item = &FileChange> {
        self.changes
            .iter()
            .filter(|change| change.before != change.after)
    }

    /// Every file it examined.
    pub(crate) fn files(&self) -> impl Iterator<Item = &Path> {
        self.changes.iter().map(|change| change.path.as_path())
    }

    /// Writes every change. If one fails, it undoes those before it.
    pub(crate) fn write(&self) -> Result<(), UsageError> {
        for change in self.changes() {
            if file::read(&change.real)? != change.before {
                let path = change.path.display();
                let problem = usage!("`{path}` has changed in the meantime");
                return Err(problem.help("nothing was written; try again"));
            }
        }
        let mut done: Vec<&FileChange> = Vec::new();
        for change in self.changes() {
            if let Err((path, problem)) = change.write(&self.state) {
                for earlier in done.iter().rev() {
                    earlier.put_back(&self.state);
                }
                change.put_back(&self.state);
                let problem = usage!("cannot write `{}`: {problem}", path.display());
                return Err(problem.help("nothing was changed"));
            }
            done.push(change);
        }
        Ok(())
    }
}

impl FileChange {
    /// Writes it; an error names the path that could not be written.
    fn write(&self, state: &Path) -> Result<(), (PathBuf, std::io::Error)> {
        if let Some(record) = &self.record {
            record
                .write(state, &self.real)
                .map_err(|problem| (state.join("installed"), problem))?;
        }
        self.write_file()
            .map_err(|problem| (self.path.clone(), problem))?;
        if self.record.is_none() {
            InstallRecord::forget(state, &self.real);
        }
        Ok(())
    }

    fn write_file(&self) -> std::io::Result<()> {
        match &self.after {
            Some(text) => {
                self.real.parent().map_or(Ok(()), fs::create_dir_all)?;
                replace(&self.real, text)?;
            }
            None => {
                fs::remove_file(&self.real)?;
                // A folder that something else uses by now is not empty, so it stays.
                self.folders
                    .iter()
                    .rev()
                    .for_each(|folder| drop(fs::remove_dir(folder)));
            }
        }
        Ok(())
    }

    /// Restores the previous state if possible: writing may fail again for the same reason.
    fn put_back(&self, state: &Path) {
        let _ = match &self.before {
            Some(text) => replace(&self.real, text),
            None => fs::remove_file(&self.real),
        };
        self.record
            .iter()
            .flat_map(|record| record.folders.iter().rev())
            .for_each(|folder| drop(fs::remove_dir(folder)));
        match &self.recorded {
            Some(record) => drop(record.write(state, &self.real)),
            None => InstallRecord::forget(state, &self.real),
        }
    }
}

fn look(config: &ConfigFile, text: &str) -> Result<Vec<EntryState>, String> {
    let found = config.entries.iter().map(|entry| {
        let found = config.syntax.look(text, entry)?;
        let path = entry.path.join(".");
        match found {
            EntryState::Foreign => Err(format!(
                "it has a `{path}.harness` that harness did not write"
            )),
            found => Ok(found),
        }
    });
    found.collect()
}

fn is_absent(found: &[EntryState]) -> bool {
    found.iter().all(|found| *found == EntryState::Absent)
}

/// The text without our entries: byte for byte as it was if the record still fits, otherwise by
/// their place in the structure.
fn strip(
    config: &ConfigFile,
    text: &str,
    record: Option<&InstallRecord>,
) -> Result<String, String> {
    if let Some(bare) = record.and_then(|record| record.undo(text))
        && look(config, &bare).is_ok_and(|found| is_absent(&found))
    {
        return Ok(bare);
    }
    let created = record.map_or(&[][..], |record| &record.created);
    let mut entries = config.entries.iter().rev();
    entries.try_fold(text.to_owned(), |text, entry| {
        config.syntax.remove(&text, entry, created)
    })
}
