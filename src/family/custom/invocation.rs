//! What a custom tool is given besides its parameters.

use std::sync::Arc;

use tokio_util::sync::CancellationToken;

use super::ToolOutput;
use crate::tool::{Answer, Asked, CallCtx, Progress, Stopped, Told, User};

/// One call of a custom tool, as the tool sees it. Cheap to clone.
#[derive(Clone, Debug)]
pub struct Invocation(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    call_id: String,
    ctx: CallCtx,
}

impl Invocation {
    pub(super) fn new(call_id: String, ctx: CallCtx) -> Invocation {
        Invocation(Arc::new(Inner { call_id, ctx }))
    }

    /// The caller's id of the call.
    pub fn call_id(&self) -> &str {
        &self.0.call_id
    }

    /// Sends what there is so far: the caller hears of it at once, the model does not. Whatever is
    /// sent after the end of the call goes nowhere.
    pub fn update(&self, partial: impl Into<ToolOutput>) {
        if let Some(partial) = partial.into().into_partial() {
            self.0.ctx.updates.send(Progress::Partial(partial));
        }
    }

    /// Whether there is a person who can be asked at this moment.
    pub fn has_user(&self) -> bool {
        self.0.ctx.user.as_ref().is_some_and(User::is_there)
    }

    /// Asks the person behind the call, and waits as long as they think; the call's time stands still
    /// meanwhile. [`Answer::Dismissed`] where there is nobody.
    pub async fn ask(&self, what: Asked) -> Answer {
        match &self.0.ctx.user {
            Some(user) => user.ask(what, None).await.unwrap_or(Answer::Dismissed),
            None => Answer::Dismissed,
        }
    }

    /// Tells the person something that needs no answer.
    pub fn tell(&self, what: Told) {
        if let Some(user) = &self.0.ctx.user {
            user.tell(what);
        }
    }

    /// Waits until the call is asked to stop.
    pub async fn cancelled(&self) {
        self.0.ctx.cancel().cancelled().await;
    }

    /// True when the call was asked to stop: its time is up, its caller gave up, the host ends.
    pub fn is_cancelled(&self) -> bool {
        self.0.ctx.is_cancelled()
    }

    /// Why it was asked to stop, once it was.
    pub fn stop_reason(&self) -> Option<Stopped> {
        self.is_cancelled().then(|| self.0.ctx.stop_reason())
    }

    /// Fires when the call is asked to stop: to hand on to whatever does the work.
    pub fn cancel_token(&self) -> CancellationToken {
        self.0.ctx.cancel().clone()
    }
}
