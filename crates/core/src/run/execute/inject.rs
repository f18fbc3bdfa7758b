//! Values and secrets that the harness injects after validation. Secrets are read on demand, and redacted from all output
//! from then on.

use crate::artifact::root::SecretSource;
use crate::artifact::tool::Inject;
use crate::containment::Containment;
use crate::depth::{is_deep, let_go};
use crate::isolate::caught;
use crate::outside::{Command, End, asked};
use crate::plan::{self, Narrowing};
use crate::refusal::{Code, Refusal};
use crate::registry::RegisteredTool;
use crate::run::context::Context;
use crate::run::secrets::{Secrets, line, read};
use crate::run::shared::Shared;
use crate::span::Spanned;
use crate::store::StoreScope;
use serde_json::{Map, Value};
use std::time::Duration;

/// How long a command that prints a secret may take.
const LONGEST: Duration = Duration::from_secs(10);

/// Injects what the tool asks for: secrets last, so that nothing is read for a call that cannot run.
pub(in crate::run) async fn inject(
    ctx: &Context,
    tool: &RegisteredTool,
    arguments: &mut Map<String, Value>,
) -> Result<(), Refusal> {
    inject_values(ctx, tool, arguments)?;
    inject_secrets(ctx, tool, arguments).await
}

fn inject_values(
    ctx: &Context,
    tool: &RegisteredTool,
    arguments: &mut Map<String, Value>,
) -> Result<(), Refusal> {
    for (name, inject) in &tool.tool.inject {
        let value = match &inject.value {
            Inject::RunId => Value::from(ctx.call().run_id.as_str()),
            Inject::CallId => Value::from(ctx.call().id.as_str()),
            Inject::SessionId => Value::from(ctx.call().session_id.as_str()),
            Inject::Mode => Value::from(&*ctx.call().mode),
            // A call without a key uses its id, which all its attempts share. For a call with a
            // key, [`super::idempotency`] replaces this value.
            Inject::IdempotencyKey => Value::from(ctx.call().id.as_str()),
            Inject::State(key) => ctx
                .stores()
                .scope(StoreScope::Session)
                .get(key)
                .unwrap_or_default(),
            Inject::Secret(_) => continue,
            Inject::Host(given) => {
                let missing = |why: &str| {
                    let message = format!(
                        "`{name}` of `{}` is for the host to fill in, and it {why}",
                        tool.name()
                    );
                    Refusal::new(Code::Internal, message)
                        .help("the host has to give it with `inject` when it builds the engine")
                };
                let injector = ctx.shared().host.injectors.get(given);
                let found = injector
                    .map_or(Some(None), |inject| caught(|| inject(ctx.call())))
                    .ok_or_else(|| missing("panicked"))?;
                let found = found.ok_or_else(|| missing("gave nothing"))?;
                if is_deep(&found) {
                    let_go(found);
                    return Err(missing("gave a value that nests too deep"));
                }
                found
            }
        };
        arguments.insert(name.clone(), value);
    }
    Ok(())
}

async fn inject_secrets(
    ctx: &Context,
    tool: &RegisteredTool,
    arguments: &mut Map<String, Value>,
) -> Result<(), Refusal> {
    for (argument, inject) in &tool.tool.inject {
        let Inject::Secret(name) = &inject.value else {
            continue;
        };
        let value = match &ctx.shared().secrets {
            Secrets::StandIns => format!("[secret {name}]"),
            Secrets::Real(given) => match given.get(name) {
                Some(value) => Ok(value.clone()),
                None => declared(ctx, name).await,
            }
            .and_then(
                |value| match ctx.shared().values.learn_fresh(value.as_bytes()) {
                    Ok(()) => Ok(value),
                    Err(_) => Err(
                        "it is shorter than 4 bytes, too short to recognise in other text"
                            .to_owned(),
                    ),
                },
            )
            .map_err(|why| missing(tool, name, &why, inject))?,
        };
        arguments.insert(argument.clone(), value.into());
    }
    Ok(())
}

fn missing(tool: &RegisteredTool, name: &str, why: &str, at: &Spanned<Inject>) -> Refusal {
    Refusal::new(
        Code::SecretMissing,
        format!(
            "`{}` needs the secret `{name}`, which cannot be read: {why}",
            tool.name()
        ),
    )
    .help("a person can give it in `secrets` of their own harness/harness.md")
    .detail("secret", name)
    .at(tool.tool.place(at.span))
}

/// The secret with this name, from the highest layer that declares it.
async fn declared(ctx: &Context, name: &str) -> Result<String, String> {
    let registry = ctx.catalogue();
    let found = registry
        .layers
        .iter()
        .flat_map(|layer| &layer.root.secrets)
        .find(|(known, _)| known == name);
    let Some((_, from)) = found else {
        return Err(match registry.root.secrets.iter().any(|(known, _)| known == name) {
            // A cloned project must not choose which of a person's files or variables its tools
            // get.
            true => "project.untrusted: only the project's own harness.md says where it comes from, which counts once a person trusts the \
                     project, and this version has no way to"
                .to_owned(),
            false => "nothing says where it comes from".to_owned(),
        });
    };
    match read(&from.value, &ctx.shared().surroundings) {
        Some(value) => value,
        None => printed(ctx, &from.value).await,
    }
}

/// Runs the user's command, and returns what it prints.
async fn printed(ctx: &Context, from: &SecretSource) -> Result<String, String> {
    let SecretSource::Command(words) = from else {
        return Err("nothing says where it comes from".to_owned());
    };
    let Some((program, args)) = words.split_first() else {
        return Err("its `command` is empty".to_owned());
    };
    let shared: &Shared = ctx.shared();
    let mut plan = plan::plan(
        ctx.site(),
        &Narrowing::default(),
        ctx.view().sandbox.limits,
        LONGEST,
    );
    if let Some(home) = &shared.surroundings.home {
        plan.environment.retain(|(name, _)| name != "HOME");
        plan.environment
            .push(("HOME".to_owned(), home.display().to_string()));
    }
    let (cwd, stdin) = (plan.files.workspace.clone(), String::new());
    let command = Command {
        program: program.clone(),
        args: args.to_vec(),
        cwd,
        stdin,
    };
    // No sandbox: the user or the administrator chose this command, in a file that no project can
    // write.
    let ran = asked(|| {
        shared
            .outside
            .run(&plan, Containment::Off, command, ctx.call().cancel.token())
    })
    .await;
    let ran = ran.map_err(|refused| format!("`{program}` did not run: {}", refused.message()))?;
    match ran.end {
        End::Exited(0) if !ran.stdout.truncated => Ok(line(&ran.stdout.text)),
        End::Exited(0) => Err(format!("`{program}` printed more than a secret may have")),
        End::Exited(code) => Err(format!("`{program}` ended with {code}")),
        _ => Err(format!(
            "`{program}` did not end by itself within {} s",
            LONGEST.as_secs()
        )),
    }
}
