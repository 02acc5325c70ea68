//! A queue from whoever reports to the one who listens.
//!
//! Most calls report one thing or two, so it is a list that has room for what is in it and no more:
//! a channel with room for dozens costs as much as a small tool.

use std::collections::VecDeque;
use std::future::poll_fn;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};

/// The end of whoever reports; clones feed the same queue. Nothing is behind it where nobody listens.
#[derive(Debug)]
pub(crate) struct Sender<T>(Option<Arc<Shared<T>>>);

/// The end of whoever listens.
#[derive(Debug)]
pub(crate) struct Receiver<T>(Arc<Shared<T>>);

/// Ends the queue when it is dropped, whatever the way there.
#[derive(Debug)]
pub(crate) struct EndOnDrop<T>(Sender<T>);

#[derive(Debug)]
struct Shared<T>(Mutex<State<T>>);

#[derive(Debug)]
struct State<T> {
    waiting: VecDeque<T>,
    /// Whoever listens, while they sleep.
    sleeper: Option<Waker>,
    /// Nothing more comes, or nobody listens any more.
    is_over: bool,
}

/// A new queue.
pub(crate) fn channel<T>() -> (Sender<T>, Receiver<T>) {
    let shared = Arc::new(Shared(Mutex::new(State {
        waiting: VecDeque::new(),
        sleeper: None,
        is_over: false,
    })));
    (Sender(Some(shared.clone())), Receiver(shared))
}

/// For what nobody listens to.
pub(crate) fn unheard<T>() -> Sender<T> {
    Sender(None)
}

impl<T> Sender<T> {
    /// Adds `item`, unless the queue has ended. Whoever does not listen any more misses it, that is
    /// their right.
    pub(crate) fn send(&self, item: T) {
        self.put(usize::MAX, item, false);
    }

    /// The same, but `item` is left out where so many wait.
    pub(crate) fn send_within(&self, most: usize, item: T) {
        self.put(most, item, false);
    }

    /// Adds the last item: whatever comes after it, from whomever, is left out.
    pub(crate) fn finish(&self, item: T) {
        self.put(usize::MAX, item, true);
    }

    /// What ends the queue at the latest.
    pub(crate) fn end_on_drop(&self) -> EndOnDrop<T> {
        EndOnDrop(self.clone())
    }

    fn put(&self, most: usize, item: T, is_last: bool) {
        let Some(shared) = &self.0 else {
            return;
        };
        let mut state = shared.state();
        if state.is_over || state.waiting.len() >= most {
            return;
        }
        state.waiting.push_back(item);
        state.is_over = is_last;
        wake(state);
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

/// Wakes whoever sleeps. They may run at once, on this thread.
fn wake<T>(mut state: MutexGuard<'_, State<T>>) {
    let sleeper = state.sleeper.take();
    drop(state);
    if let Some(sleeper) = sleeper {
        sleeper.wake();
    }
}

impl<T> Receiver<T> {
    /// A queue that has ended, with nothing in it.
    pub(crate) fn ended() -> Receiver<T> {
        let (sender, receiver) = channel();
        drop(sender.end_on_drop());
        receiver
    }

    /// The next item, as soon as there is one; `None` when the queue has ended.
    pub(crate) async fn recv(&mut self) -> Option<T> {
        poll_fn(|cx| self.poll_recv(cx)).await
    }

    /// The same as one look.
    pub(crate) fn poll_recv(&mut self, cx: &mut Context<'_>) -> Poll<Option<T>> {
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
        state.is_over = true;
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
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
