//! Modules that share isolates, apart from all others: a reload begins a new generation.
//!
//! V8 keeps every module that an isolate ever imported under its URL, so a changed file can only be
//! loaded in a fresh isolate. A generation has isolates of its own. It ends, and its memory is
//! freed, when the last handle of its modules is dropped. That happens when the catalog no longer
//! names them and the last call that began with them has ended.

use std::sync::{Arc, Mutex, Weak};

use super::isolate_state::DedicatedModules;
use super::module::Listener;
use super::placement::IsolatePool;
use super::{Engine, lock};

/// The isolates of one generation's modules, and the state that these modules share.
#[derive(Default)]
pub(super) struct Generation {
    pub(super) homes: tokio::sync::Mutex<IsolatePool>,
    pub(super) loners: Arc<DedicatedModules>,
    /// The modules that listen for session events.
    pub(super) listeners: Mutex<Vec<Listener>>,
}

/// All generations that may still have modules.
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
    /// Returns a handle of the same engine with a new generation. Its modules share nothing with
    /// those that were loaded through another handle. Starts nothing.
    pub fn new_generation(&self) -> Engine {
        Engine {
            inner: self.inner.clone(),
            generation: self.inner.generations.begin(),
        }
    }

    /// Returns true if modules loaded through both handles share isolates.
    pub fn is_same_generation(&self, other: &Engine) -> bool {
        Arc::ptr_eq(&self.generation, &other.generation)
    }
}
