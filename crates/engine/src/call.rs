//! Sends a call to an isolate, waits for it, and ends it when it is cancelled.

use std::sync::Arc;
use std::time::Duration;

use serde_json::value::RawValue;
use tokio::sync::oneshot;
use tokio::time::Instant;

use super::Module;
use super::isolate::{Asked, Isolate};
use super::messages::{Answer, Ask, Lost, Withdrawn};
use super::module::{MAX_ISOLATES, NO_ISOLATE};
use super::requests::Caller;
use super::telemetry;
use haft_tool::error::Error;
use haft_tool::{CallCtx, Stopped, Tier};

/// Outcome of a call before its result is parsed.
#[derive(Debug)]
pub enum Ended {
    /// The tool ended; the text is the JSON of its result. The second field is set if the call was
    /// cancelled before that.
    Result(String, Option<Stopped>),
    /// The arguments are invalid; the text says why.
    Refused(String),
    /// The call was not approved; the error says which rule or user refused it.
    Denied(Error),
    /// The call was cancelled before it started.
    NotStarted(Stopped),
    /// The call did not end after its cancellation. It was abandoned or killed.
    Killed(Stopped),
    /// The isolate ran out of memory while this call alone ran in it.
    OutOfMemory(Lost),
    /// The tool's file differs from the version that was advertised to callers; the text says how.
    Changed(String),
    /// The call could not be run, or its isolate was lost meanwhile.
    Lost(Lost),
}

/// Call of one tool of a module.
#[derive(Clone, Copy)]
pub struct ModuleCall<'a> {
    /// The index of the tool in its module.
    pub index: u32,
    /// The id that the tool gets.
    pub call_id: &'a str,
    /// The arguments, not checked yet.
    pub arguments: &'a RawValue,
    /// The context of the call.
    pub ctx: &'a CallCtx,
}

impl Module {
    /// Calls the tool in the instance of its module that `with_rights` returns for the
    /// tier whose rights the call has. Ends soon after `ctx.cancel()` fires, whatever the tool
    /// does: first the AbortSignal fires, then the grace period passes, then the isolate is ended.
    pub async fn invoke(
        call: ModuleCall<'_>,
        with_rights: &(dyn Fn(Tier) -> Module + Sync),
    ) -> Ended {
        let ctx = call.ctx;
        if ctx.is_cancelled() {
            return Ended::NotStarted(ctx.stop_reason());
        }
        match &ctx.gate {
            Some(gate) => {
                with_rights(gate.unasked())
                    .invoke_with_approval(&**gate, call, with_rights)
                    .await
            }
            None => with_rights(Tier::Exec).invoke_now(call).await,
        }
    }

    /// Calls the tool without asking for approval.
    async fn invoke_now(&self, call: ModuleCall<'_>) -> Ended {
        let ModuleCall { index, ctx, .. } = call;
        for _ in 0..MAX_ISOLATES {
            let isolate = match self.isolate_for_call(index, ctx).await {
                Ok(isolate) => isolate,
                Err(ended) => return ended,
            };
            let asked = isolate.ask(
                |id| Ask::Invoke {
                    id,
                    module: self.id,
                    tool: index,
                    call_id: call.call_id.to_owned(),
                    arguments: call.arguments.get().to_owned(),
                    span: traced_span(ctx),
                    is_recorded: ctx.recording.is_some(),
                },
                Some(Caller::of_tool(ctx, &self.url)),
            );
            if let Some(ended) = self.follow(&isolate, asked, ctx).await {
                return ended;
            }
        }
        Ended::Lost(Lost(NO_ISOLATE.into()))
    }

    /// Waits for the end of a call that was sent, or ends it when it is cancelled. Returns `None`
    /// if its isolate ended before the tool saw the call.
    pub(super) async fn follow(
        &self,
        isolate: &Arc<Isolate>,
        mut asked: Asked,
        ctx: &CallCtx,
    ) -> Option<Ended> {
        match self.answer_or_cancel(isolate, &mut asked, ctx).await {
            Some(Ok(Answer::Withdrawn)) => Some(Ended::NotStarted(ctx.stop_reason())),
            // The cancellation may have ended what the tool waited for, so that its answer is already
            // there when this task runs.
            Some(answer) => ended(answer, ctx.cancellation().reason()),
            None => Some(self.stop(isolate, asked, ctx).await),
        }
    }

