//! Head and tail of a text that is too long for its reader, with the way to the rest.

use std::path::Path;

/// Stands between the head and the tail.
const ELIDED: &str = "[…]";

/// The words that name the file with all of a text.
pub(crate) fn way_to(path: &Path) -> String {
    format!("Read {} for full output", path.display())
}

/// The head and the tail of `text`, at most two fifths of `limit` each, cut between characters. The
/// notice with the way to the rest is the first line and the last one: clients that shorten results
/// themselves keep both ends.
pub(crate) fn of(text: &str, limit: usize, way_out: &str) -> String {
    let lines = text.lines().count();
    let plural = if lines == 1 { "" } else { "s" };
    // Its length hardly depends on the one number that is not known yet.
    let notice = |elided: usize| {
        let elided = elided as f64 / 1024.0;
        format!(
            "[Showing head and tail bytes of {lines} line{plural}; {elided:.1}KB elided. {way_out}]"
        )
    };
    let around = 2 * notice(text.len()).len() + ELIDED.len() + 4;
    // Where the notices alone nearly fill the limit, some of the text is worth more than the limit.
    let part = (limit.saturating_sub(around) / 2).clamp(limit / 5, limit / 5 * 2);
    let part = part.min(text.len() / 2);
    let head = &text[..text.floor_char_boundary(part)];
    let tail = &text[text.ceil_char_boundary(text.len() - part)..];
    let notice = notice(text.len() - head.len() - tail.len());
    format!("{notice}\n{head}\n{ELIDED}\n{tail}\n{notice}")
}
