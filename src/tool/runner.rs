//! The one interface between calling a tool and being one.

use std::fmt::Debug;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use futures::future::BoxFuture;
use serde_json::value::RawValue;
use tokio_util::sync::CancellationToken;
use url::Url;

use super::clock::Clock;
use super::{
    Approval, Call, CallTrace, Ending, Event, LogListener, Look, Outcome, Painted, Problem, Scene,
    Stance, Stopped, Tier, User, queue,
};
use crate::error::Error;

/// Runs one tool. Every family has its own; whoever calls it sees only this.
#[async_trait]
pub trait Runner: Send + Sync {
    /// What has to be done once before the first call; `None`: nothing, or nothing more. Its time is
    /// not the call's; what goes wrong is told by the call.
    fn getting_ready(&self) -> Option<BoxFuture<'_, ()>> {
        None
    }

    /// Checks the arguments as the family demands, without starting anything.
    ///
    /// # Errors
    /// [`ErrorKind::BadArguments`](crate::ErrorKind) with every problem in its text.
    async fn check(&self, call: &Call) -> Result<(), Error>;

    /// Runs the tool to its end. Checks the arguments first: nothing starts on bad ones, and where
    /// `ctx.gate` is set nothing starts before it lets the call pass.
    ///
    /// Returns soon after [`CallCtx::cancel`] fires, within the family's grace period,
    /// whatever the tool does.
    ///
    /// # Errors
    /// When the tool could not be run; what the tool itself reports is an [`Outcome`].
    async fn run(&self, call: Call, ctx: CallCtx) -> Result<Outcome, Error>;

    /// The description as it is now, for tools whose author computes it. `None`: it never changes.
    async fn current_description(&self) -> Option<String> {
        None
    }

    /// Draws a call or its result as the tool's author wants it to look; `None` leaves it to the
    /// host. Returns soon, whatever the author's code does.
    ///
    /// # Errors
    /// What is wrong with the author's renderer.
    async fn render(&self, _scene: Scene<'_>, _look: &Look) -> Result<Option<Painted>, Problem> {
        Ok(None)
    }

    /// What a call would run, for people, with secrets masked; nothing is started. `None`: that
    /// cannot be known.
    ///
    /// # Errors
    /// Those with which a call would not start.
    async fn preview(&self, _call: &Call) -> Result<Option<String>, Error> {
        Ok(None)
    }

    /// The tests that the tool's author wrote for it.
    fn tests(&self) -> Vec<Test> {
        Vec::new()
    }

    /// When the tool's own stance on approval is known.
    fn approval(&self) -> Approval<'_> {
        Approval::ByTier
    }
}

/// A test that a tool brings: a call without arguments whose outcome is an error where the test
/// fails, with a line for each reason, and what the tool wrote in `details.output`.
#[derive(Clone)]
pub struct Test {
    /// Unique among the tool's tests.
    pub name: String,
    /// What it shows.
    pub description: Option<String>,
    /// Why it is not run here, if it is not.
    pub skipped: Option<String>,
    /// What runs it.
    pub runner: Arc<dyn Runner>,
}

/// Stands between the check of the arguments and the start of a tool.
#[async_trait]
pub trait Gate: Debug + Send + Sync {
    /// Waits until it is decided whether the call may start. Dropped when the call is cancelled.
    /// Gives the tier whose rights the call has, where they can be enforced: its own if that is why it may
    /// start, else all.
    ///
    /// # Errors
    /// [`ErrorKind::Denied`](crate::ErrorKind) with the text for the model.
    async fn pass(&self, stance: Stance) -> Result<Tier, Error>;

    /// The tier of calls that nobody is asked about. What runs before [`Gate::pass`] has its rights.
    fn unasked(&self) -> Tier;

    /// How long somebody was asked: time that is not the tool's.
    fn waited(&self) -> Duration;
}

/// What a running call is given besides its arguments.
#[derive(Clone, Debug)]
pub struct CallCtx {
    /// Where its progress goes.
    pub updates: Updates,
    /// What decides whether the call may start; `None`: that is decided, it may.
    pub gate: Option<Arc<dyn Gate>>,
    /// Whom the tool can ask; `None`: nobody.
    pub user: Option<User>,
    /// Who hears what the tool logs; `None`: nobody but the log file.
    pub log: Option<Arc<dyn LogListener>>,
    /// Calls like this one run without a question.
    pub auto_approve: bool,
    /// What the call does is noted here; `None`: nowhere.
    pub(crate) trace: Option<Arc<CallTrace>>,
    ending: Arc<Ending>,
}

impl CallCtx {
    /// A context for one call, which ends by `ending`.
    pub(crate) fn new(ending: Arc<Ending>, updates: Updates) -> Self {
        CallCtx {
            updates,
            gate: None,
            user: None,
            log: None,
            auto_approve: false,
            trace: None,
            ending,
        }
    }

