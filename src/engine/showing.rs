//! The components of one isolate's tools, on their way to the screen of whoever is behind the call.

use std::cell::RefCell;
use std::collections::HashMap;
use std::rc::Rc;
use std::sync::Arc;

use serde_json::json;
use tokio::sync::{Mutex, mpsc, watch};
use tokio_util::sync::CancellationToken;

use super::extension::{ShowFuture, TouchFuture};
use super::isolate::Shared;
use super::witness;
use crate::tool::{DefaultUser, Puppet, Touch, User, Widget};

/// Finds the user of a call and shows.
pub(super) struct Showing {
    shared: Arc<Shared>,
    default_user: Arc<DefaultUser>,
    open: Rc<RefCell<HashMap<u32, Open>>>,
}

/// A component that is shown, or waits for its turn.
struct Open {
    withdrawn: CancellationToken,
    painted: watch::Sender<String>,
    touches: Rc<Mutex<mpsc::UnboundedReceiver<Touch>>>,
}

impl Showing {
    pub(super) fn new(shared: Arc<Shared>, default_user: Arc<DefaultUser>) -> Self {
        Showing {
            shared,
            default_user,
            open: Rc::default(),
        }
    }

    pub(super) fn canvas(&self, request: u32, owner: &str) -> String {
        witness::fickle("it looks for a screen");
        let user = self.user(request, owner);
        let Some(canvas) = user.and_then(|user| user.canvas()) else {
            return String::new();
        };
        let screen = canvas.screen;
        let canvas = json!({
            "columns": canvas.columns,
            "rows": canvas.rows,
            "screen": {
                "colors": screen.colors.as_str(),
                "isLight": screen.is_light,
                "showsImages": screen.images.is_some(),
                "hyperlinks": screen.hyperlinks,
                "cell": screen.cell,
            },
        });
        canvas.to_string()
    }

    pub(super) fn show(&self, request: u32, owner: &str, id: u32) -> ShowFuture {
        let user = self.user(request, owner);
        let (widget, Puppet { painted, touches }) = Widget::pair();
        let withdrawn = CancellationToken::new();
        let open = Open {
            withdrawn: withdrawn.clone(),
            painted,
            touches: Rc::new(Mutex::new(touches)),
        };
        self.open.borrow_mut().insert(id, open);
        let closing = Closing {
            open: self.open.clone(),
            id,
        };
        let shared = self.shared.clone();
        Box::pin(async move {
            let _closing = closing;
            let Some(user) = user else { return Ok(()) };
            let shown = tokio::select! {
                biased;
                () = withdrawn.cancelled() => return Ok(()),
                shown = user.show(widget) => shown,
            };
            if user.must_end() && shared.requests.user(request).is_some() {
                // The call was told to end: it sees its signal first, which takes the component away.
                withdrawn.cancelled().await;
            }
            shown.map_err(|error| error.to_string())
        })
    }

    pub(super) fn next_touch(&self, id: u32) -> TouchFuture {
        let touches = self.open.borrow().get(&id).map(|open| open.touches.clone());
        Box::pin(async move {
            let Some(touches) = touches else {
                return String::new();
            };
            let touch = touches.lock().await.recv().await;
            let text = touch.map(|touch| serde_json::to_string(&touch).unwrap_or_default());
            text.unwrap_or_default()
        })
    }

    pub(super) fn paint(&self, id: u32, lines: String) {
        if let Some(open) = self.open.borrow().get(&id) {
            open.painted.send_replace(lines);
        }
    }

    pub(super) fn withdraw(&self, id: u32) {
        if let Some(open) = self.open.borrow().get(&id) {
            open.withdrawn.cancel();
        }
    }

    /// A call that has ended has no user of its own any more.
    fn user(&self, request: u32, owner: &str) -> Option<User> {
        let of_call = self.shared.requests.user(request);
        of_call.or_else(|| self.default_user.of(owner))
    }
}

/// Takes a component off the list, however its future ends.
struct Closing {
    open: Rc<RefCell<HashMap<u32, Open>>>,
    id: u32,
}

impl Drop for Closing {
    fn drop(&mut self) {
        self.open.borrow_mut().remove(&self.id);
    }
}
