//! Event log of one session: keeps the newest events, for any number of readers at any pace.
//!
//! A reader never delays the agent. A reader that is too slow loses the oldest events and gets a
//! `Gap`.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};

use tokio::sync::watch;

use super::event::Happened;

/// Maximum number of kept events.
const MAX_EVENTS: usize = 10_000;
/// Maximum size of the kept events in bytes.
const MAX_BYTES: usize = 16 << 20;

/// Event log of one session.
pub(crate) struct Log {
    kept: Mutex<Kept>,
    /// Number of events so far. Readers wait for it to change.
    count: watch::Sender<u64>,
}

#[derive(Default)]
struct Kept {
    events: VecDeque<(Arc<Happened>, usize)>,
    bytes: usize,
    /// Number of the first kept event, counted from 0.
    first: u64,
    is_closed: bool,
}

/// Reply to a reader that waits for an event.
pub(crate) enum Next {
    /// The event with this number, counted from 0.
    Event(u64, Arc<Happened>),
    /// All events before this number have been dropped.
    Gap(u64),
    /// The log is closed and has no further event.
    End,
}

impl Log {
    pub(super) fn new() -> Log {
        Log {
            kept: Mutex::default(),
            count: watch::Sender::new(0),
        }
    }

    /// Adds an event unless the log is closed.
    pub(super) fn add(&self, event: Happened) {
        let size = size_of(&event.data);
        let mut kept = self.kept();
        if kept.is_closed {
            return;
        }
        kept.bytes += size;
        kept.events.push_back((Arc::new(event), size));
        while kept.events.len() > MAX_EVENTS || (kept.bytes > MAX_BYTES && kept.events.len() > 1) {
            let Some((_, size)) = kept.events.pop_front() else {
                break;
            };
            kept.bytes -= size;
            kept.first += 1;
        }
        drop(kept);
        self.count.send_modify(|count| *count += 1);
    }

    /// Closes the log and wakes its readers.
    pub(super) fn close(&self) {
        self.kept().is_closed = true;
        self.count.send_modify(|_| ());
    }

    /// Waits for the event with this number.
    pub(crate) async fn next(&self, number: u64) -> Next {
        let mut count = self.count.subscribe();
        loop {
            count.borrow_and_update();
            if let Some(next) = self.at(number) {
                return next;
            }
            // `self` owns the sender, so this cannot fail while `self` exists.
            if count.changed().await.is_err() {
                return Next::End;
            }
        }
    }

    /// Returns the number of events so far.
    pub(crate) fn count(&self) -> u64 {
        *self.count.borrow()
    }

    fn at(&self, number: u64) -> Option<Next> {
        let kept = self.kept();
        if number < kept.first {
            return Some(Next::Gap(kept.first));
        }
        let index = usize::try_from(number - kept.first).unwrap_or(usize::MAX);
        match kept.events.get(index) {
            Some((event, _)) => Some(Next::Event(number, event.clone())),
            None => kept.is_closed.then_some(Next::End),
        }
    }

    fn kept(&self) -> std::sync::MutexGuard<'_, Kept> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Estimates the size of a value in bytes.
fn size_of(value: &serde_json::Value) -> usize {
    match value {
        serde_json::Value::String(text) => text.len() + 32,
        serde_json::Value::Array(list) => 32 + list.iter().map(size_of).sum::<usize>(),
        serde_json::Value::Object(object) => {
            let sizes = object.iter().map(|(key, one)| key.len() + size_of(one));
            32 + sizes.sum::<usize>()
        }
        _ => 32,
    }
}
