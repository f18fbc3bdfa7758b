//! Checks what a host registers, once: anything that could surprise a call is refused here with a
//! typed error.

use super::bound::{Answer, AnyTool, Bound, boxed};
use super::{CallAccess, Idempotency, Tool, ToolError, ToolOutput, ToolSpec};
use crate::artifact::tool::{Annotations, Approval, Claim, DeclaredEffects, Tool as Artifact};
use crate::artifact::{Form, Layer, Origin};
use crate::effect::Effects;
use crate::id::NameProblem;
use crate::isolate::caught;
use crate::path::within_workspace;
use crate::redact::RedactionPatterns;
use crate::schema::{self, CompiledSchema, Violation};
use crate::span::Spanned;
use crate::span::{Source, Span};
use crate::tool::READER;
use serde_json::{Map, Value, json};
use std::collections::HashSet;
use std::marker::PhantomData;
use std::sync::Arc;
use std::time::Duration;

/// Why a tool cannot be registered.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RegisterError {
    /// The name, or an alias, cannot be offered.
    #[error("the tool name `{name}` cannot be offered: {problem}")]
    Name {
        /// The name.
        name: String,
        /// What is wrong with it.
        problem: NameProblem,
    },
    /// Another tool already has that name or alias.
    #[error("tool \"{0}\" is defined more than once")]
    Duplicate(String),
    /// The schema of the arguments is not a JSON Schema of an object.
    #[error("the input schema of `{tool}` is not valid: {problem}")]
    InputSchema {
        /// The tool.
        tool: String,
        /// What is wrong with it.
        problem: String,
    },
    /// The schema of the result is not a JSON Schema.
    #[error("the output schema of `{tool}` is not valid: {problem}")]
    OutputSchema {
        /// The tool.
        tool: String,
        /// What is wrong with it.
        problem: String,
    },
    /// A typed tool or closure also declares a schema, which would be ignored: its types are its
    /// schema.
    #[error(
        "`{tool}` declares an {which} schema, but its types are its schema; put what the schema adds into the type"
    )]
    SchemaBesideTypes {
        /// The tool.
        tool: String,
        /// `input` or `output`.
        which: &'static str,
    },
    /// The schema shows the model an argument that the harness fills in.
    #[error("`{argument}` of `{tool}` is injected, and its schema shows it to the model")]
    InjectedInSchema {
        /// The tool.
        tool: String,
        /// The argument.
        argument: String,
    },
    /// An argument is injected more than once, and only one value could be used.
    #[error("`{argument}` of `{tool}` is injected more than once")]
    InjectedTwice {
        /// The tool.
        tool: String,
        /// The argument.
        argument: String,
    },
    /// An injected argument has no name.
    #[error("`{0}` injects an argument without a name")]
    InjectedUnnamed(String),
    /// An alias has no provider.
    #[error("the alias `{alias}` of `{tool}` is for a provider without a name")]
    AliasWithoutProvider {
        /// The tool.
        tool: String,
        /// The alias.
        alias: String,
    },
    /// A tool has more than one alias for a provider, and only one could be offered.
    #[error("`{tool}` has more than one alias for `{provider}`; one is accepted")]
    AliasTwice {
        /// The tool.
        tool: String,
        /// The provider.
        provider: String,
    },
    /// A retry policy allows no attempt, not even the first.
    #[error("`{0}` has zero attempts, so it would never run; 1 means no retry")]
    NoAttempt(String),
    /// A retry policy's multiplier is negative or not a number.
    #[error("the retry `multiplier` of `{0}` must be zero or more; 2 doubles the wait each time")]
    Multiplier(String),
    /// A limit is so low that every call would exceed it.
    #[error("`{limit}` of `{tool}` must be at least {least}; leave it out for no limit")]
    Limit {
        /// The tool.
        tool: String,
        /// The name of the limit in [`ToolSpec::limits`].
        limit: &'static str,
        /// The smallest accepted value, as in a tool's file.
        least: u64,
    },
    /// The folder that a tool is restricted to is not in the workspace.
    #[error(
        "`{tool}` is kept to `{folder}`, which is not in the workspace; a folder of it, relative to it, is accepted"
    )]
    WorkspaceRoot {
        /// The tool.
        tool: String,
        /// The folder.
        folder: String,
    },
    /// A default that is filled in for a missing argument does not fit the schema.
    #[error("the input schema of `{tool}` has a default that does not fit, at {path}: {problem}")]
    Default {
        /// The tool.
        tool: String,
        /// Its place in the schema, as a JSON Pointer.
        path: String,
        /// What is wrong with it.
        problem: String,
    },
    /// The host provides no value for an injected argument.
    #[error(
        "`{argument}` of `{tool}` is injected by the host as `{name}`, and the host provides no such value"
    )]
    NothingToInject {
        /// The tool.
        tool: String,
        /// The argument.
        argument: String,
        /// The name that the host would have to provide.
        name: String,
    },
    /// A key uses an argument that the schema does not have.
    #[error("`{tool}` names the argument `{argument}`, which its schema does not have; it has {}", said(.known))]
    NoSuchArgument {
        /// The tool.
        tool: String,
        /// The argument.
        argument: String,
        /// The arguments that the schema has.
        known: Vec<String>,
    },
    /// A key uses no argument, so all calls would be the same.
    #[error("the idempotency key of `{0}` names no argument, so all its calls would count as one")]
    KeyEmpty(String),
    /// A redaction entry is invalid and would protect nothing.
    #[error("`{tool}` cannot redact: {problem}")]
    Redact {
        /// The tool.
        tool: String,
        /// What is wrong with the entry.
        problem: String,
    },
    /// The name, or an alias, belongs to one of the harness's own tools.
    #[error("`{0}` is the name of a tool that the harness has itself")]
    Reserved(String),
    /// The host's code panicked while it was being registered.
    #[error("{0} panicked")]
    Panicked(String),
    /// The tool does not declare its effects.
    #[error(
        "`{0}` does not say what it does to the world; `effects(Effects::NONE)`, or `pure()`, says that it is nothing"
    )]
    EffectsUndeclared(String),
}

