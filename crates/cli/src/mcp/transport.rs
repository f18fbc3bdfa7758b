//! Standard input and output as a transport of `rmcp`. Each has a thread, so that a slow client
//! delays no call.

use super::output::{ProtocolOutput, WriteOutcome};
use super::read::{self, Incoming, InputLine, MAX_LINE_BYTES};
use super::{CANCEL_TIMEOUT, GRACE};
use crate::lock;
use rmcp::RoleServer;
use rmcp::model::{
    ClientJsonRpcMessage, ClientRequest, ErrorData, JsonRpcError, JsonRpcMessage, RequestId,
    ServerJsonRpcMessage,
};
use rmcp::transport::Transport;
use serde_json::json;
use std::collections::HashSet;
use std::io::{self, BufReader};
use std::pin::pin;
use std::sync::{Arc, Mutex, MutexGuard};
use std::thread;
use tokio::sync::{Notify, mpsc};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

/// The most messages in the queue; then the client waits.
const QUEUE: usize = 256;
/// One connection over the program's standard streams.
pub(super) struct Stdio {
    incoming: mpsc::Receiver<ClientJsonRpcMessage>,
    output: ProtocolOutput,
    open: OpenRequests,
    /// An `initialize` without an answer so far.
    handshake: Option<RequestId>,
    /// When to stop waiting for requests, once the input has ended.
    deadline: Option<Instant>,
}

/// The ids of requests without an answer so far. A second request with such an id is refused,
/// because the client could not tell their answers apart.
#[derive(Clone, Debug, Default)]
pub(super) struct OpenRequests(Arc<(Mutex<HashSet<RequestId>>, Notify)>);

impl OpenRequests {
    fn ids(&self) -> MutexGuard<'_, HashSet<RequestId>> {
        lock(&self.0.0)
    }

    fn claim(&self, id: &RequestId) -> bool {
        self.ids().insert(id.clone())
    }

    /// Frees the id of a request that was answered or cancelled.
    pub(super) fn release(&self, id: &RequestId) {
        self.ids().remove(id);
        self.0.1.notify_waiters();
    }

    async fn until(&self, holds: impl Fn(&HashSet<RequestId>) -> bool) {
        loop {
            let mut next = pin!(self.0.1.notified());
            next.as_mut().enable();
            if holds(&self.ids()) {
                return;
            }
            next.await;
        }
    }
}

impl Stdio {
    /// Starts to read. `ended` is cancelled when the input ends, `unread` when the output is
    /// closed.
    pub(super) fn open(ended: &CancellationToken, unread: &CancellationToken) -> Self {
        let (to_serve, incoming) = mpsc::channel(QUEUE);
        let (output, open) = (
            ProtocolOutput::open(unread.clone()),
            OpenRequests::default(),
        );
        let (answers, requests, ended) = (output.clone(), open.clone(), ended.clone());
        thread::spawn(move || {
            let mut input = BufReader::with_capacity(64 << 10, io::stdin().lock());
            while let Ok(Some(line)) = read::line(&mut input, MAX_LINE_BYTES) {
                if take(line, &to_serve, &answers, &requests).is_none() {
                    break;
                }
            }
            // First, or the end of `to_serve` cancels a `listen` request before it is answered.
            ended.cancel();
            drop(to_serve);
        });
        Self {
            incoming,
            output,
            open,
            handshake: None,
            deadline: None,
        }
    }

    /// The requests without an answer so far.
    pub(super) fn open_requests(&self) -> OpenRequests {
        self.open.clone()
    }
}

/// Passes a line on, or answers it. `None` when the connection has ended.
fn take(
    line: InputLine,
    to_serve: &mpsc::Sender<ClientJsonRpcMessage>,
    answers: &ProtocolOutput,
    open: &OpenRequests,
) -> Option<()> {
    let answer = match read::read(line) {
        Incoming::Ignored => return Some(()),
        // Without an id that is in use: the client would take this for the answer to that request.
        Incoming::Reply(answer) if answer.id.as_ref().is_some_and(|id| open.ids().contains(id)) => {
            let mut error = answer.error;
            error.data = Some(json!({ "id": answer.id }));
            JsonRpcError::new(None, error)
        }
        Incoming::Reply(answer) => answer,
        Incoming::Message(message) => match &*message {
            JsonRpcMessage::Request(request) if !open.claim(&request.id) => {
                let id = &request.id;
                let text = format!("the id `{id}` belongs to a request that has no answer yet");
                // Without the id: the client would take this for the answer to the first request.
                let data = json!({ "id": id });
                JsonRpcError::new(None, ErrorData::invalid_request(text, Some(data)))
            }
            _ => return to_serve.blocking_send(*message).ok(),
        },
    };
    answers
        .queue(encoded(&ServerJsonRpcMessage::Error(answer)).ok()?)
        .ok()
}

fn encoded(message: &ServerJsonRpcMessage) -> io::Result<Vec<u8>> {
    let mut bytes = serde_json::to_vec(message)?;
    bytes.push(b'\n');
    Ok(bytes)
}

impl Transport<RoleServer> for Stdio {
    type Error = io::Error;

    fn send(
        &mut self,
        message: ServerJsonRpcMessage,
    ) -> impl Future<Output = io::Result<()>> + Send + 'static {
        match &message {
            JsonRpcMessage::Response(response) => self.open.release(&response.id),
            JsonRpcMessage::Error(JsonRpcError { id: Some(id), .. }) => self.open.release(id),
            _ => {}
        }
        // Written or queued here, because `rmcp` runs the future in another task, perhaps later.
        let sent = encoded(&message).and_then(|bytes| self.output.write(bytes));
        async move {
            match sent? {
                WriteOutcome::Done => Ok(()),
                WriteOutcome::Pending(room) => room.await,
            }
        }
    }

    async fn receive(&mut self) -> Option<ClientJsonRpcMessage> {
        // A client may send more without waiting for the handshake's answer, which must apply to
        // it.
        if let Some(id) = &self.handshake {
            self.open.until(|open| !open.contains(id)).await;
            self.handshake = None;
        }
        let Some(message) = self.incoming.recv().await else {
            // After the end of the input `rmcp` delivers nothing more, and a request that waits for
            // a delivery would get no answer. So the input ends when every request is answered, or
            // when that takes too long.
            let deadline = *self
                .deadline
                .get_or_insert_with(|| Instant::now() + GRACE + CANCEL_TIMEOUT);
            let _ = tokio::time::timeout_at(deadline, self.open.until(HashSet::is_empty)).await;
            return None;
        };
        if let JsonRpcMessage::Request(request) = &message
            && matches!(request.request, ClientRequest::InitializeRequest(_))
        {
            self.handshake = Some(request.id.clone());
        }
        Some(message)
    }

    async fn close(&mut self) -> io::Result<()> {
        self.output.finish().await;
        Ok(())
    }
}
