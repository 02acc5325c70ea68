//! Excerpt of a long text: its head and tail, with a notice that names the file with the rest.

use std::path::Path;

/// Separates the head from the tail.
const ELIDED: &str = "[…]";

/// Returns the words that name the file with the whole text.
pub fn way_to(path: &Path) -> String {
    format!("Read {} for full output", path.display())
}

/// Returns the head and the tail of `text`, at most two fifths of `limit` each, cut between
/// characters. The notice is both the first and the last line, because clients that shorten results
/// themselves keep both ends.
pub fn of(text: &str, limit: usize, way_out: &str) -> String {
    let lines = text.lines().count();
    let plural = if lines == 1 { "" } else { "s" };
    // The length of the notice hardly depends on the number of omitted bytes, which is not known
    // yet.
    let notice = |elided: usize| {
        let elided = elided as f64 / 1024.0;
        format!(
            "[Showing head and tail bytes of {lines} line{plural}; {elided:.1}KB elided. {way_out}]"
        )
    };
    let around = 2 * notice(text.len()).len() + ELIDED.len() + 4;
    // If the notices nearly fill the limit, some text is kept although the limit is exceeded.
    let part = (limit.saturating_sub(around) / 2).clamp(limit / 5, limit / 5 * 2);
    let part = part.min(text.len() / 2);
    let head = &text[..text.floor_char_boundary(part)];
    let tail = &text[text.ceil_char_boundary(text.len() - part)..];
    let notice = notice(text.len() - head.len() - tail.len());
    format!("{notice}\n{head}\n{ELIDED}\n{tail}\n{notice}")
}
