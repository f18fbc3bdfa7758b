//! Commands that remove or replace governing files without naming them: through their folder, or
//! with a wildcard.

mod taken;

use super::ClientToolCall;
use super::shell::{self, ENTRY, LOOK, Program, STEP, Segment, Variables, Work};
use std::collections::HashSet;
use std::path::{Path, PathBuf};
use tool_harness_sandbox::file;

/// Programs that change or remove the files they are given.
const CHANGERS: [&str; 22] = [
    "rm",
    "rmdir",
    "mv",
    "shred",
    "unlink",
    "truncate",
    "trash",
    "trash-put",
    "chmod",
    "chown",
    "chgrp",
    "setfacl",
    "chattr",
    "gzip",
    "bzip2",
    "xz",
    "zstd",
    "sed",
    "perl",
    "rename",
    "dos2unix",
    "tee",
];
/// Programs that may be given this program's path, because they only read.
const LOOKERS: [&str; 16] = [
    "ls",
    "file",
    "stat",
    "cat",
    "head",
    "which",
    "ldd",
    "du",
    "test",
    "[",
    "echo",
    "sha256sum",
    "md5sum",
    "readlink",
    "realpath",
    "command",
];
/// How many nested shells are examined.
const MAX_DEPTH: usize = 4;

/// The state of a command while it is examined.
pub(super) struct Walk<'f> {
    foreign: &'f ClientToolCall,
    variables: Variables<'f>,
    work: &'f Work,
    /// The current folder of each sub-shell; `None` after a `cd` to an unknown place.
    folders: Vec<Option<PathBuf>>,
    /// Every folder that was entered.
    pub(super) entered: Vec<PathBuf>,
    /// What the last program listed, for a program that reads it from a pipe.
    listed: Option<Vec<String>>,
    /// What the last program printed, for a shell that reads it from a pipe.
    said: Option<String>,
}

impl<'f> Walk<'f> {
    pub(super) fn new(foreign: &'f ClientToolCall, cwd: &Path, work: &'f Work) -> Self {
        Self {
            foreign,
            variables: foreign.variables(cwd, work),
            work,
            folders: vec![Some(cwd.to_owned())],
            entered: Vec::new(),
            listed: None,
            said: None,
        }
    }

    /// Why a command must not run, beyond the names in it.
    pub(super) fn objection(&mut self, text: &str, depth: usize) -> Option<String> {
        if depth > MAX_DEPTH {
            self.work.give_up("its shells are nested too deeply");
            return None;
        }
        let outer = self.folders.len();
        let mut found = None;
        for segment in shell::lex(text, self.work) {
            while self.folders.len() < outer + segment.depth {
                let here = self.folders.last().cloned().flatten();
                self.folders.push(here);
            }
            self.folders.truncate((outer + segment.depth).max(1));
            found = self.of_segment(&segment, depth);
            if found.is_some() {
                break;
            }
        }
        self.folders.truncate(outer);
        found
    }

