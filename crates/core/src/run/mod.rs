//! Stage 4: a call to its result. Read this file first.

mod admit;
mod after;
mod authorize;
mod before;
mod bound;
mod chain;
mod context;
mod crossing;
mod decision;
mod delegate;
mod execute;
mod explain;
mod finish;
mod payload;
mod reach;
mod redact;
mod refusal;
mod secret;
mod stopwatch;

pub use chain::HookReport;
pub use context::Environment;
pub use execute::{Body, BodyError};
pub use explain::{Explanation, Hosts, StageOutcome, StageReport};
pub use refusal::{Class, Code, Refusal};

pub(crate) use chain::{load_artifacts, run_one};
pub(crate) use context::{Context, Shared};
pub(crate) use delegate::{contain, judge, observe};
pub(crate) use explain::explain;
pub(crate) use secret::Secrets;

use crate::call::Call;
use crate::result::ToolResult;
use admit::admit;
use authorize::authorize;
use before::before;
use execute::execute;
use finish::{finish, refuse};
use std::sync::Arc;
use stopwatch::Stopwatch;

/// Runs one call through every stage. This is the only way to a body, and the only place that writes the events of a call.
pub(crate) async fn run(shared: &Arc<Shared>, call: Call) -> ToolResult {
    let (ctx, sent) = Context::new(shared, call);
    let mut watch = Stopwatch::start(&ctx);
    let admitted = watch.lap("admit", admit(&ctx, sent));
    let authorized = match admitted.and_then(|admitted| watch.lap("authorize", authorize(&ctx, admitted))) {
        Ok(authorized) => authorized,
        Err(refusal) => return ctx.record_rejected(refuse(&ctx, refusal), &watch),
    };
    let authorized = watch.lap("record", ctx.record_started(authorized));
    let result = match watch.lap("before", before(&ctx, authorized).await) {
        Ok(prepared) => {
            let executed = watch.lap("execute", execute(&ctx, prepared).await);
            watch.lap("finish", finish(&ctx, executed).await).result
        }
        Err(refusal) => refuse(&ctx, refusal),
    };
    ctx.record_ended(result, &watch)
}
