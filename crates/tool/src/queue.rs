//! Unbounded queue with many senders and one receiver.
//!
//! Most calls report one or two items, so the queue allocates only the space for its items. A
//! channel that reserves space for dozens would cost as much as a small tool.

use std::collections::VecDeque;
use std::future::poll_fn;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};

/// Sending half; clones feed the same queue. Without a receiver it holds no queue.
#[derive(Debug)]
pub struct Sender<T>(Option<Arc<Shared<T>>>);

/// Receiving half.
#[derive(Debug)]
pub struct Receiver<T>(Arc<Shared<T>>);

/// Guard that closes the queue when it is dropped.
#[derive(Debug)]
pub struct EndOnDrop<T>(Sender<T>);

#[derive(Debug)]
struct Shared<T>(Mutex<State<T>>);

#[derive(Debug)]
struct State<T> {
    waiting: VecDeque<T>,
    /// Waker of the receiver while it waits.
    sleeper: Option<Waker>,
    /// Set once the queue is closed: at the end of the call, or when the receiver was dropped.
    is_over: bool,
}

/// Creates a queue.
pub fn channel<T>() -> (Sender<T>, Receiver<T>) {
    let shared = Arc::new(Shared(Mutex::new(State {
        waiting: VecDeque::new(),
        sleeper: None,
        is_over: false,
    })));
    (Sender(Some(shared.clone())), Receiver(shared))
}

/// Returns a sender without a receiver, which discards all items.
pub fn unheard<T>() -> Sender<T> {
    Sender(None)
}

impl<T> Sender<T> {
    /// Adds `item`, unless the queue is closed. Items for a dropped receiver are discarded.
    pub fn send(&self, item: T) {
        self.send_within(usize::MAX, item);
    }

    /// Adds `item` like `send`, but discards it if the queue has `most` items already.
    pub fn send_within(&self, most: usize, item: T) {
        let Some(shared) = &self.0 else {
            return;
        };
        let mut state = shared.state();
        if state.is_over || state.waiting.len() >= most {
            return;
        }
        state.waiting.push_back(item);
        wake(state);
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
        if let Some(shared) = &self.0.0 {
            let mut state = shared.state();
            state.is_over = true;
            wake(state);
        }
    }
}

/// Wakes the receiver. Its task may run at once, on this thread, so the lock is released first.
fn wake<T>(mut state: MutexGuard<'_, State<T>>) {
    let sleeper = state.sleeper.take();
    drop(state);
    if let Some(sleeper) = sleeper {
        sleeper.wake();
    }
}

impl<T> Receiver<T> {
    /// Waits for the next item; `None` when the queue is closed and empty.
    pub async fn recv(&mut self) -> Option<T> {
        poll_fn(|cx| self.poll_recv(cx)).await
    }

    /// Polls for the next item.
    pub fn poll_recv(&mut self, cx: &mut Context<'_>) -> Poll<Option<T>> {
        let mut state = self.0.state();
        if let Some(item) = state.waiting.pop_front() {
            return Poll::Ready(Some(item));
        }
        if state.is_over {
            return Poll::Ready(None);
        }
        match &mut state.sleeper {
            Some(sleeper) => sleeper.clone_from(cx.waker()),
            none => *none = Some(cx.waker().clone()),
        }
        Poll::Pending
    }

    /// Returns the number of waiting items.
    pub fn len(&self) -> usize {
        self.0.state().waiting.len()
    }
}

impl<T> Drop for Receiver<T> {
    fn drop(&mut self) {
        let mut state = self.0.state();
        state.is_over = true;
        state.sleeper = None;
        let waiting = std::mem::take(&mut state.waiting);
        drop(state);
        // Dropped without the lock, because large items take time.
        drop(waiting);
    }
}

impl<T> Shared<T> {
    /// Locks the state. Code that holds the lock cannot panic, so a poisoned lock still guards
    /// valid data.
    fn state(&self) -> MutexGuard<'_, State<T>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
