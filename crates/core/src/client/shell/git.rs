//! Git settings that run programs: a command that sets one can run anything, later and unseen.

/// Values that run nothing, or nothing new.
const HARMLESS: [&str; 14] = [
    "",
    "true",
    "false",
    ":",
    "cat",
    "less",
    "vi",
    "vim",
    "nano",
    "store",
    "cache",
    "osxkeychain",
    "/bin/true",
    "/bin/cat",
];
/// Keys without a name in the middle.
const KEYS: [&str; 18] = [
    "core.hookspath",
    "core.fsmonitor",
    "core.sshcommand",
    "core.editor",
    "core.pager",
    "core.askpass",
    "core.gitproxy",
    "core.alternaterefscommand",
    "sequence.editor",
    "diff.external",
    "credential.helper",
    "gpg.program",
    "include.path",
    "interactive.difffilter",
    "init.templatedir",
    "uploadpack.packobjectshook",
    "web.browser",
    "protocol.allow",
];
/// Sections in which every key counts.
const SECTIONS: [&str; 9] = [
    "alias",
    "filter",
    "includeif",
    "pager",
    "difftool",
    "mergetool",
    "guitool",
    "hook",
    "browser",
];
/// Keys with a name in the middle: the section, and the key's ending.
const NAMED: [(&str, &str); 14] = [
    ("diff", ".command"),
    ("diff", ".textconv"),
    ("merge", ".driver"),
    ("credential", ".helper"),
    ("gpg", ".program"),
    ("gpg", ".defaultkeycommand"),
    ("remote", ".uploadpack"),
    ("remote", ".receivepack"),
    ("remote", ".vcs"),
    ("submodule", ".update"),
    ("trailer", ".command"),
    ("trailer", ".cmd"),
    ("tar", ".command"),
    ("protocol", ".allow"),
];

/// Whether a setting makes Git run a program. An unknown key could be any key.
fn runs_programs(key: &str, value: Option<&str>) -> bool {
    let key = key.to_ascii_lowercase();
    let section = key.split('.').next().unwrap_or_default();
    let named = NAMED
        .iter()
        .any(|(begin, end)| section == *begin && key.ends_with(end));
    let risky =
        KEYS.contains(&key.as_str()) || SECTIONS.contains(&section) || named || key.contains('$');
    let keeps_hooks = key != "core.hookspath" && section != "alias";
    risky && !(keeps_hooks && value.is_some_and(|value| HARMLESS.contains(&value)))
}

fn pair(text: &str) -> bool {
    let (key, value) = text
        .split_once('=')
        .map_or((text, None), |(key, value)| (key, Some(value)));
    runs_programs(key, value)
}

/// The setting that runs programs and that `git` with these words would set.
pub(in super::super) fn sets(args: &[&str]) -> Option<String> {
    let mut rest = args;
    loop {
        match rest {
            ["-c", setting, ..] if pair(setting) => return Some(format!("git -c {setting}")),
            ["--config-env", setting, ..] if runs_programs(key_of(setting), None) => {
                return Some(format!("git --config-env {setting}"));
            }
            [
                "-c" | "--config-env" | "-C" | "--git-dir" | "--work-tree" | "--namespace"
                | "--exec-path",
                _,
                after @ ..,
            ] => rest = after,
            [option, after @ ..] if option.starts_with('-') => {
                let set = option
                    .strip_prefix("--config-env=")
                    .filter(|setting| runs_programs(key_of(setting), None));
                let glued = option.strip_prefix("-c").filter(|setting| pair(setting));
                if set.or(glued).is_some() {
                    return Some(format!("git {option}"));
                }
                rest = after;
            }
            ["config", words @ ..] => return config(words),
            ["clone" | "submodule" | "init", words @ ..] => {
                let given = words
                    .windows(2)
                    .find(|pair_of| matches!(pair_of[0], "-c" | "--config") && pair(pair_of[1]))
                    .map(|found| found[1]);
                let glued = words.iter().find_map(|word| {
                    word.strip_prefix("--config=")
                        .filter(|setting| pair(setting))
                });
                return given
                    .or(glued)
                    .map(|setting| format!("git clone -c {setting}"));
            }
            _ => return None,
        }
    }
}

fn key_of(setting: &str) -> &str {
    setting.split_once('=').map_or(setting, |(key, _)| key)
}

