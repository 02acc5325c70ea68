//! A stack that is deep enough for a source, however deeply that nests.
//!
//! The parser grows its stack by itself; what walks, prints and drops its tree does not, and a stack
//! that overflows ends the process. So all of it runs on a stack sized by the source. Pages that are
//! never touched cost nothing.

use std::path::Path;

use deno_error::JsErrorBox;

use super::files;
use crate::engine::verify::Verifier;

/// What a level of nesting can cost, generously; a level takes a byte of source at least.
const STACK_PER_BYTE: usize = if cfg!(debug_assertions) {
    24 << 10
} else {
    6 << 10
};

/// The least that is worth a stack of its own, and the most that a machine is asked for.
const LEAST: usize = 1 << 20;
const MOST: usize = 2 << 30;

/// Deeper than any code that was not made to break something.
const MOST_LEVELS: usize = 50_000;

/// Reads the file and hands its text to `work`, with room for what that does with it.
pub(super) fn with_source<T>(
    path: &Path,
    verifier: Option<&Verifier>,
    work: impl FnOnce(String) -> Result<T, JsErrorBox>,
) -> Result<T, JsErrorBox> {
    with_text(path, files::read_text(path, verifier)?, work)
}

/// Hands the text of the file to `work`, with room for what that does with it.
pub(super) fn with_text<T>(
    path: &Path,
    text: String,
    work: impl FnOnce(String) -> Result<T, JsErrorBox>,
) -> Result<T, JsErrorBox> {
    if nests_deeper_than(&text, MOST_LEVELS) {
        return Err(JsErrorBox::new(
            "SyntaxError",
            format!("The code nests too deeply ({}:1:1)", path.display()),
        ));
    }
    with_room(text.len(), || work(text))
}

/// Runs `work`, which may recurse once for every byte of a source of `size` bytes.
pub(super) fn with_room<T>(size: usize, work: impl FnOnce() -> T) -> T {
    let room = size.saturating_mul(STACK_PER_BYTE).clamp(LEAST, MOST);
    stacker::maybe_grow(room, room, work)
}

/// Counts brackets, those in texts too: no honest file comes near the limit.
fn nests_deeper_than(text: &str, limit: usize) -> bool {
    let mut depth = 0_usize;
    for byte in text.bytes() {
        match byte {
            b'(' | b'[' | b'{' => {
                depth += 1;
                if depth > limit {
                    return true;
                }
            }
            b')' | b']' | b'}' => depth = depth.saturating_sub(1),
            _ => {}
        }
    }
    false
}
