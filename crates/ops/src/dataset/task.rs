//! Work that iterators do ahead of those who ask for it.

use std::fmt;
use std::future::{Future, poll_fn};
use std::pin::Pin;
use std::sync::atomic::{AtomicU32, Ordering};
use std::task::{Context, Poll};

use futures_channel::{mpsc, oneshot};
use futures_util::StreamExt;
use futures_util::future::{AbortHandle, abortable};
use tensorfleet_framework::Spawn;
use tensorfleet_tensor::{Result, internal};

/// A future that runs by itself. Awaiting it gives its result; dropping it ends it.
pub(crate) struct Task<T> {
    result: oneshot::Receiver<T>,
    running: AbortHandle,
    ends_with_drop: bool,
}

impl<T> fmt::Debug for Task<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Task")
    }
}

/// Runs a future by itself.
pub(super) fn spawn<T: Send + 'static>(
    spawner: &dyn Spawn,
    future: impl Future<Output = T> + Send + 'static,
) -> Task<T> {
    let (sender, result) = oneshot::channel();
    let (future, running) = abortable(future);
    spawner.spawn(Box::pin(async move {
        if let Ok(value) = future.await {
            // Nobody waits for the result any more: then it does not matter.
            sender.send(value).ok();
        }
    }));
    Task { result, running, ends_with_drop: true }
}

impl<T> Task<T> {
    /// Lets the future run to its end without anybody waiting for it.
    pub(crate) fn detach(mut self) {
        self.ends_with_drop = false;
    }
}

impl<T> Future for Task<T> {
    type Output = Result<T>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Result<T>> {
        Pin::new(&mut self.result)
            .poll(cx)
            .map(|result| result.map_err(|_| internal!("background work failed unexpectedly")))
    }
}

impl<T> Drop for Task<T> {
    fn drop(&mut self) {
        if self.ends_with_drop {
            self.running.abort();
        }
    }
}

/// Makes a loop that never waits give way now and then: to others that need the thread, and to
/// whoever wants it to end.
#[derive(Debug, Default)]
pub(super) struct Pace(AtomicU32);

impl Pace {
    /// One turn of the loop.
    pub(super) async fn turn(&self) {
        const TURNS: u32 = 64;
        if self.0.fetch_add(1, Ordering::Relaxed) % TURNS == TURNS - 1 {
            let mut has_waited = false;
            poll_fn(|cx| {
                if std::mem::replace(&mut has_waited, true) {
                    return Poll::Ready(());
                }
                cx.waker().wake_by_ref();
                Poll::Pending
            })
            .await;
        }
    }
}

/// Makes a buffer for up to `size` items, which is at least one.
pub(super) fn buffer<T>(size: usize) -> (Filler<T>, Buffer<T>) {
    const MOST: usize = 1 << 30;
    // The channel has one more place, for the only sender.
    let (sender, receiver) = mpsc::channel(size.clamp(1, MOST) - 1);
    (Filler(sender, Pace::default()), Buffer(receiver))
}

/// The end of a buffer where items go in.
pub(super) struct Filler<T>(mpsc::Sender<T>, Pace);

impl<T> Filler<T> {
    /// Waits until there is room. False: nobody will take any more items.
    pub(super) async fn ready(&mut self) -> bool {
        self.1.turn().await;
        poll_fn(|cx| self.0.poll_ready(cx)).await.is_ok()
    }

    /// Puts an item in, after [`Filler::ready`].
    pub(super) fn put(&mut self, item: T) {
        // It fails when the other end is gone, and then the item is of no use.
        self.0.start_send(item).ok();
    }
}

/// The end of a buffer where items come out.
pub(super) struct Buffer<T>(mpsc::Receiver<T>);

impl<T> Buffer<T> {
    /// The next item; `None` when the buffer is empty and nobody fills it.
    pub(super) async fn take(&mut self) -> Option<T> {
        self.0.next().await
    }

    /// The next item if there is one already.
    pub(super) fn try_take(&mut self) -> Option<T> {
        self.0.try_recv().ok()
    }
}
