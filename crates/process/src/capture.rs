//! Keeps a limited part of an endless output.
//!
//! The rest is counted and dropped. It is never buffered, and reading never stops: the writer must
//! not be blocked or killed by SIGPIPE because enough was read.

use std::collections::VecDeque;

use crate::finished::Captured;

/// Limit of the bytes that are kept of an output.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Keep {
    /// The first bytes, up to this number.
    Head(usize),
    /// The first `head` and the last `tail` bytes.
    HeadAndTail {
        /// Number of bytes kept from the beginning.
        head: usize,
        /// Number of bytes kept from the end.
        tail: usize,
    },
}

impl Default for Keep {
    fn default() -> Self {
        Self::Head(10 * 1024 * 1024)
    }
}

pub(super) struct Capture {
    head_room: usize,
    tail_room: usize,
    head: Vec<u8>,
    tail: VecDeque<u8>,
    dropped: u64,
}

impl Capture {
    pub(super) fn new(keep: Keep) -> Self {
        let (head_room, tail_room) = match keep {
            Keep::Head(head) => (head, 0),
            Keep::HeadAndTail { head, tail } => (head, tail),
        };
        Self {
            head_room,
            tail_room,
            head: Vec::new(),
            tail: VecDeque::new(),
            dropped: 0,
        }
    }

    pub(super) fn push(&mut self, bytes: &[u8]) {
        let fits = (self.head_room - self.head.len()).min(bytes.len());
        let (head, rest) = bytes.split_at(fits);
        self.head.extend_from_slice(head);

        let (skipped, tail) = rest.split_at(rest.len() - rest.len().min(self.tail_room));
        let pushed_out = (self.tail.len() + tail.len()).saturating_sub(self.tail_room);
        self.tail.drain(..pushed_out);
        self.tail.extend(tail);
        self.dropped += (skipped.len() + pushed_out) as u64;
    }

    pub(super) fn into_captured(self) -> Captured {
        let mut bytes = self.head;
        let gap = (self.dropped > 0).then_some(bytes.len());
        let (front, back) = self.tail.as_slices();
        bytes.extend_from_slice(front);
        bytes.extend_from_slice(back);
        Captured {
            bytes,
            dropped: self.dropped,
            gap,
        }
    }
}
