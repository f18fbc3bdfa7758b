//! The library's front: load a project, see its surface, make calls, ask why.

use crate::artifact::hook::HookExample;
use crate::artifact::tool::ToolExample;
use crate::artifact::{Authority, Extent};
use crate::call::{Arguments, Call, DEFAULT_MODE};
use crate::check::configure::{Silencer, configure};
use crate::client::{Client, Judgement, Observation, Outcome};
use crate::diagnostic::{Diagnostic, Severity};
use crate::error::Error;
use crate::event::Sink;
use crate::host::Host;
use crate::listen::Listener;
use crate::middleware::{Around, Middleware};
use crate::outside::{Machine, Outside};
use crate::plan::{self, Narrowing, Surroundings};
use crate::redact::Redactor;
use crate::refusal::Refusal;
use crate::registry::{Offered, Registry};
use crate::result::{ArtifactRef, ToolResult};
use crate::run::{self, Context, Environment, Repair, Secrets, Shared};
use crate::slots::Slots;
use crate::snapshot::Ground;
use crate::span::Spanned;
use crate::span::{Place, Span};
use crate::store::blob::{BlobStore, MemoryBlobs, SessionBlobs};
use crate::surface::{self, Report, Surface};
use crate::tool::{HostTool, RegisterError, Tool, ToolError, unbound};
use crate::worker::{self, Workers};
use serde_json::{Map, Value, json};
use std::collections::HashMap;
use std::fmt;
use std::marker::PhantomData;
use std::path::{Path, PathBuf};
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tool_harness_sandbox::file::Jail;
use tool_harness_sandbox::plan::Plan;
use tool_harness_sandbox::process::{WorkerProcess, WorkerProgram};

pub use crate::run::{Explanation, HookReport, StageOutcome, StageReport};

/// How long one call may take when neither it nor its tool says.
const DEFAULT_BUDGET: Duration = Duration::from_secs(300);

/// A loaded project, and the tools of its host. Cheap to clone; every clone is the same engine. `Ctx` is what each run of the host gives
/// its Rust tools; most give nothing.
pub struct Engine<Ctx = ()> {
    pub(crate) shared: Arc<Shared>,
    pub(crate) context: PhantomData<fn(Ctx)>,
}

impl<Ctx> Clone for Engine<Ctx> {
    fn clone(&self) -> Self {
        Self {
            shared: Arc::clone(&self.shared),
            context: PhantomData,
        }
    }
}

impl<Ctx> fmt::Debug for Engine<Ctx> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Engine")
            .field("shared", &self.shared)
            .finish()
    }
}

/// What an engine is made of. `State` is what the host's Rust tools share, `Ctx` what each run gives them.
pub struct EngineBuilder<State = (), Ctx = ()> {
    state: Arc<State>,
    context: PhantomData<fn(Ctx)>,
    parts: Parts,
}

struct Parts {
    project: Option<PathBuf>,
    root: Option<String>,
    workspace: Option<PathBuf>,
    environment: Environment,
    sinks: Vec<Arc<dyn Sink>>,
    host: Host,
    unfit: Option<RegisterError>,
    worker: Option<WorkerProgram>,
    first_worker: Option<WorkerProcess>,
    places: Option<usize>,
    budget: Duration,
    extent: Extent,
    surroundings: Surroundings,
    outside: Arc<dyn Outside>,
    layers: Vec<(Authority, PathBuf)>,
    secrets: HashMap<String, String>,
    blobs: Arc<dyn BlobStore>,
}

impl<State, Ctx> fmt::Debug for EngineBuilder<State, Ctx> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("EngineBuilder")
            .field("project", &self.parts.project)
            .finish_non_exhaustive()
    }
}

impl EngineBuilder {
    /// An engine for the project in this folder.
    pub fn new(project: impl AsRef<Path>) -> Self {
        Self {
            state: Arc::new(()),
            context: PhantomData,
            parts: Parts::new(Some(project.as_ref().to_owned())),
        }
    }

