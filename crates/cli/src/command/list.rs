//! `harness list`.

use super::tools::first_sentence;
use crate::exit::Exit;
use crate::output::{Output, Table};
use crate::project::ProjectArgs;
use clap::{Args, ValueEnum};
use serde_json::{Value, json};
use std::collections::HashSet;
use tool_harness::DEFAULT_MODE;
use tool_harness::artifact::{BrokenHook, Bundle, BundleState, Hook};
use tool_harness::engine::Engine;
use tool_harness::hook_event;
use tool_harness::registry::RegisteredTool;

#[derive(Args)]
pub(crate) struct ListArgs {
    /// What to list
    #[arg(value_enum, default_value_t = ListKind::Artifacts)]
    what: ListKind,
    /// One JSON document
    #[arg(long)]
    json: bool,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum ListKind {
    /// Tools, including those that are not offered
    Tools,
    /// Hooks, in the order they run
    Hooks,
    /// Bundles, and whether they are on
    Bundles,
    /// All of them
    Artifacts,
}

impl ListArgs {
    pub(super) async fn run(
        self,
        project: &ProjectArgs,
        output: &mut Output,
    ) -> anyhow::Result<Exit> {
        let engine = project.open().await?;
        let is_wanted = |kind| [kind, ListKind::Artifacts].contains(&self.what);
        let (tools, hooks) = (is_wanted(ListKind::Tools), is_wanted(ListKind::Hooks));
        let bundles = is_wanted(ListKind::Bundles);
        if self.json {
            let offered = OfferedTools::by(&engine);
            let mut document = json!({});
            if tools {
                document["tools"] = tool_documents(&engine, |tool| offered.document(tool));
            }
            if hooks {
                document["hooks"] = hook_documents(&engine);
            }
            if bundles {
                document["bundles"] = bundle_documents(&engine);
            }
            output.json(&document)?;
            return Ok(Exit::Done);
        }
        let mut tables = Vec::new();
        if tools {
            tables.push(tool_table(&engine));
        }
        if hooks {
            tables.push(hook_table(&engine));
        }
        if bundles {
            tables.push(bundle_table(&engine));
        }
        tables.retain(|table| !table.is_empty());
        if tables.is_empty() {
            output.say(match self.what {
                ListKind::Bundles => "this project has no bundles",
                _ => "this project has no tools or hooks; `harness init` adds some to start from",
            })?;
        }
        let tables: Vec<String> = tables.iter().map(Table::render).collect();
        output.print(&tables.join("\n\n"))?;
        output.warn_of_errors(&engine)?;
        Ok(Exit::Done)
    }
}

fn tool_table(engine: &Engine) -> Table {
    let mut table = Table::new(["TOOL", "OFFERED", "EFFECTS", "FILE", "DESCRIPTION"]);
    let shown = OfferedTools::by(engine);
    for tool in engine.catalogue().tools() {
        let offered = if shown.has(tool) { "yes" } else { "no" };
        let about = first_sentence(&tool.tool.description, 50);
        table.row([
            tool.name().to_owned(),
            offered.to_owned(),
            tool.effects.to_string(),
            tool.path().to_owned(),
            about,
        ]);
    }
    for tool in engine.catalogue().broken_tools() {
        let about = format!("broken: {}", tool.problem.message);
        table.row([
            tool.name.clone(),
            "no".to_owned(),
            "-".to_owned(),
            tool.source.path.to_string(),
            about,
        ]);
    }
    table
}

fn hook_table(engine: &Engine) -> Table {
    let mut table = Table::new(["HOOK", "EVENT", "PRIORITY", "STATE", "FILE"]);
    for hook in engine.catalogue().hooks() {
        let path = hook.hook.origin.source.path.to_string();
        table.row([
            hook.hook.name.clone(),
            hook.event.clone(),
            hook.hook.priority.to_string(),
            match idle_because(&hook.event, &hook.hook) {
                Some(because) => format!("idle: {because}"),
                None => "active".to_owned(),
            },
            path,
        ]);
    }
    for hook in engine.catalogue().broken_hooks() {
        table.row([
            hook.name.clone(),
            blocked_event(hook).to_owned(),
            "-".to_owned(),
            "broken, blocks".to_owned(),
            hook.source.path.to_string(),
        ]);
    }
    table
}

fn bundle_table(engine: &Engine) -> Table {
    let mut table = Table::new(["BUNDLE", "TYPE", "STATE", "VERSION", "FILE"]);
    for bundle in &engine.catalogue().bundles {
        let (state, because) = bundle_state(bundle);
        let state = match because {
            Some(because) => format!("{state}: {because}"),
            None => state.to_owned(),
        };
        table.row([
            bundle.name.clone(),
            bundle.kind().to_owned(),
            state,
            bundle.version.clone().unwrap_or_else(|| "-".to_owned()),
            bundle.source.path.to_string(),
        ]);
    }
    table
}

/// Whether a bundle counts, and why not all of it does.
fn bundle_state(bundle: &Bundle) -> (&'static str, Option<&str>) {
    match &bundle.state {
        BundleState::On => ("on", None),
        BundleState::Off => ("off", Some("its condition is false")),
        BundleState::HooksOnly(doubt) => ("hooks only", Some(&doubt.because)),
    }
}

fn bundle_documents(engine: &Engine) -> Value {
    let bundles = engine.catalogue().bundles.iter();
    bundles
        .map(|bundle| {
            let (state, because) = bundle_state(bundle);
            let mut document = json!({
                "name": bundle.name,
                "type": bundle.kind(),
                "state": state,
                "file": &*bundle.source.path,
            });
            if let Some(because) = because {
                document["because"] = json!(because);
            }
            if let Some(version) = &bundle.version {
                document["version"] = json!(version);
            }
            document
        })
        .collect()
}

/// The names of the tools that a model sees.
pub(super) struct OfferedTools(HashSet<String>);

impl OfferedTools {
    pub(super) fn by(engine: &Engine) -> Self {
        let tools = engine.surface(DEFAULT_MODE).map(|surface| surface.tools);
        Self(tools.into_iter().flatten().map(|tool| tool.name).collect())
    }

