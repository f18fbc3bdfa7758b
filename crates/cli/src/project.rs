//! Which project a command is about.

use crate::exit::UsageError;
use clap::Args;
use std::path::{Path, PathBuf};
use tool_harness::engine::is_project;

/// The `--project` option.
#[derive(Args)]
pub(crate) struct ProjectArg {
    /// The project's folder [default: the first one upwards with `.harness` or `harness.md`]
    #[arg(long, global = true, value_name = "DIR")]
    project: Option<PathBuf>,
}

impl ProjectArg {
    /// The folder of `--project`.
    pub(crate) fn named(&self) -> Option<&Path> {
        self.project.as_deref()
    }

    /// The project's folder: the one named, or the innermost one around the current folder.
    pub(crate) fn find(&self) -> Result<PathBuf, UsageError> {
        if let Some(named) = &self.project {
            let folder = std::path::absolute(named).unwrap_or_else(|_| named.clone());
            return if holds_project(&folder)? {
                Ok(folder)
            } else {
                Err(no_project(&format!(
                    "no harness project at `{}`",
                    named.display()
                )))
            };
        }
        let here = std::env::current_dir().map_err(|problem| {
            UsageError::new(format!("cannot tell the current folder: {problem}"))
        })?;
        enclosing(&here)
            .next()
            .unwrap_or_else(|| Err(no_project("no harness project here")))
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
        UsageError::new(format!(
            "cannot tell whether `{folder}` is a project: {problem}"
        ))
    })
}

pub(crate) fn no_project(message: &str) -> UsageError {
    UsageError::new(format!("{message}; run harness init")).help(
        "a project has a `.harness` folder or a `harness.md`; `--project DIR` names one elsewhere",
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_named_folder_without_a_project_says_which_and_what_next() {
        let scratch = tempfile::tempdir().expect("a folder");
        let project = ProjectArg {
            project: Some(scratch.path().to_path_buf()),
        };
        let problem = project.find().expect_err("nothing there");
        assert_eq!(
            problem.message,
            format!(
                "no harness project at `{}`; run harness init",
                scratch.path().display()
            )
        );
    }
}
