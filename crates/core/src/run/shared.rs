//! What an engine is made of, and one version of its project.

use super::execute::Secrets;
use super::in_flight::InFlight;
use crate::artifact::{Authority, Extent};
use crate::call::DEFAULT_MODE;
use crate::event::Listener;
use crate::facts::FactsBySource;
use crate::host::HostParts;
use crate::outside::Outside;
use crate::plan::{Site, Surroundings};
use crate::redact::{Redactor, SecretValues};
use crate::refusal::{Code, Refusal};
use crate::registry::Catalogue;
use crate::store::blob::{BlobStore, MemoryBlobs, SessionBlobs};
use crate::store::{Metrics, Record, Sessions};
use crate::view::View;
use crate::worker::Workers;
use std::collections::HashMap;
use std::fmt;
use std::ops::Deref;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tool_harness_sandbox::file::Jail;

/// Reads the environment for `env`, of the names that the project lists; the library itself never does. What may not be read is an error that says
/// who can change that: a project cannot give itself the environment.
pub type Environment = Arc<dyn Fn(&str) -> Result<Option<String>, String> + Send + Sync>;

/// The workspace of an engine that has none. It does not exist, so nothing can be opened in it.
const NOWHERE: &str = "/nonexistent";

/// What an engine is made of. Every version of the project's files shares it: sessions and their
/// stores, workers, the workspace, what the host gave.
#[derive(Clone)]
pub(crate) struct EngineBase {
    pub(crate) extent: Extent,
    /// The project's folder; absent where the host brings everything.
    pub(crate) project: Option<PathBuf>,
    /// The text of a root file, from the host.
    pub(crate) root: Option<String>,
    /// The files above the project, highest first.
    pub(crate) layers: Vec<(Authority, PathBuf)>,
    pub(crate) workers: Arc<Workers>,
    /// The folder tools may touch; absent where the host gave none.
    pub(crate) jail: Option<Arc<Jail>>,
    pub(crate) host: Arc<HostParts>,
    pub(crate) in_flight: Arc<InFlight>,
    pub(crate) sessions: Arc<Sessions>,
    pub(crate) metrics: Arc<Metrics>,
    pub(crate) record: Option<Arc<dyn Record>>,
    pub(crate) listeners: Arc<[Listener]>,
    pub(crate) environment: Environment,
    pub(crate) surroundings: Surroundings,
    pub(crate) outside: Arc<dyn Outside>,
    pub(crate) budget: Duration,
    pub(crate) secrets: Secrets,
    /// What must not leave, whichever version of the project learned it.
    pub(crate) values: Arc<SecretValues>,
    pub(crate) blobs: Arc<dyn BlobStore>,
    /// What workers found in scripts that have not changed since.
    pub(crate) facts: Arc<Mutex<FactsBySource>>,
}

/// One version of a project, and the engine it is loaded in. All calls of that version share it.
#[derive(Clone)]
pub(crate) struct Shared {
    pub(crate) base: EngineBase,
    pub(crate) catalogue: Arc<Catalogue>,
    /// The view of each mode.
    views: HashMap<String, Arc<View>>,
    default_view: Arc<View>,
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
    /// A version of the project, with the view of each of its modes.
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
        let default_view = view(DEFAULT_MODE);
        Self {
            redactor: Redactor::new(Arc::clone(&base.values), catalogue.redaction()),
            views: HashMap::from([(DEFAULT_MODE.to_owned(), Arc::clone(&default_view))]),
            default_view,
            catalogue,
            base,
        }
    }

    /// The same version over another workspace, with stores of its own.
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

    /// The view of a mode; absent when the project has no such mode.
    pub(crate) fn view(&self, mode: &str) -> Option<&Arc<View>> {
        if mode == DEFAULT_MODE {
            return Some(&self.default_view);
        }
        self.views.get(mode)
    }

    /// The view that stands in where the mode is unknown, until the call is refused for that.
    pub(crate) fn view_or_default(&self, mode: &str) -> &Arc<View> {
        self.view(mode).unwrap_or(&self.default_view)
    }

    /// The catalogue, for one who holds nothing else of this version.
    pub(crate) fn into_catalogue(self) -> Option<Catalogue> {
        let Self {
            catalogue,
            views,
            default_view,
            ..
        } = self;
        drop((views, default_view));
        Arc::into_inner(catalogue)
    }

    /// What plans of a mode start from.
    pub(crate) fn site<'a>(&'a self, view: &'a View) -> Site<'a> {
        let workspace = self.jail.as_deref().map_or(Path::new(NOWHERE), Jail::root);
        Site {
            policy: &view.sandbox,
            workspace,
            surroundings: &self.surroundings,
        }
    }

    /// The folder tools may touch.
    pub(crate) fn workspace(&self) -> Result<&Arc<Jail>, Refusal> {
        self.jail.as_ref().ok_or_else(|| {
            Refusal::new(Code::SandboxDenied, "this program has no workspace")
                .help("the host gives one with `workspace` when it builds the engine")
        })
    }

    /// What a session stored, without what the tool wants redacted.
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
