//! Result of a call: its end and its outputs.
//!
//! Outputs are bytes. The caller decides whether they are text and what an exit code means. A cut
//! can fall inside a character; [`Captured::text`] never shows a part of a character.

use std::time::Duration;

use crate::sandbox::ExceededLimit;

/// Result of a call that has ended. The program itself has exited and was reaped.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Finished {
    /// The kept part of the standard output.
    pub stdout: Captured,
    /// The kept part of the standard error.
    pub stderr: Captured,
    /// Cause of the end, with the exit status.
    pub end: End,
    /// True if a process that the program had started still held an output when the call returned.
    /// Later output of that process is missing here.
    pub pipe_held: bool,
    /// Time from the start to the end, including the time that the stop took.
    pub duration: Duration,
    /// True if the deadline ended the call, but the call might have ended in time on an idle
    /// machine.
    pub was_held_up: bool,
    /// The limit of [`Limits`](crate::Limits) for which the tree was killed, or a process of it.
    pub exceeded: Option<ExceededLimit>,
}

/// End of a call. After a stop it contains the exit status of the program itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum End {
    /// The program exited with this code.
    Exited(i32),
    /// The program was killed by a signal that haft did not send.
    Signaled(i32),
    /// The deadline ended the call. `None`: the program did not die within a second of KILL (a
    /// stuck device); it is reaped in the background.
    TimedOut(Option<Exit>),
    /// The cancel token ended the call. `None`: the program was never started, or did not die, as
    /// above.
    Cancelled(Option<Exit>),
}

/// Exit status of a process.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Exit {
    /// It exited with this code.
    Code(i32),
    /// It was killed by this signal.
    Signal(i32),
}

impl End {
    /// Returns the code that a shell would show: 128 plus the signal, 124 for a deadline, 130 for a
    /// cancel.
    pub fn shell_code(self) -> i32 {
        match self {
            Self::Exited(code) => code,
            Self::Signaled(signal) => 128 + signal,
            Self::TimedOut(_) => 124,
            Self::Cancelled(_) => 130,
        }
    }

    /// Returns true if haft ended the call.
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
            exceeded: None,
        }
    }
}

/// The kept part of an output.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Captured {
    /// The bytes that were kept.
    pub bytes: Vec<u8>,
    /// Number of bytes that were read but not kept.
    pub dropped: u64,
    /// Position in `bytes` at which the dropped bytes are missing.
    pub gap: Option<usize>,
}

impl Captured {
    /// Returns all kept bytes as text. Invalid bytes become U+FFFD.
    pub fn text(&self) -> String {
        let (mut text, tail) = self.parts();
        text.push_str(&tail);
        text
    }

    /// Returns the text before and after the gap, so that the caller can insert its own text
    /// between them.
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

/// Returns `bytes` without an incomplete character at the end, which the cut left there.
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

/// Returns `bytes` without an incomplete character at the start, which the cut left there.
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
