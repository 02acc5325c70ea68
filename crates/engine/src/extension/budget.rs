//! Memory that an isolate holds outside of V8, with a limit.
//!
//! Blobs, queued messages and SQLite's pages are memory of the process that neither V8's heap limit
//! nor the allocator of its buffers sees. The budget counts all of an isolate's together.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use deno_core::OpState;
use deno_error::JsErrorBox;

/// The bytes in use and their limit.
#[derive(Debug)]
pub struct Budget {
    used: AtomicUsize,
    limit: usize,
    /// Bytes in use at which garbage is collected next.
    collects_at: AtomicUsize,
}

/// Guard of bytes that are in use until it is dropped.
#[derive(Debug)]
pub struct Charge {
    budget: Arc<Budget>,
    bytes: usize,
}

impl Budget {
    /// Returns a budget of `limit` bytes.
    pub fn new(limit: usize) -> Arc<Budget> {
        Arc::new(Budget {
            used: AtomicUsize::new(0),
            limit,
            collects_at: AtomicUsize::new(limit / 2),
        })
    }

    /// Takes `bytes`; false if fewer are left.
    pub fn take(&self, bytes: usize) -> bool {
        let before = self.used.fetch_add(bytes, Ordering::Relaxed);
        if before.saturating_add(bytes) <= self.limit {
            return true;
        }
        self.used.fetch_sub(bytes, Ordering::Relaxed);
        false
    }

    /// Returns true if so much is in use that garbage should be collected. That is at half of the
    /// budget, and then each time that half of the rest is taken.
    pub(super) fn must_collect(&self) -> bool {
        let used = self.used.load(Ordering::Relaxed);
        let half = self.limit / 2;
        if used < half {
            self.collects_at.store(half, Ordering::Relaxed);
        }
        if used < self.collects_at.load(Ordering::Relaxed) {
            return false;
        }
        let next = used + (self.limit.saturating_sub(used) / 2).max(1);
        self.collects_at.store(next, Ordering::Relaxed);
        true
    }

    /// Returns `bytes` that were taken.
    pub fn give_back(&self, bytes: usize) {
        self.used.fetch_sub(bytes, Ordering::Relaxed);
    }

    /// Takes `bytes` until the charge is dropped; `what` names their use in the error.
    pub(super) fn charge(self: &Arc<Self>, bytes: usize, what: &str) -> Result<Charge, JsErrorBox> {
        if self.take(bytes) {
            return Ok(Charge {
                budget: self.clone(),
                bytes,
            });
        }
        Err(JsErrorBox::range_error(format!(
            "{what} would take more than the {} MB that tools may hold outside of the heap",
            self.limit >> 20
        )))
    }
}

impl Drop for Charge {
    fn drop(&mut self) {
        self.budget.give_back(self.bytes);
    }
}

/// Sets the budget of an isolate; once, before the first tool.
pub fn begin_with(state: &mut OpState, budget: Arc<Budget>) {
    state.put(budget);
}

pub(super) fn budget(state: &OpState) -> Arc<Budget> {
    state.borrow::<Arc<Budget>>().clone()
}
