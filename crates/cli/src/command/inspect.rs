//! `harness inspect`.

use super::list::{OfferedTools, blocked_event, hook_documents, tool_documents};
use super::tools::{is_required, properties};
use crate::exit::{Exit, UsageError, usage};
use crate::output::{self, Output, Table, paint, plain, style, value_text};
use crate::project::ProjectArgs;
use clap::Args;
use serde_json::{Map, Value, json};
use std::path::Path;
use tool_harness::DEFAULT_MODE;
use tool_harness::artifact::LayerFile;
use tool_harness::artifact::root::Root;
use tool_harness::containment::Containment;
use tool_harness::engine::Engine;
use tool_harness::registry::RegisteredTool;
use tool_harness::rule::{self, Rule, Subject};

#[derive(Args)]
pub(crate) struct InspectArgs {
    /// Only this tool, with its schema
    tool: Option<String>,
    /// Only the effective rules, in order, each with its line
    #[arg(long, conflicts_with = "tool")]
    policy: bool,
    /// One JSON document
    #[arg(long)]
    json: bool,
}

impl InspectArgs {
    pub(super) async fn run(
        self,
        project: &ProjectArgs,
        output: &mut Output,
    ) -> anyhow::Result<Exit> {
        let path = project.find()?;
        let engine = project.load().await?;
        if let Some(name) = &self.tool {
            let tool = find_tool(&engine, name)?;
            if self.json {
                output.json(&tool_document(&engine, tool))?;
            } else {
                output.print(&tool_page(&engine, tool))?;
            }
        } else if self.json {
            let mut document = json!({"rules": engine.default_view().rules.iter().map(rule_document).collect::<Vec<_>>()});
            if !self.policy {
                describe(&engine, &path, &mut document);
            }
            output.json(&document)?;
        } else if self.policy {
            output.print(&policy(&engine))?;
        } else {
            output.print(&everything(&engine, &path))?;
        }
        if let (Some(problem), false) = (engine.stopped(), self.json) {
            output.say(&format!(
                "{}: {}; nothing runs until it is fixed",
                paint(style::BAD, "stopped"),
                plain(&problem.message)
            ))?;
        }
        Ok(Exit::Done)
    }
}

fn describe(engine: &Engine, path: &Path, document: &mut Value) {
    let registry = engine.catalogue();
    let offered = OfferedTools::by(engine);
    document["project"] = json!(path.display().to_string());
    document["root"] = json!(file_of(&registry.root));
    document["stopped"] = json!(engine.stopped().is_some());
    let layer = |layer: &LayerFile| json!({"authority": layer.authority.to_string(), "file": file_of(&layer.root), "broken": layer.broken.is_some()});
    document["layers"] = registry.layers.iter().map(layer).collect();
    document["tools"] = tool_documents(engine, |tool| {
        with_rules(engine, tool, offered.document(tool))
    });
    document["hooks"] = hook_documents(engine);
}

/// The path of a root file, if there is one.
fn file_of(root: &Root) -> Option<&str> {
    root.source.as_ref().map(|source| &*source.path)
}

fn with_rules(engine: &Engine, tool: &RegisteredTool, mut document: Value) -> Value {
    document["rules"] = touching(engine, tool)
        .into_iter()
        .map(rule_document)
        .collect();
    document
}

fn rule_document(rule: &Rule) -> Value {
    let mut object = json!({"action": rule.action.word(), "rule": rule.words});
    if let Some(place) = &rule.place {
        object["at"] = json!(place.to_string());
    }
    object
}

/// The rules that can refuse a call of this tool.
fn touching<'a>(engine: &'a Engine, tool: &RegisteredTool) -> Vec<&'a Rule> {
    let annotations = &tool.tool.annotations;
    // No constraint on arguments accepts null, so every one about this tool matches.
    let arguments: Map<String, Value> = properties(&tool.tool.input_schema)
        .map(|(name, _)| (name.clone(), Value::Null))
        .collect();
    let subject = Subject::Tool {
        name: tool.name(),
        effects: tool.effects,
        capabilities: &annotations.capabilities,
        path_params: &annotations.path_params,
        arguments: &arguments,
        files: None,
    };
    rule::matches(&engine.default_view().rules, &subject)
        .into_iter()
        .map(|found| found.rule)
        .collect()
}

fn everything(engine: &Engine, path: &Path) -> String {
    let registry = engine.catalogue();
    let root = &registry.root;
    let tools = registry.tools().count() + registry.broken_tools().len();
    let hooks = registry.hooks().count() + registry.broken_hooks().len();
    let mut lines = vec![
        fact("project", &path.display().to_string()),
        fact("root file", file_of(root).unwrap_or("none: defaults apply")),
        fact("mode", DEFAULT_MODE),
        fact("tools", &tools.to_string()),
        fact("hooks", &hooks.to_string()),
        fact("rules", &engine.default_view().rules.len().to_string()),
        format!(
            "{} {}",
            paint(style::QUIET, &format!("{:11}", "problems")),
            output::counts(engine.diagnostics())
        ),
    ];
    for layer in &registry.layers {
        let file = match layer.broken {
            Some(_) => "broken",
            None => file_of(&layer.root).unwrap_or_default(),
        };
        lines.insert(2, fact(&layer.authority.to_string(), file));
    }
    let confines = &engine.default_view().sandbox;
    if !confines.network_from.is_empty() {
        let from = confines.network_from.iter().map(ToString::to_string);
        let from = from.collect::<Vec<_>>().join(", ");
        let list = match confines.network.is_empty() {
            true => "no host".to_owned(),
            false => confines.network.to_string(),
        };
        lines.push(fact("network", &format!("{list} ({from})")));
    }
    if confines.containment == Containment::Off {
        lines.push(fact("sandbox", "off: processes are not contained"));
    }
    let env = root.sandbox.env.iter().map(|name| name.value.as_str());
    let env = env.collect::<Vec<_>>().join(", ");
    if !env.is_empty() {
        let text = format!("{env} (not readable: the project is not trusted)");
        lines.push(fact("environment", &text));
    }
    let offered = OfferedTools::by(engine);
    for tool in registry.tools() {
        lines.push(String::new());
        lines.extend(heading(engine, &offered, tool));
    }
    for tool in registry.broken_tools() {
        lines.push(format!("\n{}", title("tool", &tool.name, "broken")));
        lines.push(detail("file", &tool.source.path));
        lines.push(detail("because", &tool.problem.message));
    }
    for hook in registry.hooks() {
        lines.push(format!("\n{}", title("hook", &hook.hook.name, "")));
        lines.push(detail("file", &hook.hook.origin.source.path));
        lines.push(detail("event", &hook.event));
        lines.push(detail("priority", &hook.hook.priority.to_string()));
    }
    for hook in registry.broken_hooks() {
        lines.push(format!("\n{}", title("hook", &hook.name, "broken")));
        lines.push(detail("file", &hook.source.path));
        lines.push(detail("blocks", blocked_event(hook)));
        lines.push(detail("because", &hook.problem.message));
    }
    lines.join("\n")
}