    /// The same context with a gate before the start.
    pub fn behind(mut self, gate: Arc<dyn Gate>) -> Self {
        self.gate = Some(gate);
        self
    }

    /// The same context with somebody whom the tool can ask.
    pub fn with_user(mut self, user: User) -> Self {
        self.user = Some(user);
        self
    }

    /// Waits until the call may start, and says that it does. For runners whose arguments are
    /// checked by now.
    ///
    /// # Errors
    /// Why nothing may be started.
    pub async fn admit(&self, stance: Stance) -> Result<(), NotAdmitted> {
        if let Some(gate) = &self.gate {
            tokio::select! {
                biased;
                passed = gate.pass(stance) => passed.map(drop).map_err(NotAdmitted::Denied)?,
                () = self.cancel().cancelled() => {}
            }
        }
        if self.is_cancelled() {
            return Err(NotAdmitted::Stopped(self.stop_reason()));
        }
        self.updates.send(Progress::Started);
        Ok(())
    }

    /// How long the call stood at its gate.
    pub fn waited(&self) -> Duration {
        self.gate
            .as_ref()
            .map_or(Duration::ZERO, |gate| gate.waited())
    }

    /// Notes that the call sends a request to a host.
    pub(crate) fn connects(&self, url: &Url) {
        if let Some(trace) = &self.trace {
            trace.connects(url.as_str());
        }
    }

    /// What ends the call.
    pub(crate) fn ending(&self) -> &Arc<Ending> {
        &self.ending
    }

    /// Fires when the call must end. Fire it with [`CallCtx::stop`], which says why.
    pub fn cancel(&self) -> &CancellationToken {
        self.ending.token()
    }

    /// True once the call must end.
    pub fn is_cancelled(&self) -> bool {
        self.ending.is_wanted()
    }

    /// Waits until the call must end, as [`Self::cancel`] does, at less expense: for one waiter at a time.
    pub(crate) async fn cancelled(&self) {
        self.ending.wanted().await;
    }

    /// Makes the call end. The first reason counts.
    pub fn stop(&self, why: Stopped) {
        let _ = self.ending.set(why);
        self.ending.want();
    }

    /// Why the call must end; a token that somebody else fired means that the caller cancelled.
    pub fn stop_reason(&self) -> Stopped {
        *self.ending.get().unwrap_or(&Stopped::Cancelled)
    }

    /// Fires when the call, which [`Self::cancel`] has asked to end, is not waited for any more: nothing that
    /// is still there may have a grace period then.
    pub fn hurry(&self) -> CancellationToken {
        self.ending.hurry().clone()
    }

    /// Waits until a call that was asked to end has had its time: `grace`, or less if somebody is in
    /// a hurry.
    pub async fn patience(&self, grace: Duration) {
        tokio::select! {
            () = self.ending.hurry().cancelled() => {}
            () = tokio::time::sleep(grace) => {}
        }
    }
}

/// Why a call may not start.
#[derive(Debug)]
pub enum NotAdmitted {
    /// A policy or the user said no.
    Denied(Error),
    /// It was told to stop before it started.
    Stopped(Stopped),
}

/// Where a call's progress goes: to whoever hears its events, and to its clock. Sending never blocks
/// and never fails: a caller that has gone away misses updates, nothing else, and after the call's end
/// nobody hears anything.
#[derive(Clone, Debug)]
pub struct Updates {
    events: queue::Sender<Event>,
    clock: Option<Arc<Clock>>,
}

/// What a runner reports while a call goes on.
#[derive(Debug)]
pub enum Progress {
    /// Somebody is asked something: whether the tool may start, or a question of its own.
    Asking,
    /// They have answered that question.
    Answered,
    /// The arguments are accepted and the tool runs.
    Started,
    /// A partial result: the JSON text of `{content, details, isError?}`.
    Partial(Box<RawValue>),
}

/// Lets a call's time stand still until it is dropped.
pub(crate) struct ClockHold(Updates);

impl Drop for ClockHold {
    fn drop(&mut self) {
        self.0.send(Progress::Answered);
    }
}

impl Updates {
    /// Lets the call's time stand still: what is done now is not the tool's.
    pub(crate) fn hold_clock(&self) -> ClockHold {
        self.send(Progress::Asking);
        ClockHold(self.clone())
    }

    pub(crate) fn new(events: queue::Sender<Event>, clock: Option<Arc<Clock>>) -> Updates {
        Updates { events, clock }
    }

    /// Passes on what happened.
    pub fn send(&self, progress: Progress) {
        let clock = self.clock.as_deref();
        match (progress, clock) {
            (Progress::Started, _) => self.events.send(Event::Started),
            (Progress::Partial(partial), _) => self.events.send(Event::Update(partial)),
            (Progress::Asking, Some(clock)) => clock.stop(),
            (Progress::Answered, Some(clock)) => clock.go_on(),
            (Progress::Asking | Progress::Answered, None) => {}
        }
    }
}
