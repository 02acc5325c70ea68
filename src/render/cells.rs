//! Text in columns: how many it takes, and where its lines break.
//!
//! Counts what a reader sees: a grapheme is one piece however many code points it has, takes one column
//! or two, and is never split. The text has no escape sequences. `js-runtime/packages/pi-tui/width.ts`
//! counts in the same way.

use std::borrow::Cow;
use std::iter;

use unicode_segmentation::UnicodeSegmentation;
use unicode_width::UnicodeWidthStr;

/// What is drawn for a tab.
pub(crate) const TAB: &str = "   ";

const ELLIPSIS: &str = "…";

/// The columns of `text`.
pub(crate) fn width(text: &str) -> usize {
    match text.is_ascii() {
        true => text.bytes().filter(|byte| !byte.is_ascii_control()).count(),
        false => pieces(text).map(|(_, columns)| columns).sum(),
    }
}

/// The text in pieces, with their columns: each is a grapheme, or several of ASCII.
///
/// To find a grapheme costs twenty times what a character does, and most characters are one.
fn pieces(text: &str) -> impl Iterator<Item = (&str, usize)> {
    let mut rest = text;
    iter::from_fn(move || {
        let ascii = ascii_graphemes(rest);
        let mut chars = rest.chars();
        let first = chars.next()?;
        let alone = columns_alone(first);
        let (len, columns) = if ascii > 0 {
            (ascii, ascii)
        } else if alone > 0 && chars.next().is_none_or(|c| columns_alone(c) > 0) {
            (first.len_utf8(), alone)
        } else {
            let piece = rest.graphemes(true).next()?;
            (piece.len(), grapheme(piece))
        };
        let (piece, after) = rest.split_at(len);
        rest = after;
        Some((piece, columns))
    })
}

/// How many characters of printable ASCII `text` begins with that nothing behind them joins.
fn ascii_graphemes(text: &str) -> usize {
    let is_other = |byte: &u8| !matches!(byte, b' '..=b'~');
    match text.as_bytes().iter().position(is_other) {
        Some(end) => end.saturating_sub(1),
        None => text.len(),
    }
}

/// The columns of a character that never joins another one of its kind. 0 for all others. Twin of
/// `simpleWidth` in `escape.ts`.
fn columns_alone(c: char) -> usize {
    match c {
        ' '..='~' => 1,
        '\u{ad}' => 0,
        // Latin; punctuation; lines and blocks.
        '\u{a0}'..='\u{2ff}' | '\u{2010}'..='\u{2027}' | '\u{2500}'..='\u{259f}' => 1,
        // Kana, Chinese, Korean.
        '\u{3001}'..='\u{3002}'
        | '\u{3041}'..='\u{3096}'
        | '\u{30a1}'..='\u{30ff}'
        | '\u{4e00}'..='\u{9fff}'
        | '\u{ac00}'..='\u{d7a3}' => 2,
        _ => 0,
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
    let (mut at, mut used) = (0, 0);
    for (piece, columns) in pieces(text) {
        if used + columns <= room {
            at += piece.len();
            used += columns;
            continue;
        }
        if piece.is_ascii() {
            at += room - used;
            used = room;
        }
        break;
    }
    (&text[..at], used)
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
