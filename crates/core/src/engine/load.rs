//! Builds one version of a project from its files.

use crate::artifact::{Artifacts, Extent, Files, read_layer};
use crate::call::{Arguments, Call};
use crate::check::{self, rule::artifact_blocked};
use crate::diagnostic::Diagnostic;
use crate::engine::error::Error;
use crate::facts::FactsBySource;
use crate::facts::ScriptKind;
use crate::plan::SandboxPolicy;
use crate::redact::Redactor;
use crate::registry::Catalogue;
use crate::registry::HostBodies;
use crate::run::EngineBase;
use crate::run::{self, Context, Shared};
use crate::span::Span;
use crate::tool::{HostTool, RegisterError};
use serde_json::json;
use std::sync::{Arc, PoisonError};

impl EngineBase {
    /// Reads the files and builds what calls share.
    pub(super) async fn load_files(&self) -> Result<Arc<Shared>, Error> {
        self.load(self.files().artifacts(), None).await
    }

    /// Reads the files from disk.
    pub(super) fn files(&self) -> Files {
        match (&self.project, &self.root) {
            (Some(project), _) => Files::on_disk(project, self.extent),
            (None, Some(root)) => Files::of_root(root),
            (None, None) => Files::default(),
        }
    }

    /// Checks the artifacts and builds what calls share. Concurrency limits keep counting from the
    /// version before.
    pub(super) async fn load(
        &self,
        mut artifacts: Artifacts,
        before: Option<&Catalogue>,
    ) -> Result<Arc<Shared>, Error> {
        self.add_tools(&mut artifacts)?;
        for hook in &mut artifacts.hooks {
            let event = hook.event.as_ref().map(|event| event.value.as_str());
            hook.is_served = matches!(event, Some("tool.pre" | "tool.post"))
                && self.host.has_middleware(&hook.name);
        }
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
        // On a reload a tool's file may be missing; its body then waits until the file returns.
        if before.is_none()
            && let Some(name) = self.host.bodies.keys().find(|name| !served(name))
        {
            return Err(Error::Body(format!(
                "a body is registered for `{name}`, and no tool of that name without a script is declared"
            )));
        }
        let facts = self.facts_of(&artifacts).await;
        self.evaluate_conditions(&mut artifacts, &facts).await;
        let limits = SandboxPolicy::of(&artifacts.layers, &artifacts.root).limits;
        let checked = check::check_as_read(artifacts, &facts, self.extent);
        let bodies = HostBodies {
            tools: &self.host.tools,
            bodies: &self.host.bodies,
        };
        let catalogue = Catalogue::new(checked, limits, &bodies, &self.workers.scripts);
        *self.facts.lock().unwrap_or_else(PoisonError::into_inner) = facts;
        let catalogue = match before {
            Some(before) => catalogue.counting_with(before),
            None => catalogue,
        };
        let surroundings = &self.surroundings;
        self.secrets
            .learn(&self.values, &catalogue.layers, surroundings);
        let mut catalogue = ask_artifact_hooks(self, catalogue).await?;
        // The reader is not a file of the project, so the project's policy about files does not
        // apply.
        if self.extent == Extent::Whole {
            let redactor = Redactor::new(Arc::clone(&self.values), catalogue.redaction());
            catalogue.add_reader(&self.blobs, &redactor, limits.max_output_bytes);
        }
        Ok(Arc::new(Shared::new(self.clone(), catalogue)))
    }

    /// Adds the host's tools to those from files. Only one tool may have a name.
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

    /// The facts of every script. Workers read only the new scripts.
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

/// Asks the `artifact.load` hooks, and removes what they refuse.
async fn ask_artifact_hooks(base: &EngineBase, catalogue: Catalogue) -> Result<Catalogue, Error> {
    let event = "artifact.load";
    if !catalogue.hooks().any(|hook| hook.listens_to(event))
        && catalogue.broken_for(event).is_none()
    {
        return Ok(catalogue);
    }
    let shared = Arc::new(Shared::new(base.clone(), catalogue));
    let (tools, hooks) = refused_artifacts(&shared).await;
    // Nothing else holds this version yet, so it can be unwrapped.
    let shared = Arc::into_inner(shared).ok_or(Error::Loading)?;
    let catalogue = shared.into_catalogue().ok_or(Error::Loading)?;
    Ok(catalogue.refusing(tools, hooks))
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
    for (index, tool) in shared.catalogue.tools().enumerate() {
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
        .catalogue
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
