//! Admit: the tool exists and is offered, and the arguments are JSON that fits its schema.

pub(super) mod repair;

use super::context::Context;
use super::outcome::help;
use crate::call::Arguments;
use crate::client::{Client, ClientToolCall};
use crate::depth::let_go;
use crate::event::EventKind;
use crate::refusal::{Code, Refusal};
use crate::registry::RegisteredTool;
use crate::schema::{CompiledSchema, Violation, escaped};
use crate::store::Admission;
use crate::view::ActiveTool;
use crate::worker::wire;
use repair::{repair, unfenced};
use serde_json::{Map, Value, json};
use std::sync::Arc;

/// A call whose tool exists and whose arguments fit.
pub(super) struct Admitted {
    tool: Arc<ActiveTool>,
    arguments: Map<String, Value>,
    raw: String,
}

impl Admitted {
    pub(super) fn into_parts(self) -> (Arc<ActiveTool>, Map<String, Value>, String) {
        (self.tool, self.arguments, self.raw)
    }
}

/// The most `enum` values or tool names that a refusal lists. The schema and the surface have the
/// full lists.
const MAX_LISTED_VALUES: usize = 12;

/// Longer arguments are refused without being parsed.
const MAX_ARGUMENT_BYTES: usize = 8 << 20;

pub(super) fn admit(ctx: &Context, sent: Arguments) -> Result<Admitted, Refusal> {
    // Arguments that nest too deep must be dropped safely, whichever check refuses the call.
    let sent = walkable(sent);
    claim(ctx)?;
    running(ctx)?;
    let tool = find(ctx)?;
    supported(ctx, &tool)?;
    let (mut arguments, raw) = parse(ctx, Some(&tool), sent?)?;
    forged(&tool, &arguments)?;
    rename_aliases(&tool, &mut arguments)?;
    // An alias may resolve to an injected key.
    forged(&tool, &arguments)?;
    let arguments = validate(&tool, arguments)?;
    if !ctx.is_rehearsed() {
        count(ctx, &tool)?;
    }
    Ok(Admitted {
        tool,
        arguments,
        raw,
    })
}

/// Counts a call against every limit, or against none: if one limit refuses the call, no other has
/// counted it.
fn count(ctx: &Context, tool: &RegisteredTool) -> Result<(), Refusal> {
    let in_run = || match &ctx.call().terms {
        None => Ok(()),
        Some(terms) => terms.count().map_err(|(of, most)| {
            Refusal::new(
                Code::Limit,
                format!("a {of} may make {most} calls, and this one already has"),
            )
            .help(format!("make it in the next {of}"))
        }),
    };
    let Some(most) = tool.limits.max_calls else {
        return in_run();
    };
    if ctx.session().count_call(tool.name(), most, in_run)? == Admission::Counted {
        return Ok(());
    }
    let message = format!(
        "`{}` may be called {most} times in a session, and it already was",
        tool.name()
    );
    let place = if tool.is_host() {
        "the host's own code"
    } else {
        "the tool's file"
    };
    Err(Refusal::new(Code::Limit, message).help(format!(
        "a new session starts a new count; `limits.max_calls` is set in {place} or in harness.md"
    )))
}

/// Admits a call of a client's own tool: the root file must not be broken, and the harness must
/// support what the project declares. The client checks its own schema.
pub(super) fn admit_client_call(
    ctx: &Context,
    client: &Client,
    sent: Arguments,
) -> Result<AdmittedClientCall, Refusal> {
    let sent = walkable(sent);
    running(ctx)?;
    let foreign = ClientToolCall::find(
        &ctx.catalogue().clients,
        ctx.shared().workspace()?,
        client,
        &ctx.call().tool,
    )?;
    let tool = Arc::new(ActiveTool::of_client(RegisteredTool::of_client(foreign)));
    supported(ctx, &tool)?;
    let (input, raw) = parse(ctx, None, sent?)?;
    let input = match &tool.client_call {
        Some(foreign) => foreign.uncontained(input),
        None => input,
    };
    Ok(AdmittedClientCall { tool, input, raw })
}

/// A client's call whose tool exists and whose arguments are readable.
pub(super) struct AdmittedClientCall {
    tool: Arc<ActiveTool>,
    input: Map<String, Value>,
    raw: String,
}

impl AdmittedClientCall {
    pub(super) fn input(&self) -> &Map<String, Value> {
        &self.input
    }

    pub(super) fn foreign(&self) -> Option<&ClientToolCall> {
        self.tool.client_call.as_ref()
    }

    /// One part of the call, which continues like any other call.
    pub(super) fn part(&self, arguments: Map<String, Value>) -> Admitted {
        Admitted {
            tool: Arc::clone(&self.tool),
            arguments,
            raw: self.raw.clone(),
        }
    }
}

