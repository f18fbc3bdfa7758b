//! The library's front: load a project, see its surface, make calls, ask why.

mod builder;
mod condition;
mod error;
mod error_policy;
mod live;
mod load;
mod turn;

use crate::view::View;
pub use builder::EngineBuilder;
pub use error::Error;
pub use error_policy::{ErrorPolicy, Reaction};
pub use live::{Live, Reload};
pub use turn::{Ended, Run, ToolRequest, Turn};

use crate::artifact::hook::HookExample;
use crate::artifact::tool::ToolExample;
use crate::call::{Arguments, Call, DEFAULT_MODE};
use crate::check::configure::{Silencer, configure};
use crate::client::{Client, Judgement, Observation, Outcome};
use crate::diagnostic::{Diagnostic, Severity};
use crate::event::Listener;
use crate::outside::Outside;
use crate::plan::{self, Narrowing, Surroundings};
use crate::redact::Redactor;
use crate::refusal::Refusal;
use crate::registry::Catalogue;
use crate::result::{ArtifactRef, ToolResult};
use crate::run::{self, Context, Secrets, Shared};
use crate::span::Spanned;
use crate::span::{Place, Span};
use crate::store::blob::SessionBlobs;
use crate::surface::{self, Report, Surface};
use crate::view::Offered;
use serde_json::{Map, Value, json};
use std::fmt;
use std::marker::PhantomData;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;
use tool_harness_sandbox::file::Jail;
use tool_harness_sandbox::plan::Plan;

pub use crate::run::{Explanation, HookReport, StageOutcome};

/// A loaded project with its host's tools. Cheap to clone; all clones are the same engine. `Ctx` is
/// the context that each run gives the host's Rust tools; most hosts need none.
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

