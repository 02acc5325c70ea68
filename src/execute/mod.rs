//! The life of a call, the same for every family and every surface.
//!
//! Sees `dyn Runner` and nothing of what is behind it. The deadline and the caller's cancel become
//! one token; what the runner reports becomes one stream of events; the outcome is the return value.

mod approval;
mod ask_user;
mod spill;

use std::sync::Arc;
use std::time::Duration;

use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use crate::error::{Error, ErrorKind};
use crate::tool::{
    ApprovalPolicy, Approver, Call, CallCtx, Event, LogListener, Outcome, Progress, Runner,
    Stopped, Tool, Updates, User, UserInterface, queue,
};
use approval::Gatekeeper;
use ask_user::Judges;
pub(crate) use spill::Spill;

/// What holds for a call besides the call itself.
pub(crate) struct Terms<'a> {
    /// The longest that it may take; the time that a user thinks does not count.
    pub(crate) timeout: Option<Duration>,
    /// The caller's wish to stop; the call's own, so that its deadline may fire it, too.
    pub(crate) cancel: CancellationToken,
    /// What the user allows.
    pub(crate) policy: &'a ApprovalPolicy,
    /// Who is asked for approval, if anybody can be; without one it is `ui`.
    pub(crate) approver: Option<Arc<dyn Approver>>,
    /// Whom the tool can ask, if anybody can be.
    pub(crate) ui: Option<Arc<dyn UserInterface>>,
    /// Who hears what the tool logs, if anybody does.
    pub(crate) log: Option<Arc<dyn LogListener>>,
    /// Where too long a text goes.
    pub(crate) spill: &'a Spill,
}

/// Runs `call` to its end; events go to `events`.
pub(crate) async fn execute(
    tool: &Tool,
    runner: &dyn Runner,
    call: Call,
    terms: Terms<'_>,
    events: queue::Sender<Event>,
) -> Result<Outcome, Error> {
    let (updates, mut progress) = Updates::channel();
    let judges = Judges {
        approver: terms.approver.as_ref(),
        ui: terms.ui.as_ref(),
    };
    let gate = Gatekeeper::for_call(terms.policy, judges, tool, runner, &call, &updates);
    let mut ctx = CallCtx::new(terms.cancel, updates);
    if let Some(gate) = gate {
        ctx = ctx.behind(gate);
    }
    ctx.log = terms.log;
    // Whatever ends the call, its questions end with it.
    let _withdraw = terms.ui.map(|ui| {
        let ended = ctx.cancel.child_token();
        let (id, name, updates) = (&call.id, &tool.name, ctx.updates.clone());
        ctx.user = Some(User::of_call(ui, id, name, ended.clone(), updates));
        ended.drop_guard()
    });
    // Nobody has to listen.
    let forward = |event: Event| events.send(event);

    let call_id = call.id.clone();
    let running = runner.run(call, ctx.clone());
    tokio::pin!(running);
    let mut clock = Clock::start(terms.timeout);
    let mut result = loop {
        tokio::select! {
            // Progress first, so that an update never comes after the end.
            biased;
            step = progress.recv() => {
                clock.heed(&step);
                if let Some(event) = event(step) {
                    forward(event);
                }
            }
            result = &mut running => break result,
            () = clock.run_out() => ctx.stop(Stopped::Deadline),
        }
    };
    while let Some(step) = progress.try_recv() {
        if let Some(event) = event(step) {
            forward(event);
        }
    }
    if let Ok(outcome) = &mut result {
        terms.spill.shorten(outcome, &call_id, &tool.name).await;
    }
    forward(match &result {
        Err(error) if was_refused(error) => Event::Rejected {
            text: error.message().to_owned(),
        },
        _ => Event::Finished,
    });
    result
}

/// What callers hear of a step.
fn event(step: Progress) -> Option<Event> {
    match step {
        Progress::Asking | Progress::Answered => None,
        Progress::Started => Some(Event::Started),
        Progress::Partial(partial) => Some(Event::Update(partial)),
    }
}

/// The time that a call has left. It stands still while the user is asked.
struct Clock {
    /// When the time is up; `None` while it stands still, after it ran out, and without a limit.
    until: Option<Instant>,
    left: Option<Duration>,
    /// How many questions are open.
    questions: u32,
}

impl Clock {
    fn start(timeout: Option<Duration>) -> Self {
        Clock {
            // A time beyond all calendars is no limit.
            until: timeout.and_then(|timeout| Instant::now().checked_add(timeout)),
            left: None,
            questions: 0,
        }
    }

    /// Waits until the time is up, once.
    async fn run_out(&mut self) {
        match self.until {
            Some(until) => tokio::time::sleep_until(until).await,
            None => std::future::pending().await,
        }
        self.until = None;
    }

    fn heed(&mut self, step: &Progress) {
        match step {
            Progress::Asking => {
                self.questions += 1;
                if self.questions > 1 {
                    return;
                }
                let until = self.until.take();
                self.left = until.map(|until| until.saturating_duration_since(Instant::now()));
            }
            Progress::Answered => {
                self.questions = self.questions.saturating_sub(1);
                if self.questions > 0 {
                    return;
                }
                self.until = self.left.take().map(|left| Instant::now() + left);
            }
            Progress::Started | Progress::Partial(_) => {}
        }
    }
}

/// True for the errors with which nothing was started.
fn was_refused(error: &Error) -> bool {
    match error.kind() {
        ErrorKind::Usage
        | ErrorKind::BadArguments
        | ErrorKind::NoSuchTool
        | ErrorKind::Untrusted
        | ErrorKind::Denied
        | ErrorKind::Load => true,
        ErrorKind::Stopped(_) | ErrorKind::IsolateLost | ErrorKind::Internal => false,
    }
}