/// Refuses a call id that was used before.
pub(super) fn claim(ctx: &Context) -> Result<(), Refusal> {
    if !ctx.is_rehearsed() && !ctx.session().claim_id(&ctx.call().id) {
        let message = format!(
            "the call id `{}` was used before in this session",
            ctx.call().id
        );
        return Err(
            Refusal::new(Code::DuplicateCall, message).help("each call needs an id of its own")
        );
    }
    Ok(())
}

/// Refuses every call while the root file is broken.
fn running(ctx: &Context) -> Result<(), Refusal> {
    if let Some(problem) = &ctx.catalogue().stopped {
        let above = ctx
            .catalogue()
            .layers
            .iter()
            .find(|layer| layer.broken.is_some());
        let file = match above.and(problem.place.as_ref()) {
            Some(place) => format!("`{}`", place.source.path),
            None => "the project's root file".to_owned(),
        };
        let refusal = Refusal::new(
            Code::Stopped,
            format!(
                "{file} is broken, so nothing may be called: {}",
                problem.message
            ),
        )
        .help("a person must fix it; `harness validate` shows everything that is wrong");
        return Err(match &problem.place {
            Some(place) => refusal.at(place.clone()),
            None => refusal,
        });
    }
    Ok(())
}

fn find(ctx: &Context) -> Result<Arc<ActiveTool>, Refusal> {
    let name = ctx.call().tool.as_str();
    if !ctx.is_mode_known() {
        let message = format!("there is no mode `{}`", ctx.call().mode);
        return Err(Refusal::new(Code::ToolNotAdvertised, message)
            .help("this project has one mode, `default`"));
    }
    let Some(tool) = ctx.view().find(name) else {
        if let Some(broken) = ctx.catalogue().find_broken(name) {
            return Err(not_offered(
                name,
                &broken.problem.message,
                broken.problem.place.clone(),
            ));
        }
        return Err(unknown(ctx));
    };
    if let (Some(problem), Some(code)) = (&tool.unusable, tool.unread) {
        // The tool's file is not known to be wrong; it only could not be read.
        let refusal = Refusal::new(
            code,
            format!("`{name}` could not be read: {}", problem.message),
        );
        return Err(match (help(code), &problem.help) {
            (Some(help), _) => refusal.help(help),
            (None, Some(help)) => refusal.help(help.as_str()),
            (None, None) => refusal,
        });
    }
    if let Some(problem) = &tool.unusable {
        return Err(not_offered(name, &problem.message, problem.place.clone()));
    }
    if tool.tool.deferred {
        let message =
            format!("`{name}` is deferred: it is offered only after a tool search names it");
        return Err(Refusal::new(Code::ToolNotAdvertised, message)
            .help("remove `deferred: true` from the tool's file to offer it always"));
    }
    if ctx
        .call()
        .terms
        .as_ref()
        .is_some_and(|terms| !terms.offers(tool.name()))
    {
        let message = format!("`{name}` is not offered in this turn");
        return Err(Refusal::new(Code::ToolNotAdvertised, message).help(nearest(ctx).0));
    }
    Ok(Arc::clone(tool))
}

fn not_offered(name: &str, problem: &str, place: Option<crate::span::Place>) -> Refusal {
    let refusal = Refusal::new(
        Code::ToolNotAdvertised,
        format!("`{name}` has an error in its file and is not offered: {problem}"),
    )
    .help("a person must fix the file; `harness validate` shows everything that is wrong");
    match place {
        Some(place) => refusal.at(place),
        None => refusal,
    }
}

fn unknown(ctx: &Context) -> Refusal {
    let (help, near) = nearest(ctx);
    Refusal::new(
        Code::ToolUnknown,
        format!("there is no tool `{}`", ctx.call().tool),
    )
    .help(help)
    .detail("nearest", near)
}

/// A hint about the offered tools, and the nearest names. It names only advertised tools.
fn nearest(ctx: &Context) -> (String, Vec<String>) {
    let asked = ctx.call().tool.as_str();
    let mut surface = ctx.view().offered();
    if let Some(terms) = &ctx.call().terms {
        surface.tools.retain(|tool| terms.offers(&tool.name));
    }
    let mut near: Vec<(f64, &str)> = surface
        .tools
        .iter()
        .map(|tool| (strsim::jaro_winkler(asked, &tool.name), tool.name.as_str()))
        .filter(|(likeness, _)| *likeness > 0.7)
        .collect();
    near.sort_by(|a, b| b.0.total_cmp(&a.0));
    let near: Vec<String> = near
        .into_iter()
        .take(3)
        .map(|(_, name)| name.to_owned())
        .collect();
    let help = match near.as_slice() {
        [] if surface.tools.is_empty() => "no tools are offered here".to_owned(),
        [] if surface.tools.len() > MAX_LISTED_VALUES => format!(
            "offered: {} tools, none of a name like it",
            surface.tools.len()
        ),
        [] => format!(
            "offered: {}",
            listed(surface.tools.iter().map(|tool| tool.name.as_str()))
        ),
        names => format!("nearest: {}", listed(names.iter().map(String::as_str))),
    };
    (help, near)
}

