//! The one place where things are wired: from a folder to an engine.

use crate::exit::UsageError;
use crate::project::{ProjectArgs, no_project};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use tool_harness::artifact::Authority;
use tool_harness::diagnostic::{Diagnostic, Severity};
use tool_harness::digest;
use tool_harness::engine::{Engine, EngineBuilder, Error};
use tool_harness::event::Sink;
use tool_harness::plan::Surroundings;
use tool_harness::store::blob::DiskBlobs;
use tool_harness_sandbox::process::WorkerProcess;

impl ProjectArgs {
    /// Loads the project, even if its root file is broken.
    pub(crate) async fn load(&self) -> anyhow::Result<Engine> {
        load(builder(&self.find()?)).await
    }

    /// Loads the project; fails if its root file is broken.
    pub(crate) async fn open(&self) -> anyhow::Result<Engine> {
        sound(self.load().await?)
    }

    /// Loads only what a sandbox plan needs.
    pub(crate) async fn open_plan(&self) -> anyhow::Result<Engine> {
        sound(builder(&self.find()?).policy_only().load().await?)
    }

    /// Like [`open`](Self::open); every event also goes to `sink`.
    pub(crate) async fn open_with(&self, sink: Arc<dyn Sink>) -> anyhow::Result<Engine> {
        sound(load(builder(&self.find()?).sink(sink)).await?)
    }
}

fn sound(engine: Engine) -> anyhow::Result<Engine> {
    ensure_root_is_sound(&engine)?;
    Ok(engine)
}

/// Loads a project.
pub(crate) async fn load(builder: EngineBuilder) -> anyhow::Result<Engine> {
    builder.load().await.map_err(|problem| match problem {
        Error::NoProject(_) => no_project("no harness project here").into(),
        other => other.into(),
    })
}

/// The settings that every engine of this program has.
pub(crate) fn builder(folder: &Path) -> EngineBuilder {
    let builder = EngineBuilder::new(folder)
        .environment(Arc::new(environment_for_scripts))
        .surroundings(Surroundings::new(home(), environment).keeping(state()))
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

/// The folder of a project's state, which lies outside the workspace, so that its tools cannot
/// reach it.
fn state_of(project: &Path) -> Option<PathBuf> {
    let real = std::fs::canonicalize(project).unwrap_or_else(|_| project.to_owned());
    let name = real
        .file_name()
        .unwrap_or("root".as_ref())
        .to_string_lossy();
    // Two projects may have the same name.
    let digest = digest::of(&real.to_string_lossy().into_owned().into());
    let digest = digest.trim_start_matches("blake3:").get(..16)?;
    Some(state()?.join(format!("{name}-{digest}")))
}

/// The folder of the state of all projects.
fn state() -> Option<PathBuf> {
    let states = folder_in("XDG_STATE_HOME").or_else(|| Some(home()?.join(".local/state")))?;
    Some(states.join("harness"))
}

/// The file of the user.
fn user_layer() -> Option<PathBuf> {
    let settings = folder_in("XDG_CONFIG_HOME").or_else(|| Some(home()?.join(".config")))?;
    Some(settings.join("harness/harness.md"))
}

/// Refuses every variable that a project lists for its scripts: a cloned project can list any name,
/// and no one has trusted it. Variables in the user's or the machine's file do not come here.
fn environment_for_scripts(name: &str) -> Result<Option<String>, String> {
    Err(format!(
        "project.untrusted: the project lists `{name}` in `sandbox.env`, which harness ignores until a person trusts the \
         project, and this version has no way to do that; list it in your own harness/harness.md, or pass the value as an argument"
    ))
}

/// Loads only what judges a client's calls.
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

/// The folder that a variable names.
pub(crate) fn folder_in(variable: &str) -> Option<PathBuf> {
    environment(variable)
        .map(PathBuf::from)
        .filter(|folder| folder.is_absolute())
}

/// The user's home.
pub(crate) fn home() -> Option<PathBuf> {
    folder_in("HOME")
}

/// This program's file, and the file it was started by, links followed.
pub(crate) fn programs() -> Vec<PathBuf> {
    let named = std::env::args_os()
        .next()
        .map(PathBuf::from)
        .filter(|name| name.components().count() > 1);
    std::env::current_exe()
        .into_iter()
        .chain(named)
        .filter_map(|path| std::fs::canonicalize(path).ok())
        .collect()
}

/// Reads a variable. Nothing else in the program reads the environment.
#[expect(
    clippy::disallowed_methods,
    reason = "the library reads no environment itself"
)]
pub(crate) fn environment(name: &str) -> Option<String> {
    std::env::var(name).ok()
}

/// Fails if the root file is broken.
pub(crate) fn ensure_root_is_sound(engine: &Engine) -> Result<(), UsageError> {
    let Some(problem) = engine.stopped() else {
        return Ok(());
    };
    Err(UsageError::new(placed(problem, &problem.message))
        .help("nothing runs until this file is fixed; `harness validate` shows every error"))
}

/// Fails if the surface has an error: then nothing may be offered.
pub(crate) fn ensure_surface_is_sound(engine: &Engine) -> Result<(), UsageError> {
    let report = engine.check_surface();
    let mut found = report.diagnostics.iter();
    let Some(problem) = found.find(|found| found.severity == Severity::Error) else {
        return Ok(());
    };
    let help = "nothing is offered until this is fixed; `harness validate` shows every error";
    let message = format!("{}: {}", problem.code, problem.message);
    Err(UsageError::new(placed(problem, &message)).help(help))
}

/// A message after the place it is about.
fn placed(problem: &Diagnostic, message: &str) -> String {
    match &problem.place {
        Some(place) => format!("{place}: {message}"),
        None => message.to_owned(),
    }
}
