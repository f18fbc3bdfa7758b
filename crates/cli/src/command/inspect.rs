//! `harness inspect`.

use super::list::{Offered, blocked_event, hook_documents, tool_documents};
use crate::exit::{Exit, Usage};
use crate::open::Folder;
use crate::output::{self, Output, Table, look, paint, plain};
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
pub(crate) struct Inspect {
    /// Only this tool, with its schema
    tool: Option<String>,
    /// Only the effective rules, in order, each with the line it came from
    #[arg(long, conflicts_with = "tool")]
    policy: bool,
    /// One JSON document
    #[arg(long)]
    json: bool,
}

/// For whom it is written.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Form {
    Text,
    Json,
}

impl Inspect {
    pub(super) async fn run(self, folder: &Folder, output: &mut Output) -> anyhow::Result<Exit> {
        let path = folder.find()?;
        let engine = folder.load().await?;
        if let Some(name) = &self.tool {
            one_tool(
                &engine,
                name,
                if self.json { Form::Json } else { Form::Text },
                output,
            )?;
        } else if self.json {
            let mut document = json!({"rules": engine.registry().rules.iter().map(rule_document).collect::<Vec<_>>()});
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
                "{}: {}; nothing runs until it is mended",
                paint(look::BAD, "stopped"),
                plain(&problem.message)
            ))?;
        }
        Ok(Exit::Done)
    }
}

fn describe(engine: &Engine, path: &Path, document: &mut Value) {
    let registry = engine.registry();
    let offered = Offered::by(engine);
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

/// The rules that can object to a call of this tool.
fn touching<'a>(engine: &'a Engine, tool: &RegisteredTool) -> Vec<&'a Rule> {
    let annotations = &tool.tool.annotations;
    let properties = tool
        .tool
        .input_schema
        .get("properties")
        .and_then(Value::as_object)
        .into_iter()
        .flatten();
    // No constraint on arguments accepts null, so each one that is about this tool shows itself.
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
    rule::matches(&engine.registry().rules, &subject)
        .into_iter()
        .map(|found| found.rule)
        .collect()
}

fn everything(engine: &Engine, path: &Path) -> String {
    let registry = engine.registry();
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
        fact("rules", &registry.rules.len().to_string()),
        format!(
            "{} {}",
            paint(look::QUIET, &format!("{:11}", "problems")),
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
    let confines = &registry.confines;
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
    let offered = Offered::by(engine);
    for tool in registry.tools() {
        lines.push(String::new());
        lines.extend(heading(engine, &offered, tool));
    }
    for tool in registry.broken_tools() {
        let state = paint(look::BAD, "broken");
        lines.push(format!(
            "\n{} {}  {state}",
            paint(look::STRONG, "tool"),
            paint(look::NAME, &plain(&tool.name))
        ));
        lines.push(detail("file", &tool.source.path));
        lines.push(detail("because", &tool.problem.message));
    }
    for hook in registry.hooks() {
        lines.push(format!(
            "\n{} {}",
            paint(look::STRONG, "hook"),
            paint(look::NAME, &plain(&hook.hook.name))
        ));
        lines.push(detail("file", &hook.hook.origin.source.path));
        lines.push(detail("event", &hook.event));
        lines.push(detail("priority", &hook.hook.priority.to_string()));
    }
    for hook in registry.broken_hooks() {
        let state = paint(look::BAD, "broken");
        lines.push(format!(
            "\n{} {}  {state}",
            paint(look::STRONG, "hook"),
            paint(look::NAME, &plain(&hook.name))
        ));
        lines.push(detail("file", &hook.source.path));
        lines.push(detail("blocks", blocked_event(hook)));
        lines.push(detail("because", &hook.problem.message));
    }
    lines.join("\n")
}

/// A tool's name, file, effects, and the rules that can object to it.
fn heading(engine: &Engine, offered: &Offered, tool: &RegisteredTool) -> Vec<String> {
    let state = if offered.has(tool) {
        String::new()
    } else {
        paint(look::BAD, "  not offered")
    };
    let mut lines = vec![format!(
        "{} {}{state}",
        paint(look::STRONG, "tool"),
        paint(look::NAME, &plain(tool.name()))
    )];
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
    let rules = &engine.registry().rules;
    let mut lines = vec![format!(
        "{} in order; the strongest that matches decides: deny, then ask, then allow",
        output::count(rules.len(), "rule")
    )];
    for (index, rule) in rules.iter().enumerate() {
        let style = if rule.action == rule::Action::Deny {
            look::BAD
        } else {
            look::CAREFUL
        };
        lines.push(format!(
            "{:3}  {}  {}{}",
            index + 1,
            paint(style, &format!("{:4}", rule.action.word())),
            plain(&rule.words),
            paint(look::QUIET, &at(rule))
        ));
    }
    lines.push("     everything else is allowed".to_owned());
    lines.join("\n")
}

fn one_tool(engine: &Engine, name: &str, form: Form, output: &mut Output) -> anyhow::Result<()> {
    let Some(tool) = engine.registry().find(name) else {
        return Err(match engine.registry().find_broken(name) {
            Some(broken) => Usage::new(format!(
                "`{name}` has an error in its file: {}",
                broken.problem.message
            ))
            .help("`harness validate` shows everything that is wrong"),
            None => {
                Usage::new(format!("no tool `{name}`")).help("`harness list tools` names them all")
            }
        }
        .into());
    };
    let offered = Offered::by(engine);
    let schema = &tool.tool.input_schema;
    if form == Form::Json {
        let mut document = with_rules(engine, tool, offered.document(tool));
        document["input_schema"] = schema.clone();
        output.json(&document)?;
        return Ok(());
    }
    let mut lines = heading(engine, &offered, tool);
    let table = parameter_table(schema);
    lines.push(if table.is_empty() {
        detail("takes", "no arguments")
    } else {
        format!("\n{}", table.render())
    });
    lines.push(format!("\n{}", plain(tool.tool.description.trim())));
    output.print(&lines.join("\n"))?;
    Ok(())
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

fn fact(label: &str, text: &str) -> String {
    format!(
        "{} {}",
        paint(look::QUIET, &format!("{label:11}")),
        plain(text)
    )
}

fn detail(label: &str, text: &str) -> String {
    format!(
        "  {} {}",
        paint(look::QUIET, &format!("{label:9}")),
        plain(text)
    )
}

fn at(rule: &Rule) -> String {
    rule.place
        .as_ref()
        .map(|place| format!("  ({place})"))
        .unwrap_or_default()
}
