//! Unbounded queue with many senders and one receiver, which any sender can close.
//!
//! It is futures' channel, which allocates for each item only. Most calls report one or two items:
//! tokio's channel, which reserves space for dozens, would cost a sixth of a small call.

use std::task::{Context, Poll};

use futures::channel::mpsc::{self, UnboundedReceiver, UnboundedSender};
use futures::{Stream, StreamExt};

/// Sending half; clones feed the same queue. Without a receiver it holds no queue.
#[derive(Debug)]
pub struct Sender<T>(Option<UnboundedSender<T>>);

/// Receiving half.
#[derive(Debug)]
pub struct Receiver<T>(UnboundedReceiver<T>);

/// Guard that closes the queue when it is dropped.
#[derive(Debug)]
pub struct EndOnDrop<T>(Sender<T>);

/// Creates a queue.
pub fn channel<T>() -> (Sender<T>, Receiver<T>) {
    let (sender, receiver) = mpsc::unbounded();
    (Sender(Some(sender)), Receiver(receiver))
}

/// Returns a sender without a receiver, which discards all items.
pub fn unheard<T>() -> Sender<T> {
    Sender(None)
}

impl<T> Sender<T> {
    /// Returns true if there is, or was, a receiver.
    pub fn is_heard(&self) -> bool {
        self.0.is_some()
    }

    /// Adds `item`, unless the queue is closed. Items for a dropped receiver are discarded.
    pub fn send(&self, item: T) {
        self.send_within(usize::MAX, item);
    }

    /// Adds `item` like `send`, but discards it if the queue has `most` items already.
    pub fn send_within(&self, most: usize, item: T) {
        if let Some(sender) = &self.0
            && sender.len() < most
        {
            // An error gives the item back, because the queue is closed.
            let _ = sender.unbounded_send(item);
        }
    }

    /// Returns a guard that closes the queue when it is dropped.
    pub fn end_on_drop(&self) -> EndOnDrop<T> {
        EndOnDrop(self.clone())
    }
}

impl<T> Clone for Sender<T> {
    fn clone(&self) -> Self {
        Sender(self.0.clone())
    }
}

impl<T> Drop for EndOnDrop<T> {
    fn drop(&mut self) {
        if let Some(sender) = &self.0.0 {
            sender.close_channel();
        }
    }
}

impl<T> Receiver<T> {
    /// Waits for the next item; `None` when the queue is closed and empty.
    pub async fn recv(&mut self) -> Option<T> {
        self.0.next().await
    }

    /// Polls for the next item.
    pub fn poll_recv(&mut self, cx: &mut Context<'_>) -> Poll<Option<T>> {
        self.0.poll_next_unpin(cx)
    }

    /// Returns the number of waiting items.
    pub fn waiting(&self) -> usize {
        self.0.size_hint().0
    }
}
