//! `harness tools`.

use crate::exit::Exit;
use crate::open;
use crate::output::{self, Output, Table, error_count};
use crate::project::ProjectArgs;
use clap::{Args, ValueEnum};
use serde_json::{Value, json};
use tool_harness::DEFAULT_MODE;
use tool_harness::diagnostic::{Diagnostic, Severity};
use tool_harness::engine::Engine;
use tool_harness::registry::OfferedTool;
use tool_harness::view::export;

#[derive(Args)]
pub(crate) struct ToolsArgs {
    /// The format of the tools
    #[arg(long, value_enum, default_value_t = ToolsFormat::Table)]
    format: ToolsFormat,
    /// The same as `--format json`; with a provider's format, one document with the tools and the
    /// findings
    #[arg(long)]
    json: bool,
    /// The mode whose tools are shown
    #[arg(long, default_value = DEFAULT_MODE)]
    mode: String,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum ToolsFormat {
    /// Aligned columns
    Table,
    /// One JSON document with every schema
    Json,
    /// `tools` of OpenAI's Responses API
    Openai,
    /// `tools` of OpenAI's Chat Completions API
    OpenaiChat,
    /// `tools` of Anthropic's Messages API
    Anthropic,
    /// `tools` of the Gemini API
    Gemini,
    /// The result of `tools/list` of MCP
    Mcp,
}

impl ToolsFormat {
    fn of_provider(self) -> Option<export::Format> {
        Some(match self {
            Self::Table | Self::Json => return None,
            Self::Openai => export::Format::Openai,
            Self::OpenaiChat => export::Format::OpenaiChat,
            Self::Anthropic => export::Format::Anthropic,
            Self::Gemini => export::Format::Gemini,
            Self::Mcp => export::Format::Mcp,
        })
    }
}

impl ToolsArgs {
    pub(super) async fn run(
        self,
        project: &ProjectArgs,
        output: &mut Output,
    ) -> anyhow::Result<Exit> {
        let engine = project.open().await?;
        let surface = engine.surface(&self.mode)?;
        if let Some(format) = self.format.of_provider() {
            open::ensure_surface_is_sound(&engine)?;
            let mut exported = export::export(&surface, format);
            if self.json {
                exported.diagnostics.extend(worth_saying(&engine));
            }
            write(&exported, self.json, output)?;
            if !self.json {
                log(&engine, output)?;
            }
            let errors = error_count(&exported.diagnostics) + error_count(engine.diagnostics());
            return Ok(Exit::failed_if(errors > 0));
        }
        if self.json || self.format == ToolsFormat::Json {
            output.json(&json!({"mode": surface.mode, "tools": surface.tools.iter().map(document).collect::<Vec<_>>()}))?;
            log(&engine, output)?;
            return Ok(Exit::Done);
        }
        let mut table = Table::new(["TOOL", "PARAMETERS", "EFFECTS", "DESCRIPTION"]);
        for tool in &surface.tools {
            table.row([
                tool.name.clone(),
                parameters(&tool.input_schema),
                tool.effects.to_string(),
                first_sentence(&tool.description, 60),
            ]);
        }
        if table.is_empty() {
            output.say("no tool is offered; `harness validate` shows what is wrong, `harness inspect --policy` what is denied")?;
        } else {
            output.print(&table.render())?;
        }
        log(&engine, output)?;
        Ok(Exit::Done)
    }
}

/// The errors and warnings; notes are for `harness validate`.
fn worth_saying(engine: &Engine) -> impl Iterator<Item = Diagnostic> {
    engine
        .report()
        .into_iter()
        .filter(|finding| finding.severity >= Severity::Warning)
}

/// Prints them for people.
fn log(engine: &Engine, output: &mut Output) -> std::io::Result<()> {
    for finding in worth_saying(engine) {
        output.say(&format!("{}\n", output::diagnostic(&finding)))?;
    }
    output.warn_of_errors(engine)
}

/// Writes the provider's document, and the findings for people.
fn write(exported: &export::Exported, json: bool, output: &mut Output) -> std::io::Result<()> {
    let findings = &exported.diagnostics;
    if json {
        let findings: Vec<Value> = findings.iter().map(Diagnostic::to_json).collect();
        output.json(&json!({"tools": exported.document, "diagnostics": findings}))?;
    } else {
        output.json(&exported.document)?;
        for finding in findings {
            output.say(&format!("{}\n", output::diagnostic(finding)))?;
        }
    }
    Ok(())
}

fn document(tool: &OfferedTool) -> Value {
    let mut object = json!({
        "name": tool.name,
        "description": tool.description,
        "input_schema": tool.input_schema,
        "effects": tool.effects.names().collect::<Vec<_>>(),
        "idempotent": tool.idempotent,
        "tags": tool.tags,
        "file": tool.path,
        "has_body": tool.has_body,
    });
    if let Some(schema) = &tool.output_schema {
        object["output_schema"] = schema.clone();
    }
    object
}

/// The names of the parameters, optional ones with a question mark.
fn parameters(schema: &Value) -> String {
    let names: Vec<String> = properties(schema)
        .map(|(name, _)| match is_required(schema, name) {
            true => name.clone(),
            false => format!("{name}?"),
        })
        .collect();
    match names.join(" ") {
        none if none.is_empty() => "-".to_owned(),
        names => names,
    }
}

/// The declared properties of a schema.
pub(super) fn properties(schema: &Value) -> impl Iterator<Item = (&String, &Value)> {
    let properties = schema.get("properties").and_then(Value::as_object);
    properties.into_iter().flatten()
}

pub(super) fn is_required(schema: &Value, name: &str) -> bool {
    let required = schema.get("required").and_then(Value::as_array);
    required.is_some_and(|names| names.iter().any(|required| required == name))
}

/// The first line that is not a heading, cut to `max` characters.
pub(super) fn first_sentence(text: &str, max: usize) -> String {
    let prose = text.lines().map(str::trim).filter(|line| !line.is_empty());
    let line = prose
        .clone()
        .find(|line| !line.starts_with('#'))
        .or_else(|| prose.clone().next())
        .unwrap_or_default();
    if line.chars().count() <= max {
        return line.to_owned();
    }
    let cut: String = line.chars().take(max.saturating_sub(3)).collect();
    format!("{}...", cut.trim_end())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn optional_parameters_have_a_question_mark() {
        let schema = json!({"properties": {"path": {}, "limit": {}}, "required": ["path"]});
        assert_eq!(parameters(&schema), "path limit?");
        assert_eq!(parameters(&json!({"type": "object"})), "-");
    }

    #[test]
    fn a_description_is_its_first_line_of_prose() {
        for (text, most, expected) in [
            ("# read_file\n\nReads a file.\nMore.", 60, "Reads a file."),
            ("# only", 60, "# only"),
            ("", 60, ""),
            ("twelve chars", 12, "twelve chars"),
            ("thirteen char", 12, "thirteen..."),
        ] {
            assert_eq!(first_sentence(text, most), expected);
        }
    }
}