    fn of_segment(&mut self, segment: &Segment, depth: usize) -> Option<String> {
        let (mut words, mut wild, mut computed) = (Vec::new(), Vec::new(), false);
        for word in &segment.words {
            let spread = |made: String| match word.braced {
                true => shell::braces(&made, self.work),
                false => vec![made],
            };
            let values = self.variables.expand(&word.text);
            for made in values.into_iter().flat_map(spread) {
                // An unquoted variable splits into words, as in `rm -rf $all`.
                for part in if made == word.text {
                    vec![made.as_str()]
                } else {
                    made.split_whitespace().collect()
                } {
                    if self.work.spend(part.len() + STEP) {
                        wild.push(word.wild);
                        words.push(part.to_owned());
                    }
                }
            }
            computed |= word.computed && words.len() == 1;
        }
        let leading = words
            .iter()
            .take_while(|word| self.variables.assign(word))
            .count();
        let setting = words[..leading]
            .iter()
            .filter_map(|word| word.split_once('='))
            .find(|(name, value)| shell::git::is_setting(name, value));
        if let Some((name, _)) = setting {
            return Some(runs_later(name));
        }
        if words.first().is_some_and(|word| word == "for")
            && words.get(2).is_some_and(|word| word == "in")
        {
            let name = words.get(1).cloned().unwrap_or_default();
            for value in words.iter().skip(3) {
                self.variables.assign(&format!("{name}={value}"));
            }
            return None;
        }
        if matches!(
            words.first().map(String::as_str),
            Some("export" | "declare" | "local" | "typeset" | "readonly")
        ) {
            let given: Vec<&String> = words
                .iter()
                .skip(1)
                .filter(|word| self.variables.assign(word))
                .collect();
            let setting = given
                .iter()
                .filter_map(|word| word.split_once('='))
                .find(|(name, value)| shell::git::is_setting(name, value));
            return setting.map(|(name, _)| runs_later(name));
        }
        let files = segment
            .files
            .iter()
            .flat_map(|word| self.variables.expand(&word.text))
            .collect::<Vec<_>>();
        let program = shell::program(&words);
        let reads = program
            .as_ref()
            .is_some_and(|program| LOOKERS.contains(&program.name));
        let args = program
            .iter()
            .flat_map(|program| program.args)
            .filter(|_| !reads);
        if let Some(word) = args.chain(&files).find(|word| self.names_program(word)) {
            return Some(format!(
                "`{word}` is the program that judges, and only a person changes or copies it"
            ));
        }
        let program = program?;
        let scripts = program
            .script()
            .into_iter()
            .chain(segment.input.clone().filter(|_| program.is_shell()));
        let scripts: Vec<String> = scripts.collect();
        if let Some(found) = scripts
            .iter()
            .find_map(|script| self.objection(script, depth + 1))
        {
            return Some(found);
        }
        let listed = self.listed.take().filter(|_| segment.piped);
        let said = self
            .said
            .take()
            .filter(|_| segment.piped && program.is_shell());
        if let Some(found) = said.and_then(|said| self.objection(&said, depth + 1)) {
            return Some(found);
        }
        self.said = matches!(program.name, "echo" | "printf").then(|| program.args.join(" "));
        if matches!(program.name, "cd" | "pushd") {
            self.enter(&program);
            return None;
        }
        if self.decides(&program, computed) {
            return Some(format!(
                "`{}` decides in a person's place, and only a person may run it",
                words.join(" ")
            ));
        }
        if let Some(setting) = (program.name == "git")
            .then(|| shell::git::sets(&texts(program.args)))
            .flatten()
        {
            return Some(runs_later(&setting));
        }
        if let Some(settings) = program.configures_client() {
            return Some(format!(
                "`{settings}` changes the settings of a client, and only a person does that"
            ));
        }
        let taken = match listed.filter(|_| program.fed && changes(&program)) {
            Some(listed) => listed,
            None => self.taken(&program),
        };
        if matches!(program.name, "find" | "ls") && !taken.is_empty() && !deletes(&program) {
            self.listed = Some(taken);
            return None;
        }
        let wild: HashSet<&String> = words
            .iter()
            .zip(wild)
            .filter_map(|(word, wild)| wild.then_some(word))
            .collect();
        let here = self.folders.last()?.clone();
        let lost = taken
            .iter()
            .find(|word| self.loses(word, wild.contains(word), here.as_deref()))?;
        Some(format!(
            "`{}` on `{lost}` would take away or replace what decides what may be done here, and only a person does that; name what is \
             meant more closely",
            program.name
        ))
    }

    fn names_program(&self, word: &str) -> bool {
        let here = self
            .folders
            .last()
            .and_then(Option::as_deref)
            .unwrap_or(Path::new("/"));
        let value = word.split_once('=').map_or(word, |(_, value)| value);
        if !self.work.spend(2 * (LOOK + word.len())) {
            return false;
        }
        value.contains("harness") && self.foreign.is_program(&self.foreign.resolve(value, here))
            || self.foreign.is_program(&self.foreign.resolve(word, here))
    }

    fn enter(&mut self, program: &Program<'_>) {
        let operands = program.operands();
        let word = operands.first().copied().unwrap_or("~");
        let to = match self.folders.last().and_then(Option::as_ref) {
            _ if word.contains(['$', '*', '?']) || word == "-" => None,
            Some(here) => Some(self.foreign.resolve(word, here)),
            None if word.starts_with(['/', '~']) => {
                Some(self.foreign.resolve(word, Path::new("/")))
            }
            None => None,
        };
        if let Some(to) = &to {
            self.entered.push(to.clone());
            self.variables.assign(&format!("PWD={}", to.display()));
        }
        if let Some(last) = self.folders.last_mut() {
            *last = to;
        }
    }

