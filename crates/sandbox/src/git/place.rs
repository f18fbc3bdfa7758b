//! The places that settings lead Git to.

use super::answer::{PlaceKind, PlaceReason, ReadPart};
use super::config::Setting;
use super::look::{FoundSetting, Look, as_path};
use super::setting_kind::SettingKind;
use super::words::{WordUse, programs};
use std::path::{Path, PathBuf};

/// Every hook that Git runs.
const HOOKS: &[&str] = &[
    "applypatch-msg",
    "commit-msg",
    "fsmonitor-watchman",
    "p4-changelist",
    "p4-post-changelist",
    "p4-pre-submit",
    "p4-prepare-changelist",
    "post-applypatch",
    "post-checkout",
    "post-commit",
    "post-index-change",
    "post-merge",
    "post-receive",
    "post-rewrite",
    "post-update",
    "pre-applypatch",
    "pre-auto-gc",
    "pre-commit",
    "pre-merge-commit",
    "pre-push",
    "pre-rebase",
    "pre-receive",
    "prepare-commit-msg",
    "proc-receive",
    "push-to-checkout",
    "reference-transaction",
    "sendemail-validate",
    "update",
];
/// What of a template decides what Git runs.
const TEMPLATE: &[&str] = &["config", "config.worktree", "hooks"];
/// Words of command lines that are looked for, for one answer.
const MOST_PROBES: usize = 50_000;

impl Look<'_> {
    /// Adds the places that settings name. A relative one is looked for where Git may be when it
    /// needs it: at the top of a working tree, or in its own folder.
    pub(super) fn place_settings(
        &mut self,
        settings: &[FoundSetting],
        tops: &[PathBuf],
        folders: &[PathBuf],
    ) {
        let bases: Vec<PathBuf> = tops.iter().chain(folders).cloned().collect();
        let run_in = if tops.is_empty() { folders } else { tops };
        for FoundSetting { file, setting } in settings {
            let reason = PlaceReason::Setting {
                file: file.clone(),
                line: setting.line,
                name: setting.shown(),
            };
            let kind = match SettingKind::of(setting) {
                SettingKind::Harmless | SettingKind::Include | SettingKind::WorkingTree => continue,
                SettingKind::Program => {
                    self.place_programs(file, setting, run_in, &reason);
                    continue;
                }
                SettingKind::Hooks => PlaceKind::Hooks,
                SettingKind::Template => PlaceKind::Template,
                SettingKind::Attributes => PlaceKind::Attributes,
            };
            let Some(path) = self.interpolate(file, setting.text()) else {
                continue;
            };
            for base in &bases {
                self.place_tree(&base.join(&path), kind, &reason, &bases);
                if path.is_absolute() {
                    break;
                }
            }
        }
    }

    /// Adds a folder; of one that holds a working tree or Git's own folder, in which everything is
    /// written all the time, only the names that count.
    fn place_tree(
        &mut self,
        path: &Path,
        kind: PlaceKind,
        reason: &PlaceReason,
        bases: &[PathBuf],
    ) {
        let end = self.links.resolve(path).end.unwrap_or_default();
        let mut real = |path: &Path| self.links.resolve(path).end;
        let is_above = self.start.starts_with(&end)
            || bases
                .iter()
                .any(|base| real(base).is_some_and(|base| base.starts_with(&end)));
        let names = match kind {
            PlaceKind::Hooks if is_above => HOOKS,
            PlaceKind::Template if is_above => TEMPLATE,
            _ if is_above => return,
            _ => {
                // The hooks in the folder that husky makes run those beside it.
                let husky = Path::new(".husky/_");
                let path = path
                    .parent()
                    .filter(|_| path.ends_with(husky))
                    .unwrap_or(path);
                return self.place(path, kind, reason.clone());
            }
        };
        for name in names {
            self.place(&path.join(name), kind, reason.clone());
        }
    }

    /// Adds the files that a command line runs.
    fn place_programs(
        &mut self,
        file: &Path,
        setting: &Setting,
        bases: &[PathBuf],
        reason: &PlaceReason,
    ) {
        let line = setting.text();
        let Some(words) = programs(line.strip_prefix(b"!").unwrap_or(line)) else {
            let why = format!(
                "has a command line that is too long in line {}",
                setting.line
            );
            return self.miss(file, &why);
        };
        for word in words {
            let path = as_path(&word.path);
            let path = match (path.strip_prefix("~"), &self.person.home) {
                (Ok(rest), Some(home)) => home.join(rest),
                _ => path.to_path_buf(),
            };
            if word.path.contains(&0) || path.as_os_str().is_empty() {
                continue;
            }
            for base in bases {
                if self.answer.reads.len() > MOST_PROBES {
                    return self.miss(file, "names too many programs");
                }
                let program = base.join(&path);
                let stamp = self.glance(&program, ReadPart::Content);
                let counts = match (word.use_of, stamp) {
                    (WordUse::Program, _) => true,
                    (WordUse::Argument, stamp) => stamp.is_some_and(|stamp| stamp.is_executable()),
                };
                if counts {
                    self.place_tree(&program, PlaceKind::Program, reason, bases);
                }
                if path.is_absolute() {
                    break;
                }
            }
        }
    }

    /// The path that a value stands for; `None` if there is none, or it cannot be in a workspace.
    pub(super) fn interpolate(&mut self, file: &Path, value: &[u8]) -> Option<PathBuf> {
        let value = value.strip_prefix(b":(optional)").unwrap_or(value);
        // A path of the installation of Git.
        if value.is_empty() || value.starts_with(b"%(prefix)/") {
            return None;
        }
        let Some(rest) = value.strip_prefix(b"~") else {
            return Some(as_path(value).to_path_buf());
        };
        let end = rest.iter().position(|byte| *byte == b'/');
        let (user, rest) = rest.split_at(end.unwrap_or(rest.len()));
        let rest = as_path(rest.strip_prefix(b"/").unwrap_or(rest));
        let home = match user {
            [] => self.person.home.clone(),
            user => home_of(user),
        };
        match home {
            Some(home) => Some(home.join(rest)),
            None => {
                let text = String::from_utf8_lossy(value);
                self.miss(
                    file,
                    &format!("names `{text}`, in a home that is not known"),
                );
                None
            }
        }
    }
}

/// The home of another user.
fn home_of(user: &[u8]) -> Option<PathBuf> {
    let users = std::fs::read("/etc/passwd").ok()?;
    let mut lines = users.split(|byte| *byte == b'\n');
    lines.find_map(|line| {
        let mut fields = line.split(|byte| *byte == b':');
        let is_it = fields.next() == Some(user);
        let home = fields.nth(4).filter(|home| is_it && !home.is_empty())?;
        Some(as_path(home).to_path_buf())
    })
}