/// A registered tool.
pub(crate) struct HostTool {
    pub(crate) spec: ToolSpec,
    pub(crate) effects: Effects,
    pub(crate) body: Arc<dyn AnyTool>,
}

impl HostTool {
    /// Checks a tool. Its specification is read once.
    pub(crate) fn new<T, State, Ctx>(tool: T, state: Arc<State>) -> Result<Self, RegisterError>
    where
        T: Tool<State, Ctx>,
        State: Send + Sync + 'static,
        Ctx: Send + Sync + 'static,
    {
        let spec = ask_host("`spec` of a tool", || tool.spec())?;
        let effects = judge(&spec)?;
        Ok(Self {
            spec,
            effects,
            body: Arc::new(Bound {
                tool,
                state,
                context: PhantomData,
            }),
        })
    }

    /// The tool as an artifact, so that rules, hooks, doors and checks treat it like any other.
    pub(crate) fn artifact(&self) -> Artifact {
        let (spec, effects) = (&self.spec, self.effects);
        let source = Source::new(format!("the Rust tool {}", spec.name), "");
        let span = Span::default();
        let flat = |value: Option<Duration>| {
            value.map_or(0, |time| {
                u64::try_from(time.as_millis()).unwrap_or(u64::MAX).max(1)
            })
        };
        let names: Vec<&str> = effects.names().collect();
        let idempotent = spec.idempotency != Idempotency::None;
        Artifact {
            name: spec.name.clone(),
            origin: Origin {
                source,
                layer: Layer::Project,
                form: Form::File,
            },
            name_span: span,
            description: if spec.description.is_empty() {
                spec.name.clone()
            } else {
                spec.description.clone()
            },
            described: !spec.description.is_empty(),
            description_span: None,
            frontmatter: json!({"effects": names, "safety": {"idempotent": idempotent, "confirm": spec.safety.confirm}, "tags": spec.tags}),
            input_schema: spec.arguments(),
            schema_source: Some(Spanned {
                value: "input_schema",
                span,
            }),
            output_schema: spec
                .output_schema
                .clone()
                .map(|value| Spanned { value, span }),
            script: None,
            timeout_ms: flat(spec.timeout),
            declared_effects: vec![DeclaredEffects {
                spelling: format!("effects: {}", names.join(", ")),
                span,
                claim: Claim::Exactly(effects),
            }],
            requires_approval: spec.safety.confirm.then_some(Spanned {
                value: Approval::Always,
                span,
            }),
            approval_timeout_ms: 300_000,
            annotations: Annotations {
                path_params: spec.path_params.clone(),
                ..Annotations::default()
            },
            idempotent,
            key: None,
            retry: spec.retry.map(|value| Spanned { value, span }),
            inject: spec
                .injected
                .iter()
                .map(|(name, value)| {
                    (
                        name.clone(),
                        Spanned {
                            value: value.clone(),
                            span,
                        },
                    )
                })
                .collect(),
            redact: spec
                .safety
                .redact
                .iter()
                .map(|value| Spanned {
                    value: value.clone(),
                    span,
                })
                .collect(),
            permissions: Vec::new(),
            workspace_root: spec
                .safety
                .workspace_root
                .as_deref()
                .and_then(within_workspace)
                .map(|value| Spanned { value, span }),
            limits: spec.limits,
            deferred: false,
            aliases: spec
                .aliases
                .iter()
                .map(|(provider, alias)| {
                    (
                        provider.clone(),
                        Spanned {
                            value: alias.clone(),
                            span,
                        },
                    )
                })
                .collect(),
            examples: Vec::new(),
            strict: false,
            tags: spec.tags.clone(),
            background: None,
            unsupported: Vec::new(),
        }
    }
}

