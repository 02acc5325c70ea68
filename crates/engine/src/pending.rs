//! Registry of previewed actions that wait to be resolved, with their isolates and their order.
//!
//! The actions themselves are functions of their modules and are lost with their isolate. Lost
//! actions are listed until they have been reported.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use super::isolate::Isolate;

/// The actions of all isolates of an engine.
pub(super) struct PendingActions(Mutex<State>);

struct State {
    /// Set if there is a way to resolve actions.
    is_offered: bool,
    last_home: u64,
    homes: HashMap<u64, Weak<Isolate>>,
    /// The newest last.
    waiting: Vec<Action>,
    lost: Vec<String>,
}

struct Action {
    home: u64,
    id: u32,
    label: String,
    /// Keeps the isolate, so that the action can be applied even after a reload.
    _isolate: Option<Arc<Isolate>>,
}

impl PendingActions {
    pub(super) fn new(is_offered: bool) -> Self {
        PendingActions(Mutex::new(State {
            is_offered,
            last_home: 0,
            homes: HashMap::new(),
            waiting: Vec::new(),
            lost: Vec::new(),
        }))
    }

    /// Returns a number for a new isolate.
    pub(super) fn new_home(&self) -> u64 {
        let mut state = self.lock();
        state.last_home += 1;
        state.last_home
    }

    /// Registers the isolate that has the number.
    pub(super) fn moved_in(&self, home: u64, isolate: &Arc<Isolate>) {
        self.lock().homes.insert(home, Arc::downgrade(isolate));
    }

    /// Removes an isolate that has ended, with its actions.
    pub(super) fn home_lost(&self, home: u64, why: &str) {
        let mut state = self.lock();
        state.homes.remove(&home);
        let lost = state.forget_home(home, why);
        // Dropping the last action may end an isolate, which calls this function again.
        drop(state);
        drop(lost);
    }

    pub(super) fn push(&self, home: u64, id: u32, label: &str) -> bool {
        let mut state = self.lock();
        if state.is_offered {
            let isolate = state.homes.get(&home).and_then(Weak::upgrade);
            state.waiting.push(Action {
                home,
                id,
                label: label.to_owned(),
                _isolate: isolate,
            });
        }
        state.is_offered
    }

    pub(super) fn done(&self, home: u64, id: u32) {
        let is_it = |action: &mut Action| action.home == home && action.id == id;
        let done: Vec<_> = self.lock().waiting.extract_if(.., is_it).collect();
        drop(done);
    }

    /// Drops all actions, because they can no longer be resolved.
    pub(super) fn let_go(&self) {
        let waiting = std::mem::take(&mut self.lock().waiting);
        drop(waiting);
    }

    /// Refuses new actions from now on.
    pub(super) fn withhold(&self) {
        self.lock().is_offered = false;
    }

    pub(super) fn is_offered(&self) -> bool {
        self.lock().is_offered
    }

    /// Returns true if any action waits.
    pub(super) fn any(&self) -> bool {
        self.newest_home().is_some()
    }

    /// Returns the label of the newest action.
    pub(super) fn newest_label(&self) -> Option<String> {
        self.newest_home()?;
        self.lock()
            .waiting
            .last()
            .map(|action| action.label.clone())
    }

    /// Returns the isolate of the newest action.
    pub(super) fn newest_home(&self) -> Option<Arc<Isolate>> {
        // Dropped after the lock is released.
        let mut lost = Vec::new();
        let mut state = self.lock();
        while let Some(newest) = state.waiting.last() {
            let home = newest.home;
            let isolate = state.homes.get(&home).and_then(Weak::upgrade);
            match isolate {
                Some(isolate) if isolate.takes_work() => return Some(isolate),
                Some(isolate) => lost.extend(state.forget_home(home, isolate.why_not())),
                None => lost.extend(state.forget_home(home, "its isolate has ended")),
            }
        }
        None
    }

    /// Takes the messages about actions that were lost since the last call.
    pub(super) fn take_lost(&self) -> Option<String> {
        let lost = std::mem::take(&mut self.lock().lost);
        (!lost.is_empty()).then(|| lost.join("\n"))
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    /// Removes an isolate's actions. The caller must drop them without holding the lock.
    #[must_use]
    fn forget_home(&mut self, home: u64, why: &str) -> Vec<Action> {
        let lost = self.waiting.extract_if(.., |action| action.home == home);
        let lost: Vec<Action> = lost.collect();
        self.lost.extend(lost.iter().map(|Action { label, .. }| {
            format!(
                "Pending action lost: {label}. Nothing was applied: {why}. \
                 Run its tool again to stage it anew."
            )
        }));
        lost
    }
}
