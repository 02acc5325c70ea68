//! Parser for the keys in a terminal's bytes.

/// A key or a key combination.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Key {
    Char(char),
    Enter,
    Escape,
    /// Ctrl-D.
    End,
    Backspace,
    Delete,
    Left,
    Right,
    Up,
    Down,
    PageUp,
    PageDown,
    LineStart,
    LineEnd,
    /// Deletes the word before the cursor.
    EraseWord,
    /// Deletes everything before the cursor.
    EraseBefore,
    /// Deletes everything after the cursor.
    EraseAfter,
    /// Any other key.
    Other,
}

/// Returns the first key of `bytes` and its length, or `None` if more bytes are needed.
pub(super) fn first(bytes: &[u8]) -> Option<(Key, usize)> {
    let key = match *bytes.first()? {
        0x1b => return sequence(bytes),
        b'\r' | b'\n' => Key::Enter,
        0x7f | 0x08 => Key::Backspace,
        0x01 => Key::LineStart,
        0x04 => Key::End,
        0x05 => Key::LineEnd,
        0x02 => Key::Left,
        0x06 => Key::Right,
        0x0e => Key::Down,
        0x10 => Key::Up,
        0x0b => Key::EraseAfter,
        0x15 => Key::EraseBefore,
        0x17 => Key::EraseWord,
        control if control < 0x20 => Key::Other,
        _ => return character(bytes),
    };
    Some((key, 1))
}

/// Returns the first key of `bytes` when no more bytes follow.
pub(super) fn alone(bytes: &[u8]) -> (Key, usize) {
    match bytes {
        [0x1b] => (Key::Escape, 1),
        [0x1b, ..] => (Key::Other, bytes.len()),
        _ => (Key::Other, 1),
    }
}

fn character(bytes: &[u8]) -> Option<(Key, usize)> {
    let most = &bytes[..bytes.len().min(4)];
    let valid = match std::str::from_utf8(most) {
        Ok(text) => text,
        Err(error) if error.valid_up_to() > 0 => {
            std::str::from_utf8(&most[..error.valid_up_to()]).unwrap_or_default()
        }
        Err(error) if error.error_len().is_none() => return None,
        Err(_) => return Some((Key::Other, 1)),
    };
    let first = valid.chars().next()?;
    Some((Key::Char(first), first.len_utf8()))
}

/// Parses an escape sequence.
fn sequence(bytes: &[u8]) -> Option<(Key, usize)> {
    let rest = match *bytes.get(1)? {
        b'[' | b'O' => &bytes[2..],
        // Escape, directly followed by another key.
        0x1b => return Some((Key::Escape, 1)),
        _ => return Some((Key::Other, 2)),
    };
    let end = rest.iter().position(|byte| (0x40..0x7f).contains(byte))?;
    let key = match (rest[end], &rest[..end]) {
        (b'A', _) => Key::Up,
        (b'B', _) => Key::Down,
        (b'C', _) => Key::Right,
        (b'D', _) => Key::Left,
        (b'H', _) | (b'~', b"1" | b"7") => Key::LineStart,
        (b'F', _) | (b'~', b"4" | b"8") => Key::LineEnd,
        (b'~', b"3") => Key::Delete,
        (b'~', b"5") => Key::PageUp,
        (b'~', b"6") => Key::PageDown,
        _ => Key::Other,
    };
    Some((key, 2 + end + 1))
}
