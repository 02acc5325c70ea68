//! The calls that run: so that whoever knows an id can abort the call without holding it, and so that
//! the host can end with all of them.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use slab::Slab;
use tokio::sync::Notify;

use super::stopper::Stopper;
use super::{Host, Inner};

/// The calls that run, each with what ends it.
#[derive(Default)]
pub(super) struct Abortable {
    calls: Mutex<Slab<Abort>>,
    /// Told when none is left.
    none_left: Notify,
}

/// A call by its id, and what ends it.
struct Abort {
    id: String,
    stopper: Stopper,
}

/// A call that is known until this is dropped.
pub(super) struct Known {
    host: Arc<Inner>,
    place: usize,
}

impl Abortable {
    /// Cancels what `is_meant` says of an id; gives how many that were.
    fn cancel(&self, is_meant: impl Fn(&str) -> bool) -> usize {
        let calls = self.calls();
        let meant = calls.iter().filter(|(_, call)| is_meant(&call.id));
        let meant: Vec<_> = meant.map(|(_, call)| call.stopper.clone()).collect();
        drop(calls);
        // Cancelling wakes whoever waits, who may end the call at once.
        meant.iter().for_each(Stopper::cancel);
        meant.len()
    }

    /// Tells all that the host ends.
    pub(super) fn end_with_host(&self) {
        let calls = self.calls();
        let running: Vec<_> = calls.iter().map(|(_, call)| call.stopper.clone()).collect();
        drop(calls);
        running.iter().for_each(Stopper::end_with_host);
    }

    /// Waits until no call runs.
    pub(super) async fn ended(&self) {
        loop {
            let told = self.none_left.notified();
            tokio::pin!(told);
            // What ends between the look and the wait is heard of.
            told.as_mut().enable();
            if self.calls().is_empty() {
                return;
            }
            told.await;
        }
    }

    fn calls(&self) -> MutexGuard<'_, Slab<Abort>> {
        self.calls.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Known {
    /// Makes a call of `host` known.
    pub(super) fn new(host: &Host, id: &str, stopper: &Stopper) -> Known {
        let call = Abort {
            id: id.to_owned(),
            stopper: stopper.clone(),
        };
        let place = host.0.abortable.calls().insert(call);
        Known {
            host: host.0.clone(),
            place,
        }
    }
}

impl Drop for Known {
    fn drop(&mut self) {
        let abortable = &self.host.abortable;
        let mut calls = abortable.calls();
        let _gone = calls.remove(self.place);
        if calls.is_empty() {
            abortable.none_left.notify_waiters();
        }
    }
}

impl Host {
    /// Asks the running call of that id to stop, first politely, then not; false if there is none.
    /// Its outcome says that it was cancelled.
    pub fn abort(&self, call_id: &str) -> bool {
        self.0.abortable.cancel(|id| id == call_id) > 0
    }

    /// The same for every running call; gives how many there were.
    pub fn abort_all(&self) -> usize {
        self.0.abortable.cancel(|_| true)
    }
}
