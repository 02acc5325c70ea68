//! Whether a caller does better to wait for its call awake.
//!
//! A small tool has ended before its caller would be asleep, and waking it on another core costs
//! several times what the tool does. That holds only for a caller whose calls come one by one: whoever
//! starts others meanwhile would be kept from it. Which of both it is, the calls before it tell; every
//! now and then one sleeps, so that a change shows.

use std::hint::spin_loop;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::task::Poll;
use std::time::{Duration, Instant};

use crate::engine::has_several_cores;

/// As long as a small tool takes.
const LONGEST: Duration = Duration::from_micros(50);

/// So many calls in a row ran alone and ended soon.
const ENOUGH: u32 = 8;

/// Of so many calls one sleeps.
const ONE_OF: u32 = 32;

/// Pauses between two looks; a look costs more than a pause.
const PAUSES: u32 = 16;

/// How the calls of a host come.
#[derive(Default)]
pub(super) struct Pace {
    running: AtomicU32,
    /// How many calls in a row ran alone.
    alone: AtomicU32,
}

/// A call runs until this is dropped.
pub(super) struct Running {
    pace: Arc<Pace>,
    began_alone: bool,
}

impl Pace {
    /// Looks until there is something or it does not pay any more.
    pub(super) fn wait<T>(&self, mut look: impl FnMut() -> Poll<T>) -> Poll<T> {
        if !self.pays() {
            return Poll::Pending;
        }
        let since = Instant::now();
        while since.elapsed() < LONGEST {
            for _ in 0..PAUSES {
                spin_loop();
            }
            if let Poll::Ready(found) = look() {
                return Poll::Ready(found);
            }
        }
        self.alone.store(0, Ordering::Relaxed);
        Poll::Pending
    }

    fn pays(&self) -> bool {
        let alone = self.alone.load(Ordering::Relaxed);
        alone >= ENOUGH
            && !alone.is_multiple_of(ONE_OF)
            && self.running.load(Ordering::Relaxed) == 1
            && has_several_cores()
    }
}

impl Running {
    /// A call begins.
    pub(super) fn begin(pace: &Arc<Pace>) -> Running {
        let before = pace.running.fetch_add(1, Ordering::Relaxed);
        if before > 0 {
            pace.alone.store(0, Ordering::Relaxed);
        }
        Running {
            pace: pace.clone(),
            began_alone: before == 0,
        }
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let pace = &self.pace;
        pace.running.fetch_sub(1, Ordering::Relaxed);
        if self.began_alone {
            pace.alone.fetch_add(1, Ordering::Relaxed);
        }
    }
}
