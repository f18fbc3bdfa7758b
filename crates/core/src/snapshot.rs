//! Artifacts to an engine: what every version of a project is built on.

use crate::artifact::{Artifacts, Authority, Extent, Files, read_layer};
use crate::call::{Arguments, Call};
use crate::check::{self, artifact_blocked};
use crate::diagnostic::Diagnostic;
use crate::engine::Engine;
use crate::error::Error;
use crate::facts::FactsBySource;
use crate::facts::ScriptKind;
use crate::host::Host;
use crate::listen::Listener;
use crate::outside::Outside;
use crate::plan::Surroundings;
use crate::redact::{Redactor, SecretValues};
use crate::registry::Registry;
use crate::run::{self, Context, Environment, Secrets, Shared};
use crate::span::Span;
use crate::store::blob::BlobStore;
use crate::store::{Metrics, Sessions};
use crate::tool::{HostTool, RegisterError};
use crate::worker::Workers;
use serde_json::json;
use std::marker::PhantomData;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use tool_harness_sandbox::file::Jail;

/// What outlives a version of the project's files: sessions and their stores, workers, the workspace, what the host gave.
pub(crate) struct Ground {
    pub(crate) extent: Extent,
    /// The folder; absent where the host brings everything.
    pub(crate) project: Option<PathBuf>,
    /// The text of a root file, from the host.
    pub(crate) root: Option<String>,
    pub(crate) workers: Arc<Workers>,
    pub(crate) jail: Option<Arc<Jail>>,
    pub(crate) sessions: Arc<Sessions>,
    pub(crate) metrics: Arc<Metrics>,
    pub(crate) listeners: Arc<[Listener]>,
    pub(crate) environment: Environment,
    pub(crate) surroundings: Surroundings,
    pub(crate) outside: Arc<dyn Outside>,
    /// The files above the project, highest first.
    pub(crate) layers: Vec<(Authority, PathBuf)>,
    pub(crate) budget: Duration,
    pub(crate) host: Arc<Host>,
    pub(crate) secrets: Secrets,
    pub(crate) blobs: Arc<dyn BlobStore>,
    /// What must not leave, whichever version of the project learned it.
    pub(crate) values: Arc<SecretValues>,
    /// What workers found in scripts that have not changed since.
    pub(crate) facts: Mutex<FactsBySource>,
}

impl Ground {
    /// The files as they are now.
    pub(crate) fn files(&self) -> Files {
        match (&self.project, &self.root) {
            (Some(project), _) => Files::on_disk(project, self.extent),
            (None, Some(root)) => Files::of_root(root),
            (None, None) => Files::default(),
        }
    }

    /// Checks the artifacts and makes an engine of them.
    pub(crate) async fn engine(
        &self,
        artifacts: Artifacts,
        before: Option<&Registry>,
    ) -> Result<Engine, Error> {
        Ok(Engine {
            shared: self.shared(artifacts, before).await?,
            context: PhantomData,
        })
    }

    /// Checks the artifacts and makes of them what calls share. Limits on calls at once go on counting from the version before.
    pub(crate) async fn shared(
        &self,
        mut artifacts: Artifacts,
        before: Option<&Registry>,
    ) -> Result<Arc<Shared>, Error> {
        self.add_tools(&mut artifacts)?;
        for (layer, problems) in self
            .layers
            .iter()
            .filter_map(|(authority, path)| read_layer(*authority, path))
        {
            artifacts.layers.push(layer);
            artifacts.problems.extend(problems);
        }
        let served = |name: &str| {
            artifacts
                .tools
                .iter()
                .any(|tool| tool.name == name && tool.script.is_none())
        };
        // Later a tool's file may go, and its body waits for it to come back.
        if before.is_none()
            && let Some(name) = self.host.bodies.keys().find(|name| !served(name))
        {
            return Err(Error::Body(format!(
                "a body is registered for `{name}`, and no tool of that name without a script is declared"
            )));
        }
        let facts = self.facts_of(&artifacts).await;
        let registry = Registry::new(
            check::check_as_read(artifacts, &facts, self.extent),
            &self.host,
            &self.workers.scripts,
        );
        *self.facts.lock().unwrap_or_else(PoisonError::into_inner) = facts;
        let registry = match before {
            Some(before) => registry.counting_with(before),
            None => registry,
        };
        self.secrets
            .learn(&self.values, &registry.layers, &self.surroundings);
        let shared = Shared {
            redactor: Redactor::new(Arc::clone(&self.values), registry.redaction()),
            values: Arc::clone(&self.values),
            secrets: self.secrets.clone(),
            blobs: Arc::clone(&self.blobs),
            registry: Arc::new(registry),
            workers: Arc::clone(&self.workers),
            jail: self.jail.clone(),
            host: Arc::clone(&self.host),
            sessions: Arc::clone(&self.sessions),
            metrics: Arc::clone(&self.metrics),
            listeners: Arc::clone(&self.listeners),
            environment: Arc::clone(&self.environment),
            surroundings: self.surroundings.clone(),
            outside: Arc::clone(&self.outside),
            budget: self.budget,
        };
        let mut shared = ask_artifact_hooks(shared).await?;
        // Not a file of the project, so its policy about files is not asked.
        if let (Extent::Whole, Some(registry)) = (self.extent, Arc::get_mut(&mut shared.registry)) {
            registry.add_reader(&self.blobs, &shared.redactor);
        }
        Ok(Arc::new(shared))
    }

