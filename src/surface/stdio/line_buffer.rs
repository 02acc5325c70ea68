//! Assembles lines from chunks of any size.

/// Limit of a line's length in bytes.
pub(crate) const MAX_LINE_BYTES: usize = 64 << 20;

/// One line of input, without its end.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Line {
    Text(String),
    NotUtf8,
    TooLong,
}

/// An incomplete line.
///
/// The length of a line is limited. The bytes of a longer line are dropped as they arrive, and the
/// next line is read normally.
#[derive(Default)]
pub(super) struct Assembly {
    bytes: Vec<u8>,
    is_begun: bool,
    is_too_long: bool,
}

impl Assembly {
    /// Takes bytes from the front of `chunk`, up to the end of a line. Returns their number, and
    /// the line if it is complete.
    pub(super) fn take(&mut self, chunk: &[u8]) -> (usize, Option<Line>) {
        let end = memchr::memchr(b'\n', chunk);
        let part = &chunk[..end.unwrap_or(chunk.len())];
        self.is_begun |= !chunk.is_empty();
        if self.bytes.len() + part.len() > MAX_LINE_BYTES {
            self.is_too_long = true;
            self.bytes = Vec::new();
        }
        if !self.is_too_long {
            self.bytes.extend_from_slice(part);
        }
        match end {
            Some(end) => (end + 1, self.end()),
            None => (chunk.len(), None),
        }
    }

    /// Returns the incomplete line at the end of the input, if any.
    pub(super) fn end(&mut self) -> Option<Line> {
        let Assembly {
            bytes,
            is_begun,
            is_too_long,
        } = std::mem::take(self);
        is_begun.then(|| {
            if is_too_long {
                Line::TooLong
            } else {
                String::from_utf8(bytes).map_or(Line::NotUtf8, Line::Text)
            }
        })
    }
}