    /// Returns the isolate in which the tool at `index` can be called now. The module is loaded
    /// there, and its tools were notified of the session's start. A cancelled call does not wait.
    async fn isolate_for_call(&self, index: u32, ctx: &CallCtx) -> Result<Arc<Isolate>, Ended> {
        if let Some(isolate) = self.place_now()
            && isolate.has_module(self.id)
            && self.knows_session(&isolate)
        {
            return self.if_unchanged(index, isolate);
        }
        let module = self.clone();
        unless_stopped(ctx, async move {
            let isolate = module.isolate_with(index).await?;
            module.begin_session(&isolate).await;
            Ok(isolate)
        })
        .await
    }

    /// Returns the current isolate, if the tool `index` there is still the one that was advertised.
    pub(super) async fn isolate_with(&self, index: u32) -> Result<Arc<Isolate>, Ended> {
        let isolate = self.ready_isolate().await.map_err(Ended::Lost)?;
        self.if_unchanged(index, isolate)
    }

    /// Returns `isolate`, if the tool `index` there is still the one that was advertised.
    pub(super) fn if_unchanged(
        &self,
        index: u32,
        isolate: Arc<Isolate>,
    ) -> Result<Arc<Isolate>, Ended> {
        match self.life.told.get().and_then(|told| told.is_other(index)) {
            Some(why) => Err(Ended::Changed(why)),
            None => Ok(isolate),
        }
    }

    /// Returns the answer, or `None` when the call is cancelled.
    pub(super) async fn answer_or_cancel(
        &self,
        isolate: &Arc<Isolate>,
        asked: &mut Asked,
        ctx: &CallCtx,
    ) -> Option<Answered> {
        let Some(target) = isolate.target() else {
            return tokio::select! {
                biased;
                answer = self.answer(isolate, asked) => Some(answer),
                () = ctx.cancelled() => None,
            };
        };
        tokio::select! {
            biased;
            answer = self.answer(isolate, asked) => Some(answer),
            () = ctx.cancelled() => None,
            never = target.hold_clock(&ctx.updates) => match never {},
        }
    }

    /// Waits for the answer without a limit. Leftover work that blocks the isolate is ended after
    /// the grace period, in which the isolate has taken no request.
    pub(super) async fn answer(&self, isolate: &Arc<Isolate>, asked: &mut Asked) -> Answered {
        let grace = self.engine.inner.options.grace(self.key.domain);
        let asked_at = Instant::now();
        // If no request waits, the one before was taken last. To ask the isolate would take a system
        // call for each call, and only matters once this one waits.
        let (mut last_taken, mut still_since) = (asked.id.wrapping_sub(1), asked_at);
        let look = tokio::time::sleep_until(asked_at + BUSY.min(grace));
        tokio::pin!(look);
        let mut is_waiting = true;
        loop {
            tokio::select! {
                biased;
                answer = &mut *asked => return answer,
                () = &mut look, if is_waiting => {}
            }
            is_waiting = isolate.lets_wait(asked);
            isolate.tell_start(asked);
            let now_taken = isolate.last_taken();
            if now_taken != last_taken || isolate.is_paused() {
                (last_taken, still_since) = (now_taken, Instant::now());
            }
            let still_for = still_since.elapsed();
            if still_for >= grace {
                isolate.terminate_if_blocked_by_leftover_work();
                is_waiting = false;
            }
            // The interval grows, because ten thousand calls may wait. One check falls on the end
            // of the grace period.
            let rest = grace.saturating_sub(still_for);
            let pause = asked_at.elapsed().min(rest).max(LEAST_PAUSE);
            look.as_mut().reset(Instant::now() + pause);
        }
    }

    /// Checks arguments without calling the tool.
    pub async fn check(&self, index: u32, arguments: &RawValue) -> Ended {
        let isolate = match self.isolate_with(index).await {
            Ok(isolate) => isolate,
            Err(ended) => return ended,
        };
        let asked = isolate.ask(
            |id| Ask::Check {
                id,
                module: self.id,
                tool: index,
                arguments: arguments.get().to_owned(),
            },
            None,
        );
        match tokio::time::timeout(
            self.engine.inner.options.load_timeout(self.key.domain),
            asked,
        )
        .await
        {
            Ok(answer) => ended(answer, None).unwrap_or_else(not_started),
            Err(_) => {
                isolate.terminate("a schema did not end checking its arguments");
                Ended::Lost(Lost("checking the arguments did not end in time".into()))
            }
        }
    }