    /// An engine without a project: only the tools of its host, under the rules of its layers and of [`EngineBuilder::root`].
    #[must_use]
    pub fn without_project() -> Self {
        Self {
            state: Arc::new(()),
            context: PhantomData,
            parts: Parts::new(None),
        }
    }
}

impl Parts {
    fn new(project: Option<PathBuf>) -> Self {
        Self {
            project,
            root: None,
            workspace: None,
            environment: Arc::new(|name| {
                Err(format!(
                    "this program lets no script read `{name}` from its environment"
                ))
            }),
            sinks: Vec::new(),
            host: Host::default(),
            unfit: None,
            worker: worker::announced(),
            first_worker: None,
            places: None,
            budget: DEFAULT_BUDGET,
            extent: Extent::Whole,
            surroundings: Surroundings::default(),
            outside: Arc::new(Machine::default()),
            layers: Vec::new(),
            secrets: HashMap::new(),
            blobs: Arc::new(MemoryBlobs::default()),
        }
    }
}

impl<State, Ctx> EngineBuilder<State, Ctx> {
    /// What the Rust tools that are registered from here on share.
    #[must_use]
    pub fn state<Other>(self, state: Other) -> EngineBuilder<Other, Ctx> {
        EngineBuilder {
            state: Arc::new(state),
            context: PhantomData,
            parts: self.parts,
        }
    }

    /// The type of what each run gives to the Rust tools that are registered from here on.
    #[must_use]
    pub fn context<Other>(self) -> EngineBuilder<State, Other> {
        EngineBuilder {
            state: self.state,
            context: PhantomData,
            parts: self.parts,
        }
    }

    /// The text of a root file, `harness.md`, for a host without a project: its rules, limits and prompt.
    #[must_use]
    pub fn root(mut self, text: impl Into<String>) -> Self {
        self.parts.root = Some(text.into());
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
            HostTool::new(tool, Arc::clone(&self.state)).and_then(|tool| self.parts.host.add(tool));
        self.parts.unfit = self.parts.unfit.take().or(added.err());
        self
    }

    /// Adds a link to the chain that judges calls and sees results.
    #[must_use]
    pub fn middleware(mut self, middleware: impl Middleware) -> Self {
        let added = self.parts.host.add_middleware(middleware);
        self.parts.unfit = self.parts.unfit.take().or(added.err());
        self
    }

    /// Adds a layer around every body.
    #[must_use]
    pub fn around(mut self, layer: impl Around) -> Self {
        let added = self.parts.host.add_layer(layer);
        self.parts.unfit = self.parts.unfit.take().or(added.err());
        self
    }

    /// For which tools arguments are repaired before they are validated: text that holds JSON, code fences, one wrapper. For none unless said.
    #[must_use]
    pub fn repair(mut self, repair: Repair) -> Self {
        self.parts.host.repair = repair;
        self
    }

    /// Gives a value for [`crate::tool::Inject::Host`] of this name, for each call.
    #[must_use]
    pub fn inject<F>(mut self, name: impl Into<String>, value: F) -> Self
    where
        F: Fn(&Call) -> Option<Value> + Send + Sync + 'static,
    {
        self.parts
            .host
            .injectors
            .insert(name.into(), Arc::new(value));
        self
    }

    /// How many calls run at once, of all tools together; without this as many as are made.
    #[must_use]
    pub fn max_concurrency(mut self, calls: usize) -> Self {
        self.parts.host.places = Some(Slots::new(calls));
        self
    }

    /// A file above the project, whether it is there or not: its rules count beside the project's, and its bounds hold for it.
    #[must_use]
    pub fn layer(mut self, authority: Authority, file: impl AsRef<Path>) -> Self {
        self.parts
            .layers
            .push((authority, file.as_ref().to_owned()));
        self.parts.layers.sort_by_key(|(authority, _)| *authority);
        self
    }

