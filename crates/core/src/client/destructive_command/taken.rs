//! The places that a program takes away or replaces.

use super::super::shell::{self, ENTRY, LOOK, Program, STEP};
use super::{CHANGERS, Walk, texts};
use std::io::ErrorKind;
use std::path::PathBuf;
use tool_harness_sandbox::file;

impl Walk<'_> {
    /// The places that a program removes, moves, overwrites or changes recursively.
    pub(super) fn taken(&self, program: &Program<'_>) -> Vec<String> {
        let operands: Vec<String> = program.operands().into_iter().map(str::to_owned).collect();
        let globs = || {
            operands
                .iter()
                .filter(|word| word.contains(['*', '?', '[']))
                .cloned()
                .collect::<Vec<_>>()
        };
        let recursive = program.has(&['r', 'R'], &["recursive"]);
        match program.name {
            // `rm` itself refuses the root; what to tell a caller who tries is up to the project's
            // own hooks.
            "rm" if recursive && !program.has(&[], &["no-preserve-root"]) => {
                operands.into_iter().filter(|word| word != "/").collect()
            }
            "rm" | "chmod" | "chown" | "chgrp" | "setfacl" | "chattr" | "gzip" | "bzip2" | "xz"
            | "zstd"
                if recursive =>
            {
                operands
            }
            "rmdir" | "shred" | "unlink" | "trash" | "trash-put" => operands,
            "mv" => match program.has(&['t'], &["target-directory"]) {
                true => operands,
                false => operands
                    .iter()
                    .take(operands.len().saturating_sub(1))
                    .cloned()
                    .collect(),
            },
            "sed" | "perl" if !program.has(&['i'], &["in-place"]) => Vec::new(),
            name if CHANGERS.contains(&name) => globs(),
            "find" => self.found(program),
            "ls" if operands.is_empty() => vec![".".to_owned()],
            "ls" => operands,
            "cp" if program.has(&['r', 'R', 'a'], &["recursive", "archive"]) => {
                let replaces = program.has(&['T'], &["no-target-directory"]);
                let slash = |word: &String| {
                    if replaces {
                        format!("{word}/")
                    } else {
                        word.clone()
                    }
                };
                self.poured(&operands.iter().map(slash).collect::<Vec<_>>())
            }
            "rsync" if program.has(&['n'], &["dry-run"]) => Vec::new(),
            "rsync" => {
                let to = operands.last().filter(|to| !to.contains(':')).into_iter();
                let empties = program
                    .args
                    .iter()
                    .any(|word| word.starts_with("--delete") || word == "--remove-source-files");
                if empties {
                    to.cloned().collect()
                } else {
                    self.poured(&operands)
                }
            }
            "git" => self.cleaned(program),
            "tar" if program.has(&[], &["remove-files"]) => operands,
            _ => Vec::new(),
        }
    }

    /// The places that a `find` takes whole, if it changes files or feeds a program that does.
    fn found(&self, program: &Program<'_>) -> Vec<String> {
        let words = texts(program.args);
        let is_test = |word: &&&str| word.starts_with(['-', '(', '!']);
        let mut places: Vec<String> = words
            .iter()
            .take_while(|word| !is_test(word))
            .map(|word| (*word).to_owned())
            .collect();
        if places.is_empty() {
            places.push(".".to_owned());
        }
        let names = words.iter().enumerate().filter(|(at, word)| {
            let refused = at
                .checked_sub(1)
                .and_then(|before| words.get(before))
                .is_some_and(|word| matches!(*word, "!" | "-not"));
            matches!(
                **word,
                "-name" | "-iname" | "-path" | "-ipath" | "-wholename" | "-regex"
            ) && !refused
        });
        let patterns: Vec<&str> = names
            .filter_map(|(at, _)| words.get(at + 1).copied())
            .collect();
        let found: Option<Vec<_>> = places.iter().map(|place| self.found_in(place)).collect();
        // What was not searched to its end may hold anything.
        let Some(protected) = found.map(|found| found.concat()) else {
            return places;
        };
        if !self
            .work
            .spend(patterns.len() * (protected.len() + 1) * STEP)
        {
            return places;
        }
        // The files in `.harness` may have any name.
        let inside = ["./.harness/hooks/x.md", "guard.md"];
        let could = |pattern: &&str| {
            let is = |name: &str| {
                shell::could_be(pattern, name) || shell::could_be(pattern, &format!("./{name}"))
            };
            file::protected_everywhere().chain(inside).any(is)
                || protected
                    .iter()
                    .any(|path| is(path) || path.rsplit('/').next().is_some_and(&is))
        };
        let narrowed = !patterns.is_empty() && !patterns.iter().any(could);
        if narrowed || words.contains(&"-empty") {
            Vec::new()
        } else {
            places
        }
    }

    /// The protected files that exist in a folder, by their relative paths. Only folders that hold
    /// such files are searched. `None` if the search is incomplete.
    fn found_in(&self, place: &str) -> Option<Vec<String>> {
        const MAX_ENTRIES: usize = 100_000;
        let Some(here) = self.folders.last().and_then(Option::as_deref) else {
            return Some(Vec::new());
        };
        if !self.work.spend(LOOK + place.len()) {
            return None;
        }
        let top = self.foreign.resolve(place, here);
        let (mut found, mut left, mut entries) = (Vec::new(), vec![String::new()], 0);
        while let Some(folder) = left.pop() {
            let listing = match std::fs::read_dir(top.join(&folder)) {
                Ok(listing) => listing,
                Err(error) if error.kind() == ErrorKind::NotFound => continue,
                Err(_) => return None,
            };
            for entry in listing {
                let entry = entry.ok()?;
                entries += 1;
                if entries > MAX_ENTRIES || !self.work.spend(ENTRY) {
                    return None;
                }
                let name = entry.file_name().to_string_lossy().into_owned();
                let path = if folder.is_empty() {
                    name.clone()
                } else {
                    format!("{folder}/{name}")
                };
                let is_folder = entry.file_type().is_ok_and(|kind| kind.is_dir());
                if is_folder && (file::is_protected(&path) || file::is_folder_of_protected(&name)) {
                    left.push(path);
                } else if file::is_protected(&path) {
                    found.push(path);
                }
            }
        }
        Some(found)
    }

    /// The target of a copy of a whole folder, unless that folder clearly contains no governing
    /// file.
    fn poured(&self, operands: &[String]) -> Vec<String> {
        let Some((to, from)) = operands.split_last() else {
            return Vec::new();
        };
        let Some(here) = self.folders.last().and_then(Option::as_deref) else {
            return Vec::new();
        };
        let pours = |word: &&String| {
            word.ends_with("/.")
                || word.ends_with("/*")
                || word.ends_with("/.*")
                || word.ends_with('/')
        };
        let harmless = |word: &String| {
            let folder = word.trim_end_matches(['*', '.']);
            if !self.work.spend(LOOK + word.len()) {
                return false;
            }
            let Ok(entries) = std::fs::read_dir(self.foreign.resolve(folder, here)) else {
                return false;
            };
            !entries
                .flatten()
                .take_while(|_| self.work.spend(ENTRY))
                .any(|entry| file::is_protected(&entry.file_name().to_string_lossy()))
        };
        if from.iter().filter(pours).all(harmless) {
            Vec::new()
        } else {
            vec![to.clone()]
        }
    }

    fn cleaned(&self, program: &Program<'_>) -> Vec<String> {
        let words = texts(program.args);
        let (mut rest, mut folder) = (words.as_slice(), PathBuf::new());
        let verb = loop {
            match rest {
                ["-C", into, after @ ..] => {
                    folder.push(into);
                    rest = after;
                }
                [
                    "-c" | "--git-dir" | "--work-tree" | "--namespace",
                    _,
                    after @ ..,
                ] => rest = after,
                [option, after @ ..] if option.starts_with('-') => rest = after,
                [verb, after @ ..] => {
                    rest = after;
                    break *verb;
                }
                [] => return Vec::new(),
            }
        };
        let option = |letter: char, long: &str| {
            rest.iter().any(|word| {
                *word == long
                    || (word.starts_with('-') && !word.starts_with("--") && word.contains(letter))
            })
        };
        let place = |word: &str| folder.join(word).to_string_lossy().into_owned();
        let mut places: Vec<String> = rest
            .iter()
            .filter(|word| !word.starts_with('-'))
            .map(|word| place(word))
            .collect();
        match verb {
            _ if option('n', "--dry-run") => Vec::new(),
            "clean" if option('f', "--force") => {
                if places.is_empty() {
                    places.push(place("."));
                }
                places
            }
            "rm" if option('r', "--recursive") => places,
            _ => Vec::new(),
        }
    }
}
