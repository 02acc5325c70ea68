//! Calls by their ids, so that whoever knows an id can abort the call without holding it.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio_util::sync::CancellationToken;

use super::{Host, Inner};

/// The calls that run, each with what cancels it.
#[derive(Default)]
pub(super) struct Abortable(Mutex<Running>);

#[derive(Default)]
struct Running {
    next: u64,
    calls: HashMap<u64, (String, CancellationToken)>,
}

/// A call that is known until this is dropped.
pub(super) struct Known {
    host: Arc<Inner>,
    number: u64,
}

impl Abortable {
    /// Cancels what `is_meant` says of an id; gives how many that were.
    fn cancel(&self, is_meant: impl Fn(&str) -> bool) -> usize {
        let running = self.running();
        let meant = running.calls.values().filter(|(id, _)| is_meant(id));
        let meant: Vec<_> = meant.map(|(_, cancel)| cancel.clone()).collect();
        drop(running);
        // Cancelling wakes whoever waits, who may end the call at once.
        meant.iter().for_each(CancellationToken::cancel);
        meant.len()
    }

    fn running(&self) -> MutexGuard<'_, Running> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Known {
    /// Makes a call of `host` known.
    pub(super) fn new(host: &Host, id: &str, cancel: &CancellationToken) -> Known {
        let mut running = host.0.abortable.running();
        let number = running.next;
        running.next += 1;
        let call = (id.to_owned(), cancel.clone());
        running.calls.insert(number, call);
        drop(running);
        Known {
            host: host.0.clone(),
            number,
        }
    }
}

impl Drop for Known {
    fn drop(&mut self) {
        self.host.abortable.running().calls.remove(&self.number);
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