    /// Where the program runs: a home whose toolchains processes may read, and variables. Nothing unless said.
    #[must_use]
    pub fn surroundings(mut self, surroundings: Surroundings) -> Self {
        self.parts.surroundings = surroundings;
        self
    }

    /// What answers commands and requests; this machine unless said.
    #[must_use]
    pub fn outside(mut self, outside: Arc<dyn Outside>) -> Self {
        self.parts.outside = outside;
        self
    }

    /// A secret that tools may have by `inject`, instead of whatever a file says about that name. Its value never leaves: see [`Redactor`].
    #[must_use]
    pub fn secret(mut self, name: impl Into<String>, value: impl Into<String>) -> Self {
        self.parts.secrets.insert(name.into(), value.into());
        self
    }

    /// Where long results and other artifacts are stored. Default: in memory.
    #[must_use]
    pub fn blobs_in(mut self, store: Arc<dyn BlobStore>) -> Self {
        self.parts.blobs = store;
        self
    }

    /// The folder tools may touch; the project's own unless said.
    #[must_use]
    pub fn workspace(mut self, workspace: impl AsRef<Path>) -> Self {
        self.parts.workspace = Some(workspace.as_ref().to_owned());
        self
    }

    /// Where `env` reads from, and what it may; nothing unless said.
    #[must_use]
    pub fn environment(mut self, read: Environment) -> Self {
        self.parts.environment = read;
        self
    }

    /// Adds something that takes events. It says itself how they come to it: see [`crate::event::Delivery`].
    #[must_use]
    pub fn sink(mut self, sink: Arc<dyn Sink>) -> Self {
        self.parts.sinks.push(sink);
        self
    }

    /// Registers a Rust body for an artifact that has no script.
    #[must_use]
    pub fn body<F, R>(mut self, name: impl Into<String>, body: F) -> Self
    where
        F: Fn(Value) -> R + Send + Sync + 'static,
        R: Future<Output = Result<Value, ToolError>> + Send + 'static,
    {
        self.parts.host.bodies.insert(name.into(), unbound(body));
        self
    }

    /// The program that serves as script worker; what `run_if_worker` announced unless said.
    #[must_use]
    pub fn worker(mut self, program: WorkerProgram) -> Self {
        self.parts.worker = Some(program);
        self
    }

    /// A worker that is starting already; hooks get it.
    #[must_use]
    pub fn first_worker(mut self, process: WorkerProcess) -> Self {
        self.parts.first_worker = Some(process);
        self
    }

    /// How many scripts run at once; the number of processors unless said.
    #[must_use]
    pub fn places(mut self, places: usize) -> Self {
        self.parts.places = Some(places.max(1));
        self
    }

    /// How long one call may take when neither it nor its tool says.
    #[must_use]
    pub fn budget(mut self, budget: Duration) -> Self {
        self.parts.budget = budget;
        self
    }

    /// Reads only what judges calls: enough for [`Engine::judge`] and [`Engine::observe`], and no tool can be called.
    #[must_use]
    pub fn policy_only(mut self) -> Self {
        self.parts.extent = Extent::Policy;
        self
    }

    /// Reads and checks the project. What is wrong with its files is in [`Engine::diagnostics`], never an error here.
    pub async fn load(self) -> Result<Engine<Ctx>, Error> {
        let ground = self.ground()?;
        let shared = ground.shared(ground.files().artifacts(), None).await?;
        Ok(Engine {
            shared,
            context: PhantomData,
        })
    }