fn listed<'a>(names: impl Iterator<Item = &'a str>) -> String {
    names
        .map(|name| format!("`{name}`"))
        .collect::<Vec<_>>()
        .join(", ")
}

/// Refuses a tool that declares a restriction which the harness cannot enforce.
fn supported(ctx: &Context, tool: &RegisteredTool) -> Result<(), Refusal> {
    let root = &ctx.catalogue().root;
    if let Some(place) = root.modes.first() {
        let message = format!(
            "this project has modes and nothing reads them yet, so `{}` cannot be called",
            tool.called()
        );
        let refusal = Refusal::new(Code::Unsupported, message)
            .help("a person can move the files out of `.harness/modes`");
        return Err(refusal.detail("field", "modes").at(place.clone()));
    }
    let of_root = root
        .unsupported
        .first()
        .and_then(|field| Some((field, root.source.as_ref()?)));
    let (field, place) = match (tool.tool.unsupported.first(), of_root) {
        (Some(field), _) => (field.value, tool.tool.place(field.span)),
        (None, Some((field, source))) => (field.value, crate::span::Place::new(source, field.span)),
        (None, None) => return Ok(()),
    };
    let message = format!(
        "`{field}` is declared and nothing enforces it yet, so `{}` cannot be called",
        tool.called()
    );
    Err(Refusal::new(Code::Unsupported, message)
        .help("a person can remove the field, or wait for a version that enforces it")
        .detail("field", field)
        .at(place))
}

fn parse(
    ctx: &Context,
    tool: Option<&RegisteredTool>,
    sent: Arguments,
) -> Result<(Map<String, Value>, String), Refusal> {
    let repaired = tool.filter(|tool| ctx.shared().host.repair.covers(tool.effects));
    let mut done = Vec::new();
    let (value, text) = match sent {
        Arguments::Text(text) if text.len() > MAX_ARGUMENT_BYTES => {
            return Err(malformed(format!(
                "the arguments are longer than {MAX_ARGUMENT_BYTES} bytes"
            )));
        }
        Arguments::Text(text) => {
            let unfenced = repaired.and_then(|_| unfenced(&text));
            done.extend(unfenced.map(|_| "fence"));
            let value = serde_json::from_str(unfenced.unwrap_or(&text)).map_err(|error| {
                malformed(format!("the arguments are not JSON: {error}"))
                    .detail("line", error.line())
                    .detail("column", error.column())
            })?;
            representable(&value)?;
            (value, Some(text))
        }
        Arguments::Value(value) => (value, None),
    };
    let value = match repaired {
        Some(tool) => repair(tool.input().ok(), value, &mut done),
        None => value,
    };
    if let (Some(tool), false) = (repaired, done.is_empty()) {
        ctx.record(|| EventKind::ToolRepaired {
            tool: tool.name().to_owned(),
            repairs: done,
        });
        representable(&value)?;
    }
    let raw = match text {
        Some(text) => text,
        // Only hooks see the raw arguments.
        None if ctx.view().is_hooked => value.to_string(),
        None => String::new(),
    };
    match value {
        Value::Object(arguments) => Ok((arguments, raw)),
        other => Err(malformed(format!(
            "the arguments are {}, not an object",
            kind(&other)
        ))),
    }
}

fn malformed(message: String) -> Refusal {
    Refusal::new(Code::ArgsMalformed, message)
        .help("send one JSON object whose keys are the tool's parameters")
}

/// Refuses arguments that nest too deep to be walked or dropped recursively.
fn walkable(sent: Arguments) -> Result<Arguments, Refusal> {
    match sent {
        Arguments::Value(value) => match representable(&value) {
            Ok(()) => Ok(Arguments::Value(value)),
            Err(refusal) => {
                let_go(value);
                Err(refusal)
            }
        },
        text => Ok(text),
    }
}

/// Refuses values that a script cannot receive, so that later stages never see them.
fn representable(value: &Value) -> Result<(), Refusal> {
    wire::look(value).map_err(|error| {
        let refusal = malformed(format!("the arguments cannot be represented: {error}"));
        match wire::offends(value) {
            Some(path) => refusal.detail("path", path),
            None => refusal,
        }
    })
}

fn kind(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "a boolean",
        Value::Number(_) => "a number",
        Value::String(_) => "a string",
        Value::Array(_) => "an array",
        Value::Object(_) => "an object",
    }
}

