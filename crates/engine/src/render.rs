//! Runs a tool's renderers for calls and results, with a time limit.
//!
//! A renderer is the author's code in the isolate that other calls use as well. If it loops, it is
//! interrupted (`render_guard`) and the isolate goes on, so that no call is lost.

use std::sync::Arc;
use std::time::Duration;

use tokio::time::Instant;

use super::Module;
use super::isolate::{Asked, Isolate};
use super::messages::{Answer, Ask};
use super::module::MAX_ISOLATES;
use super::render_guard::NEVER_ENDS;

/// Time limit of a renderer.
const LIMIT: Duration = Duration::from_secs(2);

/// Longest wait of a render request for a busy isolate.
const ISOLATE_WAIT: Duration = Duration::from_secs(1);

/// Interval between two checks of a render request that takes long.
const PAUSE: Duration = Duration::from_millis(50);

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
                isolate.forget(&asked);
                return Waited::Busy;
            }
            continue;
        }
        let started_at = *started_at.get_or_insert_with(Instant::now);
        if started_at.elapsed() > LIMIT {
            // A renderer that awaits a promise does not block the isolate, so a failed interrupt is
            // harmless.
            isolate.interrupt_render(&asked);
            isolate.forget(&asked);
            return Waited::Hung;
        }
    }
}
