//! `contain`: runs a client's own commands inside the project's sandbox plan, by passing them to
//! `harness exec`.

use super::ClientToolCall;
use super::translate::quoted;
use crate::artifact::client::Commands;
use crate::refusal::{Code, Refusal};
use serde_json::{Map, Value, json};

/// The words between the program's own and the command.
const SHELL: [&str; 4] = ["--", "bash", "-c", "--"];

impl ClientToolCall {
    /// The client's arguments with its commands passed to `harness exec`; `None` if there is
    /// nothing to contain.
    pub(crate) fn contained(
        &self,
        input: &Map<String, Value>,
    ) -> Result<Option<Map<String, Value>>, Refusal> {
        if !self.is_contained(input) {
            return Ok(None);
        }
        let Some(words) = self.container() else {
            let message = format!(
                "{}'s commands are to be contained, and the program that judges them cannot do it",
                self.client.name
            );
            return Err(Refusal::new(Code::Unsupported, message)
                .help("a host must say which program's `exec` contains commands"));
        };
        let mut output = input.clone();
        for value in self.commands_in(&mut output) {
            match value {
                Value::String(command) => {
                    let words: Vec<String> = words
                        .iter()
                        .map(String::as_str)
                        .chain(SHELL)
                        .map(quoted)
                        .collect();
                    *command = format!("{} {}", words.join(" "), quoted(command));
                }
                Value::Array(command) => {
                    let words = words
                        .iter()
                        .map(String::as_str)
                        .chain(["--"])
                        .map(|word| json!(word));
                    command.splice(0..0, words);
                }
                _ => {}
            }
        }
        Ok(Some(output))
    }

    /// Undoes [`contained`](Self::contained), so that hooks see the command that the model wrote.
    pub(crate) fn uncontained(&self, mut input: Map<String, Value>) -> Map<String, Value> {
        let Some(program) = self.program() else {
            return input;
        };
        for value in self.commands_in(&mut input) {
            match value {
                Value::String(command) => {
                    if let Some(inner) = unwrapped(program, command) {
                        *command = inner;
                    }
                }
                Value::Array(words) => {
                    let texts: Vec<&str> = words.iter().filter_map(Value::as_str).collect();
                    if let [first, "exec", "--project", _, "--", _, ..] = texts[..]
                        && first == program
                        && texts.len() == words.len()
                    {
                        words.drain(..5);
                    }
                }
                _ => {}
            }
        }
        input
    }

    /// Whether this call runs a command that the client itself starts. Commands that another server
    /// runs are out of reach.
    fn is_contained(&self, input: &Map<String, Value>) -> bool {
        self.commands == Commands::Contained
            && !self.native.starts_with("mcp__")
            && input.keys().any(|key| self.is_command(key))
    }

    /// The `harness exec` command line for this project.
    fn container(&self) -> Option<Vec<String>> {
        Some(
            [
                self.program()?,
                "exec",
                "--project",
                self.project().to_str()?,
            ]
            .map(str::to_owned)
            .to_vec(),
        )
    }

    fn program(&self) -> Option<&str> {
        self.client.programs.first()?.to_str()
    }

    fn commands_in<'a>(
        &'a self,
        input: &'a mut Map<String, Value>,
    ) -> impl Iterator<Item = &'a mut Value> {
        input
            .iter_mut()
            .filter(|(key, _)| self.is_command(key))
            .map(|(_, value)| value)
    }

    /// Whether the client's argument of this name is a command.
    fn is_command(&self, native: &str) -> bool {
        let seen = self
            .entry
            .args
            .iter()
            .find(|(known, _)| known == native)
            .map_or(native, |(_, seen)| seen.as_str());
        self.entry.commands.iter().any(|command| command == seen)
    }
}

/// The command that was passed to this program's `exec`, for any project.
fn unwrapped(program: &str, command: &str) -> Option<String> {
    let rest = command.strip_prefix(&format!("{} exec --project ", quoted(program)))?;
    let (project, inner) = rest.split_once(&format!(" {} ", SHELL.join(" ")))?;
    unquoted(project)?;
    unquoted(inner)
}

/// Reverses [`quoted`].
fn unquoted(word: &str) -> Option<String> {
    if quoted(word) == word {
        return Some(word.to_owned());
    }
    let inner = word
        .strip_prefix('\'')?
        .strip_suffix('\'')?
        .replace("'\\''", "'");
    (quoted(&inner) == word).then_some(inner)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn a_quoted_string_is_read_back(word in ".*") {
            prop_assert_eq!(unquoted(&quoted(&word)), Some(word));
        }
    }

    #[test]
    fn text_that_was_never_quoted_is_not_read_back() {
        for word in ["a b", "'a", "a'", "'a'b'", "$(x)"] {
            assert_eq!(unquoted(word), None, "{word}");
        }
    }
}
