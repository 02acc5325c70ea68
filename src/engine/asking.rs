//! The questions of one isolate's tools, on their way to whoever is behind the call that asks.

use std::cell::RefCell;
use std::collections::HashMap;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use serde::Deserialize;
use tokio_util::sync::CancellationToken;

use super::extension::AskFuture;
use super::isolate::Shared;
use super::witness;
use crate::tool::{Answer, Asked, DefaultUser, Told, User};

/// Finds the user of a call and asks.
pub(super) struct Asking {
    shared: Arc<Shared>,
    default_user: Arc<DefaultUser>,
    open: Rc<RefCell<HashMap<u32, CancellationToken>>>,
}

/// What `12_ui.ts` writes.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Written {
    #[serde(flatten)]
    what: Asked,
    timeout_ms: Option<f64>,
}

impl Asking {
    pub(super) fn new(shared: Arc<Shared>, default_user: Arc<DefaultUser>) -> Self {
        Asking {
            shared,
            default_user,
            open: Rc::default(),
        }
    }

    pub(super) fn has_user(&self, request: u32, owner: &str) -> bool {
        let is_there = self
            .user(request, owner)
            .is_some_and(|user| user.is_there());
        if is_there {
            // Without a user a module is as it always was; with one it may say something else.
            witness::fickle("it looks whether there is a user");
        }
        is_there
    }

    pub(super) fn ask(&self, request: u32, owner: &str, id: u32, question: String) -> AskFuture {
        witness::fickle("it asks the user");
        let user = self.user(request, owner);
        let withdrawn = CancellationToken::new();
        self.open.borrow_mut().insert(id, withdrawn.clone());
        let shared = self.shared.clone();
        let open = Closing {
            open: self.open.clone(),
            id,
        };
        Box::pin(async move {
            let _open = open;
            let written = serde_json::from_str(&question);
            let Written { what, timeout_ms } = written.map_err(|error| error.to_string())?;
            let Some(user) = user else {
                return Ok(json(&what, Answer::Dismissed));
            };
            // A time beyond all calendars is no limit.
            let timeout = timeout_ms.and_then(|ms| Duration::try_from_secs_f64(ms / 1000.0).ok());
            let answer = tokio::select! {
                biased;
                () = withdrawn.cancelled() => Answer::Dismissed,
                answer = user.ask(what.clone(), timeout) => {
                    answer.map_err(|error| error.to_string())?
                }
            };
            if user.must_end() && shared.requests.user(request).is_some() {
                // The call was told to end: it sees its signal first, which takes the question back.
                withdrawn.cancelled().await;
            }
            Ok(json(&what, answer))
        })
    }

    pub(super) fn withdraw(&self, id: u32) {
        if let Some(withdrawn) = self.open.borrow().get(&id) {
            withdrawn.cancel();
        }
    }

    pub(super) fn tell(&self, request: u32, owner: &str, notice: &str) {
        // Written by our own runtime: it can be read.
        if let Ok(told) = serde_json::from_str::<Told>(notice)
            && let Some(user) = self.user(request, owner)
        {
            user.tell(told);
        }
    }

    pub(super) fn editor_text(&self, request: u32, owner: &str) -> String {
        let user = self.user(request, owner);
        user.map_or_else(String::new, |user| user.editor_text())
    }

    /// A call that has ended has no user of its own any more.
    fn user(&self, request: u32, owner: &str) -> Option<User> {
        let of_call = self.shared.requests.user(request);
        of_call.or_else(|| self.default_user.of(owner))
    }
}

/// Takes a question off the list, however its future ends.
struct Closing {
    open: Rc<RefCell<HashMap<u32, CancellationToken>>>,
    id: u32,
}

impl Drop for Closing {
    fn drop(&mut self) {
        self.open.borrow_mut().remove(&self.id);
    }
}

/// The neutral answers are the original's (spec omp 5.2).
fn json(what: &Asked, answer: Answer) -> String {
    let value = match (what, answer) {
        (Asked::Confirm { .. }, answer) => (answer == Answer::Yes).into(),
        (_, Answer::Text(text)) => text.into(),
        (_, Answer::Yes | Answer::No | Answer::Dismissed) => serde_json::Value::Null,
    };
    value.to_string()
}
