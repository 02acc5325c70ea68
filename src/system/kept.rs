//! Bounded buffer for an output of any length: it keeps the beginning and the end.
//!
//! A failed build prints its steps first and the reason last. The bytes between are only counted.

use std::collections::VecDeque;
use std::str::Utf8Error;

use super::text::{self, MAX_TEXT_BYTES};

const HALF: usize = MAX_TEXT_BYTES / 2;

#[derive(Default)]
pub struct Kept {
    head: Vec<u8>,
    tail: VecDeque<u8>,
    left_out: usize,
}

impl Kept {
    pub fn push(&mut self, bytes: &[u8]) {
        let (head, rest) = bytes.split_at(bytes.len().min(HALF - self.head.len()));
        self.head.extend_from_slice(head);
        self.tail.extend(rest);
        let too_many = self.tail.len().saturating_sub(HALF);
        self.tail.drain(..too_many);
        self.left_out += too_many;
    }

    pub fn into_text(self) -> String {
        let (mut head, tail) = (self.head, Vec::from(self.tail));
        if self.left_out == 0 {
            head.extend(tail);
            return text::lossy(head);
        }
        let last = text::boundary(&head, head.len() - 1);
        // The last character is left out if its other bytes are missing.
        let is_incomplete = |error: Utf8Error| error.error_len().is_none();
        let end = if str::from_utf8(&head[last..]).is_err_and(is_incomplete) {
            last
        } else {
            head.len()
        };
        let start = (0..3).find(|at| tail[*at] & 0xC0 != 0x80).unwrap_or(0);
        let left_out = self.left_out + (head.len() - end) + start;
        head.truncate(end);
        let tail = tail[start..].to_vec();
        format!(
            "{}\n[{left_out} bytes are left out here]\n{}",
            text::lossy(head),
            text::lossy(tail)
        )
    }
}
