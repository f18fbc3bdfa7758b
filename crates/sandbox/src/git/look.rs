//! Looking: from a folder to its repository, and from a repository to everything it leads to.

use super::PersonalConfig;
use super::answer::{
    GitAnswer, GitGap, GitPlace, GitRepository, PlaceKind, PlaceReason, Read, ReadPart,
};
use super::config::{Config, MOST_CONFIG_BYTES, Setting};
use super::resolve::LinkReader;
use super::setting_kind::SettingKind;
use super::stamp::{Stamp, open_regular};
use std::collections::{HashMap, HashSet, VecDeque};
use std::ffi::OsStr;
use std::io::Read as _;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};
use std::rc::Rc;

/// Bounds of one look. Beyond one of them the answer has a gap.
const MOST_REPOSITORIES: usize = 2000;
const MOST_FILES: usize = 8000;
const MOST_BYTES: usize = 16 << 20;
const MOST_PLACES: usize = 20_000;
/// Entries of a folder with working trees or submodules.
const MOST_ENTRIES: usize = 4000;
/// Git follows ten includes and then gives up.
const MOST_INCLUDES: usize = 10;
/// Gaps that are described.
const MOST_GAPS: usize = 10;
/// Bytes of a file that holds a path.
const MOST_PATH_BYTES: usize = 64 << 10;

/// What Git would obey in a folder: an absolute path without links.
#[must_use]
pub fn look(folder: &Path, person: &PersonalConfig) -> GitAnswer {
    let mut look = Look::new(person, folder);
    look.find_upwards(folder);
    look.finish()
}

/// What Git would obey in a repository: a `.git`, or the folder of a bare one.
#[must_use]
pub fn look_at(git: &Path, person: &PersonalConfig) -> GitAnswer {
    if git.file_name() == Some(OsStr::new(".git")) {
        let mut look = Look::new(person, git.parent().unwrap_or(git));
        look.meet_dot_git(git, PlaceReason::Name);
        look.finish()
    } else {
        let mut look = Look::new(person, git);
        look.meet(git, None, PlaceReason::Name);
        look.finish()
    }
}

/// A look under way.
pub(super) struct Look<'a> {
    pub(super) person: &'a PersonalConfig,
    /// The folder that was asked about.
    pub(super) start: PathBuf,
    pub(super) answer: GitAnswer,
    pub(super) links: LinkReader,
    waiting: VecDeque<MetRepository>,
    met: HashSet<(PathBuf, Option<PathBuf>)>,
    placed: HashSet<(PathBuf, PlaceKind)>,
    configs: HashMap<PathBuf, Rc<Config>>,
    bytes_left: usize,
}

/// A repository that was met and not looked at yet.
struct MetRepository {
    git_folder: PathBuf,
    top: Option<PathBuf>,
    reason: PlaceReason,
}

/// A setting and the file it is in.
pub(super) struct FoundSetting {
    pub(super) file: PathBuf,
    pub(super) setting: Setting,
}

impl<'a> Look<'a> {
    fn new(person: &'a PersonalConfig, start: &Path) -> Self {
        Self {
            person,
            start: start.to_path_buf(),
            answer: GitAnswer::default(),
            links: LinkReader::default(),
            waiting: VecDeque::new(),
            met: HashSet::new(),
            placed: HashSet::new(),
            configs: HashMap::new(),
            bytes_left: MOST_BYTES,
        }
    }

    /// Finds the repository of a folder, as Git does: `.git` in it, or it is one itself, or the same
    /// in the folder above.
    fn find_upwards(&mut self, folder: &Path) {
        for folder in folder.ancestors() {
            if self.meet_dot_git(&folder.join(".git"), PlaceReason::Name) {
                return;
            }
            if self.is_git_folder(folder) {
                self.meet(folder, None, PlaceReason::Name);
                return;
            }
        }
    }

    /// Looks at what was met, and then at what the person's own settings say about all of it.
    fn finish(mut self) -> GitAnswer {
        while let Some(met) = self.waiting.pop_front() {
            if self.answer.repositories.len() >= MOST_REPOSITORIES {
                self.miss(&met.git_folder, "is one of too many repositories");
                break;
            }
            self.visit(met);
        }
        let mut settings = Vec::new();
        for file in &self.person.files {
            self.read_config(file, PlaceReason::Name, &mut settings);
        }
        let mut tops: Vec<PathBuf> = vec![self.start.clone()];
        let mut folders = Vec::new();
        for repository in &self.answer.repositories {
            tops.extend(repository.tops.iter().cloned());
            folders.push(repository.git_folder.clone());
            folders.push(repository.common_folder.clone());
        }
        self.place_settings(&settings, &tops, &folders);
        self.answer
    }