/// A tool's name, file and effects, and the rules that can refuse it.
fn heading(engine: &Engine, offered: &OfferedTools, tool: &RegisteredTool) -> Vec<String> {
    let state = if offered.has(tool) { "" } else { "not offered" };
    let mut lines = vec![title("tool", tool.name(), state)];
    lines.push(detail("file", tool.path()));
    lines.push(detail("effects", &tool.effects.to_string()));
    if !tool.tool.tags.is_empty() {
        lines.push(detail("tags", &tool.tool.tags.join(", ")));
    }
    if let Some(problem) = &tool.unusable {
        lines.push(detail("because", &problem.message));
    }
    for rule in touching(engine, tool) {
        let text = format!("{} {}{}", rule.action.word(), rule.words, at(rule));
        lines.push(detail("rule", &text));
    }
    lines
}

fn policy(engine: &Engine) -> String {
    let rules = &engine.default_view().rules;
    let mut lines = vec![format!(
        "{} in order; the strongest that matches decides: deny, then ask, then allow",
        output::count(rules.len(), "rule")
    )];
    for (index, rule) in rules.iter().enumerate() {
        let style = if rule.action == rule::Action::Deny {
            style::BAD
        } else {
            style::CAREFUL
        };
        lines.push(format!(
            "{:3}  {}  {}{}",
            index + 1,
            paint(style, &format!("{:4}", rule.action.word())),
            plain(&rule.words),
            paint(style::QUIET, &at(rule))
        ));
    }
    lines.push("     everything else is allowed".to_owned());
    lines.join("\n")
}

fn find_tool<'a>(engine: &'a Engine, name: &str) -> Result<&'a RegisteredTool, UsageError> {
    let registry = engine.catalogue();
    registry
        .find(name)
        .map(|tool| &**tool)
        .ok_or_else(|| match registry.find_broken(name) {
            Some(broken) => {
                let problem = &broken.problem.message;
                usage!("`{name}` has an error in its file: {problem}")
                    .help("`harness validate` shows every error")
            }
            None => usage!("no tool `{name}`").help("`harness list tools` lists them"),
        })
}

fn tool_document(engine: &Engine, tool: &RegisteredTool) -> Value {
    let mut document = with_rules(engine, tool, OfferedTools::by(engine).document(tool));
    document["input_schema"] = tool.tool.input_schema.clone();
    document
}

fn tool_page(engine: &Engine, tool: &RegisteredTool) -> String {
    let mut lines = heading(engine, &OfferedTools::by(engine), tool);
    let table = parameter_table(&tool.tool.input_schema);
    lines.push(if table.is_empty() {
        detail("takes", "no arguments")
    } else {
        format!("\n{}", table.render())
    });
    lines.push(format!("\n{}", plain(tool.tool.description.trim())));
    lines.join("\n")
}

fn parameter_table(schema: &Value) -> Table {
    let mut table = Table::new(["PARAMETER", "TYPE", "REQUIRED", "ALSO", "DESCRIPTION"]);
    for (name, about) in properties(schema) {
        let text = |key: &str| about.get(key).map(value_text).unwrap_or_default();
        let others = about.as_object().into_iter().flatten();
        let also: Vec<String> = others
            .filter(|(key, _)| !["type", "description"].contains(&key.as_str()))
            .map(|(key, value)| format!("{key}: {value}"))
            .collect();
        let needed = if is_required(schema, name) {
            "yes"
        } else {
            "no"
        };
        table.row([
            name.clone(),
            text("type"),
            needed.to_owned(),
            also.join(", "),
            text("description"),
        ]);
    }
    table
}

/// The first line about a tool or hook; `state` is what is wrong with it.
fn title(kind: &str, name: &str, state: &str) -> String {
    let (kind, name) = (paint(style::STRONG, kind), paint(style::NAME, &plain(name)));
    match state {
        "" => format!("{kind} {name}"),
        state => format!("{kind} {name}  {}", paint(style::BAD, state)),
    }
}

fn fact(label: &str, text: &str) -> String {
    let label = paint(style::QUIET, &format!("{label:11}"));
    format!("{label} {}", plain(text))
}

fn detail(label: &str, text: &str) -> String {
    let label = paint(style::QUIET, &format!("{label:9}"));
    format!("  {label} {}", plain(text))
}

fn at(rule: &Rule) -> String {
    rule.place
        .as_ref()
        .map(|place| format!("  ({place})"))
        .unwrap_or_default()
}
