//! The one place where things are wired: from a folder to an engine.

use crate::exit::Usage;
use clap::Args;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use tool_harness::artifact::Authority;
use tool_harness::diagnostic::Severity;
use tool_harness::digest;
use tool_harness::engine::{Engine, EngineBuilder};
use tool_harness::error::Error;
use tool_harness::event::Sink;
use tool_harness::plan::Surroundings;
use tool_harness::store::blob::DiskBlobs;
use tool_harness_sandbox::process::WorkerProcess;

/// Names of a project's root file.
pub(crate) const ROOT_FILES: [&str; 3] = ["harness.md", "harness.yaml", "harness.yml"];

/// Which project a command is about.
#[derive(Args)]
pub(crate) struct Folder {
    /// The project's folder [default: the first one upwards with `.harness` or `harness.md`]
    #[arg(long, global = true, value_name = "DIR")]
    project: Option<PathBuf>,
}

impl Folder {
    /// The folder of `--project`.
    pub(crate) fn named(&self) -> Option<&Path> {
        self.project.as_deref()
    }

    /// The project's folder: the one named, or the first one upwards from here that holds a project.
    pub(crate) fn find(&self) -> Result<PathBuf, Usage> {
        if let Some(named) = &self.project {
            let folder = std::path::absolute(named).unwrap_or_else(|_| named.clone());
            return if is_project(&folder) {
                Ok(folder)
            } else {
                Err(no_project(&format!(
                    "no harness project at `{}`",
                    named.display()
                )))
            };
        }
        let here = std::env::current_dir()
            .map_err(|problem| Usage::new(format!("cannot tell the current folder: {problem}")))?;
        here.ancestors()
            .find(|folder| is_project(folder))
            .map(Path::to_path_buf)
            .ok_or_else(|| no_project("no harness project here"))
    }

    /// Loads the project, also when its root file is broken.
    pub(crate) async fn load(&self) -> anyhow::Result<Engine> {
        load(&self.find()?, None).await
    }

    /// Loads the project for work: a broken root file stops here.
    pub(crate) async fn open(&self) -> anyhow::Result<Engine> {
        let engine = self.load().await?;
        running(&engine)?;
        Ok(engine)
    }

    /// Loads what says how the project's processes run: enough for a plan.
    pub(crate) async fn open_plan(&self) -> anyhow::Result<Engine> {
        let engine = builder(&self.find()?).policy_only().load().await?;
        running(&engine)?;
        Ok(engine)
    }

    /// Like [`open`](Self::open), with every event also going to `sink`.
    pub(crate) async fn open_with(&self, sink: Arc<dyn Sink>) -> anyhow::Result<Engine> {
        let engine = load(&self.find()?, Some(sink)).await?;
        running(&engine)?;
        Ok(engine)
    }
}

/// Loads the project in `folder`.
pub(crate) async fn load(folder: &Path, sink: Option<Arc<dyn Sink>>) -> anyhow::Result<Engine> {
    let mut builder = builder(folder);
    if let Some(sink) = sink {
        builder = builder.sink(sink);
    }
    builder.load().await.map_err(|problem| match problem {
        Error::NoProject(_) => no_project("no harness project here").into(),
        other => other.into(),
    })
}

/// What every engine of this program is made of.
pub(crate) fn builder(folder: &Path) -> EngineBuilder {
    let builder = EngineBuilder::new(folder)
        .environment(Arc::new(environment_for_scripts))
        .surroundings(Surroundings::new(home(), environment))
        .layer(Authority::Machine, MACHINE_LAYER);
    let builder = match state_of(folder) {
        Some(state) => builder.blobs_in(Arc::new(DiskBlobs::new(state.join("artifacts")))),
        None => builder,
    };
    match user_layer() {
        Some(file) => builder.layer(Authority::User, file),
        None => builder,
    }
}

/// The file of the machine's administrator.
const MACHINE_LAYER: &str = "/etc/harness/harness.md";

/// Where a project's state is: outside the workspace, so that none of its tools can reach it.
fn state_of(project: &Path) -> Option<PathBuf> {
    let named = environment("XDG_STATE_HOME")
        .map(PathBuf::from)
        .filter(|folder| folder.is_absolute());
    let states = named
        .or_else(|| Some(home()?.join(".local/state")))?
        .join("harness");
    let real = std::fs::canonicalize(project).unwrap_or_else(|_| project.to_owned());
    let name = real.file_name().map_or_else(
        || "root".to_owned(),
        |name| name.to_string_lossy().into_owned(),
    );
    // Two projects of one name are two projects.
    let digest = digest::of(&real.to_string_lossy().into_owned().into());
    Some(states.join(format!(
        "{name}-{}",
        digest.trim_start_matches("blake3:").get(..16)?
    )))
}

/// The user's own file.
fn user_layer() -> Option<PathBuf> {
    let named = environment("XDG_CONFIG_HOME")
        .map(PathBuf::from)
        .filter(|folder| folder.is_absolute());
    Some(
        named
            .or_else(|| Some(home()?.join(".config")))?
            .join("harness/harness.md"),
    )
}

