//! Configures and loads an engine.

use super::Engine;
use super::error::Error;
use crate::artifact::{Authority, Extent};
use crate::call::Call;
use crate::event::{Listener, Sink};
use crate::host::{HostParts, Repair};
use crate::middleware::{Around, Middleware};
use crate::outside::{Machine, Outside};
use crate::path::is_project;
use crate::plan::Surroundings;
use crate::run::{Audience, EngineBase, Environment, InFlight, Secrets};
use crate::store::Record;
use crate::store::blob::{BlobStore, MemoryBlobs};
use crate::tool::{HostTool, RegisterError, Tool, ToolError, unbound};
use crate::worker::{self, Workers};
use serde_json::Value;
use std::collections::HashMap;
use std::fmt;
use std::marker::PhantomData;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;
use tool_harness_sandbox::process::{WorkerProcess, WorkerProgram};

/// How long a call may take if neither the call nor its tool sets a limit.
const DEFAULT_BUDGET: Duration = Duration::from_secs(300);

/// Configures an engine. The host's Rust tools share `State`, and each run gives them a `Ctx`.
pub struct EngineBuilder<State = (), Ctx = ()> {
    state: Arc<State>,
    context: PhantomData<fn(Ctx)>,
    /// The engine's base; loading adds the fields below to it.
    base: EngineBase,
    host: HostParts,
    /// The first registration that failed; [`EngineBuilder::load`] returns it.
    unfit: Option<RegisterError>,
    workspace: Option<PathBuf>,
    sinks: Vec<Arc<dyn Sink>>,
    worker: Option<WorkerProgram>,
    first_worker: Option<WorkerProcess>,
    places: Option<usize>,
    max_concurrency: Option<usize>,
    secrets: HashMap<String, String>,
}

impl<State, Ctx> fmt::Debug for EngineBuilder<State, Ctx> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("EngineBuilder")
            .field("project", &self.base.project)
            .finish_non_exhaustive()
    }
}

impl EngineBuilder {
    /// Configures an engine for the project in this folder.
    pub fn new(project: impl AsRef<Path>) -> Self {
        Self::with_project(Some(project.as_ref().to_owned()))
    }

    /// Configures an engine without a project: it has only the host's tools, under the rules of its
    /// layers and of [`EngineBuilder::root`].
    #[must_use]
    pub fn without_project() -> Self {
        Self::with_project(None)
    }

    fn with_project(project: Option<PathBuf>) -> Self {
        let nothing: Environment = Arc::new(|name| {
            Err(format!(
                "this program lets no script read `{name}` from its environment"
            ))
        });
        Self {
            state: Arc::new(()),
            context: PhantomData,
            base: EngineBase {
                extent: Extent::Whole,
                project,
                root: None,
                layers: Vec::new(),
                workers: Arc::new(Workers::new(None, None, 1)),
                jail: None,
                host: Arc::default(),
                in_flight: Arc::default(),
                sessions: Arc::default(),
                metrics: Arc::default(),
                audience: Audience::default(),
                environment: nothing,
                surroundings: Surroundings::default(),
                outside: Arc::new(Machine::default()),
                budget: DEFAULT_BUDGET,
                secrets: Secrets::StandIns,
                values: Arc::default(),
                blobs: Arc::new(MemoryBlobs::default()),
                facts: Arc::default(),
            },
            host: HostParts::default(),
            unfit: None,
            workspace: None,
            sinks: Vec::new(),
            worker: worker::announced(),
            first_worker: None,
            places: None,
            max_concurrency: None,
            secrets: HashMap::new(),
        }
    }
}

impl<State, Ctx> EngineBuilder<State, Ctx> {
    fn retyped<OtherState, OtherCtx>(
        self,
        state: Arc<OtherState>,
    ) -> EngineBuilder<OtherState, OtherCtx> {
        EngineBuilder {
            state,
            context: PhantomData,
            base: self.base,
            host: self.host,
            unfit: self.unfit,
            workspace: self.workspace,
            sinks: self.sinks,
            worker: self.worker,
            first_worker: self.first_worker,
            places: self.places,
            max_concurrency: self.max_concurrency,
            secrets: self.secrets,
        }
    }

