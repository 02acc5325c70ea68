//! How long an isolate's thread waits for the next request before it sleeps.
//!
//! Being woken on another core costs ten times what a small call does. A caller that calls again and
//! again asks the next thing a few microseconds after the last answer, so a thread that has seen that
//! looks out for it awake. One that was looked out for in vain is not looked out for again soon. Who has
//! many requests on the way has better use for the core.

use std::hint::spin_loop;
use std::sync::OnceLock;
use std::thread;
use std::time::{Duration, Instant};

use tokio::sync::mpsc;

/// As long as a busy caller may take to read an answer and to ask again, if it is another process.
const LONGEST: Duration = Duration::from_micros(100);

/// A request that comes so soon would have been worth waiting for, had nobody to be woken.
const SOON: Duration = Duration::from_micros(200);

/// So many requests in a row came soon.
const ENOUGH: u32 = 4;

/// Looks between two looks at the clock.
const LOOKS: u32 = 32;

/// Whoever waits awake takes the core from the one who is waited for, if there is only one.
pub(crate) fn has_several_cores() -> bool {
    static SEVERAL: OnceLock<bool> = OnceLock::new();
    *SEVERAL.get_or_init(|| thread::available_parallelism().is_ok_and(|cores| cores.get() > 1))
}

/// What a thread knows of how soon its requests come.
#[derive(Default)]
pub(super) struct Patience {
    soon: u32,
    asleep_since: Option<Instant>,
    /// Messages since it last had nothing to do.
    at_once: u32,
}

impl Patience {
    /// The next message, if one comes while it pays to wait for it awake.
    pub(super) fn next<T>(&mut self, inbox: &mut mpsc::UnboundedReceiver<T>) -> Option<T> {
        let came_alone = std::mem::take(&mut self.at_once) <= 1;
        if self.soon < ENOUGH || !came_alone || !has_several_cores() {
            return None;
        }
        let since = Instant::now();
        while since.elapsed() < LONGEST {
            for _ in 0..LOOKS {
                if let Ok(message) = inbox.try_recv() {
                    return Some(message);
                }
                spin_loop();
            }
            // Whoever is to ask may wait for this very core.
            thread::yield_now();
        }
        self.soon = 0;
        None
    }

    /// The thread sleeps from now on, and nothing runs in its isolate.
    pub(super) fn sleeps(&mut self) {
        self.asleep_since = Some(Instant::now());
    }

    /// There is a message.
    pub(super) fn woke(&mut self) {
        self.at_once += 1;
        let Some(since) = self.asleep_since.take() else {
            return;
        };
        self.soon = match since.elapsed() < SOON {
            true => self.soon + 1,
            false => 0,
        };
    }
}
