//! Calls that wait for approval between the check of their arguments and their start.
//!
//! The isolate checks the arguments, reports the approval that the tool requires, and holds the
//! checked arguments. Then the gate decides, which may wait for the user. Finally the isolate
//! starts the call or drops it.

use std::sync::Arc;

use super::call::{ModuleCall, ended, traced_span, unless_stopped};
use super::isolate::Isolate;
use super::messages::{Answer, Ask, Lost};
use super::module::{MAX_ISOLATES, NO_ISOLATE};
use super::requests::Caller;
use super::{Ended, Module};
use haft_tool::{ApprovalRequirement, CallCtx, Gate, Tier};

impl Module {
    pub(super) async fn invoke_with_approval(
        &self,
        gate: &dyn Gate,
        call: ModuleCall<'_>,
        with_rights: &(dyn Fn(Tier) -> Module + Sync),
    ) -> Ended {
        let ctx = call.ctx;
        let mut module = self.clone();
        let mut approved: Option<(ApprovalRequirement, Tier)> = None;
        // Set if the call was approved in another isolate. Here only its arguments are checked
        // again.
        let mut has_moved = false;
        // Two attempts more than elsewhere: the call may move to an isolate with other rights.
        for _ in 0..MAX_ISOLATES + 2 {
            let ready = module.prepare(call, has_moved).await;
            let (isolate, prepared, stance) = match ready {
                Ok(ready) => ready,
                Err(ended) => return ended,
            };
            // If the isolate ended while the user decided, the answer still holds for an equal
            // call.
            let known = approved.as_ref().filter(|(known, _)| {
                if has_moved {
                    known.arguments == stance.arguments
                } else {
                    *known == stance
                }
            });
            if has_moved && known.is_none() {
                // The schema makes different arguments each time, so the new ones need approval.
                isolate.send(Ask::Forget { prepared });
                has_moved = false;
                continue;
            }
            let tier = match known {
                Some((_, tier)) => *tier,
                None => {
                    let passed = tokio::select! {
                        biased;
                        passed = gate.pass(stance.clone()) => passed.map_err(Ended::Denied),
                        () = ctx.cancelled() => Err(Ended::NotStarted(ctx.stop_reason())),
                    };
                    match passed {
                        Ok(tier) => tier,
                        Err(refused) => {
                            isolate.send(Ask::Forget { prepared });
                            return refused;
                        }
                    }
                }
            };
            if !has_moved {
                approved = Some((stance, tier));
            }
            let place = with_rights(tier);
            if place.key != module.key {
                isolate.send(Ask::Forget { prepared });
                module = place;
                has_moved = true;
                continue;
            }
            if !isolate.takes_work() {
                continue;
            }
            if let Err(ended) = module.begin_session_unless_stopped(&isolate, ctx).await {
                isolate.send(Ask::Forget { prepared });
                return ended;
            }
            let asked = isolate.ask(
                |id| Ask::Start {
                    id,
                    prepared,
                    call_id: call.call_id.to_owned(),
                    span: traced_span(ctx),
                    is_recorded: ctx.recording.is_some(),
                },
                Some(Caller::of_tool(ctx, &self.url)),
            );
            let ended = module.follow(&isolate, asked, ctx).await;
            if matches!(ended, Some(Ended::NotStarted(_))) {
                isolate.send(Ask::Forget { prepared });
            }
            if let Some(ended) = ended {
                return ended;
            }
        }
        Ended::Lost(Lost(NO_ISOLATE.into()))
    }

    /// Sends the session's start to the module, unless it was sent or the call is cancelled. Until
    /// here only the tool's `approval` has run.
    async fn begin_session_unless_stopped(
        &self,
        isolate: &Arc<Isolate>,
        ctx: &CallCtx,
    ) -> Result<(), Ended> {
        if self.knows_session(isolate) {
            return Ok(());
        }
        let (module, isolate) = (self.clone(), isolate.clone());
        unless_stopped(ctx, async move {
            module.begin_session(&isolate).await;
            Ok(())
        })
        .await
    }

    /// Checks the arguments. Returns the isolate that holds them, their number there, and the
    /// approval that the tool requires.
    async fn prepare(
        &self,
        call: ModuleCall<'_>,
        is_approved: bool,
    ) -> Result<(Arc<Isolate>, u32, ApprovalRequirement), Ended> {
        let ModuleCall { index, ctx, .. } = call;
        for _ in 0..MAX_ISOLATES {
            let isolate = match self.place_now().filter(|at| at.has_module(self.id)) {
                Some(isolate) => self.if_unchanged(index, isolate)?,
                None => {
                    let module = self.clone();
                    unless_stopped(ctx, async move { module.isolate_with(index).await }).await?
                }
            };
            let mut asked = isolate.ask(
                |id| Ask::Prepare {
                    id,
                    module: self.id,
                    tool: index,
                    arguments: call.arguments.get().to_owned(),
                    is_approved,
                },
                None,
            );
            let prepared = asked.id;
            let Some(answer) = self.answer_or_cancel(&isolate, &mut asked, ctx).await else {
                // A schema or an `approval` that does not end is stopped like a call.
                let ended = self.stop(&isolate, asked, ctx).await;
                isolate.send(Ask::Forget { prepared });
                return Err(ended);
            };
            match answer {
                Ok(Answer::Done(text)) => return Ok((isolate, prepared, read_stance(&text))),
                other => {
                    if let Some(ended) = ended(other, None) {
                        return Err(ended);
                    }
                }
            }
        }
        Err(Ended::Lost(Lost(NO_ISOLATE.into())))
    }
}

/// Parses the text of our own runtime. An unreadable text requires the strictest approval.
fn read_stance(text: &str) -> ApprovalRequirement {
    serde_json::from_str(text).unwrap_or_else(|_| ApprovalRequirement::of_tier(Tier::Exec))
}
