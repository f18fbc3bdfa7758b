//! Reports the progress of calls to the client, before their answers.

use crate::lock;
use rmcp::model::{ProgressNotificationParam, ProgressToken};
use rmcp::service::{Peer, RoleServer};
use std::collections::HashMap;
use std::convert::Infallible;
use std::sync::{Arc, Mutex};
use tokio::sync::mpsc;
use tool_harness::event::{Delivery, EventKind, EventName, EventRef, Sink};

/// The most steps of one call in the queue. If the client is slower than the script, the rest are
/// lost.
const QUEUE: usize = 64;

/// One progress step of a call.
struct ProgressStep {
    fraction: f64,
    message: Option<String>,
}

/// The calls whose progress a client asked for, by id. A sink of the engine.
#[derive(Default)]
pub struct ProgressRoutes(Mutex<HashMap<String, mpsc::Sender<ProgressStep>>>);

impl Sink for ProgressRoutes {
    fn record(&self, event: &EventRef<'_>) {
        if event.name != EventName::ToolProgress {
            return;
        }
        let routes = lock(&self.0);
        if let EventKind::ToolProgress { fraction, message } = event.kind()
            && let Some(route) = event.origin.call_id.and_then(|call| routes.get(call))
        {
            let _ = route.try_send(ProgressStep {
                fraction: *fraction,
                message: Some(message.clone()).filter(|message| !message.is_empty()),
            });
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
    steps: mpsc::Receiver<ProgressStep>,
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
        lock(&routes.0).insert(call.to_owned(), sender);
        Self {
            routes: Arc::clone(routes),
            call: call.to_owned(),
            steps,
            token,
            peer,
            last: -1.0,
        }
    }

    /// Sends steps as they come. Never ends, because the sender stays in the map while the route
    /// exists.
    pub(super) async fn follow(&mut self) -> Infallible {
        while let Some(step) = self.steps.recv().await {
            self.send(step).await;
        }
        std::future::pending().await
    }

    /// Sends the remaining steps, so that none comes after the answer.
    pub(super) async fn finish(mut self) {
        while let Ok(step) = self.steps.try_recv() {
            self.send(step).await;
        }
    }

    /// Sends a step that is further than the last: in the protocol, progress only grows.
    async fn send(&mut self, step: ProgressStep) {
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
        lock(&self.routes.0).remove(&self.call);
    }
}
