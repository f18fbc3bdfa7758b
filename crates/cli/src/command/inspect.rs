//! `harness inspect`.

use super::list::{hook_document, tool_document};
use super::tools::parameters;
use crate::exit::{Exit, Usage};
use crate::open::Folder;
use crate::output::{self, Output, look, paint, plain};
use clap::Args;
use serde_json::{Map, Value, json};
use std::path::Path;
use tool_harness::call::DEFAULT_MODE;
use tool_harness::engine::Engine;
use tool_harness::registry::T as RegisteredTool;
use tool_harness::rule::{self, Match, Rule, Subject};

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

impl Inspect {
    pub(super) async fn run(self, folder: &Folder, output: &mut Output) -> anyhow::Result<Exit> {
        let path = folder.find()?;
        let engine = folder.load().await?;
        if let Some(name) = &self.tool {
            one_tool(&engine, name, self.json, output)?;
        } else if self.json {
            let mut document = json!({"rules": engine.registry().rules().iter().map(rule_document).collect::<Vec<_>>()});
            if !self.policy {
                describe(&engine, &path, &mut document);
            }
            output.json(&document)?;
        } else if self.policy {
            output.print(&policy(&engine))?;
        } else {
            output.print(&everything(&engine, &path))?;
        }
        if let (Some(problem), false) = (engine.is_stopped(), self.json) {
            output.say(&format!("{}: {}; nothing runs until it is mended", paint(look::BAD, "stopped"), plain(&problem.message)))?;
        }
        Ok(Exit::Done)
    }
}

fn describe(engine: &Engine, path: &Path, document: &mut Value) {
    let registry = engine.registry();
    document["project"] = json!(path.display().to_string());
    document["root"] = json!(registry.root().source.as_ref().map(|source| source.path.to_string()));
    document["stopped"] = json!(engine.is_stopped().is_some());
    document["tools"] = registry
        .tools()
        .map(|tool| {
            let mut tool_json = tool_document(tool);
            tool_json["rules"] = touching(engine, tool).iter().map(|found| rule_document(found.rule)).collect();
            tool_json
        })
        .collect();
    document["hooks"] = registry.hooks().map(hook_document).collect();
}

fn rule_document(rule: &Rule) -> Value {
    let mut object = json!({"action": rule.action.word(), "rule": rule.words});
    if let Some(place) = &rule.place {
        object["at"] = json!(place.to_string());
    }
    object
}

/// The rules that object to a tool whatever its arguments are.
fn touching<'a>(engine: &'a Engine, tool: &RegisteredTool) -> Vec<Match<'a>> {
    let arguments = Map::new();
    let subject = Subject::Tool { name: &tool.name, effects: tool.effects, capabilities: &[], path_params: &[], arguments: &arguments };
    rule::matches(engine.registry().rules(), &subject)
}

fn everything(engine: &Engine, path: &Path) -> String {
    let registry = engine.registry();
    let root = registry.root();
    let findings = engine.diagnostics();
    let mut lines = vec![
        fact("project", &path.display().to_string()),
        fact("root file", root.source.as_ref().map_or("none: defaults apply", |source| &source.path)),
        fact("mode", DEFAULT_MODE),
        fact("tools", &registry.tools().count().to_string()),
        fact("hooks", &registry.hooks().count().to_string()),
        fact("rules", &registry.rules().len().to_string()),
        fact("problems", &output::counts(findings)),
    ];
    let env: Vec<&str> = root.env.iter().map(|name| name.value.as_str()).collect();
    if !env.is_empty() {
        lines.push(fact("environment", &env.join(", ")));
    }
    for tool in registry.tools() {
        lines.push(String::new());
        let offered = if tool.usable { String::new() } else { paint(look::BAD, "  not offered") };
        lines.push(format!("{} {}{offered}", paint(look::STRONG, "tool"), paint(look::NAME, &plain(&tool.name))));
        lines.push(detail("file", &tool.path));
        lines.push(detail("effects", &tool.effects.to_string()));
        if !tool.tags.is_empty() {
            lines.push(detail("tags", &tool.tags.join(", ")));
        }
        for found in touching(engine, tool) {
            lines.push(detail(found.rule.action.word(), &format!("{}: {}{}", found.rule.words, found.because, at(found.rule))));
        }
    }
    for hook in registry.hooks() {
        lines.push(String::new());
        let broken = if hook.broken { paint(look::BAD, "  broken, blocks") } else { String::new() };
        lines.push(format!("{} {}{broken}", paint(look::STRONG, "hook"), paint(look::NAME, &plain(&hook.name))));
        lines.push(detail("file", &hook.path));
        lines.push(detail("event", hook.event.as_deref().unwrap_or("every gating event")));
        lines.push(detail("priority", &hook.priority.to_string()));
    }
    lines.join("\n")
}

fn policy(engine: &Engine) -> String {
    let rules = engine.registry().rules();
    let mut lines =
        vec![format!("{} in order; the strongest that matches decides: deny, then ask, then allow", output::count(rules.len(), "rule"))];
    for (index, rule) in rules.iter().enumerate() {
        let style = if rule.action == rule::Action::Deny { look::BAD } else { look::CAREFUL };
        lines.push(format!("{:3}  {}  {}{}", index + 1, paint(style, &format!("{:4}", rule.action.word())), plain(&rule.words), at(rule)));
    }
    lines.push("     everything else is allowed".to_owned());
    lines.join("\n")
}

fn one_tool(engine: &Engine, name: &str, json: bool, output: &mut Output) -> anyhow::Result<()> {
    let Some(tool) = engine.registry().tools().find(|tool| tool.name == name) else {
        return Err(Usage::new(format!("no tool `{name}`")).help("`harness list tools` names them all").into());
    };
    let schema = engine
        .surface(DEFAULT_MODE)
        .ok()
        .and_then(|surface| surface.tools.into_iter().find(|offered| offered.name == name))
        .map(|offered| offered.input_schema);
    if json {
        let mut document = tool_document(tool);
        document["rules"] = touching(engine, tool).iter().map(|found| rule_document(found.rule)).collect();
        if let Some(schema) = schema {
            document["input_schema"] = schema;
        }
        output.json(&document)?;
        return Ok(());
    }
    let mut lines = vec![
        format!("{} {}", paint(look::STRONG, "tool"), paint(look::NAME, &plain(name))),
        detail("file", &tool.path),
        detail("effects", &tool.effects.to_string()),
    ];
    for found in touching(engine, tool) {
        lines.push(detail(found.rule.action.word(), &format!("{}{}", found.because, at(found.rule))));
    }
    if let Some(schema) = &schema {
        lines.push(detail("takes", &parameters(schema)));
        for (parameter, about) in schema.get("properties").and_then(Value::as_object).into_iter().flatten() {
            lines.push(format!("    {}  {}", paint(look::NAME, &plain(parameter)), plain(&about.to_string())));
        }
    } else {
        lines.push(detail("offered", "no; `harness validate` and `harness inspect --policy` say why"));
    }
    lines.push(String::new());
    lines.push(plain(tool.description.trim()).into_owned());
    output.print(&lines.join("\n"))?;
    Ok(())
}

fn fact(label: &str, text: &str) -> String {
    format!("{} {}", paint(look::QUIET, &format!("{label:11}")), plain(text))
}

fn detail(label: &str, text: &str) -> String {
    format!("  {} {}", paint(look::QUIET, &format!("{label:9}")), plain(text))
}

fn at(rule: &Rule) -> String {
    rule.place.as_ref().map(|place| paint(look::QUIET, &format!("  {place}"))).unwrap_or_default()
}
