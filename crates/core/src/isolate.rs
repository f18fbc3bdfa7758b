//! Contains panics of the host's code: in a call, in a poll, in a drop, and in dropping the panic
//! payload itself. A panic while unwinding still aborts the program, as everywhere in Rust.

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::Pin;
use std::task::{Context, Poll};

/// Runs the host's code; `None` if it panics.
pub(crate) fn caught<T>(work: impl FnOnce() -> T) -> Option<T> {
    catch_unwind(AssertUnwindSafe(work)).map_err(discard).ok()
}

/// Drops a panic payload, whose own drop may panic.
#[cold]
fn discard(payload: Box<dyn Any + Send>) {
    if let Err(another) = catch_unwind(AssertUnwindSafe(|| drop(payload))) {
        // Dropping this payload could panic again, without end.
        std::mem::forget(another);
    }
}

/// Runs the host's code on a blocking thread; `None` if it panics.
pub(crate) async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> T + Send + 'static,
) -> Option<T> {
    tokio::task::spawn_blocking(|| caught(work))
        .await
        .ok()
        .flatten()
}

/// A future from the host: it yields `None` if it panics, in a poll or in its drop.
pub(crate) struct Isolated<'a, T>(Option<Pin<Box<dyn Future<Output = T> + Send + 'a>>>);

impl<'a, T> Isolated<'a, T> {
    pub(crate) fn new(work: Pin<Box<dyn Future<Output = T> + Send + 'a>>) -> Self {
        Self(Some(work))
    }

    /// Drops the future; `None` if that panics.
    fn end(&mut self) -> Option<()> {
        let work = self.0.take();
        caught(|| drop(work))
    }
}

impl<T> Future for Isolated<'_, T> {
    type Output = Option<T>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let Some(work) = self.0.as_mut() else {
            return Poll::Ready(None);
        };
        match caught(|| work.as_mut().poll(cx)) {
            Some(Poll::Pending) => Poll::Pending,
            Some(Poll::Ready(answer)) => Poll::Ready(self.end().map(|()| answer)),
            None => {
                self.end();
                Poll::Ready(None)
            }
        }
    }
}

impl<T> Drop for Isolated<'_, T> {
    fn drop(&mut self) {
        self.end();
    }
}
