//! Standard output: the one place that writes to it while the door is open.

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use std::io::{self, Write};
use std::pin::Pin;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::Duration;
use tokio::sync::mpsc::error::TrySendError;
use tokio::sync::{Notify, mpsc};
use tokio_util::sync::CancellationToken;

/// Messages that wait to be written before whoever sends one has to wait.
const WAITING: usize = 256;
/// What a pipe or socket that is ready takes without blocking.
const AT_ONCE: usize = 4096;
/// Bytes that are written together.
const TOGETHER: usize = 64 << 10;
/// How long the last answers may take to be written to a client that no longer reads.
const LAST_WORDS: Duration = Duration::from_secs(2);

/// The way to the client. Short messages are written by whoever has one; when the client is slow, a thread waits for it.
#[derive(Clone)]
pub(super) struct Output {
    queue: mpsc::Sender<Vec<u8>>,
    state: Arc<State>,
    unread: CancellationToken,
}

#[derive(Default)]
struct State {
    /// Messages in the queue, and being written from it.
    waiting: AtomicUsize,
    /// Held by whoever writes.
    writing: Mutex<()>,
    emptied: Notify,
}

/// What whoever sends a message has to wait for.
pub(super) enum Wait {
    /// Nothing.
    No,
    /// Room in the queue.
    For(Pin<Box<dyn Future<Output = io::Result<()>> + Send>>),
}

impl Output {
    /// Starts the thread. `unread` is cancelled when the client reads no more.
    pub(super) fn open(unread: CancellationToken) -> Self {
        let (queue, messages) = mpsc::channel(WAITING);
        let state = Arc::<State>::default();
        let (shared, gone) = (Arc::clone(&state), unread.clone());
        thread::spawn(move || {
            let _ = write_queued(messages, &shared);
            gone.cancel();
            shared.waiting.store(0, Ordering::SeqCst);
            shared.emptied.notify_waiters();
        });
        Self {
            queue,
            state,
            unread,
        }
    }

    /// Writes a message, or queues it behind those that wait. Never blocks.
    pub(super) fn write(&self, message: Vec<u8>) -> io::Result<Wait> {
        if message.len() <= AT_ONCE
            && let Ok(_writing) = self.state.writing.try_lock()
            // Looked at under the lock, so that nothing overtakes what is queued.
            && self.state.waiting.load(Ordering::SeqCst) == 0
            && is_ready()
        {
            return put(&message)
                .map(|()| Wait::No)
                .inspect_err(|_| self.unread.cancel());
        }
        self.state.waiting.fetch_add(1, Ordering::SeqCst);
        match self.queue.try_send(message) {
            Ok(()) => Ok(Wait::No),
            Err(TrySendError::Closed(_)) => Err(io::ErrorKind::BrokenPipe.into()),
            Err(TrySendError::Full(message)) => {
                let queue = self.queue.clone();
                Ok(Wait::For(Box::pin(async move {
                    queue
                        .send(message)
                        .await
                        .map_err(|_| io::ErrorKind::BrokenPipe.into())
                })))
            }
        }
    }

    /// Queues a message from a thread that may wait.
    pub(super) fn queue(&self, message: Vec<u8>) -> io::Result<()> {
        self.state.waiting.fetch_add(1, Ordering::SeqCst);
        self.queue
            .blocking_send(message)
            .map_err(|_| io::ErrorKind::BrokenPipe.into())
    }

    /// Waits, not for ever, until everything is written.
    pub(super) async fn finish(&self) {
        let emptied = async {
            loop {
                let mut next = std::pin::pin!(self.state.emptied.notified());
                next.as_mut().enable();
                if self.state.waiting.load(Ordering::SeqCst) == 0 {
                    return;
                }
                next.await;
            }
        };
        let _ = tokio::time::timeout(LAST_WORDS, emptied).await;
    }
}

/// Writes what is queued, together what comes together.
fn write_queued(mut messages: mpsc::Receiver<Vec<u8>>, state: &State) -> io::Result<()> {
    while let Some(mut bytes) = messages.blocking_recv() {
        let mut count = 1;
        while bytes.len() < TOGETHER
            && let Ok(next) = messages.try_recv()
        {
            bytes.extend_from_slice(&next);
            count += 1;
        }
        {
            let _writing = state.writing.lock().unwrap_or_else(PoisonError::into_inner);
            put(&bytes)?;
            state.waiting.fetch_sub(count, Ordering::SeqCst);
        }
        state.emptied.notify_waiters();
    }
    Ok(())
}

fn put(bytes: &[u8]) -> io::Result<()> {
    let mut stdout = io::stdout().lock();
    stdout.write_all(bytes)?;
    stdout.flush()
}

/// Whether the client takes at least a page now.
fn is_ready() -> bool {
    let stdout = io::stdout();
    let mut asked = [PollFd::new(&stdout, PollFlags::OUT)];
    let ready = poll(&mut asked, Some(&Timespec::default()));
    ready.is_ok_and(|count| count == 1)
        && asked.iter().all(|found| found.revents() == PollFlags::OUT)
}
