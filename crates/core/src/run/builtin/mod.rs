//! Serves the built-ins that scripts call. Every request is judged again here, because a worker is
//! not trusted.

pub(super) mod io;

use super::context::Context;
use super::outcome::SideOutcomes;
use crate::artifact::tool::Limits;
use crate::builtin::{self, Args, Body, Builtin, BuiltinHost, Program, Scope};
use crate::event::{EventKind, LogLevel};
use crate::isolate::{self, caught};
use crate::outside::{Ran, Request, Response};
use crate::plan::{self, Narrowing};
use crate::result::ArtifactRef;
use crate::rule::Action;
use crate::rule::{self, Subject};
use crate::store::StoreScope;
use crate::store::{KeyValue, Metrics, Stores};
use crate::worker::script::Script;
use io::SandboxedIo;
use serde_json::{Map, Value};
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::mpsc;
use tokio::time::Instant;
use tool_harness_sandbox::file::{FileError, Jail, JudgedPath};

/// A built-in call that passed all checks.
pub(super) struct BuiltinCall {
    pub(super) builtin: &'static Builtin,
    pub(super) name: String,
    pub(super) args: Args,
}

/// Finds the built-in and checks that this script was linked with it, that this kind of script may
/// call it, and that the arguments fit.
pub(super) fn admit(
    ctx: &Context,
    script: &Script,
    side: Scope,
    index: u32,
    args: Vec<Value>,
) -> Result<BuiltinCall, String> {
    let (module, builtin) = builtin::at(index).ok_or("there is no such built-in")?;
    let name = builtin::full_name(module, builtin);
    if builtin.scope != Scope::Both && builtin.scope != side {
        return Err(format!("`{name}` cannot be called here"));
    }
    if !script.linked.contains(&index) {
        return Err(format!(
            "`{name}` is not among what this script was checked for"
        ));
    }
    // Policy is about what tools do; a hook may always count and log.
    if side == Scope::Tools {
        let subject = Subject::Builtin(&name, builtin);
        let found = rule::matches(&ctx.view().rules, &subject);
        if let Some(found) = found.iter().find(|one| one.rule.action != Action::Allow) {
            ctx.record_rule(&ctx.call().tool, &name, found);
            return Err(found.rule.denial_of(&name));
        }
    }
    let args = builtin::verify(builtin, args).map_err(|problem| format!("{name}: {problem}"))?;
    Ok(BuiltinCall {
        builtin,
        name,
        args,
    })
}

/// The script for which a built-in runs.
pub(super) struct BuiltinCaller<'a> {
    pub(super) name: &'a str,
    pub(super) narrowing: Narrowing,
    pub(super) limits: Limits,
    pub(super) traces: &'a Arc<SideOutcomes>,
    pub(super) alive: Option<mpsc::Sender<()>>,
    /// The paths that constraints judged.
    pub(super) judged: &'a [JudgedPath],
}

/// Runs a built-in in the harness's process.
pub(super) async fn run(
    ctx: &Context,
    by: BuiltinCaller<'_>,
    call: &BuiltinCall,
    deadline: Instant,
) -> Result<Value, String> {
    let body = match call.builtin.body {
        Body::Host(body) => body,
        Body::Absent(why) => return Err(why.to_owned()),
        Body::Pure(_) | Body::Note | Body::Worker => {
            return Err(format!("`{}` does not cross", call.name));
        }
    };
    let bounds = plan::bounds(ctx.site(), &by.narrowing);
    let whole = ctx
        .shared()
        .jail
        .as_ref()
        .ok_or("this program has no workspace")?;
    let jail = match bounds.is_open() && by.judged.is_empty() {
        true => Arc::clone(whole),
        false => Arc::new(
            whole
                .with_bounds(bounds)
                .map_err(|error| error.to_string())?
                .judging(by.judged),
        ),
    };
    // Cancels the built-in when the call is cancelled, when the deadline passes, or when the worker
    // dies.
    let cancel = ctx.call().cancel.child_token();
    let _cut_off = cancel.clone().drop_guard();
    let world = HostBuiltins {
        stores: ctx.stores().clone(),
        metrics: Arc::clone(ctx.metrics()),
        jail,
        reach: SandboxedIo {
            ctx: ctx.clone(),
            traces: Arc::clone(by.traces),
            narrowing: by.narrowing,
            limits: by.limits,
            deadline,
            cancel,
            source: by.name.to_owned(),
            builtin: call.name.clone(),
            rehearsed: ctx.is_rehearsed(),
        },
        runtime: tokio::runtime::Handle::current(),
        _alive: by.alive,
    };
    if !call.builtin.blocks() {
        return caught(|| body(&world, &call.args))
            .unwrap_or_else(|| Err("the built-in crashed".into()));
    }
    let args = call.args.clone();
    isolate::blocking(move || body(&world, &args))
        .await
        .unwrap_or_else(|| Err("the built-in crashed".into()))
}

