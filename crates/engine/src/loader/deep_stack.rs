//! Runs recursive code on a stack that is deep enough for a source, and limits the sources.
//!
//! The code that parses, walks, prints and drops a tree is recursive, and a stack overflow ends the
//! process. So a source that would recurse too deeply is refused. All others run on a stack sized
//! by the source. Pages that are never touched cost nothing.

use std::path::Path;

use deno_error::JsErrorBox;

use super::files;
use crate::source::{MAX_SOURCE_BYTES, stack_for};
use crate::verify::Verifier;

/// Reads the file and passes its text to `work`, on a stack that is deep enough for it.
pub(super) fn with_source<T>(
    path: &Path,
    verifier: Option<&Verifier>,
    work: impl FnOnce(String) -> Result<T, JsErrorBox>,
) -> Result<T, JsErrorBox> {
    with_text(path, files::read_text(path, verifier)?, work)
}

/// Passes the text of the file to `work`, on a stack that is deep enough for it.
pub(super) fn with_text<T>(
    path: &Path,
    text: String,
    work: impl FnOnce(String) -> Result<T, JsErrorBox>,
) -> Result<T, JsErrorBox> {
    let stack = stack_of(&text)
        .map_err(|why| JsErrorBox::new("SyntaxError", format!("{why} ({}:1:1)", path.display())))?;
    stacker::maybe_grow(stack, stack, || work(text))
}

/// Returns the bytes of stack that the text needs, or the reason not to give it to the parser.
pub(super) fn stack_of(text: &str) -> Result<usize, &'static str> {
    if text.len() as u64 > MAX_SOURCE_BYTES {
        return Err("The code is larger than 16 MiB");
    }
    stack_for(text).ok_or("The code nests too deeply")
}
