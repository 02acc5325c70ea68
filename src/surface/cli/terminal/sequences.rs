//! Bytes of a terminal as what its keys sent: each key's bytes together, and a paste as a whole.
//!
//! For components of tools, which read the sequences themselves.

use unicode_segmentation::UnicodeSegmentation;

/// Emoji of a whole family have less.
const LONGEST: usize = 128;

const PASTE: &[u8] = b"\x1b[200~";
const PASTE_END: &[u8] = b"\x1b[201~";

/// The length of the first key or paste of `bytes`; `None` if there must be more of it.
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
        // Alt and an arrow, in terminals that send Escape for Alt.
        [0x1b, 0x1b, b'[', rest @ ..] => Some(3 + final_byte(rest)?),
        // Escape, and another key right after it.
        [0x1b, 0x1b, ..] => Some(1),
        // Alt and a character.
        [0x1b, rest @ ..] => Some(1 + character(rest)?),
        _ => character(bytes),
    }
}

/// Whether `bytes` begin with a paste, whose end may take its time.
pub(super) fn is_paste(bytes: &[u8]) -> bool {
    bytes.starts_with(PASTE)
}

fn final_byte(bytes: &[u8]) -> Option<usize> {
    let end = bytes.iter().position(|byte| (0x40..0x7f).contains(byte))?;
    Some(end + 1)
}

/// The length of what a person takes for one character; a byte that belongs to none counts as one.
fn character(bytes: &[u8]) -> Option<usize> {
    let first = *bytes.first()?;
    if first < 0x20 || first == 0x7f {
        return Some(1);
    }
    let most = &bytes[..bytes.len().min(LONGEST)];
    let text = match std::str::from_utf8(most) {
        Ok(text) => text,
        Err(error) => std::str::from_utf8(&most[..error.valid_up_to()]).unwrap_or_default(),
    };
    match text.graphemes(true).next() {
        Some(character) => Some(character.len()),
        // The rest of it comes yet, unless there is none.
        None => (bytes.len() >= length(first)).then_some(1),
    }
}

/// How many bytes a character has that begins with this one.
fn length(first: u8) -> usize {
    match first {
        0xc2..=0xdf => 2,
        0xe0..=0xef => 3,
        0xf0..=0xf4 => 4,
        _ => 1,
    }
}
