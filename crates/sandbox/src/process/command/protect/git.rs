//! Other files that the configuration of a repository makes Git obey.

use std::fs::File;
use std::io::Read as _;
use std::path::{Path, PathBuf};

/// Bytes of configuration to read; people write a few hundred.
const MOST_BYTES: u64 = 64 << 10;
/// Configuration files to read for one repository.
const MOST_FILES: usize = 8;

/// The hooks folder and the configuration files that a repository's configuration names. `git` is
/// its folder.
pub(super) fn obeyed(git: &Path) -> Vec<PathBuf> {
    let mut files = vec![git.join("config")];
    let mut hooks = Vec::new();
    let mut next = 0;
    while let Some(file) = files.get(next).filter(|_| next < MOST_FILES).cloned() {
        next += 1;
        let mut text = Vec::new();
        // If the harness cannot read a file, Git does not obey it, or another user owns it.
        let _ = File::open(&file).and_then(|open| open.take(MOST_BYTES).read_to_end(&mut text));
        for (key, value) in settings(&String::from_utf8_lossy(&text)) {
            match (key, file.parent(), git.parent()) {
                (Key::Hooks, _, Some(top)) => hooks.push(top.join(value)),
                (Key::Include, Some(folder), _) => files.push(folder.join(value)),
                _ => {}
            }
        }
    }
    files.into_iter().skip(1).chain(hooks).collect()
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Key {
    Hooks,
    Include,
}

/// The settings that name other files. A value that starts with a home is not in a workspace.
fn settings(text: &str) -> Vec<(Key, String)> {
    let (mut section, mut found) = (String::new(), Vec::new());
    for line in text.lines() {
        let mut line = line.trim();
        if let Some((name, rest)) = line.strip_prefix('[').and_then(|rest| rest.split_once(']')) {
            section = name
                .split([' ', '\t', '"'])
                .next()
                .unwrap_or_default()
                .to_ascii_lowercase();
            line = rest.trim();
        }
        let Some((name, value)) = line.split_once('=') else {
            continue;
        };
        let key = match (section.as_str(), name.trim().to_ascii_lowercase().as_str()) {
            ("core", "hookspath") => Key::Hooks,
            ("include" | "includeif", "path") => Key::Include,
            _ => continue,
        };
        let value = value.trim();
        let value = match value
            .strip_prefix('"')
            .and_then(|rest| rest.split_once('"'))
        {
            Some((quoted, _)) => quoted,
            None => value.split(['#', ';']).next().unwrap_or_default().trim(),
        };
        if !value.is_empty() && !value.starts_with(['~', '%']) {
            found.push((key, value.to_owned()));
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settings_that_lead_elsewhere_are_found_however_they_are_written() {
        let text = "[core]\n\tbare = false\n\thooksPath = .husky ; mine\n[Include] path = \"../shared/git config\"\n\
                    [includeIf \"gitdir:x\"]\n\tPATH=other\n[user]\npath = no\n[include]\npath = ~/mine\nhooksPath = no\n";
        let expected = [
            (Key::Hooks, ".husky"),
            (Key::Include, "../shared/git config"),
            (Key::Include, "other"),
        ];
        assert_eq!(
            settings(text),
            expected.map(|(key, value)| (key, value.to_owned()))
        );
    }
}