    /// Sets the state shared by the Rust tools registered after this call.
    #[must_use]
    pub fn state<Other>(self, state: Other) -> EngineBuilder<Other, Ctx> {
        self.retyped(Arc::new(state))
    }

    /// Sets the type of the context that each run gives to the Rust tools registered after this
    /// call.
    #[must_use]
    pub fn context<Other>(self) -> EngineBuilder<State, Other> {
        let state = Arc::clone(&self.state);
        self.retyped(state)
    }

    /// Sets the text of the root file, `harness.md`, for a host without a project: its rules,
    /// limits and prompt.
    #[must_use]
    pub fn root(mut self, text: impl Into<String>) -> Self {
        self.base.root = Some(text.into());
        self
    }

    /// Registers a tool. [`EngineBuilder::load`] returns an error if the tool is invalid.
    #[must_use]
    pub fn tool<T>(mut self, tool: T) -> Self
    where
        T: Tool<State, Ctx>,
        State: Send + Sync + 'static,
        Ctx: Send + Sync + 'static,
    {
        let added =
            HostTool::new(tool, Arc::clone(&self.state)).and_then(|tool| self.host.add(tool));
        self.unfit = self.unfit.take().or(added.err());
        self
    }

    /// Adds middleware to the chain that judges calls and sees results.
    #[must_use]
    pub fn middleware(mut self, middleware: impl Middleware) -> Self {
        let added = self.host.add_middleware(middleware);
        self.unfit = self.unfit.take().or(added.err());
        self
    }

    /// Adds a layer around every body.
    #[must_use]
    pub fn around(mut self, layer: impl Around) -> Self {
        let added = self.host.add_layer(layer);
        self.unfit = self.unfit.take().or(added.err());
        self
    }

    /// Chooses the tools whose arguments are repaired before validation: text that holds JSON, code
    /// fences, one wrapper. Off by default.
    #[must_use]
    pub fn repair(mut self, repair: Repair) -> Self {
        self.host.repair = repair;
        self
    }

    /// Provides a value for each [`crate::tool::Inject::Host`] with this name, once per call.
    #[must_use]
    pub fn inject<F>(mut self, name: impl Into<String>, value: F) -> Self
    where
        F: Fn(&Call) -> Option<Value> + Send + Sync + 'static,
    {
        self.host.injectors.insert(name.into(), Arc::new(value));
        self
    }

    /// Limits how many calls run at once, over all tools. Unlimited by default.
    #[must_use]
    pub fn max_concurrency(mut self, calls: usize) -> Self {
        self.max_concurrency = Some(calls);
        self
    }

    /// Adds a file above the project, which need not exist. Its rules apply beside the project's,
    /// and its bounds restrict the project.
    #[must_use]
    pub fn layer(mut self, authority: Authority, file: impl AsRef<Path>) -> Self {
        self.base.layers.push((authority, file.as_ref().to_owned()));
        self.base.layers.sort_by_key(|(authority, _)| *authority);
        self
    }

    /// Describes where the program runs: a home whose toolchains processes may read, and variables.
    /// Empty by default.
    #[must_use]
    pub fn surroundings(mut self, surroundings: Surroundings) -> Self {
        self.base.surroundings = surroundings;
        self
    }

    /// Sets what runs commands and sends requests. This machine by default.
    #[must_use]
    pub fn outside(mut self, outside: Arc<dyn Outside>) -> Self {
        self.base.outside = outside;
        self
    }

    /// Sets a secret that tools may receive by `inject`; it overrides what files say about that
    /// name. Its value never leaves: see [`crate::redact::Redactor`].
    #[must_use]
    pub fn secret(mut self, name: impl Into<String>, value: impl Into<String>) -> Self {
        self.secrets.insert(name.into(), value.into());
        self
    }

    /// Sets where long results and other artifacts are kept. In memory by default.
    #[must_use]
    pub fn blobs_in(mut self, store: Arc<dyn BlobStore>) -> Self {
        self.base.blobs = store;
        self
    }