/// What scripts may read of the names that a project lists: nothing yet. A cloned project lists names as it likes; only a person who trusts it
/// can agree. The names in the user's or the machine's file are theirs to give.
fn environment_for_scripts(name: &str) -> Result<Option<String>, String> {
    Err(format!(
        "project.untrusted: `{name}` is listed in the project's `sandbox.env`, which counts once a person trusts the project, and this version \
         has no way to; list it in your own harness/harness.md, or pass the value as an argument"
    ))
}

/// Loads what of a project judges a client's calls.
pub(crate) async fn load_policy(
    folder: &Path,
    worker: Option<WorkerProcess>,
    sink: Arc<dyn Sink>,
) -> anyhow::Result<Engine> {
    Ok(worker
        .into_iter()
        .fold(builder(folder).sink(sink), EngineBuilder::first_worker)
        .policy_only()
        .load()
        .await?)
}

/// Whether a folder has anything of a project, be it broken: a guard that cannot be read is not one that is not there.
pub(crate) fn holds_project(folder: &Path) -> std::io::Result<bool> {
    use std::io::ErrorKind::{NotADirectory, NotFound};
    for name in std::iter::once(&".harness").chain(&ROOT_FILES) {
        match folder.join(name).symlink_metadata() {
            Ok(_) => return Ok(true),
            Err(problem) if matches!(problem.kind(), NotFound | NotADirectory) => {}
            Err(problem) => return Err(problem),
        }
    }
    Ok(false)
}

/// The folder Claude Code was started in, as it tells its hooks.
pub(crate) fn claude_project() -> Option<PathBuf> {
    environment("CLAUDE_PROJECT_DIR")
        .map(PathBuf::from)
        .filter(|folder| folder.is_absolute())
}

/// What `~` means to programs that this user starts.
pub(crate) fn home() -> Option<PathBuf> {
    environment("HOME")
        .map(PathBuf::from)
        .filter(|folder| folder.is_absolute())
}

/// This program: where it lies, and where the name it was started by leads, links followed.
pub(crate) fn programs() -> Vec<PathBuf> {
    let named = std::env::args_os()
        .next()
        .map(PathBuf::from)
        .filter(|name| name.components().count() > 1);
    let found: Vec<PathBuf> = std::env::current_exe()
        .into_iter()
        .chain(named)
        .filter_map(|path| std::fs::canonicalize(path).ok())
        .collect();
    found
}

/// The one place where the program reads its environment: to find files of clients and of the user, and for what processes get of it.
#[expect(
    clippy::disallowed_methods,
    reason = "the library reads no environment itself"
)]
pub(crate) fn environment(name: &str) -> Option<String> {
    std::env::var(name).ok()
}

/// A broken root file stops here.
pub(crate) fn running(engine: &Engine) -> Result<(), Usage> {
    let Some(problem) = engine.stopped() else {
        return Ok(());
    };
    let at = problem
        .place
        .as_ref()
        .map(|place| format!("{place}: "))
        .unwrap_or_default();
    Err(Usage::new(format!("{at}{}", problem.message))
        .help("nothing runs until this file is mended; `harness validate` shows all of it"))
}

/// Errors of the surface stop a door before it offers anything.
pub(crate) fn offering(engine: &Engine) -> Result<(), Usage> {
    let report = engine.check_surface();
    let Some(problem) = report
        .diagnostics
        .iter()
        .find(|found| found.severity == Severity::Error)
    else {
        return Ok(());
    };
    let at = problem
        .place
        .as_ref()
        .map(|place| format!("{place}: "))
        .unwrap_or_default();
    let help = "nothing is offered until this is mended; `harness validate` shows all of it";
    Err(Usage::new(format!("{at}{}: {}", problem.code, problem.message)).help(help))
}

fn is_project(folder: &Path) -> bool {
    folder.join(".harness").is_dir() || ROOT_FILES.iter().any(|name| folder.join(name).is_file())
}

fn no_project(message: &str) -> Usage {
    Usage::new(format!("{message}; run harness init")).help(
        "a project has a `.harness` folder or a `harness.md`; `--project DIR` names one elsewhere",
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_project_is_a_folder_with_a_harness_folder_or_a_root_file() {
        let scratch = tempfile::tempdir().expect("a folder");
        assert!(!is_project(scratch.path()));
        std::fs::create_dir(scratch.path().join("harness.md"))
            .expect("a folder in place of the file");
        assert!(
            !is_project(scratch.path()),
            "a folder named harness.md is no root file"
        );
        std::fs::write(scratch.path().join("harness.yml"), "").expect("a file");
        assert!(is_project(scratch.path()));
    }

    #[test]
    fn a_named_folder_without_a_project_says_which_and_what_next() {
        let scratch = tempfile::tempdir().expect("a folder");
        let folder = Folder {
            project: Some(scratch.path().to_path_buf()),
        };
        let problem = folder.find().expect_err("nothing there");
        assert_eq!(
            problem.message,
            format!(
                "no harness project at `{}`; run harness init",
                scratch.path().display()
            )
        );
    }
}
