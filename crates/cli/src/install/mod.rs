//! The configuration of clients: which files, which entries, how they get in and out again. One file for each client.

mod claude_code;
mod codex;
mod cursor;
mod file;
mod gemini;
mod goose;
mod hook;
mod json;
mod plan;
mod record;
#[cfg(test)]
mod tests;
mod toml;
mod vscode;
mod yaml;

pub(crate) use plan::{Change, Plan};

use crate::exit::Usage;
use clap::ValueEnum;
use serde_json::{Value, json};
use std::path::{Path, PathBuf};

/// The name of every entry.
const NAME: &str = "harness";

/// A client that can be told about harness.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Client {
    /// Anthropic's Claude Code
    ClaudeCode,
    /// OpenAI's Codex
    Codex,
    /// Cursor
    Cursor,
    /// Visual Studio Code
    Vscode,
    /// Goose
    Goose,
    /// Google's Gemini CLI
    Gemini,
}

/// For whom a client is configured.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Scope {
    /// Whoever works in this project
    Project,
    /// This user, in every project
    User,
}

/// What harness knows of a client.
pub(crate) struct About {
    /// How people call it.
    pub(crate) title: &'static str,
    /// The files to change.
    targets: fn(&Setting<'_>) -> Result<Vec<Target>, Usage>,
    /// Whether its own tools are judged, through hooks; otherwise only the tools that harness serves are.
    pub(crate) judged: bool,
    /// Whether it knows a configuration of the project.
    pub(crate) in_projects: bool,
    /// The command that starts it, where it has one.
    pub(crate) start: &'static str,
    /// What a person has to do in the client before it counts.
    pub(crate) then: &'static [&'static str],
}

impl Client {
    /// Its table.
    pub(crate) const fn about(self) -> &'static About {
        match self {
            Self::ClaudeCode => &claude_code::ABOUT,
            Self::Codex => &codex::ABOUT,
            Self::Cursor => &cursor::ABOUT,
            Self::Vscode => &vscode::ABOUT,
            Self::Goose => &goose::ABOUT,
            Self::Gemini => &gemini::ABOUT,
        }
    }
}

/// Where a client is configured, and what is written there.
pub(crate) struct Setting<'s> {
    /// For whom.
    pub(crate) scope: Scope,
    /// The project's folder; at user level only where one was found.
    pub(crate) project: &'s Path,
    /// The user's home.
    pub(crate) home: &'s Path,
    /// This program.
    pub(crate) program: &'s str,
    /// The environment.
    pub(crate) environment: fn(&str) -> Option<String>,
}

impl Setting<'_> {
    /// A folder that a variable may name, or the usual one in the home.
    fn folder(&self, variable: &str, usual: &str) -> PathBuf {
        let named = (self.environment)(variable).filter(|named| Path::new(named).is_absolute());
        named.map_or_else(|| self.home.join(usual), PathBuf::from)
    }

    /// The words after the program that start the MCP server. In a project it is pinned: some clients start servers elsewhere.
    fn mcp_words(&self) -> Result<Vec<String>, Usage> {
        let mut words = vec!["mcp".to_owned()];
        if self.scope == Scope::Project {
            let project = self.project.to_str();
            let project = project.ok_or_else(|| {
                Usage::new(format!(
                    "the path `{}` is not UTF-8",
                    self.project.display()
                ))
            })?;
            words.extend(["--project".to_owned(), project.to_owned()]);
        }
        Ok(words)
    }

    /// The member `harness` of the servers under `path`.
    fn server(&self, path: &'static [&'static str]) -> Result<Entry, Usage> {
        Ok(Entry {
            path,
            slot: Slot::Member,
            value: json!({"command": self.program, "args": self.mcp_words()?}),
        })
    }
}

/// One file to change.
pub(crate) struct Target {
    path: PathBuf,
    /// What the file must lie in, links followed.
    root: PathBuf,
    syntax: Syntax,
    /// What is to stand in it; the one to come first in the file is the last.
    entries: Vec<Entry>,
}

/// One piece of configuration.
pub(crate) struct Entry {
    /// The keys that lead to what holds it.
    path: &'static [&'static str],
    slot: Slot,
    value: Value,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Slot {
    /// The member called `harness`.
    Member,
    /// One among the elements of a list.
    Element,
}

/// What a file has of an entry.
#[derive(Debug, PartialEq, Eq)]
enum Found {
    Absent,
    Same,
    /// Written by another harness, or an older one.
    Older,
    /// Not written by harness.
    Foreign,
}

/// A text with an entry in it.
struct Added {
    text: String,
    /// Where it was put in.
    at: usize,
    /// What was put in, exactly and in one piece.
    piece: String,
    /// The paths of what was made to hold it.
    made: Vec<Vec<String>>,
}

#[derive(Clone, Copy)]
enum Syntax {
    Json,
    Toml,
    Yaml,
}

impl Syntax {
    fn look(self, text: &str, entry: &Entry) -> Result<Found, String> {
        match self {
            Self::Json => json::look(text, entry),
            Self::Toml => toml::look(text, entry),
            Self::Yaml => yaml::look(text, entry),
        }
    }

    fn add(self, text: &str, entry: &Entry) -> Result<Added, String> {
        match self {
            Self::Json => json::add(text, entry),
            Self::Toml => toml::add(text, entry),
            Self::Yaml => yaml::add(text, entry),
        }
    }

    /// Takes an entry out by its place in the structure; also what is empty then and was `made` for it.
    fn remove(self, text: &str, entry: &Entry, made: &[Vec<String>]) -> Result<String, String> {
        match self {
            Self::Json => json::remove(text, entry, made),
            Self::Toml => toml::remove(text, entry),
            Self::Yaml => yaml::remove(text, entry, made),
        }
    }
}

impl Entry {
    /// Whether a value in the place of this entry was written by harness.
    fn is_ours(&self, value: &Value) -> bool {
        match self.slot {
            Slot::Member => {
                let program = value
                    .get("command")
                    .or_else(|| value.get("cmd"))
                    .and_then(Value::as_str)
                    .unwrap_or_default();
                let first = value
                    .get("args")
                    .and_then(|words| words.get(0))
                    .and_then(Value::as_str);
                Path::new(program)
                    .file_name()
                    .is_some_and(|name| name == NAME)
                    && first == Some("mcp")
            }
            Slot::Element => hook::is_same_client(&self.value, value),
        }
    }
}

/// How a text is laid out.
fn newline(text: &str) -> &'static str {
    if text.contains("\r\n") { "\r\n" } else { "\n" }
}

/// The white space before the line that holds `at`.
fn indent(text: &str, at: usize) -> &str {
    let start = text[..at].rfind('\n').map_or(0, |newline| newline + 1);
    let line = &text[start..];
    &line[..line.len() - line.trim_start_matches([' ', '\t']).len()]
}