/// Refuses a tool that could not be offered or called as it declares. Returns the effects, which
/// must be declared.
fn judge(spec: &ToolSpec) -> Result<Effects, RegisterError> {
    let tool = || spec.name.clone();
    for name in std::iter::once(&spec.name).chain(spec.aliases.iter().map(|(_, alias)| alias)) {
        if let Some(problem) = NameProblem::of(name) {
            return Err(RegisterError::Name {
                name: name.clone(),
                problem,
            });
        }
        if name == READER {
            return Err(RegisterError::Reserved(name.clone()));
        }
    }
    if let Some(which) = spec.beside_types {
        return Err(RegisterError::SchemaBesideTypes {
            tool: tool(),
            which,
        });
    }
    judge_words(spec)?;
    let input = spec.arguments();
    if !schema::is_of_objects(&input) {
        let alone = "arguments are an object, and this schema describes something else";
        let is_choice = ["oneOf", "anyOf", "enum"]
            .iter()
            .any(|keyword| input.get(*keyword).is_some());
        // The schema of a Rust enum has no object around its variants, and most providers accept no
        // choice there.
        let problem = if is_choice {
            format!("{alone}: put the choice (an `enum` in Rust) into a field of a struct")
        } else {
            alone.to_owned()
        };
        return Err(RegisterError::InputSchema {
            tool: tool(),
            problem,
        });
    }
    let compiled = CompiledSchema::new(input).map_err(|problem| RegisterError::InputSchema {
        tool: tool(),
        problem,
    })?;
    if let Some(output) = &spec.output_schema {
        CompiledSchema::new(output.clone()).map_err(|problem| RegisterError::OutputSchema {
            tool: tool(),
            problem,
        })?;
    }
    if let Some((argument, _)) = spec
        .injected
        .iter()
        .find(|(name, _)| schema::mentions(&compiled.value, name))
    {
        return Err(RegisterError::InjectedInSchema {
            tool: tool(),
            argument: argument.clone(),
        });
    }
    if let Some(Violation {
        path,
        message: problem,
    }) = schema::unfit_default(&compiled.value)
    {
        return Err(RegisterError::Default {
            tool: tool(),
            path,
            problem,
        });
    }
    let keyed = match &spec.idempotency {
        Idempotency::By(arguments) if arguments.is_empty() => {
            return Err(RegisterError::KeyEmpty(tool()));
        }
        Idempotency::By(arguments) => arguments.as_slice(),
        Idempotency::None | Idempotency::Natural => &[],
    };
    let named = keyed.iter().chain(&spec.serial_by).chain(&spec.path_params);
    if let Some(argument) = named
        .into_iter()
        .find(|name| compiled.property(name).is_none())
    {
        let known = compiled.properties().map(str::to_owned).collect();
        return Err(RegisterError::NoSuchArgument {
            tool: tool(),
            argument: argument.clone(),
            known,
        });
    }
    RedactionPatterns::new(spec.safety.redact.iter().map(String::as_str)).map_err(|problem| {
        RegisterError::Redact {
            tool: tool(),
            problem,
        }
    })?;
    spec.effects
        .ok_or_else(|| RegisterError::EffectsUndeclared(tool()))
}

