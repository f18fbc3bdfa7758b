//! Codex's patch format: which files a patch touches, and what it writes there.
//!
//! Read as Codex reads it: a line means one thing in a new file and another in an update, so the
//! reader keeps track of where it is. What Codex would not apply is an error here, too.

use super::shell::{Variables, Work, lex, program};
use super::translate::quoted;
use std::path::{Component, Path, PathBuf};

/// One file of a patch.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Touched {
    /// The file's path, as written.
    pub(super) path: String,
    /// `add`, `update`, `delete`, or `move` for the target of a rename.
    pub(super) change: &'static str,
    /// The lines it adds.
    pub(super) content: String,
}

const BEGIN: &str = "*** Begin Patch";
const END: &str = "*** End Patch";
const ENVIRONMENT: &str = "*** Environment ID:";
const MOVE: &str = "*** Move to: ";
const END_OF_FILE: &str = "*** End of File";
/// The first and last line of a patch that was written as a here-document.
const HEREDOC: [&str; 3] = ["<<EOF", "<<'EOF'", "<<\"EOF\""];
const HEREDOC_END: &str = "EOF";
/// How deep a patch may be in shells that start each other.
const MAX_SHELLS: usize = 3;

/// A patch in a shell command, which Codex applies itself.
#[derive(Debug, PartialEq, Eq)]
pub struct Inline {
    /// The patch; none if the command does not contain its text.
    pub patch: Option<String>,
    /// The folder that the command enters first.
    pub folder: Option<String>,
}

/// Every patch that a command makes Codex apply: `apply_patch` with its text.
#[must_use]
pub fn inline(command: &str) -> Vec<Inline> {
    let work = Work::on(command);
    let mut found = Vec::new();
    let mut shell = Shell {
        variables: Variables::new(&[], &work),
        found: &mut found,
    };
    shell.read(command, None, 0, &work);
    if work.excess().is_some() && command.contains("patch") {
        found.push(Inline {
            patch: None,
            folder: None,
        });
    }
    found
}

/// The same for a command that is a list of words.
#[must_use]
pub fn inline_words(words: &[&str]) -> Vec<Inline> {
    let words: Vec<String> = words.iter().copied().map(quoted).collect();
    inline(&words.join(" "))
}

struct Shell<'w, 'f> {
    variables: Variables<'w>,
    found: &'f mut Vec<Inline>,
}

impl Shell<'_, '_> {
    fn read(&mut self, command: &str, mut folder: Option<String>, depth: usize, work: &Work) {
        if depth > MAX_SHELLS {
            work.give_up("its shells are nested too deeply");
            return;
        }
        let mut said = None;
        for segment in lex(command, work) {
            let words: Vec<String> = segment.words.iter().map(|word| word.text.clone()).collect();
            for word in &words {
                if !self.variables.assign(word) {
                    break;
                }
            }
            let Some(program) = program(&words) else {
                continue;
            };
            let piped = said.take().filter(|_| segment.piped);
            match program.name {
                "cd" => {
                    let into = program.args.first().cloned().unwrap_or_default();
                    folder = Some(match folder {
                        Some(outer) if !into.starts_with('/') => format!("{outer}/{into}"),
                        _ => into,
                    });
                }
                "apply_patch" | "applypatch" => {
                    let text = program.args.first().cloned();
                    self.add(text.or(segment.input).or(piped), &folder);
                }
                "echo" | "printf" => said = Some(printed(program.args)),
                _ => {
                    if let Some(script) = program.script() {
                        self.read(&script, folder.clone(), depth + 1, work);
                    }
                }
            }
        }
    }

    /// Adds a patch as it is written, and as a shell passes it on where it fills in variables.
    fn add(&mut self, text: Option<String>, folder: &Option<String>) {
        let Some(text) = text else {
            self.found.push(Inline {
                patch: None,
                folder: folder.clone(),
            });
            return;
        };
        let filled = self.variables.expand(&text);
        let others = filled.into_iter().filter(|other| *other != text);
        let others: Vec<String> = others.collect();
        for patch in std::iter::once(text).chain(others) {
            self.found.push(Inline {
                patch: Some(patch),
                folder: folder.clone(),
            });
        }
    }
}

/// What `echo` or `printf` prints of a patch.
fn printed(args: &[String]) -> String {
    let text = args.join(" ").replace("\\n", "\n");
    let start = text.find(BEGIN).unwrap_or_default();
    text[start..].to_owned()
}