    /// Whether a program is, or could be, harness under another name and would decide in a person's
    /// place.
    fn decides(&self, program: &Program<'_>, computed: bool) -> bool {
        let here = self
            .folders
            .last()
            .and_then(Option::as_deref)
            .unwrap_or(Path::new("/"));
        let unknown = computed || program.word.starts_with('$');
        let itself = program.word.contains('/')
            && self
                .foreign
                .is_program(&self.foreign.resolve(program.word, here));
        let words = texts(program.args);
        let Some(word) = words.iter().find(|word| !word.starts_with('-')) else {
            return false;
        };
        let clients = [
            "claude-code",
            "codex",
            "cursor",
            "vscode",
            "goose",
            "gemini",
            "--uninstall",
        ];
        match *word {
            word if itself => shell::DECIDING.contains(&word),
            "install" => unknown && words.iter().any(|word| clients.contains(word)),
            // Other programs also have a `lock` command and are called through variables.
            "lock" => false,
            word => unknown && shell::DECIDING.contains(&word),
        }
    }

    /// Whether a place is, or contains, a governing file.
    fn loses(&self, word: &str, wild: bool, here: Option<&Path>) -> bool {
        // The kernel has to stop what cannot be known here: most such words are harmless.
        if word.contains('$') {
            return false;
        }
        if !self.work.spend(LOOK + word.len()) {
            return true;
        }
        let base = match here {
            Some(here) => here,
            None if word.starts_with(['/', '~']) => Path::new("/"),
            None => return false,
        };
        let Some((folder, pattern, rest)) = shell::wildcard(word).filter(|_| wild) else {
            return self
                .foreign
                .holds_what_governs(&self.foreign.resolve(word, base));
        };
        let Ok(entries) = std::fs::read_dir(self.foreign.resolve(folder, base)) else {
            return false;
        };
        let names = entries
            .flatten()
            .take_while(|_| self.work.spend(ENTRY))
            .map(|entry| entry.file_name().to_string_lossy().into_owned());
        let mut names = names
            .filter(|name| pattern.starts_with('.') || !name.starts_with('.'))
            .filter(|name| shell::could_be(pattern, name));
        names.any(|name| {
            let place = format!("{folder}{name}{rest}");
            self.foreign
                .holds_what_governs(&self.foreign.resolve(&place, base))
                || self.foreign.is_protected(&place, base)
        })
    }
}

impl ClientToolCall {
    /// The variables that are known before a command starts.
    pub(super) fn variables<'w>(&self, cwd: &Path, work: &'w Work) -> Variables<'w> {
        let mut known = vec![("PWD", cwd.to_string_lossy().into_owned())];
        known.push((
            "CLAUDE_PROJECT_DIR",
            self.project().to_string_lossy().into_owned(),
        ));
        known.extend(
            self.client
                .programs
                .first()
                .map(|program| ("HARNESS_PROGRAM", program.to_string_lossy().into_owned())),
        );
        known.extend(
            self.client
                .home
                .iter()
                .map(|home| ("HOME", home.to_string_lossy().into_owned())),
        );
        Variables::new(&known, work)
    }

    /// Whether a real path is this program.
    pub(super) fn is_program(&self, real: &Path) -> bool {
        self.client.programs.iter().any(|program| program == real)
    }

    /// Whether a real path is the project, the home with the clients' settings, or a folder that
    /// contains one of them or this program.
    fn holds_what_governs(&self, real: &Path) -> bool {
        let home = self.client.home.as_deref().map(super::path::real);
        self.project().starts_with(real)
            || home.is_some_and(|home| home.starts_with(real))
            || self
                .client
                .programs
                .iter()
                .any(|program| program.starts_with(real))
    }
}

/// Whether a pattern inside a command is specific enough to mean a governing file, whether or not
/// it exists.
pub(super) fn means_to_govern(pattern: &str) -> bool {
    let said = pattern
        .find(['*', '?', '['])
        .map_or("", |at| &pattern[..at]);
    said.len() > 1
        && file::protected_everywhere()
            .any(|name| name.starts_with(&said.to_lowercase()) && shell::could_be(pattern, name))
}

fn texts(words: &[String]) -> Vec<&str> {
    words.iter().map(String::as_str).collect()
}

fn changes(program: &Program<'_>) -> bool {
    CHANGERS.contains(&program.name)
        && (!matches!(program.name, "sed" | "perl") || program.has(&['i'], &["in-place"]))
}

/// Whether a `find` itself changes what it finds.
fn deletes(program: &Program<'_>) -> bool {
    let words = program.args;
    words.iter().any(|word| word == "-delete")
        || words.iter().enumerate().any(|(at, word)| {
            matches!(word.as_str(), "-exec" | "-execdir" | "-ok" | "-okdir")
                && shell::program(&words[at + 1..])
                    .is_some_and(|inner| changes(&inner) || inner.is_shell())
        })
}

fn runs_later(setting: &str) -> String {
    format!("`{setting}` sets what Git runs, and only a person does that")
}
