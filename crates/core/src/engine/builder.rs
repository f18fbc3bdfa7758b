//! What an engine is made of.

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
use crate::run::{EngineBase, Environment, InFlight, Secrets};
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
use tool_harness_sandbox::file::Jail;
use tool_harness_sandbox::process::{WorkerProcess, WorkerProgram};

/// How long one call may take when neither it nor its tool says.
const DEFAULT_BUDGET: Duration = Duration::from_secs(300);

/// What an engine is made of. `State` is what the host's Rust tools share, `Ctx` what each run gives them.
pub struct EngineBuilder<State = (), Ctx = ()> {
    state: Arc<State>,
    context: PhantomData<fn(Ctx)>,
    /// What the engine will be made of; the parts below are put into it when it is loaded.
    base: EngineBase,
    host: HostParts,
    /// The first thing the host registered that cannot be used.
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
    /// An engine for the project in this folder.
    pub fn new(project: impl AsRef<Path>) -> Self {
        Self::with_project(Some(project.as_ref().to_owned()))
    }

    /// An engine without a project: only the tools of its host, under the rules of its layers and of [`EngineBuilder::root`].
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
                record: None,
                listeners: Arc::default(),
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

    /// What the Rust tools that are registered from here on share.
    #[must_use]
    pub fn state<Other>(self, state: Other) -> EngineBuilder<Other, Ctx> {
        self.retyped(Arc::new(state))
    }

    /// The type of what each run gives to the Rust tools that are registered from here on.
    #[must_use]
    pub fn context<Other>(self) -> EngineBuilder<State, Other> {
        let state = Arc::clone(&self.state);
        self.retyped(state)
    }

    /// The text of a root file, `harness.md`, for a host without a project: its rules, limits and prompt.
    #[must_use]
    pub fn root(mut self, text: impl Into<String>) -> Self {
        self.base.root = Some(text.into());
        self
    }

    /// Registers a tool. What is wrong with it is the error of [`EngineBuilder::load`].
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

    /// Adds a link to the chain that judges calls and sees results.
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

    /// For which tools arguments are repaired before they are validated: text that holds JSON, code fences, one wrapper. For none unless said.
    #[must_use]
    pub fn repair(mut self, repair: Repair) -> Self {
        self.host.repair = repair;
        self
    }

    /// Gives a value for [`crate::tool::Inject::Host`] of this name, for each call.
    #[must_use]
    pub fn inject<F>(mut self, name: impl Into<String>, value: F) -> Self
    where
        F: Fn(&Call) -> Option<Value> + Send + Sync + 'static,
    {
        self.host.injectors.insert(name.into(), Arc::new(value));
        self
    }

    /// How many calls run at once, of all tools together; without this as many as are made.
    #[must_use]
    pub fn max_concurrency(mut self, calls: usize) -> Self {
        self.max_concurrency = Some(calls);
        self
    }

    /// A file above the project, whether it is there or not: its rules count beside the project's, and its bounds hold for it.
    #[must_use]
    pub fn layer(mut self, authority: Authority, file: impl AsRef<Path>) -> Self {
        self.base.layers.push((authority, file.as_ref().to_owned()));
        self.base.layers.sort_by_key(|(authority, _)| *authority);
        self
    }

    /// Where the program runs: a home whose toolchains processes may read, and variables. Nothing unless said.
    #[must_use]
    pub fn surroundings(mut self, surroundings: Surroundings) -> Self {
        self.base.surroundings = surroundings;
        self
    }

    /// What answers commands and requests; this machine unless said.
    #[must_use]
    pub fn outside(mut self, outside: Arc<dyn Outside>) -> Self {
        self.base.outside = outside;
        self
    }

    /// A secret that tools may have by `inject`, instead of whatever a file says about that name. Its value never leaves: see [`crate::redact::Redactor`].
    #[must_use]
    pub fn secret(mut self, name: impl Into<String>, value: impl Into<String>) -> Self {
        self.secrets.insert(name.into(), value.into());
        self
    }

    /// Where long results and other artifacts are kept; in memory unless said.
    #[must_use]
    pub fn blobs_in(mut self, store: Arc<dyn BlobStore>) -> Self {
        self.base.blobs = store;
        self
    }

    /// The folder tools may touch; the project's own unless said.
    #[must_use]
    pub fn workspace(mut self, workspace: impl AsRef<Path>) -> Self {
        self.workspace = Some(workspace.as_ref().to_owned());
        self
    }

    /// Where `env` reads from, and what it may; nothing unless said.
    #[must_use]
    pub fn environment(mut self, read: Environment) -> Self {
        self.base.environment = read;
        self
    }

    /// Adds something that takes events. It says itself how they come to it: see [`crate::event::Delivery`].
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

    /// The program that serves as script worker; what `run_if_worker` announced unless said.
    #[must_use]
    pub fn worker(mut self, program: WorkerProgram) -> Self {
        self.worker = Some(program);
        self
    }

    /// A worker that is starting already; hooks get it.
    #[must_use]
    pub fn first_worker(mut self, process: WorkerProcess) -> Self {
        self.first_worker = Some(process);
        self
    }

    /// How many scripts run at once; the number of processors unless said.
    #[must_use]
    pub fn places(mut self, places: usize) -> Self {
        self.places = Some(places.max(1));
        self
    }

    /// How long one call may take when neither it nor its tool says.
    #[must_use]
    pub fn budget(mut self, budget: Duration) -> Self {
        self.base.budget = budget;
        self
    }

    /// Reads only what judges calls: enough for [`Engine::judge`] and [`Engine::observe`], and no tool can be called.
    #[must_use]
    pub fn policy_only(mut self) -> Self {
        self.base.extent = Extent::Policy;
        self
    }

    /// Where the events of calls are recorded; nowhere unless said. See [`Record`].
    #[must_use]
    pub fn record(mut self, record: Arc<dyn Record>) -> Self {
        self.base.record = Some(record);
        self
    }

    /// Reads and checks the project. What is wrong with its files is in [`Engine::diagnostics`],
    /// never an error here.
    pub async fn load(self) -> Result<Engine<Ctx>, Error> {
        let base = self.base()?;
        let shared = base.load(base.files().artifacts(), None).await?;
        Ok(Engine::of(shared))
    }

    /// Puts the parts together.
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
            // One decision needs one hook worker, and asking the system how many it could have
            // takes time.
            Extent::Policy => 1,
        });
        let workspace = self.workspace.as_ref().or(base.project.as_ref());
        let jail = workspace
            .map(|folder| Jail::open(folder).map_err(|error| Error::Workspace(error.to_string())))
            .transpose()?;
        base.workers = Arc::new(Workers::new(self.worker, self.first_worker, places));
        base.jail = jail.map(Arc::new);
        base.listeners = self.sinks.into_iter().map(Listener::new).collect();
        base.host = Arc::new(self.host);
        base.in_flight = Arc::new(InFlight::new(self.max_concurrency));
        base.secrets = Secrets::Real(Arc::new(self.secrets));
        Ok(base)
    }
}
