//! Whether one configuration may take another's place: what changed that makes Git run a program, or
//! leads it to other settings.

use super::config::{Config, Setting};
use super::setting_kind::{SettingKind, is_harmless};
use std::collections::BTreeMap;

/// A change that could make Git run a program or obey other settings.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Objection {
    /// The setting: `core.fsmonitor`. Empty if the text itself is the problem.
    pub name: String,
    /// Its line in the new text, or in the old one if it was removed there.
    pub line: usize,
    /// What happened to it.
    pub change: SettingChange,
}

/// What happened to a setting.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SettingChange {
    /// It is new, or has a new value.
    Added,
    /// It is gone: then an earlier one, or the default, counts.
    Removed,
    /// It moved, so that another one counts.
    Moved,
    /// Git cannot read the text from this line on, or it is too large.
    Broken,
}

impl std::fmt::Display for Objection {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { name, line, .. } = self;
        match self.change {
            SettingChange::Added => write!(f, "line {line} sets `{name}`"),
            SettingChange::Removed => write!(f, "`{name}` was removed"),
            SettingChange::Moved => write!(f, "`{name}` was moved to line {line}"),
            SettingChange::Broken => write!(f, "line {line} is not Git's syntax"),
        }
    }
}

/// What speaks against `new` in the place of `old`; empty if only harmless settings differ. What was
/// in `old` already is nobody's change, so an empty `old` judges a new file.
///
/// `extensions.worktreeConfig` makes Git read `config.worktree`; a caller that judges that file, too,
/// can pass over the objection.
#[must_use]
pub fn objections(old: &[u8], new: &[u8]) -> Vec<Objection> {
    let (old, new) = (Config::read(old), Config::read(new));
    if let Some(line) = new.broken {
        return vec![Objection {
            name: String::new(),
            line,
            change: SettingChange::Broken,
        }];
    }
    let (before, after) = (harmful(&old), harmful(&new));
    let objection = |setting: &&Setting, change| Objection {
        name: setting.shown(),
        line: setting.line,
        change,
    };
    let mut found: Vec<Objection> = missing(&after, &before)
        .iter()
        .map(|setting| objection(setting, SettingChange::Added))
        .chain(
            missing(&before, &after)
                .iter()
                .map(|setting| objection(setting, SettingChange::Removed)),
        )
        .collect();
    if found.is_empty() {
        // The last one counts, so the order is part of what they say.
        let mut pairs = before.iter().zip(&after);
        let moved = pairs.find(|(one, other)| !is_same(one, other));
        found.extend(moved.map(|(_, setting)| objection(setting, SettingChange::Moved)));
    }
    found.extend(
        redirected(&old, &new)
            .iter()
            .map(|setting| objection(setting, SettingChange::Added)),
    );
    found.sort_by_key(|objection| objection.line);
    found
}

/// The settings that may run a program or lead elsewhere.
fn harmful(config: &Config) -> Vec<&Setting> {
    let settings = config.settings.iter();
    settings
        .filter(|setting| SettingKind::of(setting) != SettingKind::Harmless)
        .collect()
}

fn is_same(one: &Setting, other: &Setting) -> bool {
    one.name == other.name && one.value == other.value
}

/// The settings of one list that the other does not have as often.
fn missing<'a>(of: &[&'a Setting], from: &[&Setting]) -> Vec<&'a Setting> {
    let mut left: BTreeMap<_, usize> = BTreeMap::new();
    for setting in from {
        *left.entry((&setting.name, &setting.value)).or_default() += 1;
    }
    let mut missing = Vec::new();
    for setting in of {
        match left.get_mut(&(&setting.name, &setting.value)) {
            Some(count) if *count > 0 => *count -= 1,
            _ => missing.push(*setting),
        }
    }
    missing
}

/// New addresses of remotes that had others: a person who fetches from or pushes to a remote relies
/// on where it is. A remote may be added and removed.
fn redirected<'a>(old: &Config, new: &'a Config) -> Vec<&'a Setting> {
    let is_address = |setting: &&Setting| {
        setting.section() == b"remote"
            && matches!(setting.key(), b"url" | b"pushurl")
            && is_harmless(setting)
    };
    let before: Vec<&Setting> = old.settings.iter().filter(is_address).collect();
    let is_known = |setting: &Setting| {
        before
            .iter()
            .any(|known| known.subsection() == setting.subsection())
    };
    let is_there = |setting: &Setting| before.iter().any(|known| is_same(known, setting));
    let after = new.settings.iter().filter(is_address);
    after
        .filter(|setting| is_known(setting) && !is_there(setting))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(old: &str, new: &str, expected: &[&str]) {
        let found: Vec<String> = objections(old.as_bytes(), new.as_bytes())
            .iter()
            .map(Objection::to_string)
            .collect();
        assert_eq!(found, expected, "{old:?} {new:?}");
    }

    const BASE: &str =
        "[core]\n\tbare = false\n[remote \"origin\"]\n\turl = https://example.org/a\n";

    fn with(more: &str) -> String {
        format!("{BASE}{more}\n")
    }

    #[test]
    fn everyday_changes_pass() {
        for more in [
            "",
            "[user]\n name = A\n email = a@b",
            "[branch \"x\"]\n remote = origin\n merge = refs/heads/x",
            "[remote \"up\"]\n url = git@example.org:x\n fetch = +refs/heads/*:refs/remotes/up/*",
            "[submodule \"a\"]\n url = ../a\n active = true",
            "[core]\n sparseCheckout = true\n sparseCheckoutCone = true",
            "[maintenance]\n auto = false\n strategy = incremental",
        ] {
            check(BASE, &with(more), &[]);
            check(&with(more), BASE, &[]);
            check("", &with(more), &[]);
        }
        let own = with("[core]\n pager = less\n[alias]\n x = !y");
        check(&own, &own, &[]);
        check(&own, &format!("{own}[user]\nname = B\n"), &[]);
    }

    #[test]
    fn changes_that_run_programs_or_lead_elsewhere_are_named_with_their_lines() {
        for (more, name) in [
            ("[core]\n fsmonitor = ./x", "core.fsmonitor"),
            ("[core]\n hooksPath = x", "core.hookspath"),
            ("[core]\n worktree = x", "core.worktree"),
            ("[include]\n path = x", "include.path"),
            ("[filter \"A\"]\n clean = x", "filter.A.clean"),
            ("[remote \"a\"]\n url = ext::x", "remote.a.url"),
            (
                "[remote \"origin\"]\n url = https://other.org/a",
                "remote.origin.url",
            ),
            ("[url \"ext::x\"]\n insteadOf = y", "url.ext::x.insteadof"),
            (
                "[extensions]\n worktreeConfig = true",
                "extensions.worktreeconfig",
            ),
        ] {
            check(BASE, &with(more), &[&format!("line 6 sets `{name}`")]);
        }
        let (one, two) = ("[core]\npager = a\n", "[core]\npager = b\n");
        check(one, "", &["`core.pager` was removed"]);
        check(
            one,
            two,
            &["line 2 sets `core.pager`", "`core.pager` was removed"],
        );
        check(
            &format!("{one}{two}"),
            &format!("{two}{one}"),
            &["`core.pager` was moved to line 2"],
        );
        check(one, &format!("{one}{one}"), &["line 4 sets `core.pager`"]);
        check(BASE, &with("[core"), &["line 5 is not Git's syntax"]);
        check(
            &with("[core"),
            "[core]\nfsmonitor = x",
            &["line 2 sets `core.fsmonitor`"],
        );
    }
}
