//! The life of a call, the same for every family and every surface.
//!
//! Sees `dyn Runner` and nothing of what is behind it. The deadline and the caller's cancel become
//! one token; what the runner reports becomes one stream of events, the end of which is set here; the
//! outcome is the return value.

mod approval;
mod ask_user;
mod spill;

use std::sync::Arc;
use std::time::Duration;

use crate::error::{Error, ErrorKind};
use crate::tool::clock::Clock;
use crate::tool::{
    ApprovalPolicy, Approver, Call, CallCtx, CallTrace, Ending, Event, LogListener, Outcome,
    Runner, Stopped, Tool, Updates, User, UserInterface, queue,
};
use approval::Gatekeeper;
use ask_user::Judges;
pub(crate) use spill::Spill;

/// What holds for a call besides the call itself.
pub(crate) struct Terms<'a> {
    /// The longest that it may take; the time that a user thinks does not count.
    pub(crate) timeout: Option<Duration>,
    /// Ends it; the call's own, so that its deadline may use it, too.
    pub(crate) ending: Arc<Ending>,
    /// What the user allows.
    pub(crate) policy: &'a ApprovalPolicy,
    /// Who is asked for approval, if anybody can be; without one it is `ui`.
    pub(crate) approver: Option<Arc<dyn Approver>>,
    /// Whom the tool can ask, if anybody can be.
    pub(crate) ui: Option<Arc<dyn UserInterface>>,
    /// Who hears what the tool logs, if anybody does.
    pub(crate) log: Option<Arc<dyn LogListener>>,
    /// What it does is noted here, if the call is recorded.
    pub(crate) trace: Option<Arc<CallTrace>>,
    /// Where too long a text goes.
    pub(crate) spill: &'a Spill,
    /// The most bytes of text, where that is not what `spill` goes by.
    pub(crate) text_limit: Option<usize>,
}

/// Runs `call` to its end; events go to `events`.
pub(crate) async fn execute(
    tool: &Arc<Tool>,
    runner: &dyn Runner,
    call: Call,
    terms: Terms<'_>,
    events: queue::Sender<Event>,
) -> Result<Outcome, Error> {
    let clock = terms.timeout.map(|timeout| Arc::new(Clock::start(timeout)));
    let updates = Updates::new(events.clone(), clock.clone());
    let judges = Judges {
        approver: terms.approver.as_ref(),
        ui: terms.ui.as_ref(),
    };
    let trace = terms.trace.clone();
    let gate = Gatekeeper::for_call(terms.policy, judges, tool, runner, &call, &updates, trace);
    let mut ctx = CallCtx::new(terms.ending, updates);
    if let Some(gate) = gate {
        ctx = ctx.behind(gate);
    }
    ctx.log = terms.log;
    ctx.trace = terms.trace;
    ctx.auto_approve = terms.policy.auto_approves();
    // Whatever ends the call, its questions end with it.
    let _withdraw = terms.ui.map(|ui| {
        let ended = ctx.cancel().child_token();
        let (id, name, updates) = (&call.id, &tool.name, ctx.updates.clone());
        ctx.user = Some(User::of_call(ui, id, name, ended.clone(), updates));
        ended.drop_guard()
    });

    let call_id = call.id.clone();
    let mut result = match clock {
        None => runner.run(call, ctx).await,
        Some(clock) => {
            let running = runner.run(call, ctx.clone());
            in_time(running, &clock, &ctx).await
        }
    };
    if let Ok(outcome) = &mut result {
        let limit = terms.text_limit;
        let shortened = terms.spill.shorten(outcome, limit, &call_id, &tool.name);
        shortened.await;
    }
    // Nobody has to listen.
    events.finish(match &result {
        Err(error) if was_refused(error) => Event::Rejected {
            text: error.message().to_owned(),
        },
        _ => Event::Finished,
    });
    result
}

/// Waits for a call, which is told to stop when its time is up.
async fn in_time<T>(running: impl Future<Output = T>, clock: &Clock, ctx: &CallCtx) -> T {
    tokio::pin!(running);
    tokio::select! {
        biased;
        ended = &mut running => return ended,
        () = clock.run_out() => ctx.stop(Stopped::Deadline),
    }
    running.await
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