/// Where in a patch a line is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Place {
    /// Before the first file.
    Start,
    Add,
    Delete,
    /// In an update, before its changes.
    Update,
    /// Among the changes of an update.
    Changes,
    End,
}

/// Every file that a patch touches.
pub(super) fn touched(patch: &str) -> Result<Vec<Touched>, String> {
    let lines: Vec<&str> = patch.trim().lines().collect();
    let mut files: Vec<Touched> = Vec::new();
    let mut place = Place::Start;
    for line in body(&lines)? {
        let line = line.strip_suffix('\r').unwrap_or(line);
        // In an update, a line with a space before it is a line of the file, whatever it says.
        let marked = match place {
            Place::Update | Place::Changes => line.trim_end(),
            _ => line.trim(),
        };
        if let Some((next, file)) = header(marked) {
            place = next;
            files.push(file);
            continue;
        }
        let first = line.chars().next();
        place = match place {
            Place::Start if marked.starts_with(ENVIRONMENT) => Place::Start,
            Place::End if marked.is_empty() => Place::End,
            Place::Start | Place::Add | Place::Delete if marked == END => Place::End,
            Place::Update | Place::Changes if marked == END => Place::End,
            Place::Add if first == Some('+') => {
                add(&mut files, line);
                Place::Add
            }
            Place::Update if marked.starts_with(MOVE) => {
                files.push(Touched {
                    path: marked[MOVE.len()..].to_owned(),
                    change: "move",
                    content: String::new(),
                });
                Place::Changes
            }
            Place::Update | Place::Changes
                if marked == END_OF_FILE || marked == "@@" || marked.starts_with("@@ ") =>
            {
                Place::Changes
            }
            Place::Update | Place::Changes if matches!(first, None | Some(' ' | '-')) => {
                Place::Changes
            }
            Place::Update | Place::Changes if first == Some('+') => {
                add(&mut files, line);
                Place::Changes
            }
            _ => return Err(format!("`{line}` is not understood")),
        };
    }
    // What a moved file gets is judged at both ends.
    for index in 1..files.len() {
        if files[index].change == "move" {
            files[index - 1].content = files[index].content.clone();
        }
    }
    if files.is_empty() {
        Err("it touches no file".to_owned())
    } else {
        Ok(files)
    }
}

/// The lines between the first and the last, which must be the marks of a patch. A here-document
/// around them is taken off.
fn body<'l>(lines: &'l [&'l str]) -> Result<&'l [&'l str], String> {
    match lines {
        [first, inside @ .., last] if first.trim() == BEGIN && last.trim() == END => Ok(inside),
        [first, inside @ .., last]
            if HEREDOC.contains(first)
                && last.ends_with(HEREDOC_END)
                && inside.first().is_some_and(|line| line.trim() == BEGIN) =>
        {
            body(inside)
        }
        [first, ..] if first.trim() == BEGIN => Err(format!("its last line must be `{END}`")),
        _ => Err(format!("its first line must be `{BEGIN}`")),
    }
}

/// The file that a line names, and where the reader is after it.
fn header(line: &str) -> Option<(Place, Touched)> {
    let (path, place, change) = if let Some(path) = line.strip_prefix("*** Add File: ") {
        (path, Place::Add, "add")
    } else if let Some(path) = line.strip_prefix("*** Update File: ") {
        (path, Place::Update, "update")
    } else {
        let path = line.strip_prefix("*** Delete File: ")?;
        (path, Place::Delete, "delete")
    };
    let file = Touched {
        path: path.to_owned(),
        change,
        content: String::new(),
    };
    Some((place, file))
}

/// Adds a line that begins with `+`.
fn add(files: &mut [Touched], line: &str) {
    if let Some(file) = files.last_mut() {
        file.content.push_str(&line[1..]);
        file.content.push('\n');
    }
}

/// Where Codex takes a path to: without tabs and line ends, and each `..` takes back the name
/// before it, whether or not that is a link.
pub(super) fn by_name(cwd: &Path, path: &str) -> PathBuf {
    let named = path.replace(['\t', '\n', '\r'], "");
    let base = if path.starts_with('/') {
        Path::new("/")
    } else {
        cwd
    };
    let mut place = PathBuf::from("/");
    for part in base.join(named.trim_start_matches('/')).components() {
        match part {
            Component::ParentDir => drop(place.pop()),
            Component::Normal(name) => place.push(name),
            Component::CurDir | Component::RootDir | Component::Prefix(_) => {}
        }
    }
    place
}

#[cfg(test)]
mod tests;
