//! `harness list`.

use super::tools::first_sentence;
use crate::exit::Exit;
use crate::open::Folder;
use crate::output::{Output, Table};
use clap::{Args, ValueEnum};
use serde_json::{Value, json};
use tool_harness::engine::Engine;
use tool_harness::registry::{H as RegisteredHook, T as RegisteredTool};

#[derive(Args)]
pub(crate) struct List {
    /// What to list
    #[arg(value_enum, default_value_t = What::Artifacts)]
    what: What,
    /// One JSON document
    #[arg(long)]
    json: bool,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum What {
    /// Tools, also those that are not offered
    Tools,
    /// Hooks, in the order they run
    Hooks,
    /// Both
    Artifacts,
}

impl List {
    pub(super) async fn run(self, folder: &Folder, output: &mut Output) -> anyhow::Result<Exit> {
        let engine = folder.load().await?;
        let (tools, hooks) = (self.what != What::Hooks, self.what != What::Tools);
        if self.json {
            let mut document = json!({});
            if tools {
                document["tools"] = engine.registry().tools().map(tool_document).collect();
            }
            if hooks {
                document["hooks"] = engine.registry().hooks().map(hook_document).collect();
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
        tables.retain(|table| !table.is_empty());
        if tables.is_empty() {
            output.say("nothing here yet; `harness init` adds tools and hooks to start from")?;
        }
        output.print(&tables.iter().map(Table::render).collect::<Vec<_>>().join("\n\n"))?;
        Ok(Exit::Done)
    }
}

fn tool_table(engine: &Engine) -> Table {
    let mut table = Table::new(["TOOL", "OFFERED", "EFFECTS", "FILE", "DESCRIPTION"]);
    for tool in engine.registry().tools() {
        let offered = if tool.usable { "yes" } else { "no" };
        table.row([
            tool.name.clone(),
            offered.to_owned(),
            tool.effects.to_string(),
            tool.path.clone(),
            first_sentence(&tool.description, 50),
        ]);
    }
    table
}

fn hook_table(engine: &Engine) -> Table {
    let mut table = Table::new(["HOOK", "EVENT", "PRIORITY", "STATE", "FILE"]);
    for hook in engine.registry().hooks() {
        let event = hook.event.clone().unwrap_or_else(|| "every gating event".to_owned());
        let state = if hook.broken { "broken, blocks" } else { "active" };
        table.row([hook.name.clone(), event, hook.priority.to_string(), state.to_owned(), hook.path.clone()]);
    }
    table
}

pub(super) fn tool_document(tool: &RegisteredTool) -> Value {
    json!({
        "name": tool.name,
        "file": tool.path,
        "offered": tool.usable,
        "effects": tool.effects.names().collect::<Vec<_>>(),
        "tags": tool.tags,
        "description": tool.description,
    })
}

pub(super) fn hook_document(hook: &RegisteredHook) -> Value {
    json!({"name": hook.name, "event": hook.event, "priority": hook.priority, "file": hook.path, "broken": hook.broken})
}
