//! Serves the built-ins that hooks call.

use crate::artifact::tool::Limits;
use crate::builtin::Scope;
use crate::plan::Narrowing;
use crate::run::builtin::{BuiltinCaller, admit, note, run};
use crate::run::context::Context;
use crate::view::ActiveHook;
use crate::worker::Crossing;
use serde_json::Value;
use std::sync::Arc;
use std::time::Duration;
use tokio::time::Instant;

/// Serves hooks. Their calls raise no `builtin.*` events.
pub(super) struct HookCrossing<'a> {
    pub(super) ctx: &'a Context,
    pub(super) hooks: &'a [Arc<ActiveHook>],
}

impl Crossing for HookCrossing<'_> {
    async fn cross(&self, link: u32, index: u32, args: Vec<Value>) -> Result<Value, String> {
        let hook = self.hook(link).ok_or("there is no such hook")?;
        let call = admit(self.ctx, &hook.script, Scope::Hooks, index, args)?;
        let narrowing = Narrowing::of_hook(&hook.hook.permissions);
        let by = BuiltinCaller {
            name: &hook.hook.name,
            narrowing,
            limits: Limits::default(),
            traces: &Arc::default(),
            alive: None,
            judged: &[],
        };
        run(
            self.ctx,
            by,
            &call,
            Instant::now() + Duration::from_millis(hook.hook.timeout_ms),
        )
        .await
    }

    async fn note(&self, link: u32, index: u32, args: Vec<Value>) {
        let Some(hook) = self.hook(link) else { return };
        if let Ok(call) = admit(self.ctx, &hook.script, Scope::Hooks, index, args) {
            note(self.ctx, &hook.hook.name, &call);
        }
    }
}

impl HookCrossing<'_> {
    fn hook(&self, link: u32) -> Option<&ActiveHook> {
        self.hooks.get(usize::try_from(link).ok()?).map(Arc::as_ref)
    }
}
