//! Events on their way out: progress to the client that asked for it, before its answer.

use rmcp::model::{ProgressNotificationParam, ProgressToken};
use rmcp::service::{Peer, RoleServer};
use serde_json::Value;
use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use tokio::sync::mpsc;
use tool_harness::event::{Delivery, EventRef, Sink};

/// Steps of one call that wait to be written; a script that is faster than its client loses the rest.
const WAITING: usize = 64;

/// One step of a call.
struct Step {
    fraction: f64,
    message: Option<String>,
}

/// Who wants to hear how far a call is, by call id.
#[derive(Default)]
pub struct Routes(Mutex<HashMap<String, mpsc::Sender<Step>>>);

impl Sink for Routes {
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

/// The way of one call's progress to the client. Forgotten when dropped.
pub(super) struct Route {
    routes: Arc<Routes>,
    call: String,
    steps: mpsc::Receiver<Step>,
    token: ProgressToken,
    peer: Peer<RoleServer>,
    last: f64,
}

impl Route {
    pub(super) fn open(
        routes: &Arc<Routes>,
        call: &str,
        token: ProgressToken,
        peer: Peer<RoleServer>,
    ) -> Self {
        let (sender, steps) = mpsc::channel(WAITING);
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

    /// Passes steps on for as long as there are any to come.
    pub(super) async fn follow(&mut self) {
        while let Some(step) = self.steps.recv().await {
            self.tell(step).await;
        }
        // Not reached while the route is open: its sender is in the map.
        std::future::pending::<()>().await;
    }

    /// Passes on what is left, so that nothing about the call comes after its answer.
    pub(super) async fn finish(mut self) {
        while let Ok(step) = self.steps.try_recv() {
            self.tell(step).await;
        }
    }

    /// The protocol wants progress that only grows.
    async fn tell(&mut self, step: Step) {
        if step.fraction <= self.last {
            return;
        }
        self.last = step.fraction;
        let mut told = ProgressNotificationParam::new(self.token.clone(), step.fraction);
        told.total = Some(1.0);
        told.message = step.message;
        let _ = self.peer.notify_progress(told).await;
    }
}

impl Drop for Route {
    fn drop(&mut self) {
        self.routes
            .0
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .remove(&self.call);
    }
}
