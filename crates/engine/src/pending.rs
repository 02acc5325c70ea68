//! Registry of previewed actions that wait to be resolved, with their isolates and their order.
//!
//! The actions themselves are functions of their modules and are lost with their isolate. Lost
//! actions are listed until they have been reported.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, Weak};

use super::isolate::Isolate;
use super::isolate_state::ActionList;
use super::lock;

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

/// The actions of one isolate.
pub(super) struct IsolateActions {
    all: Arc<PendingActions>,
    /// The isolate's number.
    home: u64,
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

    /// Returns the list of the actions of a new isolate.
    pub(super) fn of_new_isolate(self: &Arc<Self>) -> Arc<IsolateActions> {
        let mut state = self.lock();
        state.last_home += 1;
        Arc::new(IsolateActions {
            all: self.clone(),
            home: state.last_home,
        })
    }

    /// Removes an isolate that has ended, with its actions.
    fn home_lost(&self, home: u64, why: &str) {
        let mut state = self.lock();
        state.homes.remove(&home);
        let lost = state.forget_home(home, why);
        // Dropping the last action may end an isolate, which calls this function again.
        drop(state);
        drop(lost);
    }

    fn push(&self, home: u64, id: u32, label: &str) -> bool {
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

    fn done(&self, home: u64, id: u32) {
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
        lock(&self.0)
    }
}

impl IsolateActions {
    /// Registers the isolate, which is ready.
    pub(super) fn belong_to(&self, isolate: &Arc<Isolate>) {
        let isolate = Arc::downgrade(isolate);
        self.all.lock().homes.insert(self.home, isolate);
    }
}

impl ActionList for IsolateActions {
    fn push(&self, id: u32, label: &str) -> bool {
        self.all.push(self.home, id, label)
    }

    fn done(&self, id: u32) {
        self.all.done(self.home, id);
    }

    fn lost(&self, why: &str) {
        self.all.home_lost(self.home, why);
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
