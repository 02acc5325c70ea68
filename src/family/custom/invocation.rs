//! Context of a call of a custom tool: its progress, its user, its cancellation.

use std::sync::Arc;
use std::time::Duration;

use tokio_util::sync::CancellationToken;

use super::ToolOutput;
use haft_tool::{Answer, CallCtx, Notification, Progress, Prompt, Stopped, User};

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

    /// Sends a partial result. The caller receives it at once, the model does not. Updates that are
    /// sent after the end of the call are dropped.
    pub fn update(&self, partial: impl Into<ToolOutput>) {
        if let Some(partial) = partial.into().into_partial() {
            self.0.ctx.updates.send(Progress::Partial(partial));
        }
    }

    /// Returns true if the call has a user who can be asked at this moment.
    pub fn has_user(&self) -> bool {
        self.0.ctx.user.as_ref().is_some_and(User::is_there)
    }

    /// Asks the user behind the call and waits for the answer; the call's deadline is paused
    /// meanwhile. Returns [`Answer::Dismissed`] without a user.
    pub async fn ask(&self, what: Prompt) -> Answer {
        self.ask_within(what, None).await
    }

    /// Asks like [`Invocation::ask`], and withdraws the question after `timeout`.
    pub async fn ask_within(&self, what: Prompt, timeout: Option<Duration>) -> Answer {
        match &self.0.ctx.user {
            Some(user) => user.ask(what, timeout).await.unwrap_or(Answer::Dismissed),
            None => Answer::Dismissed,
        }
    }

    /// Shows the user a notification that needs no answer.
    pub fn tell(&self, what: Notification) {
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

    /// Returns the reason why the call was asked to stop; `None` if it was not.
    pub fn stop_reason(&self) -> Option<Stopped> {
        self.is_cancelled().then(|| self.0.ctx.stop_reason())
    }

    /// Returns the token that is cancelled when the call is asked to stop; hand it to the code that
    /// does the work.
    pub fn cancel_token(&self) -> CancellationToken {
        self.0.ctx.cancel().clone()
    }
}
