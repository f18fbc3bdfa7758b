//! What harness writes into the configuration of clients, and how it takes it out again.

mod file;
mod hook;
mod json;
mod plan;
mod record;
#[cfg(test)]
mod tests;
mod toml;
mod yaml;

pub(crate) use plan::{FileChange, InstallPlan};

use crate::client::CallPhase;
use crate::exit::{UsageError, usage};
use clap::ValueEnum;
use record::Piece;
use serde_json::{Value, json};
use std::path::{Path, PathBuf};

/// The name of every entry.
pub(crate) const NAME: &str = "harness";

/// For whom a client is configured.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum InstallScope {
    /// Everyone who works in this project
    Project,
    /// This user, in every project
    User,
}

/// Where a client is configured, and what is written there.
pub(crate) struct InstallContext<'s> {
    /// For whom.
    pub(crate) scope: InstallScope,
    /// The project's folder; for a user only where one was found.
    pub(crate) project: &'s Path,
    /// The user's home.
    pub(crate) home: &'s Path,
    /// This program.
    pub(crate) program: &'s str,
    /// The environment.
    pub(crate) environment: fn(&str) -> Option<String>,
}

impl InstallContext<'_> {
    /// A folder that a variable may name, or the usual one in the home.
    pub(crate) fn folder(&self, variable: &str, usual: &str) -> PathBuf {
        let named = (self.environment)(variable).filter(|named| Path::new(named).is_absolute());
        named.map_or_else(|| self.home.join(usual), PathBuf::from)
    }

    /// What the files in a client's folder must lie in, links followed.
    pub(crate) fn root_of(&self, folder: &Path) -> PathBuf {
        let root = match self.scope {
            InstallScope::Project => self.project,
            InstallScope::User if folder.starts_with(self.home) => self.home,
            InstallScope::User => folder,
        };
        root.to_owned()
    }

    /// The words after the program that start the MCP server. They name the project, because some
    /// clients start servers in another folder.
    pub(crate) fn mcp_words(&self) -> Result<Vec<String>, UsageError> {
        let mut words = vec!["mcp".to_owned()];
        if self.scope == InstallScope::Project {
            let shown = self.project.display();
            let project = self.project.to_str();
            let project = project.ok_or_else(|| usage!("the path `{shown}` is not UTF-8"))?;
            words.extend(["--project".to_owned(), project.to_owned()]);
        }
        Ok(words)
    }

    /// The server `harness` among those under `key`.
    pub(crate) fn server(&self, key: &'static str) -> Result<ConfigEntry, UsageError> {
        Ok(ConfigEntry {
            path: vec![key],
            slot: EntrySlot::Member,
            value: json!({"command": self.program, "args": self.mcp_words()?}),
        })
    }

    /// The file of a client that keeps its servers under `mcpServers`, at the same path in a
    /// project and in the home.
    pub(crate) fn server_file(&self, path: &str) -> Result<Vec<ConfigFile>, UsageError> {
        let root = match self.scope {
            InstallScope::Project => self.project,
            InstallScope::User => self.home,
        };
        let servers = vec![self.server("mcpServers")?];
        Ok(vec![ConfigFile::json(root.join(path), root, servers)])
    }

    /// The hooks of a client, one for each event.
    pub(crate) fn hooks(
        &self,
        client: &str,
        events: &[(&'static str, CallPhase)],
    ) -> Vec<ConfigEntry> {
        hook::entries(self.program, client, events)
    }
}

/// One file to change.
pub(crate) struct ConfigFile {
    pub(crate) path: PathBuf,
    /// What the file must lie in, links followed.
    pub(crate) root: PathBuf,
    pub(crate) syntax: ConfigSyntax,
    /// What the file must contain. The last entry ends up first in the file.
    pub(crate) entries: Vec<ConfigEntry>,
}

impl ConfigFile {
    pub(crate) fn json(path: PathBuf, root: &Path, entries: Vec<ConfigEntry>) -> Self {
        Self {
            path,
            root: root.to_owned(),
            syntax: ConfigSyntax::Json,
            entries,
        }
    }
}

/// One piece of configuration.
pub(crate) struct ConfigEntry {
    /// The keys that lead to its parent.
    pub(crate) path: Vec<&'static str>,
    pub(crate) slot: EntrySlot,
    pub(crate) value: Value,
}

/// Where in its parent an entry stands.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum EntrySlot {
    /// The member called `harness`.
    Member,
    /// One element of a list.
    Element,
}

/// The state of an entry in a file.
#[derive(Debug, PartialEq, Eq)]
enum EntryState {
    Absent,
    /// As this program would write it.
    Current,
    /// Written by another version of harness, or another copy.
    Outdated,
    /// Not written by harness.
    Foreign,
}

/// A text with an entry added to it.
struct Insertion {
    text: String,
    /// What was inserted, exactly and in one piece.
    piece: Piece,
    /// The paths of the parents that were created for it.
    created: Vec<Vec<String>>,
}

impl Insertion {
    fn new(text: &str, at: usize, piece: String, created: Vec<Vec<String>>) -> Self {
        Self {
            text: format!("{}{piece}{}", &text[..at], &text[at..]),
            piece: Piece { at, text: piece },
            created,
        }
    }
}

/// The format of a configuration file.
#[derive(Clone, Copy)]
pub(crate) enum ConfigSyntax {
    Json,
    Toml,
    Yaml,
}

impl ConfigSyntax {
    fn look(self, text: &str, entry: &ConfigEntry) -> Result<EntryState, String> {
        match self {
            Self::Json => json::look(text, entry),
            Self::Toml => toml::look(text, entry),
            Self::Yaml => yaml::look(text, entry),
        }
    }

    fn add(self, text: &str, entry: &ConfigEntry) -> Result<Insertion, String> {
        match self {
            Self::Json => json::add(text, entry),
            Self::Toml => toml::add(text, entry),
            Self::Yaml => yaml::add(text, entry),
        }
    }

    /// Removes an entry by its place in the structure, and those of its `created` parents that are
    /// empty then.
    fn remove(
        self,
        text: &str,
        entry: &ConfigEntry,
        created: &[Vec<String>],
    ) -> Result<String, String> {
        match self {
            Self::Json => json::remove(text, entry, created),
            Self::Toml => toml::remove(text, entry),
            Self::Yaml => yaml::remove(text, entry, created),
        }
    }
}

impl ConfigEntry {
    /// Compares this entry with a value found in its place.
    fn compare(&self, value: &Value, same: bool) -> EntryState {
        match same {
            true => EntryState::Current,
            false if self.is_ours(value) => EntryState::Outdated,
            false => EntryState::Foreign,
        }
    }

    /// Whether harness wrote a value that stands in the place of this entry.
    fn is_ours(&self, value: &Value) -> bool {
        match self.slot {
            EntrySlot::Member => {
                let program = value.get("command").or_else(|| value.get("cmd"));
                let program = Path::new(program.and_then(Value::as_str).unwrap_or_default());
                let is_harness = program.file_name().is_some_and(|name| name == NAME);
                is_harness && value.pointer("/args/0").and_then(Value::as_str) == Some("mcp")
            }
            EntrySlot::Element => hook::is_same_client(&self.value, value),
        }
    }
}

/// The line ending of a text.
fn newline(text: &str) -> &'static str {
    if text.contains("\r\n") { "\r\n" } else { "\n" }
}

/// The indentation of the line that holds `at`.
fn indent(text: &str, at: usize) -> &str {
    let start = text[..at].rfind('\n').map_or(0, |newline| newline + 1);
    let line = &text[start..];
    &line[..line.len() - line.trim_start_matches([' ', '\t']).len()]
}
