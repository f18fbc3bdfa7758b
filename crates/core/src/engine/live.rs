//! A project whose files change while it is served.

use crate::artifact::Artifacts;
use crate::artifact::{Files, Stamp};
use crate::diagnostic::{Diagnostic, Severity};
use crate::engine::error::Error;
use crate::engine::{Engine, EngineBuilder};
use crate::registry::Catalogue;
use crate::run::EngineBase;
use std::collections::{BTreeSet, HashMap};
use std::path::Path;
use std::sync::{Arc, PoisonError, RwLock};
use tokio::sync::Mutex;

/// The current version of a project. Running calls finish on the version they started with; all
/// versions share sessions, stores and workers.
pub struct Live {
    base: EngineBase,
    current: RwLock<(Engine, Stamp)>,
    /// The text of each file when it last loaded without an error.
    good: Mutex<HashMap<String, Vec<u8>>>,
}

/// The outcome of reading the files again.
#[derive(Debug)]
pub struct Reload {
    /// The version that serves from now on.
    pub engine: Engine,
    /// Broken files whose last good version stays in use.
    pub kept: Vec<String>,
    /// What is wrong with the files on disk.
    pub diagnostics: Vec<Diagnostic>,
}

impl Live {
    /// Loads a project, broken or not, like [`EngineBuilder::load`].
    pub async fn load(builder: EngineBuilder) -> Result<Self, Error> {
        let base = builder.base()?;
        let stamp = look(&base);
        let files = base.files();
        let engine = engine_of(&base, files.clone().artifacts(), None).await?;
        let good = without_errors(&files, &engine);
        Ok(Self {
            base,
            current: RwLock::new((engine, stamp)),
            good: Mutex::new(good),
        })
    }

    /// The version that serves now.
    #[must_use]
    pub fn engine(&self) -> Engine {
        self.current
            .read()
            .unwrap_or_else(PoisonError::into_inner)
            .0
            .clone()
    }

    /// The stamp of the files just before this version was read, so that a write during loading
    /// counts as a change.
    #[must_use]
    pub fn stamp(&self) -> Stamp {
        self.current
            .read()
            .unwrap_or_else(PoisonError::into_inner)
            .1
            .clone()
    }

    /// The stamp of the files on disk now, including those above the project.
    #[must_use]
    pub fn look(&self) -> Stamp {
        look(&self.base)
    }

    /// The project's folder; `None` without a project.
    #[must_use]
    pub fn project(&self) -> Option<&Path> {
        self.base.project.as_deref()
    }

    /// Reads the files again. A broken file is replaced by its last good version; a deleted file is
    /// dropped.
    pub async fn reload(&self) -> Result<Reload, Error> {
        let mut good = self.good.lock().await;
        let before = self.engine();
        let stamp = self.look();
        let mut files = self.base.files();
        let read = engine_of(
            &self.base,
            files.clone().artifacts(),
            Some(before.catalogue()),
        )
        .await?;
        let diagnostics = read.diagnostics().to_vec();
        let kept = keep_good(&mut files, &read, &good);
        let engine = match kept.is_empty() {
            true => read,
            false => {
                engine_of(
                    &self.base,
                    files.clone().artifacts(),
                    Some(before.catalogue()),
                )
                .await?
            }
        };
        let old = std::mem::replace(&mut *good, without_errors(&files, &engine));
        // A file that is broken in both versions keeps its last good text.
        good.extend(old.into_iter().filter(|(path, _)| {
            files.readable().any(|(there, _)| there == path) && broken(&engine).contains(&**path)
        }));
        *self.current.write().unwrap_or_else(PoisonError::into_inner) = (engine.clone(), stamp);
        Ok(Reload {
            engine,
            kept,
            diagnostics,
        })
    }
}

async fn engine_of(
    base: &EngineBase,
    artifacts: Artifacts,
    before: Option<&Catalogue>,
) -> Result<Engine, Error> {
    Ok(Engine::of(base.load(artifacts, before).await?))
}

fn look(base: &EngineBase) -> Stamp {
    let files = base
        .project
        .as_ref()
        .map_or_else(Stamp::default, |project| Stamp::of(project));
    files.and(base.layers.iter().map(|(_, path)| path.as_path()))
}

/// Replaces each broken text by its last good version, and returns the paths.
fn keep_good(files: &mut Files, read: &Engine, good: &HashMap<String, Vec<u8>>) -> Vec<String> {
    let mut broken = broken(read);
    let mut kept = Vec::new();
    // Two root files invalidate each other: keep the one that was good, and drop the new one.
    if read.stopped().is_some()
        && let Some(root) = files.root_in(good)
        && files.only_root(&root)
    {
        broken.insert(root.as_str().into());
        kept.push(root);
    }
    for path in broken {
        if let Some(text) = good.get(&*path)
            && files.replace(&path, text)
            && !kept.iter().any(|known| **known == *path)
        {
            kept.push(path.to_string());
        }
    }
    kept
}

/// The files that contain an unusable artifact.
fn broken(engine: &Engine) -> BTreeSet<Arc<str>> {
    let errors = engine
        .diagnostics()
        .iter()
        .filter(|found| found.severity == Severity::Error);
    let errors = errors.filter_map(|found| Some(Arc::clone(&found.place.as_ref()?.source.path)));
    let hooks = engine
        .catalogue()
        .broken_hooks()
        .iter()
        .map(|hook| Arc::clone(&hook.source.path));
    errors.chain(hooks).collect()
}

fn without_errors(files: &Files, engine: &Engine) -> HashMap<String, Vec<u8>> {
    let broken = broken(engine);
    let good = files.readable().filter(|(path, _)| !broken.contains(*path));
    good.map(|(path, bytes)| (path.to_owned(), bytes.to_vec()))
        .collect()
}