fn config(words: &[&str]) -> Option<String> {
    let has = |options: &[&str]| {
        words.iter().any(|word| {
            options
                .iter()
                .any(|option| word == option || word.starts_with(&format!("{option}=")))
        })
    };
    // A settings file other than Git's own is a file like any other.
    if has(&[
        "-f",
        "--file",
        "--blob",
        "-l",
        "--list",
        "--get",
        "--get-all",
        "--get-regexp",
        "--get-urlmatch",
        "--get-color",
    ]) {
        return None;
    }
    if has(&["-e", "--edit"]) || matches!(words.first(), Some(&"edit")) {
        return Some("git config --edit".to_owned());
    }
    let mut plain: Vec<&str> = words
        .iter()
        .copied()
        .filter(|word| !word.starts_with('-'))
        .collect();
    let verb = plain.first().copied().filter(|word| {
        [
            "get",
            "list",
            "set",
            "unset",
            "rename-section",
            "remove-section",
        ]
        .contains(word)
    });
    if matches!(verb, Some("get" | "list")) {
        return None;
    }
    if verb.is_some() {
        plain.remove(0);
    }
    let writes = verb.is_some()
        || plain.len() > 1
        || has(&[
            "--add",
            "--unset",
            "--unset-all",
            "--replace-all",
            "--rename-section",
            "--remove-section",
        ]);
    let section = |key: &str| SECTIONS.contains(&key.split('.').next().unwrap_or_default());
    let (key, value) = (plain.first()?, plain.get(1).copied());
    let renamed = has(&["--rename-section"]) || verb == Some("rename-section");
    let risky = runs_programs(key, value)
        || (renamed
            && plain
                .iter()
                .any(|key| section(key) || KEYS.iter().any(|known| known.starts_with(key))));
    (writes && risky).then(|| format!("git config {key}"))
}

/// Whether a variable given to a program makes Git run another program.
pub(in super::super) fn is_setting(name: &str, value: &str) -> bool {
    let key = name.strip_prefix("GIT_CONFIG_");
    match key {
        Some(number) if number.starts_with("KEY_") => runs_programs(value, None),
        Some("PARAMETERS") => true,
        Some("GLOBAL" | "SYSTEM") => value != "/dev/null" && !value.is_empty(),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settings_that_run_programs_are_told_from_others() {
        for (attack, twin) in [
            ("config core.hooksPath /tmp/x", "config user.name x"),
            ("config --global alias.st !rm", "config --get alias.st"),
            (
                "config --local core.fsmonitor /tmp/x",
                "config core.fsmonitor",
            ),
            ("config set filter.a.clean x", "config get filter.a.clean"),
            ("config --add include.path x", "config -l"),
            (
                "config diff.x.textconv rm",
                "config diff.algorithm patience",
            ),
            (
                "config merge.x.driver rm",
                "config merge.conflictStyle zdiff3",
            ),
            (
                "config CREDENTIAL.https://x.HELPER rm",
                "config credential.helper store",
            ),
            ("config --unset core.hooksPath", "config --unset user.email"),
            (
                "config --rename-section user alias",
                "config --remove-section branch.x",
            ),
            (
                "-c core.fsmonitor=/tmp/x status",
                "-c core.fsmonitor=false status",
            ),
            ("-c core.hooksPath=/tmp commit", "-c color.ui=never log"),
            ("-ccore.sshCommand=x fetch", "-c core.pager=cat log"),
            ("-C x -c alias.y=!z y", "-C x log"),
            (
                "--config-env=core.editor=X commit",
                "--config-env=user.name=X commit",
            ),
            (
                "--config-env core.editor=X commit",
                "-c core.editor=true commit",
            ),
            (
                "clone -c core.hooksPath=x y",
                "clone -c core.autocrlf=false y",
            ),
            ("config $k v", "config user.email $e"),
        ] {
            let words = |text: &'static str| text.split(' ').collect::<Vec<_>>();
            assert!(sets(&words(attack)).is_some(), "{attack}");
            assert_eq!(sets(&words(twin)), None, "{twin}");
        }
        assert!(
            is_setting("GIT_CONFIG_KEY_0", "core.fsmonitor")
                && !is_setting("GIT_CONFIG_KEY_0", "user.name")
        );
        assert!(
            is_setting("GIT_CONFIG_GLOBAL", "/tmp/x")
                && !is_setting("GIT_CONFIG_GLOBAL", "/dev/null")
                && !is_setting("GIT_PAGER", "x")
        );
    }
}
