//! The projects that judge a client's calls.

use crate::client::HookProtocol;
use crate::open;
use crate::project::{self, ProjectArgs};
use anyhow::{Context as _, bail};
use std::io;
use std::path::{Path, PathBuf};

/// Folders with rules. One that exists and cannot be read may hide some.
const RULES: [&str; 3] = [".harness", ".harness/hooks", ".harness/clients"];

/// The projects that judge a call, innermost first: the one of `--project`, or those around the
/// folder the client was started in, if that is known, or else around the folder it works in. That
/// one comes last, because a command of the model can change it. The outer
/// projects judge too: a project inside another cannot escape its rules.
pub(super) fn governing(
    protocol: &HookProtocol,
    project: &ProjectArgs,
    cwd: Option<&Path>,
) -> anyhow::Result<Vec<PathBuf>> {
    if project.named().is_some() {
        let project = project.find()?;
        readable(&project)?;
        return Ok(vec![project]);
    }
    let started_in = protocol.started_in.and_then(open::folder_in);
    let here = std::env::current_dir().ok();
    let mut starts = started_in
        .into_iter()
        .chain(here)
        .chain(cwd.map(Path::to_path_buf))
        .peekable();
    if starts.peek().is_none() {
        bail!("the client did not say which folder it works in");
    }
    for start in starts {
        let mut found = Vec::new();
        for project in project::enclosing(&start) {
            let project = project.context("the call cannot be judged")?;
            readable(&project)?;
            found.push(project);
        }
        if !found.is_empty() {
            return Ok(found);
        }
    }
    Ok(Vec::new())
}

/// Fails for a broken link or an unreadable folder where rules may be.
fn readable(project: &Path) -> anyhow::Result<()> {
    for name in RULES {
        let folder = project.join(name);
        let read = match folder.symlink_metadata() {
            Err(problem) if problem.kind() == io::ErrorKind::NotFound => continue,
            found => found.and_then(|_| std::fs::read_dir(&folder)),
        };
        let folder = folder.display();
        read.with_context(|| format!("cannot read `{folder}`, so the call cannot be judged"))?;
    }
    Ok(())
}
