//! Interruption of a renderer that does not end.
//!
//! V8 is interrupted and the isolate goes on. That is safe only while the thread runs this very
//! request, which [`RenderGuard`] tracks.

use std::sync::{Mutex, MutexGuard};

use deno_core::v8;

use super::lock;

/// Error of a renderer that was interrupted; JSON as `35_render.ts` writes it.
pub(super) const NEVER_ENDS: &str = r#"{"error":"it did not end within 2 s"}"#;

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
        lock(&self.0)
    }
}
