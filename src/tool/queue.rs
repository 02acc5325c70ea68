//! A queue from whoever reports to the one who listens.
//!
//! Most calls report one thing or two, so it is a list that has room for what is in it and no more:
//! a channel with room for dozens costs as much as a small tool.

use std::collections::VecDeque;
use std::future::poll_fn;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};

/// The end of whoever reports; clones feed the same queue.
#[derive(Debug)]
pub(crate) struct Sender<T>(Arc<Shared<T>>);

/// The end of whoever listens.
#[derive(Debug)]
pub(crate) struct Receiver<T>(Arc<Shared<T>>);

#[derive(Debug)]
struct Shared<T> {
    state: Mutex<State<T>>,
    senders: AtomicUsize,
}

#[derive(Debug)]
struct State<T> {
    waiting: VecDeque<T>,
    /// Whoever listens, while they sleep.
    sleeper: Option<Waker>,
    /// Nobody listens any more.
    is_deaf: bool,
}

/// A new queue.
pub(crate) fn channel<T>() -> (Sender<T>, Receiver<T>) {
    let shared = Arc::new(Shared {
        state: Mutex::new(State {
            waiting: VecDeque::new(),
            sleeper: None,
            is_deaf: false,
        }),
        senders: AtomicUsize::new(1),
    });
    (Sender(shared.clone()), Receiver(shared))
}

impl<T> Sender<T> {
    /// Adds `item`. Whoever does not listen any more misses it, that is their right.
    pub(crate) fn send(&self, item: T) {
        self.send_within(usize::MAX, item);
    }

    /// The same, but `item` is left out where so many wait.
    pub(crate) fn send_within(&self, most: usize, item: T) {
        let mut state = self.0.state();
        if state.is_deaf || state.waiting.len() >= most {
            return;
        }
        state.waiting.push_back(item);
        let sleeper = state.sleeper.take();
        drop(state);
        // Whoever is woken may run at once, on this thread.
        if let Some(sleeper) = sleeper {
            sleeper.wake();
        }
    }
}

impl<T> Clone for Sender<T> {
    fn clone(&self) -> Self {
        self.0.senders.fetch_add(1, Ordering::Relaxed);
        Sender(self.0.clone())
    }
}

impl<T> Drop for Sender<T> {
    fn drop(&mut self) {
        if self.0.senders.fetch_sub(1, Ordering::AcqRel) > 1 {
            return;
        }
        let sleeper = self.0.state().sleeper.take();
        if let Some(sleeper) = sleeper {
            sleeper.wake();
        }
    }
}

impl<T> Receiver<T> {
    /// The next item, as soon as there is one; `None` when nobody is left to send any.
    pub(crate) async fn recv(&mut self) -> Option<T> {
        poll_fn(|cx| self.poll_recv(cx)).await
    }

    /// The same as one look.
    pub(crate) fn poll_recv(&mut self, cx: &mut Context<'_>) -> Poll<Option<T>> {
        let mut state = self.0.state();
        if let Some(item) = state.waiting.pop_front() {
            return Poll::Ready(Some(item));
        }
        // Looked at under the lock that the last sender takes when it goes.
        if self.0.senders.load(Ordering::Acquire) == 0 {
            return Poll::Ready(None);
        }
        match &mut state.sleeper {
            Some(sleeper) => sleeper.clone_from(cx.waker()),
            none => *none = Some(cx.waker().clone()),
        }
        Poll::Pending
    }

    /// The next item, if there is one.
    pub(crate) fn try_recv(&mut self) -> Option<T> {
        self.0.state().waiting.pop_front()
    }

    /// How many wait.
    pub(crate) fn len(&self) -> usize {
        self.0.state().waiting.len()
    }
}

impl<T> Drop for Receiver<T> {
    fn drop(&mut self) {
        let mut state = self.0.state();
        state.is_deaf = true;
        state.sleeper = None;
        let waiting = std::mem::take(&mut state.waiting);
        drop(state);
        // Large ones take their time.
        drop(waiting);
    }
}

impl<T> Shared<T> {
    /// No code that holds the lock can panic, so a poisoned one is still whole.
    fn state(&self) -> MutexGuard<'_, State<T>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
