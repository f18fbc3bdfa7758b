//! Codex's patch format: which files a patch touches, and what it writes there.

use super::shell::{lex, program};

/// One file of a patch.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Touched {
    /// The file's path.
    pub(super) path: String,
    /// `add`, `update`, `delete`, or `move` for the target of a rename.
    pub(super) change: &'static str,
    /// The lines it adds.
    pub(super) content: String,
}

const BEGIN: &str = "*** Begin Patch";
const END: &str = "*** End Patch";
const FILES: [(&str, &str); 4] = [
    ("*** Add File: ", "add"),
    ("*** Update File: ", "update"),
    ("*** Delete File: ", "delete"),
    ("*** Move to: ", "move"),
];

/// A patch in a shell command, which Codex applies itself.
#[derive(Debug, PartialEq, Eq)]
pub struct Inline {
    /// The patch.
    pub patch: String,
    /// The folder that the command enters first.
    pub folder: Option<String>,
}

/// The patch that a command makes Codex apply: `apply_patch` with its text, as Codex parses it.
#[must_use]
pub fn inline(command: &str) -> Option<Inline> {
    inline_in(command, 0)
}

fn inline_in(command: &str, depth: usize) -> Option<Inline> {
    let mut folder = None;
    for segment in lex(command) {
        let words: Vec<String> = segment.words.iter().map(|word| word.text.clone()).collect();
        let Some(program) = program(&words) else {
            continue;
        };
        match program.name {
            "cd" => folder = program.args.first().cloned(),
            "apply_patch" | "applypatch" => {
                let text = program.args.first().cloned().or(segment.input);
                return text.map(|patch| Inline { patch, folder });
            }
            _ => {
                let inner = program
                    .script()
                    .filter(|_| depth < 3)
                    .and_then(|script| inline_in(&script, depth + 1));
                if let Some(inner) = inner {
                    return Some(Inline {
                        folder: inner.folder.or(folder),
                        ..inner
                    });
                }
            }
        }
    }
    None
}

/// Every file that a patch touches. A line that could name a file but does not parse is an error,
/// so that no file is missed.
pub(super) fn touched(patch: &str) -> Result<Vec<Touched>, String> {
    let mut lines = patch
        .lines()
        .map(str::trim_end)
        .skip_while(|line| line.trim().is_empty());
    if lines.next().map(str::trim) != Some(BEGIN) {
        return Err(format!("it does not begin with `{BEGIN}`"));
    }
    let mut files: Vec<Touched> = Vec::new();
    for line in lines {
        let marked = line.trim_start();
        if marked == END {
            break;
        }
        if let Some((path, change)) = FILES
            .iter()
            .find_map(|(mark, change)| Some((marked.strip_prefix(mark)?.trim(), *change)))
        {
            if path.is_empty() {
                return Err(format!("`{line}` names no file"));
            }
            files.push(Touched {
                path: path.to_owned(),
                change,
                content: String::new(),
            });
        } else if let Some(added) = line.strip_prefix('+') {
            if let Some(file) = files.last_mut() {
                file.content.push_str(added);
                file.content.push('\n');
            }
        } else if marked.starts_with("***")
            && !marked.starts_with("*** End of File")
            && !marked.starts_with("*** Environment ID: ")
        {
            return Err(format!("`{line}` is not understood"));
        }
    }
    // The content of a moved file is judged at its target, too.
    for index in 1..files.len() {
        if files[index].change == "move" {
            let content = std::mem::take(&mut files[index].content);
            files[index - 1].content.push_str(&content);
            files[index].content = files[index - 1].content.clone();
        }
    }
    if files.is_empty() {
        Err("it touches no file".to_owned())
    } else {
        Ok(files)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_file_is_found_with_what_is_added_to_it() {
        let patch = "*** Begin Patch\n*** Add File: a.txt\n+one\n+two\n*** Update File: b.rs\n*** Move to: c.rs\n@@ fn\n-x\n+y\n z\n\
                     *** Delete File: d\n*** End Patch\n";
        let found: Vec<_> = touched(patch)
            .expect("a patch")
            .into_iter()
            .map(|file| (file.path, file.change, file.content))
            .collect();
        let expected = [
            ("a.txt", "add", "one\ntwo\n"),
            ("b.rs", "update", "y\n"),
            ("c.rs", "move", "y\n"),
            ("d", "delete", ""),
        ];
        assert_eq!(
            found,
            expected.map(|(path, change, content)| (path.to_owned(), change, content.to_owned()))
        );
    }

    #[test]
    fn a_patch_is_found_in_a_command() {
        let patch = "*** Begin Patch\n*** Add File: a\n+x\n*** End Patch";
        for (command, folder) in [
            (format!("apply_patch <<'EOF'\n{patch}\nEOF"), None),
            (
                format!("cd sub && apply_patch <<'EOF'\n{patch}\nEOF\n"),
                Some("sub"),
            ),
            (
                format!("bash -lc \"apply_patch <<'EOF'\n{patch}\nEOF\""),
                None,
            ),
            (format!("apply_patch '{patch}'"), None),
        ] {
            let found = inline(&command).unwrap_or_else(|| panic!("{command}"));
            assert_eq!(
                (found.patch.trim_end(), found.folder.as_deref()),
                (patch, folder),
                "{command}"
            );
        }
        assert_eq!(inline("grep -r apply_patch ."), None);
    }

    #[test]
    fn what_is_not_understood_is_refused() {
        for patch in [
            "",
            "diff --git a/x b/x",
            "*** Begin Patch\n*** End Patch",
            "*** Begin Patch\n*** Rename File: x\n*** End Patch",
            "*** Begin Patch\n*** Add File: \n*** End Patch",
        ] {
            assert!(touched(patch).is_err(), "{patch}");
        }
        assert!(
            touched("\n  *** Begin Patch\n  *** Add File: x\n+1").is_ok(),
            "as lenient as the client"
        );
    }
}
