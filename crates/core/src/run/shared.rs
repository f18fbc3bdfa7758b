//! The parts of an engine, and one version of its project.

use super::audience::Audience;
use super::in_flight::InFlight;
use super::secrets::Secrets;
use crate::artifact::{Authority, Extent};
use crate::call::DEFAULT_MODE;
use crate::facts::FactsBySource;
use crate::host::HostParts;
use crate::outside::Outside;
use crate::plan::{Site, Surroundings};
use crate::redact::{Redactor, SecretValues};
use crate::refusal::{Code, Refusal};
use crate::registry::Catalogue;
use crate::store::blob::{BlobStore, MemoryBlobs, SessionBlobs};
use crate::store::{Metrics, Sessions};
use crate::view::View;
use crate::worker::Workers;
use std::fmt;
use std::ops::Deref;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tool_harness_sandbox::file::Jail;

/// Reads the environment variables that the project lists for `env`; the library itself never reads
/// the environment. If a variable may not be read, the error says who can change that: a project
/// cannot give itself the environment.
pub(crate) type Environment = Arc<dyn Fn(&str) -> Result<Option<String>, String> + Send + Sync>;

/// The workspace of an engine without one. It does not exist, so no file in it can be opened.
const NOWHERE: &str = "/nonexistent";

/// The parts of an engine. Every version of the project's files shares them: sessions and their
/// stores, workers, the workspace, the host's parts.
#[derive(Clone)]
pub(crate) struct EngineBase {
    pub(crate) extent: Extent,
    /// The project's folder; absent if the host supplies everything.
    pub(crate) project: Option<PathBuf>,
    /// The text of a root file that the host supplied.
    pub(crate) root: Option<String>,
    /// The files of the layers above the project, highest first.
    pub(crate) layers: Vec<(Authority, PathBuf)>,
    pub(crate) workers: Arc<Workers>,
    /// The folder that tools may touch; absent if the host set none.
    pub(crate) jail: Option<Arc<Jail>>,
    pub(crate) host: Arc<HostParts>,
    pub(crate) in_flight: Arc<InFlight>,
    pub(crate) sessions: Arc<Sessions>,
    pub(crate) metrics: Arc<Metrics>,
    pub(crate) audience: Audience,
    pub(crate) environment: Environment,
    pub(crate) surroundings: Surroundings,
    pub(crate) outside: Arc<dyn Outside>,
    pub(crate) budget: Duration,
    pub(crate) secrets: Secrets,
    /// Secret values that must not leave, learned by any version of the project.
    pub(crate) values: Arc<SecretValues>,
    pub(crate) blobs: Arc<dyn BlobStore>,
    /// What workers found in scripts, by source.
    pub(crate) facts: Arc<Mutex<FactsBySource>>,
}

/// One version of a project, and the engine that loaded it. All calls of that version share it.
#[derive(Clone)]
pub(crate) struct Shared {
    pub(crate) base: EngineBase,
    pub(crate) catalogue: Arc<Catalogue>,
    /// The view of each mode; that of the default mode comes first.
    views: Vec<Arc<View>>,
    pub(crate) redactor: Redactor,
}

impl Deref for Shared {
    type Target = EngineBase;

    fn deref(&self) -> &EngineBase {
        &self.base
    }
}

impl fmt::Debug for Shared {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let catalogue = &self.catalogue;
        f.debug_struct("Shared")
            .field("catalogue", catalogue)
            .finish_non_exhaustive()
    }
}

impl Shared {
    /// The position of the default mode's view.
    pub(super) const DEFAULT_VIEW: usize = 0;

    /// Builds a version of the project, with a view of each mode.
    pub(crate) fn new(base: EngineBase, catalogue: Catalogue) -> Self {
        let catalogue = Arc::new(catalogue);
        let view = |mode: &str| {
            let middleware = &base.host.middleware;
            Arc::new(View::new(
                &catalogue,
                mode,
                middleware,
                &base.workers.scripts,
            ))
        };
        Self {
            redactor: Redactor::new(Arc::clone(&base.values), catalogue.redaction()),
            views: vec![view(DEFAULT_MODE)],
            catalogue,
            base,
        }
    }

    /// The same version over another workspace, with its own stores.
    pub(crate) fn over(&self, jail: Jail) -> Self {
        let base = EngineBase {
            jail: Some(Arc::new(jail)),
            sessions: Arc::default(),
            metrics: Arc::default(),
            blobs: Arc::new(MemoryBlobs::default()),
            ..self.base.clone()
        };
        Self {
            base,
            ..self.clone()
        }
    }

    /// The view of a mode; absent if the project has no such mode.
    pub(crate) fn view(&self, mode: &str) -> Option<&View> {
        Some(&self.views[self.position(mode)?])
    }

    /// The position of a mode's view; absent if the project has no such mode.
    pub(super) fn position(&self, mode: &str) -> Option<usize> {
        self.views.iter().position(|view| view.mode == mode)
    }

    /// The view at a position.
    pub(super) fn view_at(&self, position: usize) -> &View {
        &self.views[position]
    }

    /// The view of a mode, or the default view if the mode is unknown.
    pub(crate) fn view_or_default(&self, mode: &str) -> &View {
        self.view_at(self.position(mode).unwrap_or(Self::DEFAULT_VIEW))
    }

    /// Returns the catalogue, if nothing else of this version is in use.
    pub(crate) fn into_catalogue(self) -> Option<Catalogue> {
        let Self {
            catalogue, views, ..
        } = self;
        drop(views);
        Arc::into_inner(catalogue)
    }

    /// The starting point for the plans of a mode.
    pub(crate) fn site<'a>(&'a self, view: &'a View) -> Site<'a> {
        let workspace = self.jail.as_deref().map_or(Path::new(NOWHERE), Jail::root);
        Site {
            policy: &view.sandbox,
            workspace,
            surroundings: &self.surroundings,
        }
    }

    /// The folder that tools may touch.
    pub(crate) fn workspace(&self) -> Result<&Arc<Jail>, Refusal> {
        self.jail.as_ref().ok_or_else(|| {
            Refusal::new(Code::SandboxDenied, "this program has no workspace")
                .help("the host gives one with `workspace` when it builds the engine")
        })
    }

    /// The blobs of a session, redacted with the tool's patterns.
    pub(super) fn session_blobs(&self, session: &str, tool: &str) -> SessionBlobs {
        let patterns = self
            .catalogue
            .find(tool)
            .and_then(|tool| tool.redaction.clone());
        SessionBlobs::new(
            Arc::clone(&self.blobs),
            self.redactor.clone(),
            patterns,
            session,
        )
    }
}
