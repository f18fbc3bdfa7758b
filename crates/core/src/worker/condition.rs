//! The conditions of bundles: one worker evaluates them all, one after the other.

use super::drive::{Crossing, RequestLimits, drive};
use super::pool::{DEFAULT_MEMORY_MB, Lease, Purpose};
use super::protocol::{Budget, Outcome, Response, begin_run};
use super::script::Script;
use super::{CHECK_TIME, MAX_DECISION_BYTES, ScriptError, Workers, wire};
use crate::refusal::Code;
use serde_json::{Map, Value};
use std::time::Duration;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

/// How long one condition may take.
const CONDITION_TIME: Duration = Duration::from_secs(1);

impl Workers {
    /// Whether each condition is true, in order, or why it gave no answer.
    pub(crate) async fn conditions(
        &self,
        scripts: &[Script],
        crossing: &impl Crossing,
    ) -> Vec<Result<bool, ScriptError>> {
        let never = CancellationToken::new();
        let mut answers = Vec::with_capacity(scripts.len());
        // A condition that kills its worker leaves the rest to another one.
        while answers.len() < scripts.len() {
            let until = Instant::now() + CHECK_TIME + CONDITION_TIME;
            let mut lease = match self.lease(Purpose::Policy, until, &never).await {
                Ok(lease) => lease,
                Err(error) => {
                    answers.resize_with(scripts.len(), || Err(error.clone()));
                    break;
                }
            };
            let mut is_alive = true;
            for script in scripts.get(answers.len()..).unwrap_or_default() {
                let answer = self.condition(&mut lease, script, &never, crossing).await;
                is_alive = answer.is_some();
                answers.push(answer.unwrap_or_else(|| {
                    Err(ScriptError::new(
                        Code::ScriptCrashed,
                        "its evaluation took too long or too much memory",
                    ))
                }));
                if !is_alive {
                    break;
                }
            }
            if is_alive {
                self.pool.give_back(lease);
            }
        }
        answers
    }

    /// One answer; `None` if the worker cannot be used any more.
    async fn condition(
        &self,
        lease: &mut Lease,
        script: &Script,
        cancel: &CancellationToken,
        crossing: &impl Crossing,
    ) -> Option<Result<bool, ScriptError>> {
        let time = u64::try_from(CONDITION_TIME.as_millis()).unwrap_or(u64::MAX);
        let budget = Budget {
            wall_ms: time,
            cpu_ms: time,
            memory_bytes: DEFAULT_MEMORY_MB << 20,
            result_bytes: MAX_DECISION_BYTES,
        };
        let mut frames = Vec::new();
        let mut run = wire::Writer::default();
        begin_run(&mut run, script.number, &budget);
        lease
            .worker
            .load(script, &mut frames)
            .and_then(|()| run.object(&Map::new()))
            .and_then(|()| lease.worker.push(&run.bytes, &mut frames))
            .ok()?;
        let bounds = RequestLimits {
            deadline: Instant::now() + CONDITION_TIME,
            cpu: CONDITION_TIME,
            frame_bytes: MAX_DECISION_BYTES,
        };
        match drive(&self.pool, lease, &frames, bounds, cancel, crossing).await {
            Ok(Response::Done(Outcome::Value(Value::Bool(answer)))) => Some(Ok(answer)),
            Ok(Response::Failed(failure)) => Some(Err(failure.into())),
            Ok(_) | Err(_) => None,
        }
    }
}