    /// Adds the host's tools to those of the files. A name belongs to one of them.
    fn add_tools(&self, artifacts: &mut Artifacts) -> Result<(), RegisterError> {
        let mut tools: Vec<_> = self.host.tools.values().map(HostTool::artifact).collect();
        tools.sort_by(|a, b| a.name.cmp(&b.name));
        let taken = |name: &str| {
            artifacts.tools.iter().any(|tool| tool.name == name)
                || self.host.bodies.contains_key(name)
        };
        if let Some(tool) = tools.iter().find(|tool| taken(&tool.name)) {
            return Err(RegisterError::Duplicate(tool.name.clone()));
        }
        artifacts.tools.extend(tools);
        Ok(())
    }

    /// The facts of every script; only those that are new are looked at by workers.
    async fn facts_of(&self, artifacts: &Artifacts) -> FactsBySource {
        let mut known =
            std::mem::take(&mut *self.facts.lock().unwrap_or_else(PoisonError::into_inner));
        let mut facts = FactsBySource::new();
        let mut unknown = Vec::new();
        let wanted = |kind: ScriptKind| self.extent == Extent::Whole || kind != ScriptKind::Tool;
        for source in check::scripts(artifacts)
            .into_iter()
            .filter(|(kind, _)| wanted(*kind))
        {
            match known.remove(&source) {
                Some(Ok(found)) => drop(facts.insert(source, Ok(found))),
                _ => unknown.push(source),
            }
        }
        facts.extend(self.workers.facts(unknown).await);
        facts
    }
}

/// Policy about artifacts: what its hooks refuse is not offered.
async fn ask_artifact_hooks(shared: Shared) -> Result<Shared, Error> {
    if !shared.registry.has_hooks("artifact.load") {
        return Ok(shared);
    }
    let shared = Arc::new(shared);
    let (tools, hooks) = refused_artifacts(&shared).await;
    // Nobody else has the engine yet, so both are unwrapped.
    let mut shared = Arc::into_inner(shared).ok_or(Error::Loading)?;
    shared.registry = Arc::new(
        Arc::into_inner(shared.registry)
            .ok_or(Error::Loading)?
            .refusing(tools, hooks),
    );
    Ok(shared)
}

/// The tools, by index, and the hooks, by name, that an `artifact.load` hook refuses.
async fn refused_artifacts(
    shared: &Arc<Shared>,
) -> (Vec<(usize, Diagnostic)>, Vec<(String, Diagnostic)>) {
    let (ctx, _) = Context::rehearsed(
        shared,
        Call::new("artifact.load", Arguments::Value(json!({}))),
        None,
    );
    let mut tools = Vec::new();
    for (index, tool) in shared.registry.tools().enumerate() {
        if let Err(refusal) = run::load_artifacts(&ctx, tool.load_payload()).await {
            tools.push((
                index,
                artifact_blocked::found(
                    tool.tool.place(tool.tool.name_span),
                    tool.name(),
                    &refusal.message,
                ),
            ));
        }
    }
    let mut hooks = Vec::new();
    for hook in shared
        .registry
        .hooks()
        .filter(|hook| hook.event != "artifact.load")
    {
        if let Err(refusal) = run::load_artifacts(&ctx, hook.load_payload()).await {
            let name = hook.hook.name.clone();
            hooks.push((
                name.clone(),
                artifact_blocked::found(hook.hook.place(Span::default()), &name, &refusal.message),
            ));
        }
    }
    (tools, hooks)
}
