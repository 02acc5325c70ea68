//! The events of one session: the newest of them kept, for any number of readers at any pace.
//!
//! A reader never holds up the agent. Whoever is too slow finds the oldest events gone, and is told.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};

use tokio::sync::watch;

use super::event::Happened;

/// The most events that are kept.
const MOST_EVENTS: usize = 10_000;
/// The most bytes of them.
const MOST_BYTES: usize = 16 << 20;

/// The events of one session.
pub(crate) struct Log {
    kept: Mutex<Kept>,
    /// How many events there have been; readers wait for it to grow.
    count: watch::Sender<u64>,
}

#[derive(Default)]
struct Kept {
    events: VecDeque<(Arc<Happened>, usize)>,
    bytes: usize,
    /// The number of the first that is kept, from 0.
    first: u64,
    is_closed: bool,
}

/// What a reader gets next.
pub(crate) enum Next {
    /// The event of this number, from 0.
    Event(u64, Arc<Happened>),
    /// Those before this number are gone.
    Gap(u64),
    /// There will be no more.
    End,
}

impl Log {
    pub(super) fn new() -> Log {
        Log {
            kept: Mutex::default(),
            count: watch::Sender::new(0),
        }
    }

    /// Adds an event, unless the session has ended.
    pub(super) fn add(&self, event: Happened) {
        let size = size_of(&event.data);
        let mut kept = self.kept();
        if kept.is_closed {
            return;
        }
        kept.bytes += size;
        kept.events.push_back((Arc::new(event), size));
        while kept.events.len() > MOST_EVENTS || (kept.bytes > MOST_BYTES && kept.events.len() > 1)
        {
            let Some((_, size)) = kept.events.pop_front() else {
                break;
            };
            kept.bytes -= size;
            kept.first += 1;
        }
        drop(kept);
        self.count.send_modify(|count| *count += 1);
    }

    /// Nothing comes any more.
    pub(super) fn close(&self) {
        self.kept().is_closed = true;
        self.count.send_modify(|_| ());
    }

    /// Waits for the event of this number.
    pub(crate) async fn next(&self, number: u64) -> Next {
        let mut count = self.count.subscribe();
        loop {
            count.borrow_and_update();
            if let Some(next) = self.at(number) {
                return next;
            }
            // The sender lives as long as `self`.
            if count.changed().await.is_err() {
                return Next::End;
            }
        }
    }

    /// How many events there have been.
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

/// Roughly the bytes that a value takes.
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
