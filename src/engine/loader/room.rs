//! A stack that is deep enough for a source, and the bounds of what is compiled at all.
//!
//! What parses, walks, prints and drops a tree is recursive, and a stack that overflows ends the
//! process. So a source that would recurse too deeply is refused, and all others run on a stack sized
//! by the source. Pages that are never touched cost nothing.

use std::path::Path;

use deno_error::JsErrorBox;

use super::files;
use crate::engine::graph::{MAX_SOURCE_BYTES, is_hostile};
use crate::engine::verify::Verifier;

/// What a level of nesting can cost, generously; a level takes a byte of source at least.
const STACK_PER_BYTE: usize = if cfg!(debug_assertions) {
    24 << 10
} else {
    6 << 10
};

/// The least that is worth a stack of its own, and the most that a machine is asked for.
const LEAST: usize = 1 << 20;
const MOST: usize = 512 << 20;

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
    if let Some(why) = too_much(&text) {
        return Err(JsErrorBox::new(
            "SyntaxError",
            format!("{why} ({}:1:1)", path.display()),
        ));
    }
    with_room(text.len(), || work(text))
}

/// Runs `work`, which may recurse once for every byte of a source of `size` bytes.
pub(super) fn with_room<T>(size: usize, work: impl FnOnce() -> T) -> T {
    let room = size.saturating_mul(STACK_PER_BYTE).clamp(LEAST, MOST);
    stacker::maybe_grow(room, room, work)
}

/// Why the text must not be given to the parser, if so.
pub(super) fn too_much(text: &str) -> Option<&'static str> {
    if text.len() as u64 > MAX_SOURCE_BYTES {
        return Some("The code is larger than 16 MiB");
    }
    is_hostile(text).then_some("The code nests too deeply")
}
