//! Reports the progress of calls to the client, before their answers.

use rmcp::model::{ProgressNotificationParam, ProgressToken};
use rmcp::service::{Peer, RoleServer};
use serde_json::Value;
use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use tokio::sync::mpsc;
use tool_harness::event::{Delivery, EventRef, Sink};

/// The most steps of one call in the queue. If the client is slower than the script, the rest are
/// lost.
const QUEUE: usize = 64;

/// One progress step of a call.
struct Step {
    fraction: f64,
    message: Option<String>,
}

/// The calls whose progress a client asked for, by id. A sink of the engine.
#[derive(Default)]
pub struct ProgressRoutes(Mutex<HashMap<String, mpsc::Sender<Step>>>);

impl Sink for ProgressRoutes {
    fn record(&self, event: &EventRef<'_>) {
        let text = |key: &str| event.fields().get(key).and_then(Value::as_str);
        if event.name != "tool.progress" {
            return;
        }
        let (Some(call), Some(fraction)) = (
            event.call_id,
            event.fields().get("fraction").and_then(Value::as_f64),
        ) else {
            return;
        };
        let message = text("message")
            .filter(|message| !message.is_empty())
            .map(str::to_owned);
        if let Some(route) = self
            .0
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .get(call)
        {
            let _ = route.try_send(Step { fraction, message });
        }
    }

    fn delivery(&self) -> Delivery {
        Delivery::OnThePath
    }
}

/// Carries one call's progress to the client. Removed from the routes when dropped.
pub(super) struct ProgressRoute {
    routes: Arc<ProgressRoutes>,
    call: String,
    steps: mpsc::Receiver<Step>,
    token: ProgressToken,
    peer: Peer<RoleServer>,
    last: f64,
}

impl ProgressRoute {
    pub(super) fn open(
        routes: &Arc<ProgressRoutes>,
        call: &str,
        token: ProgressToken,
        peer: Peer<RoleServer>,
    ) -> Self {
        let (sender, steps) = mpsc::channel(QUEUE);
        routes
            .0
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .insert(call.to_owned(), sender);
        Self {
            routes: Arc::clone(routes),
            call: call.to_owned(),
            steps,
            token,
            peer,
            last: -1.0,
        }
    }

    /// Sends steps as they come.
    pub(super) async fn follow(&mut self) {
        while let Some(step) = self.steps.recv().await {
            self.send(step).await;
        }
        // Not reached: the sender stays in the map while the route exists.
        std::future::pending::<()>().await;
    }

    /// Sends the remaining steps, so that none comes after the answer.
    pub(super) async fn finish(mut self) {
        while let Ok(step) = self.steps.try_recv() {
            self.send(step).await;
        }
    }

    /// Sends a step that is further than the last: in the protocol, progress only grows.
    async fn send(&mut self, step: Step) {
        if step.fraction <= self.last {
            return;
        }
        self.last = step.fraction;
        let mut params = ProgressNotificationParam::new(self.token.clone(), step.fraction);
        params.total = Some(1.0);
        params.message = step.message;
        let _ = self.peer.notify_progress(params).await;
    }
}

impl Drop for ProgressRoute {
    fn drop(&mut self) {
        self.routes
            .0
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .remove(&self.call);
    }
}