/// `log` and `print`: one event each.
pub(super) fn note(ctx: &Context, source: &str, call: &BuiltinCall) {
    // `print` has all its arguments in a list, `log` the ones after the first.
    let (printed, message) = match call.args.get(0) {
        Value::Array(parts) if call.builtin.name == "print" => (parts.as_slice(), None),
        message => (call.args.list(1), Some(message)),
    };
    let mut fields = Map::new();
    let mut words = Vec::from_iter(message.map(text));
    for value in printed {
        match value {
            Value::Object(named) if message.is_some() => fields.extend(named.clone()),
            other => words.push(text(other)),
        }
    }
    fields.extend(call.args.get(2).as_object().cloned().unwrap_or_default());
    ctx.record_raised(|| EventKind::Log {
        level: LogLevel::of(call.builtin.name),
        message: words.join(" "),
        fields: Value::Object(fields),
        source: source.to_owned(),
    });
}

/// A value as people read it.
fn text(value: &Value) -> String {
    let text = value.as_str().map(str::to_owned);
    text.unwrap_or_else(|| value.to_string())
}

/// What host built-ins may touch.
struct HostBuiltins {
    stores: Stores,
    metrics: Arc<Metrics>,
    jail: Arc<Jail>,
    reach: SandboxedIo,
    runtime: tokio::runtime::Handle,
    /// The call does not end while this is held.
    _alive: Option<mpsc::Sender<()>>,
}

impl BuiltinHost for HostBuiltins {
    fn files(&self) -> Result<&Jail, String> {
        Ok(&self.jail)
    }

    fn store(&self, scope: StoreScope) -> &dyn KeyValue {
        self.stores.scope(scope)
    }

    fn metrics(&self) -> &Metrics {
        &self.metrics
    }

    fn env(&self, name: &str) -> Result<Option<String>, String> {
        let ctx = &self.reach.ctx;
        let shared = ctx.shared();
        if ctx.view().sandbox.env.iter().any(|listed| listed == name) {
            return Ok(shared.surroundings.variable(name));
        }
        let listed = &ctx.catalogue().root.sandbox.env;
        if listed.iter().any(|listed| listed.value == name) {
            return (shared.environment)(name);
        }
        Err(format!(
            "`{name}` is not listed in `sandbox.env` of harness.md; a person can add it there"
        ))
    }

    fn emit(&self, name: &str, payload: &Value) -> Result<(), String> {
        self.reach.ctx.emit(&self.reach.source, name, payload);
        Ok(())
    }

    fn progress(&self, fraction: f64, message: &str) {
        self.reach.ctx.record_raised(|| EventKind::ToolProgress {
            fraction,
            message: message.to_owned(),
        });
    }

    fn file_denied(&self, error: &FileError) {
        let SandboxedIo {
            ctx,
            source,
            builtin,
            ..
        } = &self.reach;
        ctx.record(|| EventKind::FileDenied {
            source: source.clone(),
            builtin: builtin.clone(),
            program: None,
            path: None,
            message: error.to_string(),
            layer: None,
        });
    }

    fn is_over(&self) -> bool {
        self.reach.cancel.is_cancelled() || Instant::now() >= self.reach.deadline
    }

    fn warn(&self, message: &str) {
        self.reach.ctx.record_raised(|| EventKind::Log {
            level: LogLevel::Warn,
            message: message.to_owned(),
            fields: Value::Null,
            source: self.reach.source.clone(),
        });
    }

    fn keep(&self, content: &str, media_type: &str) -> Result<ArtifactRef, String> {
        self.reach
            .ctx
            .room_to_store()
            .map_err(|refusal| refusal.message.clone())?;
        let kept = self
            .reach
            .blobs()
            .write_from(content.as_bytes(), media_type, 0)
            .map_err(|error| error.to_string())?;
        self.reach.ctx.stored(&kept.artifact, kept.preview.redacted);
        Ok(kept.artifact)
    }

    fn read_artifact(&self, id: &str, offset: u64, length: u64) -> Result<Vec<u8>, String> {
        self.reach
            .blobs()
            .read(id, offset, length)
            .map_err(|error| error.to_string())
    }

    fn run(&self, program: Program) -> Result<Ran, String> {
        self.runtime.block_on(self.reach.run(&self.jail, program))
    }

    fn send(&self, request: Request, time: Duration) -> Result<Response, String> {
        self.runtime.block_on(self.reach.send(request, time))
    }

    fn sleep(&self, duration: Duration) -> Result<(), String> {
        let SandboxedIo {
            cancel, deadline, ..
        } = &self.reach;
        self.runtime.block_on(async {
            tokio::select! {
                () = tokio::time::sleep(duration) => Ok(()),
                () = cancel.cancelled() => Err("cancelled while sleeping".to_owned()),
                // The call itself ends at its deadline; this only keeps the thread from sleeping
                // on.
                () = tokio::time::sleep_until(*deadline + Duration::from_millis(200)) => Err("the deadline came while sleeping".to_owned()),
            }
        })
    }
}
