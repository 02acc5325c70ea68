//! Lines out of chunks, however they were cut.

/// The most bytes of one line.
pub(crate) const LONGEST: usize = 64 << 20;

/// One line of input, without its end.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Line {
    Text(String),
    NotUtf8,
    TooLong,
}

/// The beginning of a line.
///
/// A line may be long but not endless: beyond the limit its bytes are dropped as they come, and the
/// next line is read as if nothing had been.
#[derive(Default)]
pub(super) struct Assembly {
    bytes: Vec<u8>,
    is_begun: bool,
    is_too_long: bool,
}

impl Assembly {
    /// Takes bytes from the front of `chunk`, up to the end of a line; gives how many, and the line if
    /// it is whole.
    pub(super) fn take(&mut self, chunk: &[u8]) -> (usize, Option<Line>) {
        let end = memchr::memchr(b'\n', chunk);
        let part = &chunk[..end.unwrap_or(chunk.len())];
        self.is_begun |= !chunk.is_empty();
        if self.bytes.len() + part.len() > LONGEST {
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

    /// What there is of a line when nothing more comes.
    pub(super) fn end(&mut self) -> Option<Line> {
        let Assembly {
            bytes,
            is_begun,
            is_too_long,
        } = std::mem::take(self);
        is_begun.then(|| match is_too_long {
            true => Line::TooLong,
            false => String::from_utf8(bytes).map_or(Line::NotUtf8, Line::Text),
        })
    }
}
