//! Text of strangers made safe to print, and cut to the room there is.
//!
//! Widths are terminal cells, not characters: a wide character takes two.

use std::borrow::Cow;
use std::path::Path;

use crate::tool::visible;

const CUT: &str = "…";

/// Prose of a tool: without escape sequences, and with every other character that cannot be seen as an
/// escape. Newlines and tabs stay.
pub(crate) fn clean(text: &str) -> Cow<'_, str> {
    match text.contains(visible::is_harmful) {
        false => Cow::Borrowed(text),
        true => Cow::Owned(visible::prose(&console::strip_ansi_codes(text)).into_owned()),
    }
}

/// Prose for models: without escape sequences and control characters; newlines and tabs stay.
pub(crate) fn for_models(text: &str) -> Cow<'_, str> {
    let is_control = |c: char| c.is_control() && c != '\n' && c != '\t';
    if !text.contains(is_control) {
        return Cow::Borrowed(text);
    }
    let plain = console::strip_ansi_codes(text);
    Cow::Owned(plain.chars().filter(|&c| !is_control(c)).collect())
}

/// A message that may quote names: nothing of them vanishes, an escape sequence neither.
pub(crate) fn message(text: &str) -> Cow<'_, str> {
    visible::prose(text)
}

/// A name on one line, every character to be seen.
pub(crate) fn name(name: &str) -> String {
    visible::name(name).into_owned()
}

/// The first line with something on it, cleaned; empty if there is none.
pub(crate) fn first_line(text: &str) -> String {
    let line = text.lines().map(str::trim).find(|line| !line.is_empty());
    clean(line.unwrap_or_default()).replace('\t', " ")
}

/// The last line with something on it, cleaned; empty if there is none.
pub(crate) fn last_line(text: &str) -> String {
    let line = text
        .lines()
        .rev()
        .map(str::trim)
        .find(|line| !line.is_empty());
    clean(line.unwrap_or_default()).replace('\t', " ")
}

/// How many cells `text` takes.
pub(crate) fn width(text: &str) -> usize {
    console::measure_text_width(text)
}

/// `text` in at most `room` cells, its end cut away if need be.
pub(crate) fn keep_start(text: &str, room: usize) -> String {
    console::truncate_str(text, room, CUT).into_owned()
}

/// `text` in at most `room` cells, its start cut away if need be: the end of a path says more.
pub(crate) fn keep_end(text: &str, room: usize) -> String {
    if width(text) <= room {
        return text.to_owned();
    }
    let mut left = room.saturating_sub(width(CUT));
    let mut from = text.len();
    for (index, c) in text.char_indices().rev() {
        let cells = width(c.encode_utf8(&mut [0; 4]));
        if cells > left {
            break;
        }
        left -= cells;
        from = index;
    }
    format!("{CUT}{}", &text[from..])
}

/// A path for people: `~` for their home, and every character to be seen.
pub(crate) fn path(path: &Path, home: &Path) -> String {
    let short = match path.strip_prefix(home) {
        Ok(rest) if rest.as_os_str().is_empty() => "~".into(),
        // The root directory as a home would turn every path into one below `~`.
        Ok(rest) if home.parent().is_some() => format!("~/{}", rest.display()),
        _ => path.display().to_string(),
    };
    name(&short)
}

/// Every line of `text` behind `margin`.
pub(crate) fn indent(text: &str, margin: &str) -> String {
    let lines = text.lines().map(|line| format!("{margin}{line}\n"));
    lines.collect()
}
