//! Ring of the newest events of one source, for any number of readers at any pace.
//!
//! A reader never delays the source. A reader that is too slow loses the oldest events and is told
//! how many.

use std::collections::VecDeque;
use std::ops::RangeInclusive;

use parking_lot::Mutex;
use tokio::sync::watch;

/// Ring of the newest events. Events are numbered from 0.
pub(crate) struct EventLog<T> {
    max_events: usize,
    max_bytes: usize,
    kept: Mutex<Kept<T>>,
    /// Number of events so far. Readers wait for it to change.
    count: watch::Sender<u64>,
}

struct Kept<T> {
    /// The events with their sizes.
    events: VecDeque<(T, usize)>,
    bytes: usize,
    /// Number of the first kept event.
    first: u64,
    is_closed: bool,
}

/// Reply to a reader that waits for an event.
pub(crate) enum Next<T> {
    Event(T),
    /// All events before this number have been dropped.
    Gap(u64),
    /// The log is closed and has no further event.
    End,
}

impl<T> Kept<T> {
    fn count(&self) -> u64 {
        self.first + self.events.len() as u64
    }
}

impl<T: Clone> EventLog<T> {
    /// Creates a log that keeps at most `max_events` of together at most `max_bytes`, and at least
    /// the newest.
    pub(crate) fn new(max_events: usize, max_bytes: usize) -> EventLog<T> {
        EventLog {
            max_events,
            max_bytes,
            kept: Mutex::new(Kept {
                events: VecDeque::new(),
                bytes: 0,
                first: 0,
                is_closed: false,
            }),
            count: watch::Sender::new(0),
        }
    }

    /// Adds the event that `make` returns for its number, with its size in bytes, unless the log is
    /// closed.
    pub(crate) fn add(&self, make: impl FnOnce(u64) -> (T, usize)) {
        let mut kept = self.kept.lock();
        if kept.is_closed {
            return;
        }
        let (event, size) = make(kept.count());
        kept.bytes += size;
        kept.events.push_back((event, size));
        while kept.events.len() > self.max_events
            || (kept.bytes > self.max_bytes && kept.events.len() > 1)
        {
            let gone = kept.events.pop_front().map_or(0, |(_, size)| size);
            kept.bytes -= gone;
            kept.first += 1;
        }
        drop(kept);
        self.count.send_modify(|count| *count += 1);
    }

    /// Closes the log and wakes its readers.
    pub(crate) fn close(&self) {
        self.kept.lock().is_closed = true;
        self.count.send_modify(|_| ());
    }

    /// Returns the number of events so far.
    pub(crate) fn count(&self) -> u64 {
        self.kept.lock().count()
    }

    /// Returns the numbers from which a reader misses nothing: from the first kept event to the
    /// next one.
    pub(crate) fn readable(&self) -> RangeInclusive<u64> {
        let kept = self.kept.lock();
        kept.first..=kept.count()
    }

    /// Waits for the event with this number.
    pub(crate) async fn next(&self, number: u64) -> Next<T> {
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

    fn at(&self, number: u64) -> Option<Next<T>> {
        let kept = self.kept.lock();
        if number < kept.first {
            return Some(Next::Gap(kept.first));
        }
        let index = usize::try_from(number - kept.first).unwrap_or(usize::MAX);
        match kept.events.get(index) {
            Some((event, _)) => Some(Next::Event(event.clone())),
            None => kept.is_closed.then_some(Next::End),
        }
    }
}