    /// Cancels a call: fires its AbortSignal, waits for the grace period (unless it is cut short),
    /// then ends the isolate. An isolate that still answers is retired, so that other calls in it
    /// finish. An isolate that does not answer is terminated.
    pub(super) async fn stop(
        &self,
        isolate: &Arc<Isolate>,
        mut asked: Asked,
        ctx: &CallCtx,
    ) -> Ended {
        let why = ctx.stop_reason();
        let has_started = match isolate.withdraw(&asked).await {
            Withdrawn::Unseen => return Ended::NotStarted(why),
            Withdrawn::BeforeStart => false,
            Withdrawn::TooLate => true,
        };
        isolate.send(Ask::Cancel {
            id: asked.id,
            reason: why.abort_reason().to_owned(),
        });
        let mut alive = isolate.ping();
        tokio::select! {
            biased;
            answer = &mut asked => {
                return match ended(answer, Some(why)) {
                    Some(ended) if has_started => ended,
                    // A cancelled call must not be started again.
                    None if has_started => Ended::Killed(why),
                    _ => Ended::NotStarted(why),
                };
            }
            // The check of the arguments may go on as long as it takes: the tool will not start.
            true = alive.has_answered(), if !has_started => {
                isolate.forget(&asked);
                return Ended::NotStarted(why);
            }
            () = ctx.cancellation().grace_period(self.engine.inner.options.grace(self.key.domain)) => {}
        }
        // If the grace period was cut short, the isolate may not have had time to answer.
        let glance = if ctx.force_token().is_cancelled() {
            BUSY
        } else {
            Duration::ZERO
        };
        // An isolate that a debugger has paused does not hang. It ends when it goes on.
        if isolate.is_paused() || alive.answered_within(glance).await {
            isolate.retire(asked.id);
        } else {
            isolate.terminate("a call in the same isolate ignored its cancellation and was killed");
        }
        if has_started {
            Ended::Killed(why)
        } else {
            Ended::NotStarted(why)
        }
    }
}

/// Time after which an isolate counts as busy for a request that waits.
const BUSY: Duration = Duration::from_millis(50);

/// Shortest interval between two checks of a request that waits.
const LEAST_PAUSE: Duration = Duration::from_millis(1);

pub(super) type Answered = Result<Answer, oneshot::error::RecvError>;

/// Converts the isolate's answer; `None` if the tool has not seen the call.
pub(super) fn ended(answer: Answered, why: Option<Stopped>) -> Option<Ended> {
    Some(match answer {
        Ok(Answer::Done(text)) => Ended::Result(text, why),
        Ok(Answer::Refused(text)) => Ended::Refused(text),
        Ok(Answer::Failed(text)) => Ended::Lost(Lost(text)),
        Ok(Answer::Lost(lost)) => Ended::Lost(lost),
        Ok(Answer::OutOfMemory(lost)) => Ended::OutOfMemory(lost),
        Ok(Answer::Withdrawn) => Ended::NotStarted(why.unwrap_or(Stopped::Cancelled)),
        Ok(Answer::NotStarted) => return None,
        Err(_) => not_started(),
    })
}

/// Runs the preparation of a call on a task of its own, so that it goes on for later calls when
/// this call is cancelled. The call's deadline does not count this time.
pub(super) async fn unless_stopped<T: Send + 'static>(
    ctx: &CallCtx,
    work: impl Future<Output = Result<T, Ended>> + Send + 'static,
) -> Result<T, Ended> {
    if ctx.is_cancelled() {
        return Err(Ended::NotStarted(ctx.stop_reason()));
    }
    let _clock = ctx.updates.hold_clock();
    let work = tokio::spawn(work);
    tokio::select! {
        biased;
        done = work => done.unwrap_or_else(|_| Err(not_started())),
        () = ctx.cancelled() => Err(Ended::NotStarted(ctx.stop_reason())),
    }
}

/// Returns the span of the call for JavaScript, if its spans are sent.
pub(super) fn traced_span(ctx: &CallCtx) -> Option<String> {
    let span = ctx.span.as_ref().filter(|_| telemetry::is_on());
    span.map(ToString::to_string)
}

fn not_started() -> Ended {
    Ended::Lost(Lost("its isolate ended".into()))
}
