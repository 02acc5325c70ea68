//! Runs a tool's renderers for calls and results, with a time limit.
//!
//! A renderer is the author's code in the isolate that other calls use as well. If it loops, V8 is
//! interrupted and the isolate goes on, so that no call is lost. That is safe only while the thread
//! runs this very request, which [`RenderGuard`] tracks.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use deno_core::v8;
use tokio::time::Instant;

use super::Module;
use super::isolate::{Answer, Ask, Asked, Isolate};
use super::module::MAX_ISOLATES;

/// Time limit of a renderer.
const LIMIT: Duration = Duration::from_secs(2);

/// Longest wait of a render request for a busy isolate.
const ISOLATE_WAIT: Duration = Duration::from_secs(1);

/// Interval between two checks of a render request that takes long.
const PAUSE: Duration = Duration::from_millis(50);

/// Error of a renderer that was interrupted; JSON as `35_render.ts` writes it.
pub(super) const NEVER_ENDS: &str = r#"{"error":"it did not end within 2 s"}"#;

/// Outcome of a render request.
#[derive(Debug)]
pub enum Drawn {
    /// The answer of `35_render.ts`.
    RawRender(String),
    /// The renderer failed: JSON `{error, stack?}`.
    Failed(String),
    /// The renderer was interrupted. It would fail again.
    Hung(String),
    /// The module cannot be used now: it is busy, gone, or differs from its advertised description.
    Away,
}

impl Module {
    /// Renders with the tool at `index`, as `request` says.
    pub async fn draw(&self, index: u32, request: &str) -> Drawn {
        for _ in 0..MAX_ISOLATES {
            let Ok(isolate) = self.isolate_with(index).await else {
                return Drawn::Away;
            };
            let asked = isolate.ask(
                |id| Ask::Render {
                    id,
                    module: self.id,
                    tool: index,
                    request: request.to_owned(),
                },
                None,
            );
            match wait(&isolate, asked).await {
                Waited::Answered(Answer::Done(text)) => return Drawn::RawRender(text),
                Waited::Answered(Answer::Refused(text) | Answer::Failed(text)) => {
                    return Drawn::Failed(text);
                }
                Waited::Answered(Answer::NotStarted | Answer::Withdrawn) => {}
                Waited::Answered(Answer::Lost(_) | Answer::OutOfMemory(_)) | Waited::Busy => {
                    return Drawn::Away;
                }
                Waited::Hung => return Drawn::Hung(NEVER_ENDS.to_owned()),
            }
        }
        Drawn::Away
    }
}

enum Waited {
    Answered(Answer),
    Busy,
    Hung,
}

/// Waits for an answer within the time limits, and interrupts a renderer that exceeds its own.
async fn wait(isolate: &Arc<Isolate>, mut asked: Asked) -> Waited {
    let mut asked_at = Instant::now();
    let mut started_at = None;
    loop {
        if let Ok(answer) = tokio::time::timeout(PAUSE, &mut asked).await {
            return Waited::Answered(answer.unwrap_or(Answer::NotStarted));
        }
        if let Some(target) = isolate.target().filter(|target| target.is_paused()) {
            target.running().await;
            (asked_at, started_at) = (Instant::now(), None);
            continue;
        }
        if started_at.is_none() && isolate.lets_wait(&asked) {
            if asked_at.elapsed() > ISOLATE_WAIT {
                // The screen has moved on by the time that the renderer would run.
                isolate.shared().requests.forget(asked.id);
                return Waited::Busy;
            }
            continue;
        }
        let started_at = *started_at.get_or_insert_with(Instant::now);
        if started_at.elapsed() > LIMIT {
            // A renderer that awaits a promise does not block the isolate, so a failed interrupt is
            // harmless.
            isolate.shared().interrupt_drawing(asked.id);
            isolate.shared().requests.forget(asked.id);
            return Waited::Hung;
        }
    }
}

/// The request that a thread renders, and a flag for its interruption.
#[derive(Default)]
pub(super) struct RenderGuard(Mutex<Option<Stroke>>);

struct Stroke {
    id: u32,
    was_interrupted: bool,
}

impl RenderGuard {
    /// Notes that the thread enters V8 with the request `id`.
    pub(super) fn begin(&self, id: u32) {
        *self.stroke() = Some(Stroke {
            id,
            was_interrupted: false,
        });
    }

    /// Notes that the thread has left V8. Returns true if it was interrupted.
    pub(super) fn end(&self, v8: &v8::IsolateHandle) -> bool {
        let was_interrupted = self
            .stroke()
            .take()
            .is_some_and(|stroke| stroke.was_interrupted);
        if was_interrupted {
            v8.cancel_terminate_execution();
        }
        was_interrupted
    }

    // Interrupts V8 if it renders the request `id`. The lock is held meanwhile, so that V8 is never
    // interrupted in a later request.
    pub(super) fn interrupt(&self, id: u32, v8: &v8::IsolateHandle) -> bool {
        let mut stroke = self.stroke();
        match &mut *stroke {
            Some(stroke) if stroke.id == id => {
                stroke.was_interrupted = true;
                v8.terminate_execution();
                true
            }
            _ => false,
        }
    }

    fn stroke(&self) -> MutexGuard<'_, Option<Stroke>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
