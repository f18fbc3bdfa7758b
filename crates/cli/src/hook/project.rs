//! The projects that govern a client: every one upwards from the folder it was started in.

use super::ClientName;
use crate::open::{self, Folder};
use anyhow::{Context as _, bail};
use std::io;
use std::path::{Path, PathBuf};

/// Folders of a project that decide: one that is there and cannot be read is not one that is not there.
const DECIDE: [&str; 3] = [".harness", ".harness/hooks", ".harness/clients"];

/// The projects that judge a call, the inner ones first: the one of `--project`, or those found upwards from where the client was started,
/// as far as that can be told, and otherwise from where it works. In this order, because a command of the model's can change the second. The
/// outer ones judge too, so that working in a project that lies in another leaves the rules of neither.
pub(super) fn governing(
    client: ClientName,
    folder: &Folder,
    cwd: Option<&Path>,
) -> anyhow::Result<Vec<PathBuf>> {
    if folder.named().is_some() {
        let project = folder.find()?;
        readable(&project)?;
        return Ok(vec![project]);
    }
    let started_in = if client == ClientName::ClaudeCode {
        open::claude_project()
    } else {
        None
    };
    let here = std::env::current_dir().ok();
    let mut starts = started_in
        .into_iter()
        .chain(here)
        .chain(cwd.map(Path::to_path_buf))
        .peekable();
    if starts.peek().is_none() {
        bail!("the client does not say in which folder it works");
    }
    for start in starts {
        let mut found = Vec::new();
        for folder in start.ancestors() {
            let holds = open::holds_project(folder);
            if holds.with_context(|| {
                format!(
                    "cannot tell whether `{}` is a project, so the call cannot be judged",
                    folder.display()
                )
            })? {
                readable(folder)?;
                found.push(folder.to_path_buf());
            }
        }
        if !found.is_empty() {
            return Ok(found);
        }
    }
    Ok(Vec::new())
}

/// A link that leads nowhere, and a folder that nobody may look into, hide rules.
fn readable(project: &Path) -> anyhow::Result<()> {
    for name in DECIDE {
        let folder = project.join(name);
        match folder.symlink_metadata() {
            Err(problem) if problem.kind() == io::ErrorKind::NotFound => continue,
            Err(problem) => {
                return Err(problem).with_context(|| {
                    format!(
                        "cannot read `{}`, so the call cannot be judged",
                        folder.display()
                    )
                });
            }
            Ok(_) => {}
        }
        std::fs::read_dir(&folder).with_context(|| {
            format!(
                "cannot read `{}`, so the call cannot be judged",
                folder.display()
            )
        })?;
    }
    Ok(())
}
