//! A call on its way to an isolate and back: it is moved, waited for, and made to end.

use std::sync::Arc;
use std::time::Duration;

use serde_json::value::RawValue;
use tokio::sync::oneshot;
use tokio::time::Instant;

use super::Module;
use super::isolate::{Answer, Ask, Asked, Isolate, Lost};
use super::module::{MOST_ISOLATES, NO_ISOLATE};
use super::requests::Withdrawn;
use crate::error::Error;
use crate::tool::{CallCtx, Stopped, Tier};

/// How a call ended, before anyone reads its result.
#[derive(Debug)]
pub enum Ended {
    /// The tool ended; the text is the JSON of its result. The flag tells that it was asked to stop.
    Result(String, Option<Stopped>),
    /// The arguments do not fit; the text says why.
    Refused(String),
    /// It may not start; the error says who refused.
    Denied(Error),
    /// It was told to stop before it started.
    NotStarted(Stopped),
    /// It did not end although it was told to, and was left behind or killed.
    Killed(Stopped),
    /// It broke the isolate in which it ran alone; the text says how.
    RanAway(Lost),
    /// Its file is not what it was when callers were told about it; the text says how.
    Changed(String),
    /// It could not be run, or its isolate was lost under it.
    Lost(Lost),
}

impl Module {
    /// Calls the tool at `index` of the module: in the instance that `with_rights` gives for the tier whose
    /// rights the call has. Ends soon after `ctx.cancel()` fires, whatever the
    /// tool does: the AbortSignal, then the grace period, then the isolate goes.
    pub async fn invoke(
        index: u32,
        call_id: &str,
        arguments: &RawValue,
        ctx: &CallCtx,
        with_rights: &(dyn Fn(Tier) -> Module + Sync),
    ) -> Ended {
        if ctx.is_cancelled() {
            return Ended::NotStarted(ctx.stop_reason());
        }
        match &ctx.gate {
            Some(gate) => {
                with_rights(gate.unasked())
                    .invoke_behind(&**gate, index, call_id, arguments, ctx, with_rights)
                    .await
            }
            None => {
                let module = with_rights(Tier::Exec);
                module.invoke_now(index, call_id, arguments, ctx).await
            }
        }
    }

    /// Calls the tool without asking anybody.
    pub(super) async fn invoke_now(
        &self,
        index: u32,
        call_id: &str,
        arguments: &RawValue,
        ctx: &CallCtx,
    ) -> Ended {
        for _ in 0..MOST_ISOLATES {
            let isolate = match self.isolate_for_call(index, ctx).await {
                Ok(isolate) => isolate,
                Err(ended) => return ended,
            };
            let asked = isolate.ask(
                |id| Ask::Invoke {
                    id,
                    module: self.id,
                    tool: index,
                    call_id: call_id.to_owned(),
                    arguments: arguments.get().to_owned(),
                },
                Some(ctx.into()),
            );
            if let Some(ended) = self.follow(&isolate, asked, ctx).await {
                return ended;
            }
        }
        Ended::Lost(Lost(NO_ISOLATE.into()))
    }

    /// Waits for the end of a call that has been asked for, or makes it end; `None` if its isolate
    /// went before the tool saw the call.
    pub(super) async fn follow(
        &self,
        isolate: &Arc<Isolate>,
        mut asked: Asked,
        ctx: &CallCtx,
    ) -> Option<Ended> {
        match self.answer_or_cancel(isolate, &mut asked, ctx).await {
            Some(Ok(Answer::Withdrawn)) => Some(Ended::NotStarted(ctx.stop_reason())),
            Some(answer) => ended(answer, None),
            None => Some(self.stop(isolate, asked, ctx).await),
        }
    }

    /// The isolate in which the tool at `index` can be called now: the module is loaded there, and its
    /// tools know that the session has started. A call that has to end meanwhile does not wait.
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

    /// The answer, or `None` when the call must end.
    pub(super) async fn answer_or_cancel(
        &self,
        isolate: &Arc<Isolate>,
        asked: &mut Asked,
        ctx: &CallCtx,
    ) -> Option<Answered> {
        tokio::select! {
            biased;
            answer = self.answer(isolate, asked) => Some(answer),
            () = ctx.cancelled() => None,
        }
    }

