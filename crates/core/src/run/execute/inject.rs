//! Values that the harness injects after validation.

use crate::artifact::tool::Inject;
use crate::depth::{is_deep, let_go};
use crate::isolate::caught;
use crate::refusal::{Code, Refusal};
use crate::registry::RegisteredTool;
use crate::run::context::Context;
use crate::store::StoreScope;
use serde_json::{Map, Value};

/// Injects the values that the tool asks for, except secrets.
pub(in crate::run) fn inject(
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
            // [`super::secret`] injects these.
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
