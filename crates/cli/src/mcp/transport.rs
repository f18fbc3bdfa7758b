//! Standard input and output as a transport of `rmcp`. Each has a thread, so that a slow client
//! delays no call.

use super::output::{ProtocolOutput, WriteOutcome};
use super::pending::{Intake, PendingRequests};
use super::read::{self, Incoming, InputLine, MAX_LINE_BYTES};
use super::{CANCEL_TIMEOUT, GRACE};
use rmcp::RoleServer;
use rmcp::model::{
    ClientJsonRpcMessage, ClientRequest, ErrorData, JsonRpcError, JsonRpcMessage, RequestId,
    ServerJsonRpcMessage,
};
use rmcp::transport::Transport;
use serde_json::json;
use std::io::{self, BufReader};
use std::thread;
use tokio_util::sync::CancellationToken;

/// One connection over the program's standard streams.
pub(super) struct Stdio {
    output: ProtocolOutput,
    pending: PendingRequests,
    /// An `initialize` without an answer so far.
    handshake: Option<RequestId>,
}

impl Stdio {
    /// Starts to read. `ended` is cancelled when the input ends, `unread` when the output is
    /// closed.
    pub(super) fn open(ended: &CancellationToken, unread: &CancellationToken) -> Self {
        let output = ProtocolOutput::open(unread.clone());
        let pending = PendingRequests::new(output.clone());
        let (answers, requests, ended) = (output.clone(), pending.clone(), ended.clone());
        thread::spawn(move || {
            let mut input = BufReader::with_capacity(64 << 10, io::stdin().lock());
            while let Ok(Some(line)) = read::line(&mut input, MAX_LINE_BYTES) {
                if take(line, &requests, &answers).is_none() {
                    break;
                }
            }
            // First, or the end of the requests cancels a `listen` request before it is answered.
            ended.cancel();
            requests.end();
        });
        Self {
            output,
            pending,
            handshake: None,
        }
    }

    /// The requests without an answer so far.
    pub(super) fn pending(&self) -> PendingRequests {
        self.pending.clone()
    }
}

impl Drop for Stdio {
    fn drop(&mut self) {
        self.pending.close();
    }
}

/// Passes a line on, or answers it. `None` when the connection has ended.
fn take(line: InputLine, pending: &PendingRequests, answers: &ProtocolOutput) -> Option<()> {
    let answer = match read::read(&line) {
        Incoming::Ignored => return Some(()),
        // Without an id that is in use: the client would take this for the answer to that request.
        Incoming::Reply(answer) if answer.id.as_ref().is_some_and(|id| pending.contains(id)) => {
            let mut error = answer.error;
            error.data = Some(json!({ "id": answer.id }));
            JsonRpcError::new(None, error)
        }
        Incoming::Reply(answer) => answer,
        Incoming::Message(message) => {
            let id = match &*message {
                JsonRpcMessage::Request(request) => Some(request.id.clone()),
                _ => None,
            };
            match pending.take(*message, line) {
                Intake::Taken => return Some(()),
                Intake::Closed => return None,
                Intake::IdInUse => {
                    let id = id?;
                    let text = format!("the id `{id}` belongs to a request that has no answer yet");
                    // Without the id: the client would take this for the answer to the first
                    // request.
                    let data = json!({ "id": id });
                    JsonRpcError::new(None, ErrorData::invalid_request(text, Some(data)))
                }
            }
        }
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
            JsonRpcMessage::Response(response) => self.pending.release(&response.id),
            JsonRpcMessage::Error(JsonRpcError { id: Some(id), .. }) => self.pending.release(id),
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
            self.pending.answered(id).await;
            self.handshake = None;
        }
        // After the end of the input `rmcp` delivers nothing more, and a request that waits for a
        // delivery would get no answer. So the input ends when every request is answered, or when
        // that takes too long.
        let message = self.pending.next(GRACE + CANCEL_TIMEOUT).await?;
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
