//! `harness inspect`.

use super::list::{OfferedTools, blocked_event, hook_documents, tool_documents};
use crate::exit::{Exit, UsageError};
use crate::output::{self, Output, Table, paint, plain, style};
use crate::project::Project;
use clap::Args;
use serde_json::{Map, Value, json};
use std::path::Path;
use tool_harness::artifact::LayerFile;
use tool_harness::call::DEFAULT_MODE;
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
    pub(super) async fn run(self, project: &Project, output: &mut Output) -> anyhow::Result<Exit> {
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
    document["root"] = json!(
        registry
            .root
            .source
            .as_ref()
            .map(|source| source.path.to_string())
    );
    document["stopped"] = json!(engine.stopped().is_some());
    let layer = |layer: &LayerFile| {
        let file = layer
            .root
            .source
            .as_ref()
            .map(|source| source.path.to_string());
        json!({"authority": layer.authority.to_string(), "file": file, "broken": layer.broken.is_some()})
    };
    document["layers"] = registry.layers.iter().map(layer).collect();
    document["tools"] = tool_documents(engine, |tool| {
        with_rules(engine, tool, offered.document(tool))
    });
    document["hooks"] = hook_documents(engine);
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
    let properties = tool
        .tool
        .input_schema
        .get("properties")
        .and_then(Value::as_object)
        .into_iter()
        .flatten();
    // No constraint on arguments accepts null, so every one about this tool matches.
    let arguments: Map<String, Value> = properties
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
        fact(
            "root file",
            root.source
                .as_ref()
                .map_or("none: defaults apply", |source| &source.path),
        ),
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
        let source = layer.root.source.as_ref().map_or("", |source| &source.path);
        lines.insert(
            2,
            fact(
                &layer.authority.to_string(),
                if layer.broken.is_some() {
                    "broken"
                } else {
                    source
                },
            ),
        );
    }
    let confines = &engine.default_view().sandbox;
    if !confines.network_from.is_empty() {
        let from: Vec<String> = confines
            .network_from
            .iter()
            .map(ToString::to_string)
            .collect();
        let list = if confines.network.is_empty() {
            "no host".to_owned()
        } else {
            confines.network.to_string()
        };
        lines.push(fact("network", &format!("{list} ({})", from.join(", "))));
    }
    if confines.containment == Containment::Off {
        lines.push(fact("sandbox", "off: processes are not contained"));
    }
    let env: Vec<&str> = root
        .sandbox
        .env
        .iter()
        .map(|name| name.value.as_str())
        .collect();
    if !env.is_empty() {
        lines.push(fact(
            "environment",
            &format!(
                "{} (not readable: the project is not trusted)",
                env.join(", ")
            ),
        ));
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
    let rules = touching(engine, tool).into_iter().map(|rule| {
        detail(
            "rule",
            &format!("{} {}{}", rule.action.word(), rule.words, at(rule)),
        )
    });
    lines.extend(rules);
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
            Some(broken) => UsageError::new(format!(
                "`{name}` has an error in its file: {}",
                broken.problem.message
            ))
            .help("`harness validate` shows every error"),
            None => {
                UsageError::new(format!("no tool `{name}`")).help("`harness list tools` lists them")
            }
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
    let required = |name: &str| {
        schema
            .get("required")
            .and_then(Value::as_array)
            .is_some_and(|names| names.iter().any(|given| given == name))
    };
    for (name, about) in schema
        .get("properties")
        .and_then(Value::as_object)
        .into_iter()
        .flatten()
    {
        let text = |key: &str| {
            about
                .get(key)
                .map(|value| {
                    value
                        .as_str()
                        .map_or_else(|| value.to_string(), str::to_owned)
                })
                .unwrap_or_default()
        };
        let others = about
            .as_object()
            .into_iter()
            .flatten()
            .filter(|(key, _)| !["type", "description"].contains(&key.as_str()));
        let also: Vec<String> = others
            .map(|(key, value)| format!("{key}: {value}"))
            .collect();
        let needed = if required(name) { "yes" } else { "no" };
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
    format!(
        "{} {}",
        paint(style::QUIET, &format!("{label:11}")),
        plain(text)
    )
}

fn detail(label: &str, text: &str) -> String {
    format!(
        "  {} {}",
        paint(style::QUIET, &format!("{label:9}")),
        plain(text)
    )
}

fn at(rule: &Rule) -> String {
    rule.place
        .as_ref()
        .map(|place| format!("  ({place})"))
        .unwrap_or_default()
}
