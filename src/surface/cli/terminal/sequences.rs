//! Splits a terminal's bytes into keys: the bytes of one key together, and a paste as a whole.
//!
//! Used for components of tools, which parse the sequences themselves.

use unicode_segmentation::UnicodeSegmentation;

/// Maximum length of a character in bytes. Even the emoji of a family are shorter.
const MAX_SEQUENCE_LEN: usize = 128;

const PASTE: &[u8] = b"\x1b[200~";
const PASTE_END: &[u8] = b"\x1b[201~";

/// Returns the length of the first key or paste of `bytes`, or `None` if more bytes are needed.
pub(super) fn first(bytes: &[u8]) -> Option<usize> {
    match bytes {
        [] => None,
        [0x1b, ..] if is_paste(bytes) => {
            let end = bytes.windows(PASTE_END.len());
            let end = end.into_iter().position(|part| part == PASTE_END)?;
            Some(end + PASTE_END.len())
        }
        [0x1b, b'[', rest @ ..] => Some(2 + final_byte(rest)?),
        [0x1b, b'O', _, ..] => Some(3),
        [0x1b] | [0x1b, b'O'] => None,
        // Alt and an arrow key, in terminals that send Escape for Alt.
        [0x1b, 0x1b, b'[', rest @ ..] => Some(3 + final_byte(rest)?),
        // Escape, directly followed by another key.
        [0x1b, 0x1b, ..] => Some(1),
        // Alt and a character.
        [0x1b, rest @ ..] => Some(1 + character(rest)?),
        _ => character(bytes),
    }
}

/// Returns true if `bytes` begin with a paste. Its end may come much later.
pub(super) fn is_paste(bytes: &[u8]) -> bool {
    bytes.starts_with(PASTE)
}

fn final_byte(bytes: &[u8]) -> Option<usize> {
    let end = bytes.iter().position(|byte| (0x40..0x7f).contains(byte))?;
    Some(end + 1)
}

/// Returns the length of the first grapheme cluster. A byte of no character counts as one.
fn character(bytes: &[u8]) -> Option<usize> {
    let first = *bytes.first()?;
    if first < 0x20 || first == 0x7f {
        return Some(1);
    }
    let most = &bytes[..bytes.len().min(MAX_SEQUENCE_LEN)];
    let text = match std::str::from_utf8(most) {
        Ok(text) => text,
        Err(error) => std::str::from_utf8(&most[..error.valid_up_to()]).unwrap_or_default(),
    };
    match text.graphemes(true).next() {
        Some(character) => Some(character.len()),
        // Wait for the rest of the character, unless its bytes are invalid.
        None => (bytes.len() >= length(first)).then_some(1),
    }
}

/// Returns the length of a character in bytes, given its first byte.
fn length(first: u8) -> usize {
    match first {
        0xc2..=0xdf => 2,
        0xe0..=0xef => 3,
        0xf0..=0xf4 => 4,
        _ => 1,
    }
}