impl<Ctx> Engine<Ctx> {
    fn of(shared: Arc<Shared>) -> Self {
        Self {
            shared,
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

impl Engine {
    /// Loads the project in this folder with the default settings.
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
        &self.shared.catalogue.diagnostics
    }

    /// Why nothing can be called: the first error of a broken root file.
    #[must_use]
    pub fn stopped(&self) -> Option<&Diagnostic> {
        self.shared.catalogue.stopped.as_ref()
    }

    /// The catalogue of everything loaded.
    #[must_use]
    pub fn catalogue(&self) -> &Catalogue {
        &self.shared.catalogue
    }

    /// A mode's view of the catalogue: its rules, its sandbox policy, its chains.
    pub fn view(&self, mode: &str) -> Result<&View, Error> {
        let view = self.shared.view(mode);
        view.ok_or_else(|| Error::NoMode(mode.to_owned()))
    }

    /// The view of the mode that every project has.
    #[must_use]
    pub fn default_view(&self) -> &View {
        self.shared.view_or_default(DEFAULT_MODE)
    }

    /// The tools a mode offers.
    pub fn surface(&self, mode: &str) -> Result<Offered, Error> {
        if let Some(problem) = self.stopped() {
            return Err(Error::RootBroken(problem.message.clone()));
        }
        Ok(self.view(mode)?.offered())
    }

    /// Checks the offered tools, their policy and the texts that a model reads. Every door calls
    /// this before it offers tools.
    #[must_use]
    pub fn check_surface(&self) -> Report {
        let found = surface::check(&Surface::of_view(self.default_view())).diagnostics;
        let ours = |finding: &Diagnostic| finding.code != "CHECKS_INEFFECTIVE";
        Report {
            diagnostics: self.configured(found).into_iter().filter(ours).collect(),
        }
    }

    /// Everything wrong with the project and its surface, in file order, filtered by the project's
    /// `checks`. With a broken root file the surface is not checked.
    #[must_use]
    pub fn report(&self) -> Vec<Diagnostic> {
        let mut all = self.diagnostics().to_vec();
        if self.stopped().is_none() {
            all.extend(surface::check(&Surface::of_view(self.default_view())).diagnostics);
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
        let catalogue = &self.shared.catalogue;
        let tools = catalogue.tools().map(|one| Silencer {
            tool: Some(one.name()),
            form: one.tool.origin.form,
            place: one.tool.place(one.tool.name_span),
            frontmatter: &one.tool.frontmatter,
        });
        let hooks = catalogue.hooks().map(|one| Silencer {
            tool: None,
            form: one.hook.origin.form,
            place: one.hook.place(Span::default()),
            frontmatter: &one.hook.frontmatter,
        });
        configure(
            &catalogue.root.checks,
            &tools.chain(hooks).collect::<Vec<_>>(),
            findings,
        )
    }

    /// Judges a call that a client is about to run itself, by the same rules and hooks as any other
    /// call.
    pub async fn judge(&self, call: Call, client: &Client) -> Judgement {
        run::judge(&self.shared, call, client).await
    }

    /// Rewrites the arguments of such a call, once judged, so that its commands run inside the
    /// sandbox. `None` unless the map of the client's tools says `contain: true`.
    pub fn contain(
        &self,
        call: &Call,
        client: &Client,
    ) -> Result<Option<Map<String, Value>>, Refusal> {
        run::contain(&self.shared, call, client)
    }

    /// Shows the hooks the outcome of such a call, and decides what the model may read of it.
    pub async fn observe(&self, call: Call, client: &Client, outcome: &Outcome) -> Observation {
        run::observe(&self.shared, call, client, outcome).await
    }

    /// Explains what would happen to a call. Hooks run and their writes are discarded; the tool
    /// does not run.
    pub async fn explain(&self, call: Call) -> Explanation {
        run::explain(&self.shared, call).await
    }

    /// What the processes of a tool, or of the project if `tool` is `None`, may touch. `None` if no
    /// tool has that name.
    #[must_use]
    pub fn plan(&self, tool: Option<&str>) -> Option<Plan> {
        let view = self.default_view();
        let site = self.shared.site(view);
        let Some(name) = tool else {
            return Some(plan::plan(
                site,
                &Narrowing::default(),
                view.sandbox.limits,
                self.shared.budget,
            ));
        };
        let tool = view.find(name)?;
        let own =
            Some(Duration::from_millis(tool.tool.timeout_ms)).filter(|limit| !limit.is_zero());
        let deadline = own.map_or(self.shared.budget, |own| own.min(self.shared.budget));
        Some(plan::plan(site, &tool.narrowing(), tool.limits, deadline))
    }

    /// What runs the commands and sends the requests of this engine's calls.
    #[must_use]
    pub fn outside(&self) -> &Arc<dyn Outside> {
        &self.shared.outside
    }

    /// Waits at most this long until every sink has taken the events so far; returns whether they
    /// have.
    pub async fn flush(&self, at_most: Duration) -> bool {
        let is_done = || self.shared.audience.listeners.iter().all(Listener::is_done);
        let waiting = async {
            while !is_done() {
                tokio::time::sleep(Duration::from_millis(1)).await;
            }
        };
        tokio::time::timeout(at_most, waiting).await.is_ok()
    }

    /// How many events the sinks missed: because a sink was too slow or panicked, or because a tool
    /// raised them after its call ended.
    #[must_use]
    pub fn missed_events(&self) -> u64 {
        self.shared.in_flight.late.load(Ordering::Relaxed)
            + self
                .shared
                .audience
                .listeners
                .iter()
                .map(Listener::missed)
                .sum::<u64>()
    }

    /// The artifacts of a session: long results, and what its tools, its client or the host stored.
    /// Handles of other sessions are unknown to it.
    #[must_use]
    pub fn blobs(&self, session_id: &str) -> SessionBlobs {
        SessionBlobs::new(
            Arc::clone(&self.shared.blobs),
            self.shared.redactor.clone(),
            None,
            session_id,
        )
    }

    /// The file that holds an artifact, if it is stored in a file.
    #[must_use]
    pub fn blob_file(&self, artifact: &ArtifactRef) -> Option<PathBuf> {
        crate::isolate::caught(|| self.shared.blobs.file(artifact)).flatten()
    }

    /// Redacts secrets from what a host itself writes or sends. Results and events are already
    /// redacted.
    #[must_use]
    pub fn redactor(&self) -> &Redactor {
        &self.shared.redactor
    }

    /// The same artifacts over another workspace, with separate stores, a separate outside and
    /// stand-ins for secrets.
    pub fn rehearsing(
        &self,
        workspace: impl AsRef<Path>,
        outside: Arc<dyn Outside>,
    ) -> Result<Self, Error> {
        let mut shared = self
            .shared
            .over(open(workspace, &self.shared.surroundings)?);
        shared.base.outside = outside;
        shared.base.secrets = Secrets::StandIns;
        Ok(Self::of(Arc::new(shared)))
    }

    /// The same artifacts over another workspace, with separate stores.
    pub fn with_workspace(&self, workspace: impl AsRef<Path>) -> Result<Self, Error> {
        Ok(Self::of(Arc::new(
            self.shared
                .over(open(workspace, &self.shared.surroundings)?),
        )))
    }

    /// Runs one hook on one payload; `None` if no hook has that name.
    pub async fn run_hook(&self, name: &str, event: &str, payload: Value) -> Option<HookReport> {
        let hook = self
            .default_view()
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
            .catalogue
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
        self.shared.catalogue.hooks().flat_map(|hook| {
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

    /// The number of busy and of idle workers, for reports and tests.
    #[must_use]
    pub fn workers(&self) -> (usize, usize) {
        self.shared.workers.census()
    }

    /// How many threads of blocking tools are still running after their call ended.
    #[must_use]
    pub fn abandoned_threads(&self) -> usize {
        self.shared.in_flight.abandoned.load(Ordering::SeqCst)
    }

    /// Whether the project has no errors.
    #[must_use]
    pub fn is_valid(&self) -> bool {
        self.diagnostics()
            .iter()
            .all(|diagnostic| diagnostic.severity != Severity::Error)
    }
}

/// Opens a workspace for the person who runs the program.
fn open(workspace: impl AsRef<Path>, around: &Surroundings) -> Result<Jail, Error> {
    let jail = Jail::open(workspace.as_ref());
    let jail = jail.map_err(|error| Error::Workspace(error.to_string()))?;
    Ok(jail.for_person(around.home.as_deref(), around.state.as_deref()))
}
