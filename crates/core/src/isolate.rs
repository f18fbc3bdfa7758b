//! What a host gives may panic wherever it is asked: in a call, in a step, when it is dropped, and
//! what it panicked with when that is dropped. None of it goes further than here. What panics while
//! it is unwinding ends the program, as everywhere in Rust.

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::Pin;
use std::task::{Context, Poll};

/// What comes of the host's own code; nothing when it panics.
pub(crate) fn caught<T>(work: impl FnOnce() -> T) -> Option<T> {
    catch_unwind(AssertUnwindSafe(work)).map_err(discard).ok()
}

/// Lets go of what somebody panicked with.
#[cold]
fn discard(payload: Box<dyn Any + Send>) {
    if let Err(another) = catch_unwind(AssertUnwindSafe(|| drop(payload))) {
        // It could go on like this for ever.
        std::mem::forget(another);
    }
}

/// What comes of the host's own code on a thread that may wait; nothing when it panics.
pub(crate) async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> T + Send + 'static,
) -> Option<T> {
    tokio::task::spawn_blocking(|| caught(work))
        .await
        .ok()
        .flatten()
}

/// A future of the host's own: it gives nothing when it panics, be it in a step or at its end.
pub(crate) struct Isolated<'a, T>(Option<Pin<Box<dyn Future<Output = T> + Send + 'a>>>);

impl<'a, T> Isolated<'a, T> {
    pub(crate) fn new(work: Pin<Box<dyn Future<Output = T> + Send + 'a>>) -> Self {
        Self(Some(work))
    }

    /// Drops the future; nothing when that panics.
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