    /// Meets what a `.git` is or leads to, and returns whether it is a repository.
    fn meet_dot_git(&mut self, dot_git: &Path, reason: PlaceReason) -> bool {
        let Some(top) = dot_git.parent() else {
            return false;
        };
        match self.glance(dot_git, ReadPart::Identity) {
            None => false,
            Some(stamp) if stamp.is_folder() => {
                self.meet(dot_git, Some(top), reason);
                self.is_git_folder(dot_git)
            }
            Some(_) => {
                self.place(dot_git, PlaceKind::Pointer, reason);
                let text = self.read_path(dot_git);
                let target = text.as_ref().and_then(|text| text.strip_prefix(b"gitdir:"));
                let Some(target) = target else {
                    return false;
                };
                let target = top.join(as_path(target.trim_ascii()));
                let reason = PlaceReason::File(dot_git.to_path_buf());
                self.meet(&target, Some(top), reason);
                self.is_git_folder(&target)
            }
        }
    }

    /// Whether Git takes a folder for a repository.
    fn is_git_folder(&mut self, folder: &Path) -> bool {
        let mut has = |name: &str| {
            self.glance(&folder.join(name), ReadPart::Presence)
                .is_some()
        };
        has("HEAD") && (has("objects") && has("refs") || has("commondir"))
    }

    fn meet(&mut self, git_folder: &Path, top: Option<&Path>, reason: PlaceReason) {
        let resolved = self.links.resolve(git_folder).end;
        let real = resolved.unwrap_or_else(|| git_folder.to_path_buf());
        if self.met.insert((real, top.map(Path::to_path_buf))) {
            self.waiting.push_back(MetRepository {
                git_folder: git_folder.to_path_buf(),
                top: top.map(Path::to_path_buf),
                reason,
            });
        }
    }

    /// Looks at one repository: its settings, and the repositories it leads to.
    fn visit(&mut self, met: MetRepository) {
        let MetRepository {
            git_folder,
            top,
            reason,
        } = met;
        self.place(&git_folder, PlaceKind::Folder, reason);
        let common = self.common_folder(&git_folder);
        let mut settings = Vec::new();
        let config = common.join("config");
        self.read_config(&config, PlaceReason::Name, &mut settings);
        let own = git_folder.join("config.worktree");
        self.read_config(&own, PlaceReason::Name, &mut settings);
        let mut tops: Vec<PathBuf> = top.into_iter().collect();
        for FoundSetting { setting, .. } in &settings {
            if SettingKind::of(setting) == SettingKind::WorkingTree && !setting.text().is_empty() {
                tops.push(git_folder.join(as_path(setting.text())));
            }
        }
        tops.iter_mut()
            .for_each(|top| *top = self.links.resolve(top).end.unwrap_or_default());
        tops.sort();
        tops.dedup();
        self.place(&common.join("hooks"), PlaceKind::Hooks, PlaceReason::Name);
        let attributes = common.join("info/attributes");
        self.place(&attributes, PlaceKind::Attributes, PlaceReason::Name);
        self.place_settings(&settings, &tops, &[git_folder.clone(), common.clone()]);
        self.meet_working_trees(&git_folder, &common);
        for folder in [&git_folder, &common] {
            self.meet_modules(&folder.join("modules"));
        }
        for top in &tops {
            self.meet_submodules(top);
        }
        let real = |look: &mut Self, path: PathBuf| look.links.resolve(&path).end.unwrap_or(path);
        let repository = GitRepository {
            git_folder: real(self, git_folder),
            common_folder: real(self, common),
            tops,
        };
        self.answer.repositories.push(repository);
    }

    /// The folder with what all working trees share.
    fn common_folder(&mut self, git_folder: &Path) -> PathBuf {
        let pointer = git_folder.join("commondir");
        self.place(&pointer, PlaceKind::Pointer, PlaceReason::Name);
        match self.read_path(&pointer) {
            Some(text) => git_folder.join(as_path(text.trim_ascii_end())),
            None => git_folder.to_path_buf(),
        }
    }

