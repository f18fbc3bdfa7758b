//! Facts about scripts, which workers read from the syntax trees.

use super::channel::WorkerLoss;
use super::drive::EndCause;
use super::pool::{Lease, Purpose};
use super::protocol::{Request, Response};
use super::{CHECK_TIME, MAX_DECISION_BYTES, ScriptError, Workers};
use crate::facts::{Facts, FactsBySource, ScriptKind, Unread};
use std::sync::Arc;
use std::time::Duration;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;
use tool_harness_sandbox::process::DeathCause;

/// Scripts sent to a worker before its answers are read.
const CHECK_WINDOW: usize = 16;
/// Bytes sent to a worker before its answers are read: less than a pipe holds.
const CHECK_WINDOW_BYTES: usize = 32 << 10;

/// A source and its facts, or why there are none.
type SourceFacts = ((ScriptKind, Arc<str>), Result<Facts, Unread>);

impl Workers {
    /// The facts of every source, or why there are none.
    pub(crate) async fn facts(&self, sources: Vec<(ScriptKind, Arc<str>)>) -> FactsBySource {
        let (tools, policy): (Vec<_>, Vec<_>) = sources
            .into_iter()
            .partition(|(kind, _)| *kind == ScriptKind::Tool);
        let share = (tools.len() + policy.len()).div_ceil(self.places).max(1);
        let shares = tools
            .chunks(share)
            .map(|chunk| self.facts_of(Purpose::Check, chunk));
        let shares = shares.chain(
            policy
                .chunks(share)
                .map(|chunk| self.facts_of(Purpose::Policy, chunk)),
        );
        join_all(shares).await.into_iter().flatten().collect()
    }

    async fn facts_of(
        &self,
        purpose: Purpose,
        sources: &[(ScriptKind, Arc<str>)],
    ) -> Vec<SourceFacts> {
        let mut found = Vec::with_capacity(sources.len());
        while found.len() < sources.len() {
            let rest = &sources[found.len()..];
            let never = CancellationToken::new();
            let lease = self
                .lease(
                    purpose.clone(),
                    Instant::now() + Duration::from_secs(60),
                    &never,
                )
                .await;
            let mut lease = match lease {
                Ok(lease) => lease,
                Err(error) => {
                    let unread = Unread::NoWorker {
                        code: error.code,
                        why: error.message,
                    };
                    found.extend(
                        rest.iter()
                            .map(|source| (source.clone(), Err(unread.clone()))),
                    );
                    break;
                }
            };
            let before = found.len();
            match self.facts_from(&mut lease, rest, &mut found).await {
                Ok(()) => self.pool.give_back(lease),
                Err(ended) => {
                    let culprit = found.len();
                    found.push((
                        sources[culprit].clone(),
                        Err(Unread::Crashed(ScriptError::from(ended).message)),
                    ));
                }
            }
            debug_assert!(found.len() > before, "every round finds at least one");
        }
        found
    }

    async fn facts_from(
        &self,
        lease: &mut Lease,
        sources: &[(ScriptKind, Arc<str>)],
        found: &mut Vec<SourceFacts>,
    ) -> Result<(), EndCause> {
        let mut rest = sources;
        while !rest.is_empty() {
            let mut frames = Vec::new();
            let mut count = 0;
            for (kind, source) in rest {
                let request = Request::Check {
                    kind: *kind,
                    source: source.to_string(),
                };
                let encoded = request
                    .encode()
                    .and_then(|frame| lease.worker.push(&frame, &mut frames));
                encoded.map_err(|_| EndCause::WorkerLost(WorkerLoss::Unsendable))?;
                count += 1;
                if count >= CHECK_WINDOW || frames.len() >= CHECK_WINDOW_BYTES {
                    break;
                }
            }
            let sent = tokio::time::timeout(CHECK_TIME, lease.worker.send(&frames)).await;
            sent.map_err(|_| EndCause::Deadline)?
                .map_err(EndCause::WorkerLost)?;
            for source in &rest[..count] {
                let word =
                    tokio::time::timeout(CHECK_TIME, lease.worker.receive(MAX_DECISION_BYTES))
                        .await;
                let Ok(Response::Facts(text)) = word
                    .map_err(|_| EndCause::Deadline)?
                    .map_err(EndCause::WorkerLost)
                    .map(Ok::<_, ()>)?
                else {
                    return Err(EndCause::WorkerLost(WorkerLoss::Died {
                        cause: DeathCause::Other,
                        part: None,
                    }));
                };
                found.push((
                    source.clone(),
                    serde_json::from_str(&text).map_err(|error| Unread::Crashed(error.to_string())),
                ));
            }
            rest = &rest[count..];
        }
        Ok(())
    }
}

/// Runs a few futures concurrently.
async fn join_all<F: Future>(futures: impl IntoIterator<Item = F>) -> Vec<F::Output> {
    let mut running: Vec<_> = futures
        .into_iter()
        .map(|future| (Box::pin(future), None))
        .collect();
    std::future::poll_fn(|context| {
        let mut waiting = false;
        for (future, output) in &mut running {
            if output.is_none() {
                match future.as_mut().poll(context) {
                    std::task::Poll::Ready(value) => *output = Some(value),
                    std::task::Poll::Pending => waiting = true,
                }
            }
        }
        if waiting {
            std::task::Poll::Pending
        } else {
            std::task::Poll::Ready(())
        }
    })
    .await;
    running
        .into_iter()
        .filter_map(|(_, output)| output)
        .collect()
}
