//! Finds the program that a shell line runs, behind the words that only say how to run it.

/// Words before a program, and how many of the following words belong to them.
const WRAPPERS: [(&str, usize); 27] = [
    ("sudo", 0),
    ("doas", 0),
    ("env", 0),
    ("nice", 0),
    ("ionice", 0),
    ("nohup", 0),
    ("time", 0),
    ("command", 0),
    ("builtin", 0),
    ("exec", 0),
    ("stdbuf", 0),
    ("setsid", 0),
    ("busybox", 0),
    ("xargs", 0),
    ("parallel", 0),
    ("timeout", 1),
    ("npx", 0),
    ("bunx", 0),
    ("then", 0),
    ("do", 0),
    ("else", 0),
    ("if", 0),
    ("while", 0),
    ("until", 0),
    ("elif", 0),
    ("!", 0),
    ("{", 0),
];
/// Options of these wrappers that take the next word.
const WITH_VALUE: [&str; 10] = [
    "-u", "-g", "-n", "-s", "-k", "-I", "-P", "-L", "--user", "-C",
];
const SHELLS: [&str; 7] = ["sh", "bash", "dash", "zsh", "ksh", "ash", "fish"];

/// A program and its words.
#[derive(Debug, PartialEq, Eq)]
pub(in super::super) struct Program<'w> {
    /// Its name, without the folder.
    pub(in super::super) name: &'w str,
    /// The program as written.
    pub(in super::super) word: &'w str,
    pub(in super::super) args: &'w [String],
    /// Whether another program supplies more words, as `xargs` does.
    pub(in super::super) fed: bool,
}

/// The program that these words run; `None` if they only set variables.
pub(in super::super) fn program(words: &[String]) -> Option<Program<'_>> {
    let (mut at, mut fed) = (0, false);
    loop {
        let word = words.get(at)?.as_str();
        let name = word.rsplit('/').next().unwrap_or(word);
        let is_assignment = word.split_once('=').is_some_and(|(name, _)| {
            !name.is_empty()
                && name
                    .trim_end_matches('+')
                    .chars()
                    .all(|c| c.is_ascii_alphanumeric() || c == '_')
        });
        if is_assignment {
            at += 1;
            continue;
        }
        let Some((_, more)) = WRAPPERS.iter().find(|(wrapper, _)| *wrapper == name) else {
            return Some(Program {
                name,
                word,
                args: &words[at + 1..],
                fed,
            });
        };
        fed |= matches!(name, "xargs" | "parallel");
        at += 1;
        while let Some(option) = words.get(at).filter(|word| word.starts_with('-')) {
            at += 1 + usize::from(WITH_VALUE.contains(&option.as_str()));
        }
        at += more;
    }
}

impl Program<'_> {
    /// The text that another shell is given to run.
    pub(in super::super) fn script(&self) -> Option<String> {
        if self.name == "eval" {
            return Some(self.args.join(" "));
        }
        if !self.is_shell() {
            return None;
        }
        let option =
            |word: &String| word.starts_with('-') && !word.starts_with("--") && word.ends_with('c');
        self.args
            .get(self.args.iter().position(option)? + 1)
            .cloned()
    }

    pub(in super::super) fn is_shell(&self) -> bool {
        SHELLS.contains(&self.name)
    }

    /// Its words that are not options; after `--`, every word.
    pub(in super::super) fn operands(&self) -> Vec<&str> {
        let mut only = false;
        let mut operands = Vec::new();
        for word in self.args {
            match word.as_str() {
                "--" if !only => only = true,
                word if !only && word.len() > 1 && word.starts_with('-') => {}
                word => operands.push(word),
            }
        }
        operands
    }

    /// Whether it has one of these options: single letters, alone or combined, or long ones.
    pub(in super::super) fn has(&self, letters: &[char], long: &[&str]) -> bool {
        self.args
            .iter()
            .take_while(|word| *word != "--")
            .any(|word| match word.strip_prefix("--") {
                Some(name) => long
                    .iter()
                    .any(|option| name.split('=').next() == Some(option)),
                None => word
                    .strip_prefix('-')
                    .is_some_and(|word| word.contains(letters)),
            })
    }

    /// The client setting that it would change.
    pub(in super::super) fn configures_client(&self) -> Option<String> {
        let plain: Vec<&str> = self
            .args
            .iter()
            .map(String::as_str)
            .filter(|word| !word.starts_with('-'))
            .collect();
        let name = if matches!(self.name, "claude-code" | "gemini-cli") {
            &self.name[..6]
        } else {
            self.name
        };
        let changes = match (name, plain.as_slice()) {
            ("claude" | "codex" | "gemini" | "cursor-agent", ["mcp", verb, ..]) => {
                !matches!(*verb, "list" | "get" | "serve" | "list-tools")
            }
            ("claude", ["config", verb, ..]) => !matches!(*verb, "list" | "get" | "ls"),
            ("claude" | "codex", ["plugin" | "plugins", verb, ..]) => {
                !matches!(*verb, "list" | "validate")
            }
            ("codex", ["features" | "hooks", verb, ..]) => *verb != "list",
            ("gemini", ["extensions" | "hooks", verb, ..]) => *verb != "list",
            ("goose", ["configure", ..]) => true,
            ("code" | "cursor" | "code-insiders", _) => {
                self.args.iter().any(|word| word.starts_with("--add-mcp"))
            }
            _ => false,
        };
        changes.then(|| {
            std::iter::once(name)
                .chain(plain.into_iter().take(2))
                .collect::<Vec<_>>()
                .join(" ")
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(text: &str) -> Vec<String> {
        text.split(' ').map(str::to_owned).collect()
    }

    #[test]
    fn programs_are_found_behind_what_wraps_them() {
        for (text, expected) in [
            ("rm -rf x", Some("rm")),
            ("A=1 B=2 /bin/rm x", Some("rm")),
            (
                "sudo -u root env A=1 timeout -k 5 10 nice -n 5 rm x",
                Some("rm"),
            ),
            ("xargs -n1 rm", Some("rm")),
            ("A=1", None),
            ("grep -r rm .", Some("grep")),
        ] {
            let words = words(text);
            assert_eq!(
                program(&words).map(|program| program.name),
                expected,
                "{text}"
            );
        }
        assert_eq!(
            program(&words("bash -lc rm")).and_then(|program| program.script()),
            Some("rm".to_owned())
        );
    }

    #[test]
    fn commands_that_write_the_settings_of_clients_are_known() {
        for (attack, twin) in [
            ("claude mcp add x -- y", "claude mcp list"),
            ("claude --debug mcp remove x", "claude mcp get x"),
            ("codex mcp add x", "codex exec x"),
            (
                "npx -y @anthropic-ai/claude-code mcp add-json x {}",
                "npx -y create-app mcp add",
            ),
            ("code --add-mcp {}", "code ."),
            ("gemini mcp add x", "gemini -p mcp"),
        ] {
            let is_found = |text: &str| {
                program(&words(text))
                    .and_then(|program| program.configures_client())
                    .is_some()
            };
            assert!(is_found(attack) && !is_found(twin), "{attack} {twin}");
        }
    }
}
