//! Writes a surface in a provider's form. Every loss is reported: an error leaves a tool out, a
//! warning leaves a part of it out, a note changes nothing.

mod anthropic;
mod gemini;
mod mcp;
mod openai;
mod strict;
#[cfg(test)]
mod tests;

use super::Offered;
use crate::check::rule::{export_keyword, export_name, export_too_many};
use crate::check::schema::pointer;
use crate::diagnostic::Diagnostic;
use crate::diagnostic::Rule;
use crate::registry::OfferedTool;
use serde_json::Value;

/// The APIs whose `tools` the harness can write.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// OpenAI's Responses API.
    Openai,
    /// OpenAI's Chat Completions API, which many servers implement.
    OpenaiChat,
    /// Anthropic's Messages API.
    Anthropic,
    /// Google's Gemini API.
    Gemini,
    /// The result of `tools/list` of the Model Context Protocol.
    Mcp,
}

impl Format {
    /// Every format.
    pub const ALL: [Self; 5] = [
        Self::Openai,
        Self::OpenaiChat,
        Self::Anthropic,
        Self::Gemini,
        Self::Mcp,
    ];

    const fn dialect(self) -> &'static Dialect {
        match self {
            Self::Openai => &openai::RESPONSES,
            Self::OpenaiChat => &openai::CHAT,
            Self::Anthropic => &anthropic::MESSAGES,
            Self::Gemini => &gemini::GENERATE,
            Self::Mcp => &mcp::LISTING,
        }
    }
}

/// A surface in a provider's form, and what did not fit.
#[derive(Clone, Debug)]
pub struct Exported {
    /// The value of `tools` in a request, or for MCP the result of `tools/list`.
    pub document: Value,
    /// What was left out and why.
    pub diagnostics: Vec<Diagnostic>,
}

/// What a provider accepts, and how its tools are written.
struct Dialect {
    /// The provider's key in `aliases`.
    provider: &'static str,
    /// The provider's name for people.
    title: &'static str,
    most_tools: usize,
    is_name: fn(&str) -> bool,
    /// What `is_name` accepts, in words for the help.
    names: &'static str,
    write: fn(&mut Writer<'_>, &str) -> Option<Value>,
    document: fn(Vec<Value>) -> Value,
}

/// Writes the tools of a surface for a provider.
#[must_use]
pub fn export(surface: &Offered, format: Format) -> Exported {
    let dialect = format.dialect();
    let mut diagnostics = Vec::new();
    let mut named = named(surface, dialect, &mut diagnostics);
    if named.len() > dialect.most_tools {
        let left_out: Vec<String> = named
            .drain(dialect.most_tools..)
            .map(|(tool, _)| format!("`{}`", tool.name))
            .collect();
        let message = format!(
            "{} takes {} tools; left out: {}",
            dialect.title,
            dialect.most_tools,
            left_out.join(", ")
        );
        diagnostics.push(
            export_too_many::RULE
                .finding(message)
                .help("offer fewer: `deferred: true`, or a denial in `tools_policy`"),
        );
    }
    let mut budget = strict::Budget::default();
    let mut tools = Vec::with_capacity(named.len());
    for (tool, name) in named {
        let mut writer = Writer {
            tool,
            dialect,
            budget: &mut budget,
            diagnostics: &mut diagnostics,
        };
        tools.extend((dialect.write)(&mut writer, name));
    }
    Exported {
        document: (dialect.document)(tools),
        diagnostics,
    }
}

/// The tools with their names for the provider. A tool without a valid name is reported.
/// `ALIAS_CLASH` ensures that names are unique.
fn named<'s>(
    surface: &'s Offered,
    dialect: &Dialect,
    diagnostics: &mut Vec<Diagnostic>,
) -> Vec<(&'s OfferedTool, &'s str)> {
    let mut kept = Vec::with_capacity(surface.tools.len());
    for tool in &surface.tools {
        let name = tool.name_for(dialect.provider);
        let rename = format!(
            "write `aliases: {{{}: NAME}}` with a name of {}",
            dialect.provider, dialect.names
        );
        if !(dialect.is_name)(name) {
            let message = format!(
                "{} does not accept the name `{name}`, so the tool is left out",
                dialect.title
            );
            diagnostics.push(
                about(tool, &export_name::RULE, message)
                    .field("aliases")
                    .help(rename),
            );
        } else {
            kept.push((tool, name));
        }
    }
    kept
}

fn about(tool: &OfferedTool, rule: &Rule, message: impl Into<String>) -> Diagnostic {
    rule.finding(message)
        .at(tool.place.clone())
        .tool(&tool.name)
}

/// Writes one tool in a provider's form.
struct Writer<'w> {
    tool: &'w OfferedTool,
    dialect: &'static Dialect,
    /// The budget that the strict tools of one request share.
    budget: &'w mut strict::Budget,
    diagnostics: &'w mut Vec<Diagnostic>,
}

impl Writer<'_> {
    fn add(&mut self, rule: &Rule, message: String, field: &str, help: &str) {
        self.diagnostics
            .push(about(self.tool, rule, message).field(field).help(help));
    }

    /// Reports that a keyword of a schema was left out.
    fn left_out(&mut self, field: &str, path: &[String], keyword: &str) {
        let at = if path.is_empty() {
            "the top".to_owned()
        } else {
            format!("`{}`", pointer(path))
        };
        let message = format!(
            "{} does not take `{keyword}` at {at} of `{field}`, so it is left out",
            self.dialect.title
        );
        self.add(
            &export_keyword::RULE,
            message,
            field,
            "say it in a `description` if the model should know; harness checks it either way",
        );
    }
}

/// Whether a name consists of at most `most` characters out of `A-Z a-z 0-9 _ -`.
fn is_plain_name(name: &str, most: usize) -> bool {
    !name.is_empty()
        && name.len() <= most
        && name
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-'))
}
