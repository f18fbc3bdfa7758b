//! What Git would obey: the one answer for a command's view, the file jail and the client door.
//!
//! A library over the file system: it starts no process, reads no environment, is bounded in files,
//! bytes and repositories, and ends on loops. Where a bound or a broken file keeps it from seeing
//! everything, the answer has a gap: what cannot be seen is not harmless.
//!
//! - [`look`] finds the repository of a folder as Git does, upwards from it, and everything that it
//!   leads to: linked working trees, submodules, configuration with its includes, also the person's
//!   and the machine's ([`PersonalConfig`]). [`look_at`] begins at a repository itself. Both return a
//!   [`GitAnswer`]: `places` that Git obeys, each with what it is and which line makes Git obey it;
//!   `repositories`; `gaps`. [`GitAnswer::place_of`] judges a path, [`GitAnswer::is_current`] says
//!   whether a new look would answer the same, and [`AnswerCache`] keeps answers by that.
//! - [`objections`] compares two configurations and names what could make Git run a program or obey
//!   other settings.
//! - [`Config`] reads a configuration as Git does.

mod answer;
mod cache;
mod config;
mod judge;
mod look;
mod place;
mod resolve;
mod setting_kind;
mod stamp;
mod words;

pub use answer::{GitAnswer, GitGap, GitPlace, GitRepository, PlaceKind, PlaceReason};
pub use cache::AnswerCache;
pub use config::{Config, MOST_CONFIG_BYTES, Setting};
pub use judge::{Objection, SettingChange, objections};
pub use look::{look, look_at};

use std::path::{Path, PathBuf};

/// The settings of a person and of the machine, which Git obeys in every repository.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct PersonalConfig {
    /// What `~` stands for.
    pub home: Option<PathBuf>,
    /// The configuration files.
    pub files: Vec<PathBuf>,
}

impl PersonalConfig {
    /// The files that Git reads by default. `settings` is the folder of settings, which is `.config`
    /// in the home unless the person chose another.
    #[must_use]
    pub fn of_home(home: Option<&Path>, settings: Option<&Path>) -> Self {
        // Git reads the one of the folder it was installed in.
        let machine = [
            "/etc/gitconfig",
            "/usr/local/etc/gitconfig",
            "/opt/homebrew/etc/gitconfig",
        ];
        let own = [
            home.map(|home| home.join(".gitconfig")),
            settings.map(|settings| settings.join("git/config")),
            home.map(|home| home.join(".config/git/config")),
        ];
        let mut files: Vec<PathBuf> = machine.map(PathBuf::from).into();
        for file in own.into_iter().flatten() {
            if !files.contains(&file) {
                files.push(file);
            }
        }
        Self {
            home: home.map(Path::to_path_buf),
            files,
        }
    }
}
