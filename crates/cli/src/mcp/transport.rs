//! Standard input and output as `rmcp` sees them. Each has a thread, so that no slow client holds a call up.

use super::output::{Output, Wait};
use super::read::{self, Line, MAX_LINE_BYTES, Read};
use super::{ENDING, GRACE};
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
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use tokio::sync::{Notify, mpsc};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

/// Messages that wait to be served before the client has to wait.
const WAITING: usize = 256;
/// One connection over the program's own streams.
pub(super) struct Stdio {
    incoming: mpsc::Receiver<ClientJsonRpcMessage>,
    output: Output,
    open: OpenRequests,
    /// An `initialize` that is not answered yet.
    handshake: Option<RequestId>,
    /// How long requests are waited for, once the input has ended.
    over: Option<Instant>,
}

/// The ids of requests that are not answered yet. A second request under such an id could not be told from the first.
#[derive(Clone, Debug, Default)]
pub(super) struct OpenRequests(Arc<(Mutex<HashSet<RequestId>>, Notify)>);

impl OpenRequests {
    fn ids(&self) -> MutexGuard<'_, HashSet<RequestId>> {
        self.0.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn claim(&self, id: &RequestId) -> bool {
        self.ids().insert(id.clone())
    }

    /// The request was answered, or ended without an answer because the client cancelled it.
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
    /// Starts to read. `ended` is cancelled when the input ends, `unread` when nobody reads the output.
    pub(super) fn open(ended: &CancellationToken, unread: &CancellationToken) -> Self {
        let (to_serve, incoming) = mpsc::channel(WAITING);
        let (output, open) = (Output::open(unread.clone()), OpenRequests::default());
        let (answers, requests, ended) = (output.clone(), open.clone(), ended.clone());
        thread::spawn(move || {
            let mut input = BufReader::with_capacity(64 << 10, io::stdin().lock());
            while let Ok(Some(line)) = read::line(&mut input, MAX_LINE_BYTES) {
                if take(line, &to_serve, &answers, &requests).is_none() {
                    break;
                }
            }
            // First, because who has nothing more to serve cancels what listens, and that would end without its answer.
            ended.cancel();
            drop(to_serve);
        });
        Self {
            incoming,
            output,
            open,
            handshake: None,
            over: None,
        }
    }

    /// The requests that wait for an answer.
    pub(super) fn open_requests(&self) -> OpenRequests {
        self.open.clone()
    }
}

/// Passes a line on, or answers it. `None` when the connection is over.
fn take(
    line: Line,
    to_serve: &mpsc::Sender<ClientJsonRpcMessage>,
    answers: &Output,
    open: &OpenRequests,
) -> Option<()> {
    let answer = match read::read(line) {
        Read::Nothing => return Some(()),
        // An answer under an id in use would be taken for that of the request that has it.
        Read::Answer(answer) if answer.id.as_ref().is_some_and(|id| open.ids().contains(id)) => {
            let data = answer
                .id
                .and_then(|id| serde_json::to_value(id).ok())
                .map(|id| json!({ "id": id }));
            JsonRpcError::new(
                None,
                ErrorData {
                    data,
                    ..answer.error
                },
            )
        }
        Read::Answer(answer) => answer,
        Read::Message(message) => match &*message {
            JsonRpcMessage::Request(request) if !open.claim(&request.id) => {
                let text = format!(
                    "the id `{}` belongs to a request that is not answered yet",
                    request.id
                );
                // Without the id: an answer under it would be taken for that of the first request.
                JsonRpcError::new(
                    None,
                    ErrorData::invalid_request(text, Some(json!({ "id": request.id }))),
                )
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
        // Written, or handed over, at once: the future is run by a task of its own, and that can wait.
        let sent = encoded(&message).and_then(|bytes| self.output.write(bytes));
        async move {
            match sent? {
                Wait::No => Ok(()),
                Wait::For(room) => room.await,
            }
        }
    }

    async fn receive(&mut self) -> Option<ClientJsonRpcMessage> {
        // A client may write on without waiting for the answer to its handshake: what follows is served under what was agreed.
        if let Some(id) = &self.handshake {
            self.open.until(|open| !open.contains(id)).await;
            self.handshake = None;
        }
        let Some(message) = self.incoming.recv().await else {
            // Whoever serves hears no more of what was sent once the input has ended, and a request that waits to hear of it would never be
            // answered. So the input ends when all that came is answered, or when that takes too long.
            let over = *self
                .over
                .get_or_insert_with(|| Instant::now() + GRACE + ENDING);
            let _ = tokio::time::timeout_at(over, self.open.until(HashSet::is_empty)).await;
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
