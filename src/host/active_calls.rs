//! Registry of the running calls. A caller can abort a call by its id without its handle, and the
//! host can end all calls when it shuts down.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use slab::Slab;
use tokio::sync::Notify;

use super::cancel_handle::CancelHandle;
use super::{Host, Inner};

/// Registry of the running calls, each with its cancellation handle.
#[derive(Default)]
pub(super) struct ActiveCalls {
    calls: Mutex<Slab<Abort>>,
    /// Notified when the last call has ended.
    none_left: Notify,
}

/// A call by its id, with its cancellation handle.
struct Abort {
    id: String,
    stopper: CancelHandle,
}

/// Entry of a call in the registry. Dropping it removes the entry.
pub(super) struct ActiveCallGuard {
    host: Arc<Inner>,
    place: usize,
}

impl ActiveCalls {
    /// Cancels the calls for whose id `is_meant` returns true. Returns their number.
    fn cancel(&self, is_meant: impl Fn(&str) -> bool) -> usize {
        let calls = self.calls();
        let meant = calls.iter().filter(|(_, call)| is_meant(&call.id));
        let meant: Vec<_> = meant.map(|(_, call)| call.stopper.clone()).collect();
        drop(calls);
        // Without the lock: cancelling wakes waiting tasks, which may end the call at once.
        meant.iter().for_each(CancelHandle::cancel);
        meant.len()
    }

    /// Cancels all calls because the host shuts down.
    pub(super) fn end_with_host(&self) {
        let calls = self.calls();
        let running: Vec<_> = calls.iter().map(|(_, call)| call.stopper.clone()).collect();
        drop(calls);
        running.iter().for_each(CancelHandle::end_with_host);
    }

    /// Waits until no call runs.
    pub(super) async fn ended(&self) {
        loop {
            let told = self.none_left.notified();
            tokio::pin!(told);
            // Enabled before the check, so that an end between check and wait is noticed.
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

impl ActiveCallGuard {
    /// Adds a call of `host` to the registry.
    pub(super) fn new(host: &Host, id: &str, stopper: &CancelHandle) -> ActiveCallGuard {
        let call = Abort {
            id: id.to_owned(),
            stopper: stopper.clone(),
        };
        let place = host.inner.active_calls.calls().insert(call);
        ActiveCallGuard {
            host: host.inner.clone(),
            place,
        }
    }
}

impl Drop for ActiveCallGuard {
    fn drop(&mut self) {
        let abortable = &self.host.active_calls;
        let mut calls = abortable.calls();
        let _gone = calls.remove(self.place);
        if calls.is_empty() {
            abortable.none_left.notify_waiters();
        }
    }
}

impl Host {
    /// Cancels the running call of that id, and kills it after the grace period. Returns false if
    /// the id is unknown. The outcome of the call says that it was cancelled.
    pub fn abort(&self, call_id: &str) -> bool {
        self.inner.active_calls.cancel(|id| id == call_id) > 0
    }

    /// Cancels all running calls in the same way, and returns their number.
    pub fn abort_all(&self) -> usize {
        self.inner.active_calls.cancel(|_| true)
    }
}