    pub(super) fn has(&self, tool: &RegisteredTool) -> bool {
        tool.unusable.is_none() && self.0.contains(tool.name())
    }

    /// A tool as a JSON object.
    pub(super) fn document(&self, tool: &RegisteredTool) -> Value {
        json!({
            "name": tool.name(),
            "file": tool.path(),
            "offered": self.has(tool),
            "broken": tool.unusable.is_some(),
            "effects": tool.effects.names().collect::<Vec<_>>(),
            "tags": tool.tool.tags,
            "description": tool.tool.description,
        })
    }
}

/// The event that a broken hook blocks.
pub(super) fn blocked_event(hook: &BrokenHook) -> &str {
    hook.event.as_deref().unwrap_or("every gating event")
}

/// Every tool, those with a broken file last.
pub(super) fn tool_documents(
    engine: &Engine,
    document: impl Fn(&RegisteredTool) -> Value,
) -> Value {
    let read = engine.catalogue().tools().map(|tool| document(tool));
    let broken = engine.catalogue().broken_tools().iter();
    read.chain(broken.map(|tool| {
        let because = &tool.problem.message;
        json!({"name": tool.name, "file": &*tool.source.path, "offered": false, "broken": true, "because": because})
    }))
    .collect()
}

/// Why a hook that is loaded never runs.
fn idle_because(event: &str, hook: &Hook) -> Option<String> {
    let known = hook_event::find(event);
    if known.is_some_and(|event| !event.is_raised()) {
        Some(format!("nothing raises `{event}` yet"))
    } else if hook.script.is_none() {
        Some("it has no script".to_owned())
    } else {
        None
    }
}

/// Every hook, broken ones last.
pub(super) fn hook_documents(engine: &Engine) -> Value {
    let active = engine.catalogue().hooks().map(|hook| {
        let path = &*hook.hook.origin.source.path;
        let mut document = json!({"name": hook.hook.name, "event": hook.event, "priority": hook.hook.priority, "file": path, "broken": false});
        let because = idle_because(&hook.event, &hook.hook);
        document["state"] = json!(if because.is_some() { "idle" } else { "active" });
        if let Some(because) = because {
            document["because"] = json!(because);
        }
        document
    });
    let broken = engine.catalogue().broken_hooks().iter();
    active.chain(broken.map(|hook| json!({"name": hook.name, "event": hook.event, "file": &*hook.source.path, "broken": true, "state": "broken"}))).collect()
}