    /// Sets the folder that tools may touch. The project's folder by default.
    #[must_use]
    pub fn workspace(mut self, workspace: impl AsRef<Path>) -> Self {
        self.workspace = Some(workspace.as_ref().to_owned());
        self
    }

    /// Sets which environment variables `env` may read, and from where. None by default.
    #[must_use]
    pub fn environment(mut self, read: Environment) -> Self {
        self.base.environment = read;
        self
    }

    /// Adds an event sink. The sink chooses its [`crate::event::Delivery`].
    #[must_use]
    pub fn sink(mut self, sink: Arc<dyn Sink>) -> Self {
        self.sinks.push(sink);
        self
    }

    /// Registers a Rust body for an artifact that has no script.
    #[must_use]
    pub fn body<F, R>(mut self, name: impl Into<String>, body: F) -> Self
    where
        F: Fn(Value) -> R + Send + Sync + 'static,
        R: Future<Output = Result<Value, ToolError>> + Send + 'static,
    {
        self.host.bodies.insert(name.into(), unbound(body));
        self
    }

    /// Sets the program that serves as script worker. By default the one that `run_if_worker`
    /// announced.
    #[must_use]
    pub fn worker(mut self, program: WorkerProgram) -> Self {
        self.worker = Some(program);
        self
    }

    /// Passes a worker that is already starting; hooks use it.
    #[must_use]
    pub fn first_worker(mut self, process: WorkerProcess) -> Self {
        self.first_worker = Some(process);
        self
    }

    /// Limits how many scripts run at once. The number of processors by default.
    #[must_use]
    pub fn places(mut self, places: usize) -> Self {
        self.places = Some(places.max(1));
        self
    }

    /// Sets how long a call may take if neither the call nor its tool sets a limit.
    #[must_use]
    pub fn budget(mut self, budget: Duration) -> Self {
        self.base.budget = budget;
        self
    }

    /// Loads only what judges calls: [`Engine::judge`] and [`Engine::observe`] work, and no tool
    /// can be called.
    #[must_use]
    pub fn policy_only(mut self) -> Self {
        self.base.extent = Extent::Policy;
        self
    }

    /// Sets where the events of calls are recorded. Nowhere by default. See [`Record`].
    #[must_use]
    pub fn record(mut self, record: Arc<dyn Record>) -> Self {
        self.base.audience.record = Some(record);
        self
    }

    /// Reads and checks the project. Problems in its files are in [`Engine::diagnostics`], never an
    /// error here.
    pub async fn load(self) -> Result<Engine<Ctx>, Error> {
        Ok(Engine::of(self.base()?.load_files().await?))
    }

    /// Builds the base from the configured parts.
    pub(super) fn base(self) -> Result<EngineBase, Error> {
        let mut base = self.base;
        let is_absent = |project: &&PathBuf| is_project(project).is_ok_and(|found| !found);
        if let Some(project) = base.project.as_ref().filter(is_absent) {
            return Err(Error::NoProject(project.clone()));
        }
        match self.unfit {
            Some(problem) => return Err(problem.into()),
            None => self.host.check()?,
        }
        let places = self.places.unwrap_or_else(|| match base.extent {
            Extent::Whole => std::thread::available_parallelism()
                .map_or(2, usize::from)
                .clamp(2, 64),
            // One decision needs one hook worker, and asking the system for the number of
            // processors takes time.
            Extent::Policy => 1,
        });
        let workspace = self.workspace.as_ref().or(base.project.as_ref());
        let jail = workspace
            .map(|folder| super::open(folder, &base.surroundings))
            .transpose()?;
        base.workers = Arc::new(Workers::new(self.worker, self.first_worker, places));
        base.jail = jail.map(Arc::new);
        base.audience.listeners = self.sinks.into_iter().map(Listener::new).collect();
        base.host = Arc::new(self.host);
        base.in_flight = Arc::new(InFlight::new(self.max_concurrency));
        base.secrets = Secrets::Real(Arc::new(self.secrets));
        Ok(base)
    }
}
