//! Text in columns: how many it takes, and where its lines break.
//!
//! Counts what a reader sees: a grapheme is one piece however many code points it has, takes one column
//! or two, and is never split. The text has no escape sequences. `js-runtime/packages/pi-tui/width.ts`
//! counts in the same way.

use std::borrow::Cow;

use unicode_segmentation::UnicodeSegmentation;
use unicode_width::UnicodeWidthStr;

/// What is drawn for a tab.
pub(crate) const TAB: &str = "   ";

const ELLIPSIS: &str = "…";

/// The columns of `text`.
pub(crate) fn width(text: &str) -> usize {
    match text.is_ascii() {
        true => text.bytes().filter(|byte| !byte.is_ascii_control()).count(),
        false => text.graphemes(true).map(grapheme).sum(),
    }
}

/// The columns of one grapheme.
pub(crate) fn grapheme(text: &str) -> usize {
    // A script whose letters join can make a wide grapheme; terminals draw no more than two columns.
    text.width().min(2)
}

/// As much of the beginning of `text` as fits into `room` columns, and how many it takes.
pub(crate) fn fitting(text: &str, room: usize) -> (&str, usize) {
    if text.is_ascii() {
        let end = text.len().min(room);
        return (&text[..end], end);
    }
    let mut used = 0;
    for (at, piece) in text.grapheme_indices(true) {
        let columns = grapheme(piece);
        if used + columns > room {
            return (&text[..at], used);
        }
        used += columns;
    }
    (text, used)
}

/// `text` in at most `room` columns; what is cut off becomes `…`.
pub(crate) fn cut(text: &str, room: usize) -> Cow<'_, str> {
    if width(text) <= room {
        return Cow::Borrowed(text);
    }
    let (start, _) = fitting(text, room.saturating_sub(1));
    match room {
        0 => Cow::Borrowed(""),
        _ => Cow::Owned(format!("{}{ELLIPSIS}", start.trim_end())),
    }
}

/// The lines of one line of text at `room` columns, broken at spaces where that is possible. The
/// spaces at a break are gone.
pub(crate) fn wrap(line: &str, room: usize) -> Vec<&str> {
    let room = room.max(1);
    let mut lines = Vec::new();
    let mut rest = line;
    loop {
        let (start, _) = fitting(rest, room);
        if start.len() == rest.len() {
            lines.push(rest);
            return lines;
        }
        let (first, remains) = split(rest, start);
        lines.push(first);
        rest = remains;
        if rest.is_empty() {
            return lines;
        }
    }
}

/// Breaks `rest`, of which `start` fits, into a line and what remains.
fn split<'a>(rest: &'a str, start: &'a str) -> (&'a str, &'a str) {
    if start.is_empty() {
        // Nothing fits: a wide character in one column. The caller draws something else for it.
        let first = rest.graphemes(true).next().map_or(rest.len(), str::len);
        return rest.split_at(first);
    }
    let after = &rest[start.len()..];
    if after.starts_with(' ') {
        return (start.trim_end_matches(' '), after.trim_start_matches(' '));
    }
    let indentation = start.len() - start.trim_start_matches(' ').len();
    match start[indentation..].rfind(' ') {
        Some(space) => {
            let (line, remains) = rest.split_at(indentation + space);
            (line.trim_end_matches(' '), remains.trim_start_matches(' '))
        }
        None => (start, after),
    }
}
