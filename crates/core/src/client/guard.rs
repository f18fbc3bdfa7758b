//! What a client's tools may never do, whatever the project allows: change the files that govern
//! them, or decide in a person's place.

use super::ClientToolCall;
use super::destructive_command::{Walk, means_to_govern};
use super::path::MAX_PATH;
use super::shell::{self, Command, ENTRY, LOOK, Work};
use crate::effect::Effects;
use serde_json::{Map, Value};
use std::path::Path;
use tool_harness_sandbox::file::is_protected;

/// Effects of a tool that changes nothing.
const HARMLESS: Effects = Effects::READ.and(Effects::NET_READ);
/// Folders in a client's home folder that hold notes and no settings.
const NOTES: [&str; 4] = [
    ".claude/plans",
    ".claude/projects",
    ".claude/tasks",
    ".claude/todos",
];

/// The path inside one of Claude Code's worktrees. A worktree lies among the client's settings but
/// is a working copy of the project.
fn in_worktree(path: &str) -> Option<&str> {
    path.strip_prefix(".claude/worktrees/")?
        .split_once('/')
        .map(|(_, inside)| inside)
}

impl ClientToolCall {
    /// Why a call must not run, and the argument responsible.
    pub(crate) fn objection(&self, arguments: &Map<String, Value>) -> Option<(String, String)> {
        if self.entry.effects.without(HARMLESS).is_empty() {
            return None;
        }
        let of_path = |key: &String, value: &Value| {
            let named = self.entry.paths.iter().any(|path| path == key);
            let any = self.entry.paths.iter().any(|path| path == "*");
            let base = if named {
                self.project().to_owned()
            } else {
                self.cwd()
            };
            let because = (named || any)
                .then(|| self.protected_in(value, &base))
                .flatten()?;
            Some((because, key.clone()))
        };
        let of_command = |key: &String, value: &Value| {
            let command = self
                .entry
                .commands
                .contains(key)
                .then(|| value.as_str())
                .flatten()?;
            Some((self.command_objection(command)?, key.clone()))
        };
        arguments
            .iter()
            .find_map(|(key, value)| of_path(key, value).or_else(|| of_command(key, value)))
    }

    /// Why a value may not be used: the first text in it that leads to a protected file.
    fn protected_in(&self, value: &Value, base: &Path) -> Option<String> {
        match value {
            Value::String(text) => {
                let real = self.resolve(text, base);
                // However a tool reads it, a path that stays this long cannot be opened. Most long
                // texts are no paths at all.
                let is_path = text.len() < MAX_PATH || real.as_os_str().len() < MAX_PATH;
                let governs = || self.is_protected(text, base) || self.is_program(&real);
                (is_path && governs()).then(|| {
                    format!("`{text}` decides what may be done here, and only a person changes it")
                })
            }
            Value::Array(items) => items.iter().find_map(|item| self.protected_in(item, base)),
            Value::Object(fields) => fields
                .values()
                .find_map(|item| self.protected_in(item, base)),
            _ => None,
        }
    }

    /// Whether a path leads to a protected file: in the project, or among the settings of clients
    /// anywhere.
    pub(super) fn is_protected(&self, text: &str, base: &Path) -> bool {
        let real = self.resolve(text, base);
        if let Ok(inside) = real.strip_prefix(self.project()) {
            let inside = inside.to_string_lossy();
            if let Some(inside) = in_worktree(&inside) {
                return is_protected(inside);
            }
            let guard = self.guard.get_or_init(|| self.jail.guard().ok());
            // A place that cannot be examined counts as protected.
            return guard
                .as_ref()
                .is_none_or(|guard| guard.is_protected(&inside));
        }
        let notes = |home: &std::path::PathBuf| {
            NOTES
                .iter()
                .any(|notes| real.starts_with(super::path::real(home).join(notes)))
        };
        is_protected(real.to_string_lossy().trim_start_matches('/'))
            && !self.client.home.as_ref().is_some_and(notes)
    }

    fn command_objection(&self, text: &str) -> Option<String> {
        let work = Work::on(text);
        let found = self.found_in_command(text, &work);
        let excess = work.excess().filter(|_| !shell::is_plain_read(text));
        found.or(excess.map(|excess| {
            format!(
                "the command is too large to be judged: {excess}; write long text to a file with a file tool, run shorter commands, or have a \
                 person run it"
            )
        }))
    }

    /// Why a command must not run, as far as it was examined.
    fn found_in_command(&self, text: &str, work: &Work) -> Option<String> {
        let cwd = self.cwd();
        let command = Command::read(text, &self.variables(&cwd, work));
        if let Some(words) = command.decides(work) {
            return Some(format!(
                "`{words}` decides in a person's place, and only a person may run it"
            ));
        }
        let mut walk = Walk::new(self, &cwd, work);
        if let Some(objection) = walk.objection(text, 0) {
            return Some(objection);
        }
        let named = || {
            std::iter::once(&cwd)
                .chain(&walk.entered)
                .find_map(|folder| self.mentioned(&command, folder, work))
        };
        let named = if self.is_protected(".", &cwd) {
            Some(self.shown(&cwd))
        } else {
            named()
        };
        let named = named.filter(|_| !shell::is_plain_read(text))?;
        Some(format!(
            "`{named}` decides what may be done here, and only a person changes it: a command may name it to read it, with {}, without redirection or \
             substitution",
            shell::READERS
        ))
    }

    /// The first word of a command that leads, or could lead, to a protected file.
    fn mentioned(&self, command: &Command, cwd: &Path, work: &Work) -> Option<String> {
        command
            .words()
            .take_while(|word| work.spend(word.len() + LOOK))
            .find(|word| {
                self.is_protected(word, cwd)
                    || is_protected(word)
                    || self.could_match(word, cwd, work)
            })
            .map(str::to_owned)
    }

    /// Whether a word with wildcards or variables could expand to an existing protected file.
    fn could_match(&self, word: &str, cwd: &Path, work: &Work) -> bool {
        let Some((folder, pattern)) = shell::wild_part(word) else {
            return false;
        };
        if means_to_govern(pattern) {
            return true;
        }
        let Ok(entries) = std::fs::read_dir(self.resolve(folder, cwd)) else {
            return false;
        };
        let names = entries
            .flatten()
            .take_while(|_| work.spend(ENTRY))
            .map(|entry| entry.file_name().to_string_lossy().into_owned());
        names
            .filter(|name| shell::could_be(pattern, name))
            .any(|name| self.is_protected(&format!("{folder}{name}"), cwd))
    }
}