    /// What all versions of the project share.
    pub(crate) fn ground(self) -> Result<Ground, Error> {
        let parts = self.parts;
        if let Some(project) = parts
            .project
            .as_ref()
            .filter(|project| !is_project(project))
        {
            return Err(Error::NoProject(project.clone()));
        }
        match parts.unfit {
            Some(problem) => return Err(problem.into()),
            None => parts.host.check()?,
        }
        let places = parts.places.unwrap_or_else(|| match parts.extent {
            Extent::Whole => std::thread::available_parallelism()
                .map_or(2, usize::from)
                .clamp(2, 64),
            // One decision needs one hook worker, and asking the system how many it could have takes its time.
            Extent::Policy => 1,
        });
        let workspace = parts.workspace.as_ref().or(parts.project.as_ref());
        let jail = workspace
            .map(|folder| Jail::open(folder).map_err(|error| Error::Workspace(error.to_string())))
            .transpose()?;
        Ok(Ground {
            extent: parts.extent,
            workers: Arc::new(Workers::new(parts.worker, parts.first_worker, places)),
            jail: jail.map(Arc::new),
            sessions: Arc::default(),
            metrics: Arc::default(),
            listeners: parts.sinks.into_iter().map(Listener::new).collect(),
            environment: parts.environment,
            surroundings: parts.surroundings,
            outside: parts.outside,
            layers: parts.layers,
            budget: parts.budget,
            host: Arc::new(parts.host),
            secrets: Secrets::Real(Arc::new(parts.secrets)),
            values: Arc::default(),
            blobs: parts.blobs,
            facts: Mutex::default(),
            project: parts.project,
            root: parts.root,
        })
    }
}

/// Whether a folder holds a project.
#[must_use]
pub fn is_project(folder: &Path) -> bool {
    [".harness", "harness.md", "harness.yaml", "harness.yml"]
        .iter()
        .any(|name| folder.join(name).exists())
}

impl Engine {
    /// Loads the project in this folder with every default.
    pub async fn load(project: impl AsRef<Path>) -> Result<Self, Error> {
        EngineBuilder::new(project).load().await
    }

    /// Runs one call through every stage.
    pub fn call(&self, call: Call) -> impl Future<Output = ToolResult> + Send {
        run::run(&self.shared, call)
    }
}

impl<Ctx> Engine<Ctx> {
    /// Everything wrong with the project, in file order.
    #[must_use]
    pub fn diagnostics(&self) -> &[Diagnostic] {
        &self.shared.registry.diagnostics
    }

    /// Why nothing can be called: the first error of a broken root file.
    #[must_use]
    pub fn stopped(&self) -> Option<&Diagnostic> {
        self.shared.registry.stopped.as_ref()
    }

    /// What is loaded.
    #[must_use]
    pub fn registry(&self) -> &Registry {
        &self.shared.registry
    }

    /// The tools a mode offers.
    pub fn surface(&self, mode: &str) -> Result<Offered, Error> {
        if let Some(problem) = self.stopped() {
            return Err(Error::RootBroken(problem.message.clone()));
        }
        if mode != DEFAULT_MODE {
            return Err(Error::NoMode(mode.to_owned()));
        }
        Ok(self.shared.registry.surface(mode))
    }

    /// What is wrong with the tools that are offered, with their policy and with the texts a model reads. Every door asks before it offers.
    #[must_use]
    pub fn check_surface(&self) -> Report {
        let found = surface::check(&Surface::of_registry(&self.shared.registry)).diagnostics;
        let ours = |finding: &Diagnostic| finding.code != "CHECKS_INEFFECTIVE";
        Report {
            diagnostics: self.configured(found).into_iter().filter(ours).collect(),
        }
    }

    /// Everything wrong with the project and with its surface, in file order, as its `checks` say. Of a broken root file's surface nothing
    /// can be said.
    #[must_use]
    pub fn report(&self) -> Vec<Diagnostic> {
        let mut all = self.diagnostics().to_vec();
        if self.stopped().is_none() {
            all.extend(surface::check(&Surface::of_registry(&self.shared.registry)).diagnostics);
        }
        let mut all = self.configured(all);
        let key = |found: &Diagnostic| {
            found
                .place
                .as_ref()
                .map(|place| (Arc::clone(&place.source.path), place.span.start))
        };
        all.sort_by_cached_key(key);
        all
    }

