//! Users that the tools of one isolate can reach, and the prompts and components open there.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};

use tokio_util::sync::CancellationToken;

use super::isolate_state::IsolateState;
use super::lock;
use haft_tool::{DefaultUser, User};

/// Finds the user of a call.
#[derive(Clone)]
pub(super) struct Users {
    shared: Arc<IsolateState>,
    default_user: Arc<DefaultUser>,
}

impl Users {
    pub(super) fn new(shared: Arc<IsolateState>, default_user: Arc<DefaultUser>) -> Self {
        Users {
            shared,
            default_user,
        }
    }

    /// Returns the user of a call. A call that has ended has only the default user.
    pub(super) fn of(&self, request: u32, owner: &str) -> Option<User> {
        let of_call = self.shared.requests.user(request).map(|user| {
            let recording = self.shared.requests.recording(request);
            recording.map_or(user.clone(), |recording| user.recorded_in(&recording))
        });
        of_call.or_else(|| self.default_user.of(owner))
    }

    /// Waits until the AbortSignal of a cancelled call has withdrawn what the call has open.
    pub(super) async fn after_signal(
        &self,
        user: &User,
        request: u32,
        withdrawn: &CancellationToken,
    ) {
        if user.must_end() && self.shared.requests.user(request).is_some() {
            withdrawn.cancelled().await;
        }
    }
}

/// The prompts or components that are open, by the numbers that JavaScript gives them.
pub(super) struct Opened<T>(Arc<Mutex<HashMap<u32, T>>>);

impl<T> Opened<T> {
    /// Adds `one` to the list until the returned guard is dropped.
    pub(super) fn open(&self, id: u32, one: T) -> Closing<T> {
        lock(&self.0).insert(id, one);
        Closing {
            opened: self.0.clone(),
            id,
        }
    }

    /// Returns the result of `look` for an entry, if it is still open.
    pub(super) fn with<R>(&self, id: u32, look: impl FnOnce(&T) -> R) -> Option<R> {
        lock(&self.0).get(&id).map(look)
    }
}

impl<T> Default for Opened<T> {
    fn default() -> Self {
        Opened(Arc::default())
    }
}

/// Guard that removes an entry from the list, however its future ends.
pub(super) struct Closing<T> {
    opened: Arc<Mutex<HashMap<u32, T>>>,
    id: u32,
}

impl<T> Drop for Closing<T> {
    fn drop(&mut self) {
        lock(&self.opened).remove(&self.id);
    }
}
