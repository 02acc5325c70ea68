//! Lets a tool draw its calls and results, within a time that a screen can wait.
//!
//! Drawing is the author's code in the isolate that other calls use as well. A renderer that loops is
//! stopped inside of V8 and the isolate goes on: nobody's call is lost because a picture hangs. That
//! is safe only while the thread is in that very request, which is what [`Brush`] knows.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use deno_core::v8;
use tokio::time::Instant;

use super::Module;
use super::isolate::{Answer, Ask, Asked, Isolate};
use super::module::MOST_ISOLATES;

/// How long a renderer may run.
const LIMIT: Duration = Duration::from_secs(2);

/// How long a drawing waits for an isolate that does something else.
const PATIENCE: Duration = Duration::from_secs(1);

/// Between two looks at a drawing that takes long.
const PAUSE: Duration = Duration::from_millis(50);

/// What a renderer failed with that was stopped; JSON as `35_render.ts` writes it.
pub(super) const NEVER_ENDS: &str = r#"{"error":"it did not end within 2 s"}"#;

/// What became of a drawing.
#[derive(Debug)]
pub enum Drawn {
    /// What `35_render.ts` answered.
    Painted(String),
    /// The renderer failed: JSON `{error, stack?}`.
    Failed(String),
    /// The renderer was stopped: it would fail again.
    Hung(String),
    /// The module cannot be asked now: it is busy, gone, or not what callers know.
    Away,
}

impl Module {
    /// Has the tool at `index` draw what `request` says.
    pub async fn draw(&self, index: u32, request: &str) -> Drawn {
        for _ in 0..MOST_ISOLATES {
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
                Waited::Answered(Answer::Done(text)) => return Drawn::Painted(text),
                Waited::Answered(Answer::Refused(text) | Answer::Failed(text)) => {
                    return Drawn::Failed(text);
                }
                Waited::Answered(Answer::NotStarted | Answer::Withdrawn) => {}
                Waited::Answered(Answer::Lost(_) | Answer::RanAway(_)) | Waited::Busy => {
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

/// Waits for an answer, as long as a screen can; makes a renderer end that takes longer.
async fn wait(isolate: &Arc<Isolate>, mut asked: Asked) -> Waited {
    let asked_at = Instant::now();
    let mut started_at = None;
    loop {
        if let Ok(answer) = tokio::time::timeout(PAUSE, &mut asked.answer).await {
            return Waited::Answered(answer.unwrap_or(Answer::NotStarted));
        }
        if started_at.is_none() && isolate.lets_wait(&asked) {
            if asked_at.elapsed() > PATIENCE {
                // Nobody would look at it any more when its turn comes.
                isolate.shared().requests.forget(asked.id);
                return Waited::Busy;
            }
            continue;
        }
        let started_at = *started_at.get_or_insert_with(Instant::now);
        if started_at.elapsed() > LIMIT {
            // What waits for a promise is in nobody's way; nor is what ends at this moment.
            isolate.shared().interrupt_drawing(asked.id);
            isolate.shared().requests.forget(asked.id);
            return Waited::Hung;
        }
    }
}

/// What a thread draws, and whether somebody made it stop.
#[derive(Default)]
pub(super) struct Brush(Mutex<Option<Stroke>>);

struct Stroke {
    id: u32,
    was_interrupted: bool,
}

impl Brush {
    /// The thread goes into V8 with the request `id`.
    pub(super) fn begin(&self, id: u32) {
        *self.stroke() = Some(Stroke {
            id,
            was_interrupted: false,
        });
    }

    /// It has come back. True if it was made to.
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

    // Under the lock, so that V8 is never stopped in something else that comes next.
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
