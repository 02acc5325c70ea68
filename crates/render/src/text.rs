//! Sanitizers for text of tools, and functions that cut text to a width.
//!
//! Widths are terminal columns, not characters: a wide character takes two.

use std::borrow::Cow;
use std::path::Path;

use haft_tool::visible;

const CUT: &str = "…";

/// Removes escape sequences from a tool's prose and escapes every other invisible character.
/// Newlines and tabs stay.
pub fn clean(text: &str) -> Cow<'_, str> {
    if !text.contains(visible::is_harmful) {
        Cow::Borrowed(text)
    } else {
        Cow::Owned(visible::prose(&console::strip_ansi_codes(text)).into_owned())
    }
}

/// Removes escape sequences and control characters from prose for models. Newlines and tabs stay.
pub fn for_models(text: &str) -> Cow<'_, str> {
    let is_control = |c: char| c.is_control() && c != '\n' && c != '\t';
    if !text.contains(is_control) {
        return Cow::Borrowed(text);
    }
    let plain = console::strip_ansi_codes(text);
    Cow::Owned(plain.chars().filter(|&c| !is_control(c)).collect())
}

/// Returns the part of a name before its first separator, or the whole name.
pub fn name_prefix(name: &str) -> &str {
    name.split(['_', '-', '.', '/']).next().unwrap_or(name)
}

/// Returns the first sentence of a description, on one line.
pub fn first_sentence(description: &str) -> String {
    let clean = for_models(description);
    let mut paragraphs = clean.split("\n\n").map(str::trim);
    let first = paragraphs.find(|text| !text.is_empty()).unwrap_or_default();
    let line = one_line(first);
    let end = line
        .match_indices(['.', '!', '?', '。'])
        .find(|(index, mark)| {
            let rest = &line[index + mark.len()..];
            let before = &line[..*index];
            // "e.g. this" does not end a sentence.
            let is_word = before.rsplit(' ').next().is_some_and(|word| {
                !word.contains('.') && word.chars().filter(|c| c.is_alphanumeric()).count() > 1
            });
            *mark == "。" || is_word && (rest.is_empty() || rest.starts_with(' '))
        });
    match end {
        Some((index, _)) => line[..index].to_owned(),
        None => line,
    }
}

/// Converts an author's text to one line without control characters.
pub fn one_line(written: &str) -> String {
    let clean = for_models(written);
    let words: Vec<&str> = clean.split_whitespace().collect();
    words.join(" ")
}

/// Escapes invisible characters in a message that may contain names. Nothing is removed, not even
/// escape sequences.
pub fn message(text: &str) -> Cow<'_, str> {
    visible::prose(text)
}

/// Returns a name on one line, with invisible characters as escapes.
pub fn name(name: &str) -> String {
    visible::name(name).into_owned()
}

/// Returns the first line that is not blank, cleaned; empty if there is none.
pub fn first_line(text: &str) -> String {
    let line = text.lines().map(str::trim).find(|line| !line.is_empty());
    clean(line.unwrap_or_default()).replace('\t', " ")
}

/// Returns the last line that is not blank, cleaned; empty if there is none.
pub fn last_line(text: &str) -> String {
    let line = text
        .lines()
        .rev()
        .map(str::trim)
        .find(|line| !line.is_empty());
    clean(line.unwrap_or_default()).replace('\t', " ")
}

/// Returns the width of `text` in columns.
pub fn width(text: &str) -> usize {
    console::measure_text_width(text)
}

/// Cuts `text` at its end to at most `room` columns.
pub fn keep_start(text: &str, room: usize) -> String {
    console::truncate_str(text, room, CUT).into_owned()
}

/// Cuts `text` at its start to at most `room` columns, because the end of a path is more specific.
pub fn keep_end(text: &str, room: usize) -> String {
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

/// Formats a path for people: with `~` for the home directory, and invisible characters as escapes.
pub fn path(path: &Path, home: &Path) -> String {
    let short = match path.strip_prefix(home) {
        Ok(rest) if rest.as_os_str().is_empty() => "~".into(),
        // With the root directory as home, every path would begin with `~`.
        Ok(rest) if home.parent().is_some() => format!("~/{}", rest.display()),
        _ => path.display().to_string(),
    };
    name(&short)
}

/// Returns `text` with `margin` before every line.
pub fn indent(text: &str, margin: &str) -> String {
    let lines = text.lines().map(|line| format!("{margin}{line}\n"));
    lines.collect()
}
