//! Text in terminal columns: its width, and its line breaks.
//!
//! The unit is the grapheme: it takes one or two columns, however many code points it has, and is
//! never split. The text must not contain escape sequences. `js-runtime/packages/pi-tui/width.ts`
//! measures in the same way.

use std::iter;

use unicode_segmentation::UnicodeSegmentation;
use unicode_width::UnicodeWidthStr;

use haft_tool::TerminalText;

/// Replacement for a tab.
pub const TAB: &str = "   ";

const ELLIPSIS: &str = "…";

/// Returns the width of `text` in columns.
pub fn width(text: &str) -> usize {
    if text.is_ascii() {
        text.bytes().filter(|byte| !byte.is_ascii_control()).count()
    } else {
        pieces(text).map(|(_, columns)| columns).sum()
    }
}

/// Splits the text into pieces with their widths: each is a grapheme, or a run of ASCII characters.
///
/// Finding a grapheme takes twenty times as long as finding a character, and most characters are
/// graphemes.
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

/// Returns the number of printable ASCII characters at the start of `text` that no following
/// character joins.
fn ascii_graphemes(text: &str) -> usize {
    let is_other = |byte: &u8| !matches!(byte, b' '..=b'~');
    match text.as_bytes().iter().position(is_other) {
        Some(end) => end.saturating_sub(1),
        None => text.len(),
    }
}

/// Returns the width of a character that never joins another one of this kind, and 0 for all
/// others. Twin of `simpleWidth` in `escape.ts`.
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

/// Returns the width of one grapheme.
pub fn grapheme(text: &str) -> usize {
    // In scripts with joining letters a grapheme can be wider, but terminals draw at most two
    // columns.
    text.width().min(2)
}

/// Returns the longest start of `text` that fits into `room` columns, and its width.
pub fn fitting(text: &str, room: usize) -> (&str, usize) {
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

/// Cuts `text` to at most `room` columns; `…` replaces the part that was cut off.
pub fn cut(text: &TerminalText, room: usize) -> TerminalText {
    if width(text.as_str()) <= room {
        return text.clone();
    }
    let start = text.part(|text| fitting(text, room.saturating_sub(1)).0.trim_end());
    match room {
        0 => TerminalText::new(),
        _ => start.with_literal(ELLIPSIS),
    }
}

/// Wraps one line of text at `room` columns, at spaces if possible. The spaces at a break are
/// removed.
pub fn wrap(line: &str, room: usize) -> Vec<&str> {
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

/// Splits `rest` into a line and the remaining text. `start` is the part of `rest` that fits.
fn split<'a>(rest: &'a str, start: &'a str) -> (&'a str, &'a str) {
    if start.is_empty() {
        // A wide character does not fit into one column. The caller draws a replacement.
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
