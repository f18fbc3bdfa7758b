//! The project that a command is about.

use crate::exit::{UsageError, usage};
use clap::Args;
use std::path::{Path, PathBuf};
use tool_harness::path::is_project;

/// The project of `--project`, or the one around the current folder.
#[derive(Args)]
pub(crate) struct ProjectArgs {
    /// The project's folder [default: the nearest one upwards with `.harness` or `harness.md`]
    #[arg(long, global = true, value_name = "DIR")]
    project: Option<PathBuf>,
}

impl ProjectArgs {
    /// The folder of `--project`.
    pub(crate) fn named(&self) -> Option<&Path> {
        self.project.as_deref()
    }

    /// The project's folder: the one named, or the innermost one around the current folder.
    pub(crate) fn find(&self) -> Result<PathBuf, UsageError> {
        if let Some(named) = &self.project {
            let folder = std::path::absolute(named).unwrap_or_else(|_| named.clone());
            return if holds_project(&folder)? {
                unbroken(folder)
            } else {
                let named = named.display();
                Err(no_project(&format!("no harness project at `{named}`")))
            };
        }
        let here = std::env::current_dir()
            .map_err(|problem| usage!("cannot tell the current folder: {problem}"))?;
        enclosing(&here)
            .next()
            .unwrap_or_else(|| Err(no_project("no harness project here")))
            .and_then(unbroken)
    }
}

/// The projects that a folder lies in, innermost first.
pub(crate) fn enclosing(start: &Path) -> impl Iterator<Item = Result<PathBuf, UsageError>> {
    start
        .ancestors()
        .filter_map(|folder| match holds_project(folder) {
            Ok(false) => None,
            Ok(true) => Some(Ok(folder.to_owned())),
            Err(problem) => Some(Err(problem)),
        })
}

fn holds_project(folder: &Path) -> Result<bool, UsageError> {
    is_project(folder).map_err(|problem| {
        let folder = folder.display();
        usage!("cannot tell whether `{folder}` is a project: {problem}")
    })
}

/// Refuses a project whose `.harness` is a broken link: it would load as an empty one.
fn unbroken(project: PathBuf) -> Result<PathBuf, UsageError> {
    let rules = project.join(".harness");
    if rules.is_symlink() && !rules.exists() {
        return Err(usage!("`{}` is a broken link", rules.display()));
    }
    Ok(project)
}

pub(crate) fn no_project(message: &str) -> UsageError {
    usage!("{message}; run harness init").help(
        "a project has a `.harness` folder or a `harness.md`; `--project DIR` names one elsewhere",
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn named(folder: &Path) -> ProjectArgs {
        ProjectArgs {
            project: Some(folder.to_owned()),
        }
    }

    #[test]
    fn a_project_is_a_folder_with_a_harness_folder_or_a_root_file() {
        let scratch = tempfile::tempdir().expect("a folder");
        let found = || named(scratch.path()).find().is_ok();
        assert!(!found());
        std::fs::write(scratch.path().join("harness.yml"), "").expect("a file");
        assert!(found());
        std::fs::remove_file(scratch.path().join("harness.yml")).expect("removed");
        std::fs::create_dir(scratch.path().join(".harness")).expect("a folder");
        assert!(found());
    }

    #[test]
    fn a_broken_project_counts_as_a_project() {
        let scratch = tempfile::tempdir().expect("a folder");
        std::fs::create_dir(scratch.path().join("harness.md"))
            .expect("a folder in place of the file");
        assert!(named(scratch.path()).find().is_ok(), "its load says why");
        std::os::unix::fs::symlink("nowhere", scratch.path().join(".harness")).expect("a link");
        let problem = named(scratch.path()).find().expect_err("a broken link");
        assert!(problem.message.ends_with("/.harness` is a broken link"));
    }

    #[test]
    fn a_named_folder_without_a_project_is_named_with_the_next_command() {
        let scratch = tempfile::tempdir().expect("a folder");
        let problem = named(scratch.path()).find().expect_err("nothing there");
        assert_eq!(
            problem.message,
            format!(
                "no harness project at `{}`; run harness init",
                scratch.path().display()
            )
        );
    }
}