/// Refuses arguments that set a parameter which the harness injects.
pub(super) fn forged(tool: &RegisteredTool, arguments: &Map<String, Value>) -> Result<(), Refusal> {
    if tool.tool.inject.is_empty() {
        return Ok(());
    }
    let Some((name, path)) = repair::forged(tool, arguments) else {
        return Ok(());
    };
    let message = format!("`{name}` is filled in by the harness and cannot be sent");
    Err(Refusal::new(Code::ArgsInvalid, message)
        .help("leave it out")
        .detail("path", path))
}

fn rename_aliases(
    tool: &RegisteredTool,
    arguments: &mut Map<String, Value>,
) -> Result<(), Refusal> {
    for (alias, canonical) in &tool.tool.annotations.arg_aliases {
        if !arguments.contains_key(alias) {
            continue;
        }
        if arguments.contains_key(canonical) {
            let message =
                format!("`{alias}` and `{canonical}` are the same argument and both were sent");
            return Err(Refusal::new(Code::ArgsInvalid, message)
                .help(format!("send `{canonical}` only"))
                .detail("path", format!("/{}", escaped(alias))));
        }
        if let Some(value) = arguments.remove(alias) {
            arguments.insert(canonical.clone(), value);
        }
    }
    Ok(())
}

/// Fills in defaults and validates the arguments against the schema.
pub(super) fn validate(
    tool: &RegisteredTool,
    mut arguments: Map<String, Value>,
) -> Result<Map<String, Value>, Refusal> {
    if let Some(foreign) = &tool.client_call {
        return foreign.normalised(arguments);
    }
    let schema = tool
        .input()
        .map_err(|problem| not_offered(tool.name(), problem, None))?;
    schema.apply_defaults(&mut arguments);
    let mut value = Value::Object(arguments);
    let violations = schema.normalize(&mut value);
    if !violations.is_empty() {
        return Err(invalid(tool, schema, &violations));
    }
    match value {
        Value::Object(arguments) => Ok(arguments),
        _ => Ok(Map::new()),
    }
}

fn invalid(tool: &RegisteredTool, schema: &CompiledSchema, violations: &[Violation]) -> Refusal {
    let place = |violation: &Violation| {
        if violation.path.is_empty() {
            String::new()
        } else {
            format!("{}: ", violation.path)
        }
    };
    let lines: Vec<String> = violations
        .iter()
        .map(|violation| format!("{}{}", place(violation), violation.message))
        .collect();
    let message = format!(
        "the arguments of `{}` do not fit: {}",
        tool.name(),
        lines.join("; ")
    );
    let properties: Vec<String> = schema
        .properties()
        .map(|name| describe(schema, name))
        .collect();
    let help = if properties.is_empty() {
        "accepted: no arguments".to_owned()
    } else {
        format!("accepted: {}", properties.join(", "))
    };
    let errors: Vec<Value> = violations
        .iter()
        .map(|violation| json!({"path": violation.path, "message": violation.message}))
        .collect();
    Refusal::new(Code::ArgsInvalid, message)
        .help(help)
        .detail("errors", errors)
}

/// Describes a parameter, as `path (string, required)` or `level (one of "low", "high")`.
fn describe(schema: &CompiledSchema, name: &str) -> String {
    let required = schema
        .value
        .get("required")
        .and_then(Value::as_array)
        .is_some_and(|list| list.iter().any(|item| item == name));
    let property = schema.property(name);
    let keyword = |key: &str| property.and_then(|property| property.get(key));
    let mut words: Vec<String> = Vec::new();
    match (keyword("enum").and_then(Value::as_array), keyword("type")) {
        (Some(values), _) if values.len() <= MAX_LISTED_VALUES => {
            words.push(format!(
                "one of {}",
                values
                    .iter()
                    .map(ToString::to_string)
                    .collect::<Vec<_>>()
                    .join(", ")
            ));
        }
        (_, Some(Value::String(kind))) => words.push(kind.clone()),
        (_, Some(Value::Array(kinds))) => words.push(
            kinds
                .iter()
                .filter_map(Value::as_str)
                .collect::<Vec<_>>()
                .join(" or "),
        ),
        _ => {}
    }
    for (key, bound) in [
        ("minimum", "at least"),
        ("maximum", "at most"),
        ("pattern", "matching"),
    ] {
        words.extend(keyword(key).map(|value| {
            format!(
                "{bound} {}",
                value
                    .as_str()
                    .map_or_else(|| value.to_string(), str::to_owned)
            )
        }));
    }
    words.extend(required.then(|| "required".to_owned()));
    if words.is_empty() {
        name.to_owned()
    } else {
        format!("{name} ({})", words.join(", "))
    }
}
