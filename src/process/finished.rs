//! How a call ended and what it left.
//!
//! Bytes stay bytes: what is text, and what an exit code means, is for the caller. The one hard
//! thing is a cut that falls inside a character; [`Captured::text`] never shows half of one.

use std::time::Duration;

/// A call that has ended. The program itself is gone and reaped.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Finished {
    /// What was kept of the standard output.
    pub stdout: Captured,
    /// What was kept of the standard error.
    pub stderr: Captured,
    /// How it ended.
    pub end: End,
    /// A process that the program had started still held an output when the call returned, so
    /// what that process wrote later is not here.
    pub pipe_held: bool,
    /// From the start to the end, the stop ladder included.
    pub duration: Duration,
    /// Its deadline ended it, and it might have been done by then if the machine had not been busy.
    pub was_held_up: bool,
    /// Something of its tree was killed because the tree had used up its `Limits::memory`.
    pub ran_out_of_memory: bool,
}

/// How a call ended. A stop carries what the program itself ended with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum End {
    /// By itself, with this code.
    Exited(i32),
    /// By a signal that we did not send.
    Signaled(i32),
    /// By its deadline. `None`: it did not die of KILL within a second (a stuck device); it is
    /// reaped in the background.
    TimedOut(Option<Exit>),
    /// By the cancel token. `None`: it was never started, or as above.
    Cancelled(Option<Exit>),
}

/// How a process ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Exit {
    /// With this code.
    Code(i32),
    /// By this signal.
    Signal(i32),
}

impl End {
    /// The code that a shell would show: 128 plus the signal, 124 for a deadline, 130 for a cancel.
    pub fn shell_code(self) -> i32 {
        match self {
            Self::Exited(code) => code,
            Self::Signaled(signal) => 128 + signal,
            Self::TimedOut(_) => 124,
            Self::Cancelled(_) => 130,
        }
    }

    /// Whether we ended it.
    pub fn was_stopped(self) -> bool {
        matches!(self, Self::TimedOut(_) | Self::Cancelled(_))
    }
}

impl Finished {
    pub(super) fn never_started() -> Self {
        Self {
            stdout: Captured::default(),
            stderr: Captured::default(),
            end: End::Cancelled(None),
            pipe_held: false,
            duration: Duration::ZERO,
            was_held_up: false,
            ran_out_of_memory: false,
        }
    }
}

/// What was kept of an output.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Captured {
    /// The bytes that were kept.
    pub bytes: Vec<u8>,
    /// How many bytes were read and not kept.
    pub dropped: u64,
    /// Where in `bytes` those are missing.
    pub gap: Option<usize>,
}

impl Captured {
    /// Everything that was kept, as text; invalid bytes become U+FFFD.
    pub fn text(&self) -> String {
        let (mut text, tail) = self.parts();
        text.push_str(&tail);
        text
    }

    /// The text before and after the gap, so that a caller can put its own words between them.
    pub fn parts(&self) -> (String, String) {
        let Some(gap) = self.gap else {
            return (lossy(&self.bytes), String::new());
        };
        let (head, tail) = self.bytes.split_at(gap);
        (lossy(whole_end(head)), lossy(whole_start(tail)))
    }
}

fn lossy(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// `bytes` without the beginning of a character that the cut took the rest of.
fn whole_end(bytes: &[u8]) -> &[u8] {
    let Some(start) = bytes.iter().rposition(|byte| !is_continuation(*byte)) else {
        return bytes;
    };
    let length = match bytes[start] {
        0xC2..=0xDF => 2,
        0xE0..=0xEF => 3,
        0xF0..=0xF4 => 4,
        _ => 1,
    };
    if start + length > bytes.len() {
        &bytes[..start]
    } else {
        bytes
    }
}

/// `bytes` without the rest of a character that the cut took the beginning of.
fn whole_start(bytes: &[u8]) -> &[u8] {
    let rest = bytes
        .iter()
        .take(3)
        .take_while(|byte| is_continuation(**byte))
        .count();
    &bytes[rest..]
}

fn is_continuation(byte: u8) -> bool {
    byte & 0xC0 == 0x80
}