    fn configured(&self, findings: Vec<Diagnostic>) -> Vec<Diagnostic> {
        let registry = &self.shared.registry;
        let tools = registry.tools().map(|one| Silencer {
            tool: Some(one.name()),
            form: one.tool.origin.form,
            place: one.tool.place(one.tool.name_span),
            frontmatter: &one.tool.frontmatter,
        });
        let hooks = registry.hooks().map(|one| Silencer {
            tool: None,
            form: one.hook.origin.form,
            place: one.hook.place(Span::default()),
            frontmatter: &one.hook.frontmatter,
        });
        configure(
            &registry.root.checks,
            &tools.chain(hooks).collect::<Vec<_>>(),
            findings,
        )
    }

    /// Judges a call that a client is about to run itself, by the same rules and hooks as any other.
    pub async fn judge(&self, call: Call, client: &Client) -> Judgement {
        run::judge(&self.shared, call, client).await
    }

    /// The arguments of such a call, once it was judged, with its commands inside the sandbox: where the map of the client's tools says
    /// `contain: true`, and else nothing.
    pub fn contain(
        &self,
        call: &Call,
        client: &Client,
    ) -> Result<Option<Map<String, Value>>, Refusal> {
        run::contain(&self.shared, call, client)
    }

    /// Shows the hooks what such a call came to, and says what the model may read of it.
    pub async fn observe(&self, call: Call, client: &Client, outcome: &Outcome) -> Observation {
        run::observe(&self.shared, call, client, outcome).await
    }

    /// What would become of a call. Hooks run; what they write is discarded; nothing is executed.
    pub async fn explain(&self, call: Call) -> Explanation {
        run::explain(&self.shared, call).await
    }

    /// What the processes of a tool may touch; of the project, without one. `None` when no tool has that name.
    #[must_use]
    pub fn plan(&self, tool: Option<&str>) -> Option<Plan> {
        let (registry, site) = (&self.shared.registry, self.shared.site());
        let Some(name) = tool else {
            return Some(plan::plan(
                site,
                &Narrowing::default(),
                registry.confines.limits,
                self.shared.budget,
            ));
        };
        let tool = registry.find(name)?;
        let own =
            Some(Duration::from_millis(tool.tool.timeout_ms)).filter(|limit| !limit.is_zero());
        let deadline = own.map_or(self.shared.budget, |own| own.min(self.shared.budget));
        Some(plan::plan(
            site,
            &Narrowing::of(tool),
            tool.limits,
            deadline,
        ))
    }

    /// What answers the commands and requests of this engine's calls.
    #[must_use]
    pub fn outside(&self) -> &Arc<dyn Outside> {
        &self.shared.outside
    }

    /// Waits until every sink has taken the events so far, and no longer than this; says whether they have.
    pub async fn flush(&self, at_most: Duration) -> bool {
        let is_done = || self.shared.listeners.iter().all(Listener::is_done);
        let waiting = async {
            while !is_done() {
                tokio::time::sleep(Duration::from_millis(1)).await;
            }
        };
        tokio::time::timeout(at_most, waiting).await.is_ok()
    }

    /// How many events sinks have missed, because they were too slow or panicked, or because a tool raised them after the end of its call.
    #[must_use]
    pub fn missed_events(&self) -> u64 {
        self.shared.host.late.load(Ordering::Relaxed)
            + self
                .shared
                .listeners
                .iter()
                .map(Listener::missed)
                .sum::<u64>()
    }

    /// The artifacts of a session: long results, and what its tools, its client or the host stored.
    /// It cannot read those of other sessions.
    #[must_use]
    pub fn blobs(&self, session_id: &str) -> SessionBlobs {
        SessionBlobs::new(
            Arc::clone(&self.shared.blobs),
            self.shared.redactor.clone(),
            None,
            session_id,
        )
    }

    /// The file of an artifact, if the store has files.
    #[must_use]
    pub fn blob_file(&self, artifact: &ArtifactRef) -> Option<PathBuf> {
        crate::isolate::caught(|| self.shared.blobs.file(artifact)).flatten()
    }