/// The names of arguments, in words for people.
fn said(names: &[String]) -> String {
    match names {
        [] => "none".to_owned(),
        names => names
            .iter()
            .map(|name| format!("`{name}`"))
            .collect::<Vec<_>>()
            .join(", "),
    }
}

/// Refuses settings that are empty or impossible.
fn judge_words(spec: &ToolSpec) -> Result<(), RegisterError> {
    let tool = || spec.name.clone();
    if let Some((_, alias)) = spec
        .aliases
        .iter()
        .find(|(provider, _)| provider.trim().is_empty())
    {
        return Err(RegisterError::AliasWithoutProvider {
            tool: tool(),
            alias: alias.clone(),
        });
    }
    let mut providers = HashSet::new();
    if let Some((provider, _)) = spec
        .aliases
        .iter()
        .find(|(provider, _)| !providers.insert(provider))
    {
        return Err(RegisterError::AliasTwice {
            tool: tool(),
            provider: provider.clone(),
        });
    }
    let mut injected = HashSet::new();
    for (argument, _) in &spec.injected {
        if argument.is_empty() {
            return Err(RegisterError::InjectedUnnamed(tool()));
        }
        if !injected.insert(argument) {
            return Err(RegisterError::InjectedTwice {
                tool: tool(),
                argument: argument.clone(),
            });
        }
    }
    if spec.retry.is_some_and(|retry| retry.max_attempts == 0) {
        return Err(RegisterError::NoAttempt(tool()));
    }
    if spec
        .retry
        .is_some_and(|retry| !(0.0..=f64::MAX).contains(&retry.multiplier))
    {
        return Err(RegisterError::Multiplier(tool()));
    }
    let limits = &spec.limits;
    for (limit, most, least) in [
        ("max_concurrency", limits.max_concurrency, 1),
        ("max_output_bytes", limits.max_output_bytes, 1),
        ("memory_mb", limits.memory_mb, 8),
        ("cpu_ms", limits.cpu_ms, 1),
        ("processes", limits.processes, 1),
    ] {
        if most.is_some_and(|most| most < least) {
            return Err(RegisterError::Limit {
                tool: tool(),
                limit,
                least,
            });
        }
    }
    match &spec.safety.workspace_root {
        Some(folder) if within_workspace(folder).is_none() => Err(RegisterError::WorkspaceRoot {
            tool: tool(),
            folder: folder.clone(),
        }),
        _ => Ok(()),
    }
}

/// A closure over JSON as the body of an artifact, which declares the rest.
pub(crate) fn unbound<F, R>(body: F) -> Arc<dyn AnyTool>
where
    F: Fn(Value) -> R + Send + Sync + 'static,
    R: Future<Output = Result<Value, ToolError>> + Send + 'static,
{
    struct Unbound<F>(F);
    impl<F, R> AnyTool for Unbound<F>
    where
        F: Fn(Value) -> R + Send + Sync + 'static,
        R: Future<Output = Result<Value, ToolError>> + Send + 'static,
    {
        fn call<'a>(&'a self, _: &'a dyn CallAccess, arguments: Map<String, Value>) -> Answer<'a> {
            let answer = (self.0)(Value::Object(arguments));
            Box::pin(async move { boxed(answer.await.map(ToolOutput::value)) })
        }
    }
    Arc::new(Unbound(body))
}

/// Runs the host's own code during registration; a panic becomes an error.
pub(crate) fn ask_host<T>(what: &str, answer: impl FnOnce() -> T) -> Result<T, RegisterError> {
    caught(answer).ok_or_else(|| RegisterError::Panicked(what.to_owned()))
}
