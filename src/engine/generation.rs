//! Modules that live together, apart from all others: a reload begins a new generation.
//!
//! V8 keeps every module that an isolate ever imported under its URL, so a changed file can only be
//! had fresh in a fresh isolate. A generation has isolates of its own. It ends, and its memory
//! comes back, when the last handle of its modules is dropped: that is when the catalog no longer
//! names them and the last call that began with them has ended.

use std::sync::{Arc, Mutex, Weak};

use super::homes::{Homes, Moves};
use super::isolate::Loners;
use super::lazy::Listener;
use super::{Engine, lock};

/// Where the modules of one generation live, and what they share.
#[derive(Default)]
pub(super) struct Generation {
    pub(super) homes: tokio::sync::Mutex<Homes>,
    pub(super) moves: Moves,
    pub(super) loners: Arc<Loners>,
    /// The modules that want to hear of session events.
    pub(super) listeners: Mutex<Vec<Listener>>,
}

/// Every generation that may still have modules.
#[derive(Default)]
pub(super) struct Generations(Mutex<Vec<Weak<Generation>>>);

impl Generations {
    pub(super) fn begin(&self) -> Arc<Generation> {
        let generation = Arc::default();
        let mut all = lock(&self.0);
        all.retain(|one| one.strong_count() > 0);
        all.push(Arc::downgrade(&generation));
        generation
    }

    pub(super) fn living(&self) -> Vec<Arc<Generation>> {
        lock(&self.0).iter().filter_map(Weak::upgrade).collect()
    }
}

impl Engine {
    /// The same engine for modules that meet none of those that were loaded through another handle.
    /// Starts nothing.
    pub fn new_generation(&self) -> Engine {
        Engine(self.0.clone(), self.0.generations.begin())
    }

    /// Whether modules loaded through both handles would meet.
    pub fn is_same_generation(&self, other: &Engine) -> bool {
        Arc::ptr_eq(&self.1, &other.1)
    }
}
