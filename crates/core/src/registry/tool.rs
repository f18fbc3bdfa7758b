//! A tool in the catalogue.

use super::hints::hints;
use super::redaction_patterns;
use crate::artifact::Tool;
use crate::artifact::tool::{Limits, RetryPolicy};
use crate::check::CheckedTool;
use crate::client::ClientToolCall;
use crate::diagnostic::Diagnostic;
use crate::digest;
use crate::effect::Effects;
use crate::facts::ScriptKind;
use crate::id::ToolName;
use crate::plan::{Narrowing, narrowed};
use crate::redact::RedactionPatterns;
use crate::refusal::Code;
use crate::schema::CompiledSchema;
use crate::slots::Slots;
use crate::tool::{AnyTool, HostTool, Idempotency, Runs};
use crate::worker::script::{Script, Scripts};
use serde_json::{Map, Value};
use std::collections::HashMap;
use std::sync::{Arc, OnceLock};

/// A tool that was read, with what the path needs to call it.
#[derive(Debug)]
pub struct RegisteredTool {
    /// The tool as its author wrote it.
    pub tool: Tool,
    /// What the tool can do.
    pub effects: Effects,
    /// Why the tool is not offered; `None` when it is.
    pub unusable: Option<Diagnostic>,
    /// The code that calls are refused with because no worker could read the script.
    pub(crate) unread: Option<Code>,
    /// The tool's limits, completed from the project's.
    pub limits: Limits,
    /// What is redacted from this tool's results only; `None` unless the tool declares something.
    pub(crate) redaction: Option<Arc<RedactionPatterns>>,
    /// The built-ins that its script mentions, by full name.
    pub(crate) reaches: Vec<String>,
    pub(crate) body: Option<Arc<dyn AnyTool>>,
    pub(crate) at_once: Option<Arc<Slots>>,
    /// Where its body runs.
    pub(crate) runs: Runs,
    /// Arguments by whose values calls are serialized.
    pub(crate) serial: Vec<String>,
    /// What makes two calls equal for idempotency.
    pub(crate) key: Option<Key>,
    /// Who defined the tool.
    defined: Defined,
    canonical: ToolName,
    /// The client's call, when a client runs the tool itself.
    pub(crate) client_call: Option<ClientToolCall>,
    input: OnceLock<Result<CompiledSchema, String>>,
    output: OnceLock<Result<CompiledSchema, String>>,
}

/// What makes two calls of a tool equal.
#[derive(Debug)]
pub(crate) enum Key {
    /// The values of these arguments.
    By(Vec<String>),
    /// The result of this script.
    Script(Script),
}

/// Who defined a tool.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Defined {
    /// A file or a client.
    ByFile,
    /// The host, in Rust.
    ByHost,
}

/// The Rust code that the host registered, by tool name.
pub(crate) struct HostBodies<'a> {
    /// Whole tools.
    pub(crate) tools: &'a HashMap<String, HostTool>,
    /// Bodies for artifacts that have no script.
    pub(crate) bodies: &'a HashMap<String, Arc<dyn AnyTool>>,
}

impl RegisteredTool {
    /// Combines a checked tool with what the host registered for it.
    pub(super) fn new(
        checked: CheckedTool,
        limits: Limits,
        bodies: &HostBodies<'_>,
        scripts: &Scripts,
    ) -> Self {
        let CheckedTool {
            tool,
            effects,
            reaches,
            broken: unusable,
            unread,
        } = checked;
        let limits = narrowed(tool.limits, limits);
        let at_once = limits
            .max_concurrency
            .map(|most| Slots::new(usize::try_from(most).unwrap_or(usize::MAX)));
        let of_host = bodies.tools.get(&tool.name);
        let body = match (&tool.script, of_host) {
            (Some(_), _) => None,
            (None, Some(of_host)) => Some(Arc::clone(&of_host.body)),
            (None, None) => bodies.bodies.get(&tool.name).cloned(),
        };
        let by_script = tool
            .key
            .as_ref()
            .map(|script| Key::Script(scripts.number(ScriptKind::Tool, &script.text, Vec::new())));
        let key = match of_host.map(|of_host| &of_host.spec.idempotency) {
            Some(Idempotency::By(arguments)) => Some(Key::By(arguments.clone())),
            _ => by_script,
        };
        Self {
            unusable,
            unread,
            reaches,
            body,
            at_once,
            runs: of_host.map_or(Runs::Inline, |of_host| of_host.spec.runs),
            serial: of_host
                .map(|of_host| of_host.spec.serial_by.clone())
                .unwrap_or_default(),
            key,
            defined: match of_host {
                Some(_) => Defined::ByHost,
                None => Defined::ByFile,
            },
            redaction: (!tool.redact.is_empty())
                .then(|| Arc::new(redaction_patterns(&tool.redact))),
            ..Self::plain(tool, effects, limits)
        }
    }
}

