//! A call that waits for a decision between the check of its arguments and its start.
//!
//! The isolate checks, says what the tool thinks of the call, and holds the checked arguments; the
//! gate decides, which may take a person's time; then the isolate starts the call or forgets it.

use std::sync::Arc;

use serde_json::value::RawValue;

use super::isolate::{Answer, Ask, Isolate};
use super::{Ended, Module, ended};
use crate::tool::{CallCtx, Gate, Stance, Tier};

impl Module {
    pub(super) async fn invoke_behind(
        &self,
        gate: &dyn Gate,
        isolate: &Arc<Isolate>,
        index: u32,
        call_id: &str,
        arguments: &RawValue,
        ctx: &CallCtx,
    ) -> Ended {
        let mut asked = isolate.ask(
            |id| Ask::Prepare {
                id,
                module: self.id,
                tool: index,
                arguments: arguments.get().to_owned(),
            },
            None,
        );
        let prepared = asked.id;
        let answer = tokio::select! {
            biased;
            answer = &mut asked.answer => answer,
            // A schema or an `approval` that does not end is stopped like a call that does not.
            () = ctx.cancel.cancelled() => {
                let why = ctx.stop_reason();
                return match self.stop(isolate, asked, why).await {
                    Ended::Result(..) => {
                        isolate.send(Ask::Forget { prepared });
                        Ended::NotStarted(why)
                    }
                    other => other,
                };
            }
        };
        let stance = match answer {
            Ok(Answer::Done(text)) => read_stance(&text),
            other => return ended(other, None),
        };
        let refused = tokio::select! {
            biased;
            passed = gate.pass(stance) => passed.err().map(Ended::Denied),
            () = ctx.cancel.cancelled() => Some(Ended::NotStarted(ctx.stop_reason())),
        };
        if let Some(refused) = refused {
            isolate.send(Ask::Forget { prepared });
            return refused;
        }
        if !isolate.takes_work() {
            return self.invoke_in_another(index, call_id, arguments, ctx).await;
        }
        let asked = isolate.ask(
            |id| Ask::Start {
                id,
                prepared,
                call_id: call_id.to_owned(),
            },
            Some(ctx.updates.clone()),
        );
        self.follow(isolate, asked, ctx).await
    }

    /// The isolate ended while the user thought: the decision holds in the next one too.
    async fn invoke_in_another(
        &self,
        index: u32,
        call_id: &str,
        arguments: &RawValue,
        ctx: &CallCtx,
    ) -> Ended {
        match self.ready_isolate().await {
            Ok(isolate) => {
                self.invoke_in(&isolate, index, call_id, arguments, ctx)
                    .await
            }
            Err(lost) => Ended::Lost(lost),
        }
    }
}

/// What our own runtime wrote; should it ever be unreadable, the careful reading.
fn read_stance(text: &str) -> Stance {
    serde_json::from_str(text).unwrap_or_else(|_| Stance::of_tier(Tier::Exec))
}