    /// The answer, however long it takes. Meanwhile looks after a request that has to wait: its
    /// module may move, and what keeps the isolate busy may be nobody's.
    pub(super) async fn answer(&self, isolate: &Arc<Isolate>, asked: &mut Asked) -> Answered {
        let asked_at = Instant::now();
        let grace = self.engine.0.options.grace(self.key.domain);
        tokio::select! {
            biased;
            answer = &mut asked.answer => return answer,
            () = self.engine.0.lookout.tick() => {}
        }
        let look = tokio::time::sleep_until(asked_at + BUSY.min(grace));
        tokio::pin!(look);
        let mut is_waiting = true;
        loop {
            tokio::select! {
                biased;
                answer = &mut asked.answer => return answer,
                () = &mut look, if is_waiting => {}
            }
            is_waiting = isolate.lets_wait(asked);
            isolate.tell_start(asked);
            let waited = asked_at.elapsed();
            if waited >= grace {
                isolate.terminate_if_haunted();
                is_waiting = false;
            } else if is_waiting {
                self.engine.relieve(isolate, self);
            }
            // Rarer and rarer, because ten thousand calls may wait; once more when the grace is over.
            let pause = waited.min(grace.saturating_sub(waited)).max(LEAST_PAUSE);
            look.as_mut().reset(Instant::now() + pause);
        }
    }

    /// Checks arguments without calling.
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
            self.engine.0.options.load_timeout(self.key.domain),
            asked.answer,
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

    /// The stop ladder: ask, wait for the grace period unless somebody is in a hurry, then end the
    /// isolate. One that still answers is retired, so that other calls in it finish; one that does not
    /// is terminated.
    pub(super) async fn stop(
        &self,
        isolate: &Arc<Isolate>,
        mut asked: Asked,
        ctx: &CallCtx,
    ) -> Ended {
        let why = ctx.stop_reason();
        let has_started = match isolate.withdraw(&asked) {
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
            answer = &mut asked.answer => {
                return match ended(answer, Some(why)) {
                    Some(ended) if has_started => ended,
                    // A call that is to stop must not start anew.
                    None if has_started => Ended::Killed(why),
                    _ => Ended::NotStarted(why),
                };
            }
            // Its arguments may be checked as long as that takes: its tool does not start.
            true = alive.has_answered(), if !has_started => {
                isolate.forget(&asked);
                return Ended::NotStarted(why);
            }
            () = ctx.patience(self.engine.0.options.grace(self.key.domain)) => {}
        }
        // Where the grace was cut short it may not have come to that yet.
        let glance = match ctx.hurry().is_cancelled() {
            true => BUSY,
            false => Duration::ZERO,
        };
        if alive.answered_within(glance).await {
            isolate.retire(asked.id);
        } else {
            isolate.terminate("a call in the same isolate ignored its cancellation and was killed");
        }
        match has_started {
            true => Ended::Killed(why),
            false => Ended::NotStarted(why),
        }
    }
}

/// How long a request may wait before its isolate counts as busy.
const BUSY: Duration = Duration::from_millis(50);

/// Between two looks at a request that waits.
const LEAST_PAUSE: Duration = Duration::from_millis(1);

pub(super) type Answered = Result<Answer, oneshot::error::RecvError>;

/// `None` if the tool has not seen the call.
pub(super) fn ended(answer: Answered, why: Option<Stopped>) -> Option<Ended> {
    Some(match answer {
        Ok(Answer::Done(text)) => Ended::Result(text, why),
        Ok(Answer::Refused(text)) => Ended::Refused(text),
        Ok(Answer::Failed(text)) => Ended::Lost(Lost(text)),
        Ok(Answer::Lost(lost)) => Ended::Lost(lost),
        Ok(Answer::RanAway(lost)) => Ended::RanAway(lost),
        Ok(Answer::Withdrawn) => Ended::NotStarted(why.unwrap_or(Stopped::Cancelled)),
        Ok(Answer::NotStarted) => return None,
        Err(_) => not_started(),
    })
}

/// Does what has to be done before a call can start, on a task of its own: what one call does not wait
/// for any more goes on for the next. It takes none of the call's time.
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

fn not_started() -> Ended {
    Ended::Lost(Lost("its isolate ended".into()))
}