impl RegisteredTool {
    /// A tool that a client runs itself. The client decides how much of its result the model reads.
    pub(crate) fn of_client(call: ClientToolCall) -> Self {
        let entry = call.entry();
        let tool = Tool::of_client(
            call.client(),
            call.name(),
            entry.paths.clone(),
            entry.tags.clone(),
        );
        let limits = Limits {
            max_output_bytes: Some(u64::MAX),
            ..Limits::default()
        };
        let plain = Self::plain(tool, entry.effects, limits);
        Self {
            client_call: Some(call),
            ..plain
        }
    }

    /// A tool of the harness itself, without effects.
    pub(super) fn with_body(tool: Tool, limits: Limits, body: Arc<dyn AnyTool>) -> Self {
        Self {
            body: Some(body),
            ..Self::plain(tool, Effects::NONE, limits)
        }
    }

    /// A callable tool with the defaults.
    fn plain(tool: Tool, effects: Effects, limits: Limits) -> Self {
        Self {
            canonical: tool.name.as_str().into(),
            tool,
            effects,
            limits,
            unusable: None,
            unread: None,
            redaction: None,
            reaches: Vec::new(),
            body: None,
            at_once: None,
            runs: Runs::Inline,
            serial: Vec::new(),
            key: None,
            defined: Defined::ByFile,
            client_call: None,
            input: OnceLock::new(),
            output: OnceLock::new(),
        }
    }

    /// The compiled schema of the arguments, or why it does not compile.
    pub(crate) fn input(&self) -> Result<&CompiledSchema, &str> {
        self.input
            .get_or_init(|| CompiledSchema::new(self.tool.input_schema.clone()))
            .as_ref()
            .map_err(String::as_str)
    }

    /// The compiled schema of the result, if the tool has one.
    pub(crate) fn output(&self) -> Option<Result<&CompiledSchema, &str>> {
        let schema = self.tool.output_schema.as_ref()?;
        Some(
            self.output
                .get_or_init(|| CompiledSchema::new(schema.value.clone()))
                .as_ref()
                .map_err(String::as_str),
        )
    }

    /// The tool's name.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.tool.name
    }

    /// The tool's name, for callers that keep it.
    pub(crate) fn canonical(&self) -> &ToolName {
        &self.canonical
    }

    /// Whether the host defined the whole tool in Rust.
    pub(crate) fn is_host(&self) -> bool {
        self.defined == Defined::ByHost
    }

    /// How a call is retried; `None` unless a repeated call is harmless.
    pub(crate) fn retries(&self) -> Option<RetryPolicy> {
        let retry = self
            .tool
            .retry
            .as_ref()
            .filter(|retry| retry.value.max_attempts > 1)?;
        (self.tool.idempotent || hints(self).idempotent).then_some(retry.value)
    }

    /// The name the caller knows: the client's own name for a tool that the client runs itself.
    pub(crate) fn called(&self) -> &str {
        self.client_call
            .as_ref()
            .map_or(self.name(), ClientToolCall::native)
    }

    /// The file that defines the tool.
    #[must_use]
    pub fn path(&self) -> &str {
        &self.tool.origin.source.path
    }

    /// The digest of the whole definition: frontmatter, script and description.
    pub(crate) fn definition(&self) -> String {
        digest::of_worth(&Value::Object(self.load_payload()))
    }

    /// The payload for `artifact.load` hooks.
    pub(crate) fn load_payload(&self) -> Map<String, Value> {
        let effects = self.effects.names().collect();
        let script = self.tool.script.as_ref().map(|script| &*script.text);
        load_payload(
            ["tool", self.name(), self.path()],
            &self.tool.frontmatter,
            script,
            &self.tool.description,
            &self.tool.tags,
            effects,
        )
    }

    /// Whether the tool has a body: a script or Rust code.
    pub(crate) fn has_body(&self) -> bool {
        self.tool.script.is_some() || self.body.is_some()
    }

    /// How the tool narrows what the layers allow.
    pub(crate) fn narrowing(&self) -> Narrowing {
        Narrowing::of(&self.tool, self.effects)
    }

    /// Whether the tool can be listed for models at all, before a mode's policy.
    pub(crate) fn is_listed(&self) -> bool {
        self.unusable.is_none() && !self.tool.deferred
    }
}

pub(super) fn load_payload(
    [kind, name, path]: [&str; 3],
    frontmatter: &Value,
    script: Option<&str>,
    body: &str,
    tags: &[String],
    effects: Vec<&str>,
) -> Map<String, Value> {
    let mut payload = Map::new();
    payload.insert("kind".into(), kind.into());
    payload.insert("name".into(), name.into());
    payload.insert("path".into(), path.into());
    payload.insert("frontmatter".into(), frontmatter.clone());
    payload.insert("script".into(), script.map_or(Value::Null, Value::from));
    payload.insert("body".into(), body.into());
    payload.insert("tags".into(), tags.to_vec().into());
    payload.insert("effects".into(), effects.into());
    payload
}