    /// Meets the main working tree and the linked ones.
    fn meet_working_trees(&mut self, git_folder: &Path, common: &Path) {
        let common = self.links.resolve(common).end.unwrap_or_default();
        if common.file_name() == Some(OsStr::new(".git")) && git_folder != common {
            let reason = PlaceReason::File(git_folder.join("commondir"));
            self.meet(&common, common.parent(), reason);
        }
        for folder in self.folders_in(&common.join("worktrees")) {
            let pointer = folder.join("gitdir");
            let text = self.read_path(&pointer);
            let dot_git = text.map(|text| folder.join(as_path(text.trim_ascii_end())));
            let reason = PlaceReason::File(pointer);
            if let Some(dot_git) = &dot_git {
                self.place(dot_git, PlaceKind::Pointer, reason.clone());
            }
            let top = dot_git.as_deref().and_then(Path::parent);
            self.meet(&folder, top, reason);
        }
    }

    /// Meets the repositories of submodules, whose names can have several parts.
    fn meet_modules(&mut self, modules: &Path) {
        const DEEPEST: usize = 8;
        let mut waiting = VecDeque::from([(modules.to_path_buf(), 0)]);
        let mut left = MOST_ENTRIES;
        while let Some((folder, depth)) = waiting.pop_front() {
            for folder in self.folders_in(&folder) {
                if left == 0 || depth == DEEPEST {
                    return self.miss(&folder, "is one of too many submodules");
                }
                left -= 1;
                if self
                    .glance(&folder.join("HEAD"), ReadPart::Presence)
                    .is_some()
                {
                    let reason = PlaceReason::File(modules.to_path_buf());
                    self.meet(&folder, None, reason);
                } else {
                    waiting.push_back((folder, depth + 1));
                }
            }
        }
    }

    /// Meets the submodules that a working tree declares.
    fn meet_submodules(&mut self, top: &Path) {
        let file = top.join(".gitmodules");
        let Some(config) = self.parse(&file) else {
            return;
        };
        let is_path = |setting: &&Setting| {
            setting.section() == b"submodule"
                && setting.subsection().is_some()
                && setting.key() == b"path"
                && !setting.text().is_empty()
        };
        for setting in config.settings.iter().filter(is_path) {
            let dot_git = top.join(as_path(setting.text())).join(".git");
            let reason = PlaceReason::Setting {
                file: file.clone(),
                line: setting.line,
                name: setting.shown(),
            };
            if self.glance(&dot_git, ReadPart::Identity).is_some() {
                self.meet_dot_git(&dot_git, reason);
            } else {
                self.place(&dot_git, PlaceKind::Pointer, reason);
            }
        }
    }

    /// Reads a configuration file and what it includes. Conditions count as true: a command can make
    /// most of them true.
    fn read_config(&mut self, file: &Path, reason: PlaceReason, found: &mut Vec<FoundSetting>) {
        let mut read = HashSet::new();
        let mut waiting = vec![(file.to_path_buf(), reason, 0)];
        while let Some((file, reason, depth)) = waiting.pop() {
            self.place(&file, PlaceKind::Config, reason);
            let Some(config) = self.parse(&file) else {
                continue;
            };
            if !read.insert(file.clone()) {
                continue;
            }
            for setting in &config.settings {
                if SettingKind::of(setting) == SettingKind::Include && depth < MOST_INCLUDES {
                    let folder = file.parent().unwrap_or(&file);
                    let included = self.interpolate(&file, setting.text());
                    let included = included.map(|path| folder.join(path));
                    let reason = PlaceReason::Setting {
                        file: file.clone(),
                        line: setting.line,
                        name: setting.shown(),
                    };
                    waiting.extend(included.map(|path| (path, reason, depth + 1)));
                }
                found.push(FoundSetting {
                    file: file.clone(),
                    setting: setting.clone(),
                });
            }
        }
    }

    /// Reads one configuration file; `None` if it is missing or was not readable.
    fn parse(&mut self, file: &Path) -> Option<Rc<Config>> {
        if let Some(known) = self.configs.get(file) {
            return Some(Rc::clone(known));
        }
        let text = self.read(file, MOST_CONFIG_BYTES)?;
        let config = Rc::new(Config::read(&text));
        if let Some(line) = config.broken {
            self.miss(file, &format!("is not Git's syntax in line {line}"));
        }
        self.configs.insert(file.to_path_buf(), Rc::clone(&config));
        Some(config)
    }

