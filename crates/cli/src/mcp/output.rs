//! Standard output. Nothing else writes to it while the server runs.

use crate::lock;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use std::io::{self, Write};
use std::pin::Pin;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;
use tokio::sync::futures::Notified;
use tokio::sync::mpsc::error::TrySendError;
use tokio::sync::{Notify, mpsc};
use tokio_util::sync::CancellationToken;

/// The most messages in the queue; then the sender waits.
const QUEUE: usize = 256;
/// What a ready pipe or socket takes without blocking.
const DIRECT_BYTES: usize = 4096;
/// The most bytes in one write.
const BATCH_BYTES: usize = 64 << 10;
/// What a waiting message costs beyond its bytes.
const MESSAGE: usize = 1024;
/// How long the last answers may take to be written.
const FINISH_TIMEOUT: Duration = Duration::from_secs(2);

/// The way to the client. The sender writes a short message itself; if the client is slow, a thread
/// waits for it.
#[derive(Clone)]
pub(super) struct ProtocolOutput {
    queue: mpsc::Sender<Vec<u8>>,
    state: Arc<WriteState>,
    unread: CancellationToken,
}

#[derive(Default)]
struct WriteState {
    /// The number of messages in the queue or being written from it.
    waiting: AtomicUsize,
    /// Their bytes.
    bytes: AtomicUsize,
    /// Held while writing.
    writing: Mutex<()>,
    /// Some of them were written.
    written: Notify,
}

impl WriteState {
    fn add(&self, message: &[u8]) {
        self.waiting.fetch_add(1, Ordering::SeqCst);
        self.bytes.fetch_add(message.len(), Ordering::SeqCst);
    }
}

/// Whether the sender of a message has to wait.
pub(super) enum WriteOutcome {
    /// The message is written or queued.
    Done,
    /// The queue is full: wait for room.
    Pending(Pin<Box<dyn Future<Output = io::Result<()>> + Send>>),
}

impl ProtocolOutput {
    /// Starts the thread. `unread` is cancelled when the client closes its end.
    pub(super) fn open(unread: CancellationToken) -> Self {
        let (queue, messages) = mpsc::channel(QUEUE);
        let state = Arc::<WriteState>::default();
        let (shared, gone) = (Arc::clone(&state), unread.clone());
        thread::spawn(move || {
            let _ = write_queued(messages, &shared);
            gone.cancel();
            shared.waiting.store(0, Ordering::SeqCst);
            shared.bytes.store(0, Ordering::SeqCst);
            shared.written.notify_waiters();
        });
        Self {
            queue,
            state,
            unread,
        }
    }

    /// Writes a message, or queues it behind others. Never blocks.
    pub(super) fn write(&self, message: Vec<u8>) -> io::Result<WriteOutcome> {
        if message.len() <= DIRECT_BYTES
            && let Ok(_writing) = self.state.writing.try_lock()
            // Checked under the lock, so that nothing overtakes what is queued.
            && self.state.waiting.load(Ordering::SeqCst) == 0
            && is_ready()
        {
            return put(&message)
                .map(|()| WriteOutcome::Done)
                .inspect_err(|_| self.unread.cancel());
        }
        self.state.add(&message);
        match self.queue.try_send(message) {
            Ok(()) => Ok(WriteOutcome::Done),
            Err(TrySendError::Closed(_)) => Err(io::ErrorKind::BrokenPipe.into()),
            Err(TrySendError::Full(message)) => {
                let queue = self.queue.clone();
                Ok(WriteOutcome::Pending(Box::pin(async move {
                    queue
                        .send(message)
                        .await
                        .map_err(|_| io::ErrorKind::BrokenPipe.into())
                })))
            }
        }
    }

    /// Queues a message from a thread that may block.
    pub(super) fn queue(&self, message: Vec<u8>) -> io::Result<()> {
        self.state.add(&message);
        self.queue
            .blocking_send(message)
            .map_err(|_| io::ErrorKind::BrokenPipe.into())
    }

    /// The bytes that wait for the client, with what it costs to keep them.
    pub(super) fn unread(&self) -> usize {
        let messages = self.state.waiting.load(Ordering::SeqCst);
        self.state.bytes.load(Ordering::SeqCst) + messages * MESSAGE
    }

    /// Completes when some of what waits is written.
    pub(super) fn written(&self) -> Notified<'_> {
        self.state.written.notified()
    }

    /// Waits until everything is written, or for a limited time.
    pub(super) async fn finish(&self) {
        let emptied = async {
            loop {
                let mut next = std::pin::pin!(self.state.written.notified());
                next.as_mut().enable();
                if self.state.waiting.load(Ordering::SeqCst) == 0 {
                    return;
                }
                next.await;
            }
        };
        let _ = tokio::time::timeout(FINISH_TIMEOUT, emptied).await;
    }
}

/// Writes the queue, several messages at a time.
fn write_queued(mut messages: mpsc::Receiver<Vec<u8>>, state: &WriteState) -> io::Result<()> {
    while let Some(mut bytes) = messages.blocking_recv() {
        let mut count = 1;
        while bytes.len() < BATCH_BYTES
            && let Ok(next) = messages.try_recv()
        {
            bytes.extend_from_slice(&next);
            count += 1;
        }
        {
            let _writing = lock(&state.writing);
            put(&bytes)?;
            state.waiting.fetch_sub(count, Ordering::SeqCst);
            state.bytes.fetch_sub(bytes.len(), Ordering::SeqCst);
        }
        state.written.notify_waiters();
    }
    Ok(())
}

fn put(bytes: &[u8]) -> io::Result<()> {
    let mut stdout = io::stdout().lock();
    stdout.write_all(bytes)?;
    stdout.flush()
}

/// Whether standard output takes at least a page without blocking.
fn is_ready() -> bool {
    let stdout = io::stdout();
    let mut asked = [PollFd::new(&stdout, PollFlags::OUT)];
    let ready = poll(&mut asked, Some(&Timespec::default()));
    ready.is_ok_and(|count| count == 1)
        && asked.iter().all(|found| found.revents() == PollFlags::OUT)
}