    /// Takes secrets out of what a host itself writes or sends. Results and events have been through it.
    #[must_use]
    pub fn redactor(&self) -> &Redactor {
        &self.shared.redactor
    }

    /// The same artifacts over another workspace, with stores and an outside of its own, and with stand-ins for secrets.
    pub fn rehearsing(
        &self,
        workspace: impl AsRef<Path>,
        outside: Arc<dyn Outside>,
    ) -> Result<Self, Error> {
        let mut engine = self.with_workspace(workspace)?;
        if let Some(shared) = Arc::get_mut(&mut engine.shared) {
            shared.outside = outside;
            shared.secrets = Secrets::StandIns;
        }
        Ok(engine)
    }

    /// The same artifacts over another workspace, with stores of its own.
    pub fn with_workspace(&self, workspace: impl AsRef<Path>) -> Result<Self, Error> {
        let jail =
            Jail::open(workspace.as_ref()).map_err(|error| Error::Workspace(error.to_string()))?;
        let shared = &self.shared;
        Ok(Self {
            shared: Arc::new(Shared {
                registry: Arc::clone(&shared.registry),
                redactor: shared.redactor.clone(),
                values: Arc::clone(&shared.values),
                secrets: shared.secrets.clone(),
                blobs: Arc::new(MemoryBlobs::default()),
                workers: Arc::clone(&shared.workers),
                jail: Some(Arc::new(jail)),
                host: Arc::clone(&shared.host),
                sessions: Arc::default(),
                metrics: Arc::default(),
                listeners: Arc::clone(&shared.listeners),
                environment: Arc::clone(&shared.environment),
                surroundings: shared.surroundings.clone(),
                outside: Arc::clone(&shared.outside),
                budget: shared.budget,
            }),
            context: PhantomData,
        })
    }

    /// What one hook says to one payload; `None` when no hook has that name.
    pub async fn run_hook(&self, name: &str, event: &str, payload: Value) -> Option<HookReport> {
        let hook = self
            .shared
            .registry
            .hooks()
            .find(|hook| hook.hook.name == name)?;
        let call = Call::new("hook example", Arguments::Value(json!({})));
        let (ctx, _) = Context::rehearsed(&self.shared, call, None);
        let payload = payload.as_object().cloned().unwrap_or_default();
        Some(run::run_one(&ctx, hook, event, payload).await)
    }

    /// The examples of every usable tool, with their places.
    pub fn tool_examples(&self) -> impl Iterator<Item = (&str, Place, &ToolExample)> {
        self.shared
            .registry
            .tools()
            .filter(|tool| tool.unusable.is_none())
            .flat_map(|tool| {
                tool.tool
                    .examples
                    .iter()
                    .map(|Spanned { value, span }| (tool.name(), tool.tool.place(*span), value))
            })
    }

    /// The examples of every hook, with their places.
    pub fn hook_examples(&self) -> impl Iterator<Item = (&str, &str, Place, &HookExample)> {
        self.shared.registry.hooks().flat_map(|hook| {
            hook.hook.examples.iter().map(|Spanned { value, span }| {
                (
                    hook.hook.name.as_str(),
                    hook.event.as_str(),
                    hook.hook.place(*span),
                    value,
                )
            })
        })
    }

    /// Workers in use and workers waiting, for reports and tests.
    #[must_use]
    pub fn workers(&self) -> (usize, usize) {
        self.shared.workers.census()
    }

    /// Threads of tools that block whose call ended without them, and that have not ended yet.
    #[must_use]
    pub fn abandoned_threads(&self) -> usize {
        self.shared.host.abandoned.load(Ordering::SeqCst)
    }

    /// Whether the project has an error.
    #[must_use]
    pub fn is_valid(&self) -> bool {
        self.diagnostics()
            .iter()
            .all(|diagnostic| diagnostic.severity != Severity::Error)
    }
}