    /// Reads a file that holds a path.
    fn read_path(&mut self, file: &Path) -> Option<Vec<u8>> {
        self.read(file, MOST_PATH_BYTES)
            .filter(|text| !text.is_empty())
    }

    fn read(&mut self, file: &Path, most: usize) -> Option<Vec<u8>> {
        if self.configs.len() >= MOST_FILES || self.bytes_left == 0 {
            self.miss(file, "is one of too many files");
            return None;
        }
        let opened = match open_regular(file) {
            Ok(Some(opened)) => opened,
            Ok(None) => {
                self.remember(file, ReadPart::Content, Stamp::of(file));
                return None;
            }
            Err(cause) => {
                self.miss_unreadable(file, &cause);
                return None;
            }
        };
        let stamp = rustix::fs::fstat(&opened)
            .ok()
            .map(|facts| Stamp::new(&facts));
        self.remember(file, ReadPart::Content, stamp);
        let mut text = Vec::new();
        let most = most.min(self.bytes_left);
        if let Err(cause) = opened.take(most as u64 + 1).read_to_end(&mut text) {
            self.miss_unreadable(file, &cause);
            return None;
        }
        self.bytes_left = self.bytes_left.saturating_sub(text.len());
        if text.len() > most {
            self.miss(file, "is too large");
            return None;
        }
        Some(text)
    }

    fn miss_unreadable(&mut self, file: &Path, cause: &std::io::Error) {
        self.remember(file, ReadPart::Content, Stamp::of(file));
        // Git passes over settings of a home that its user cannot read.
        let is_foreign = cause.kind() == std::io::ErrorKind::PermissionDenied
            && self.person.files.iter().any(|known| known == file);
        if !is_foreign {
            self.miss(file, &format!("cannot be read: {cause}"));
        }
    }

    /// The folders in a folder.
    fn folders_in(&mut self, folder: &Path) -> Vec<PathBuf> {
        let stamp = self.glance(folder, ReadPart::Content);
        if stamp.is_none() {
            return Vec::new();
        }
        let entries = match std::fs::read_dir(folder) {
            Ok(entries) => entries,
            Err(cause) => {
                self.miss(folder, &format!("cannot be read: {cause}"));
                return Vec::new();
            }
        };
        let mut folders = Vec::new();
        for (count, entry) in entries.flatten().enumerate() {
            if count == MOST_ENTRIES {
                self.miss(folder, "has too many entries");
                break;
            }
            if entry.file_type().is_ok_and(|kind| !kind.is_file()) {
                folders.push(entry.path());
            }
        }
        folders.sort();
        folders
    }

    /// Looks whether something is there, and remembers that the answer depends on it.
    pub(super) fn glance(&mut self, path: &Path, what: ReadPart) -> Option<Stamp> {
        let stamp = what.stamp(path);
        self.remember(path, what, stamp);
        stamp
    }

    fn remember(&mut self, path: &Path, what: ReadPart, stamp: Option<Stamp>) {
        self.answer.reads.push(Read {
            path: path.to_path_buf(),
            what,
            stamp,
        });
    }

    pub(super) fn miss(&mut self, path: &Path, why: &str) {
        // One is enough to close; people read the first few.
        if self.answer.gaps.len() >= MOST_GAPS {
            return;
        }
        self.answer.gaps.push(GitGap {
            path: path.to_path_buf(),
            why: why.to_owned(),
        });
    }

    /// Adds a place.
    pub(super) fn place(&mut self, path: &Path, kind: PlaceKind, reason: PlaceReason) {
        let resolved = self.links.resolve(path);
        let Some(end) = resolved.end else {
            // Git cannot open it either, until one of the links changes.
            return self.miss(path, "leads in a circle");
        };
        if !self.placed.insert((end.clone(), kind)) {
            return;
        }
        if self.answer.places.len() >= MOST_PLACES {
            if self.answer.places.len() == MOST_PLACES {
                self.miss(path, "is one of too many places");
            }
            return;
        }
        let stamp = Stamp::of(&end);
        self.remember(path, ReadPart::Identity, stamp);
        self.answer.places.push(GitPlace {
            path: end,
            kind,
            reason,
            links: resolved.links,
        });
    }
}

pub(super) fn as_path(text: &[u8]) -> &Path {
    Path::new(OsStr::from_bytes(text))
}
