//! Text that is safe to write to a terminal.
//!
//! A [`TerminalText`] consists of two kinds of parts only: literals of haft's own source, which may
//! contain line feeds and control sequences, and values that the cleaner has escaped. So text of a
//! tool, a server or a file cannot control the terminal, hide, or imitate a line of haft, whatever
//! family it comes from. Everything that prints, draws or asks takes this type.
//!
//! `Display` is not implemented, so that a text cannot pass through `format!` back into a `String`
//! that a caller takes for safe.

use std::borrow::Cow;
use std::fmt::{self, Display, Write};
use std::ops::Deref;

use serde::Serialize;

use crate::visible;

/// Prefix of lines that haft did not write.
pub const FRAME: &str = "│ ";

/// Labels at the start of haft's own lines.
const LABELS: [&str; 4] = ["error:", "warning:", "info:", "hint:"];

/// Mark of a part that was cut off.
const CUT: &str = "…";

/// Text that is safe to write to a terminal. [`terminal_text!`](crate::terminal_text) formats one.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(transparent)]
pub struct TerminalText(String);

/// A value that can be a part of a [`TerminalText`].
///
/// Everything that is `Display` is such a value, as a name: on one line, with every invisible
/// character and every blank that is not a space as an escape. Prose needs
/// [`TerminalText::from_prose`].
pub trait TerminalValue {
    /// Appends the value to `text`.
    fn append_to(&self, text: &mut TerminalText);
}

impl<T: Display + ?Sized> TerminalValue for T {
    fn append_to(&self, text: &mut TerminalText) {
        // Writing to a string never fails, and a `Display` that fails has written what it could.
        let _ = write!(NameWriter(&mut text.0), "{self}");
    }
}

impl TerminalValue for TerminalText {
    fn append_to(&self, text: &mut TerminalText) {
        text.0.push_str(&self.0);
    }
}

impl TerminalValue for &TerminalText {
    fn append_to(&self, text: &mut TerminalText) {
        text.0.push_str(&self.0);
    }
}

/// Writer that escapes what it is given, as in a name.
struct NameWriter<'a>(&'a mut String);

impl Write for NameWriter<'_> {
    fn write_str(&mut self, piece: &str) -> fmt::Result {
        self.0.push_str(&visible::name(piece));
        Ok(())
    }
}

impl TerminalText {
    /// Returns an empty text.
    pub const fn new() -> TerminalText {
        TerminalText(String::new())
    }

    /// Returns a text of haft's own source, unchanged.
    pub fn from_literal(text: &'static str) -> TerminalText {
        TerminalText(text.to_owned())
    }

    /// Returns a value as it is appended to a text: escaped, on one line.
    pub fn from_value(value: &(impl TerminalValue + ?Sized)) -> TerminalText {
        TerminalText::new().with_value(value)
    }

    /// Returns `text` on one line with harmful characters as escapes. Spaces of all kinds stay.
    pub fn from_line(text: &str) -> TerminalText {
        TerminalText(visible::line(text).into_owned())
    }

    /// Returns prose without its escape sequences, and with every other harmful character as an
    /// escape. Line feeds and tabs stay.
    pub fn from_prose(text: &str) -> TerminalText {
        TerminalText(cleaned(text).into_owned())
    }

    /// Returns a message that may contain names: nothing is removed, not even escape sequences.
    /// Line feeds and tabs stay, all other harmful characters become escapes. It is framed, because
    /// a name may contain line feeds.
    pub fn from_message(text: &str) -> TerminalText {
        TerminalText(visible::prose(text).into_owned()).framed()
    }

    /// Returns the text with [`FRAME`] before each further line that begins with one of haft's
    /// labels.
    #[must_use]
    pub fn framed(&self) -> TerminalText {
        let mut framed = TerminalText::new();
        for (index, line) in self.0.split_inclusive('\n').enumerate() {
            let plain = console::strip_ansi_codes(line);
            let is_forged = |label: &&str| plain.trim_start().starts_with(*label);
            if index > 0 && LABELS.iter().any(is_forged) {
                framed.push_literal(FRAME);
            }
            framed.0.push_str(line);
        }
        framed
    }

    /// Returns JSON text with harmful characters as escapes of JSON.
    pub fn from_json(json: &str) -> TerminalText {
        TerminalText(visible::json(json).into_owned())
    }

    /// Appends a text of haft's own source.
    #[must_use]
    pub fn with_literal(mut self, text: &'static str) -> TerminalText {
        self.0.push_str(text);
        self
    }

    /// Appends a value.
    #[must_use]
    pub fn with_value(mut self, value: &(impl TerminalValue + ?Sized)) -> TerminalText {
        value.append_to(&mut self);
        self
    }

    /// Appends a text of haft's own source.
    pub fn push_literal(&mut self, text: &'static str) {
        self.0.push_str(text);
    }

    /// Appends a value.
    pub fn push(&mut self, value: &(impl TerminalValue + ?Sized)) {
        value.append_to(self);
    }

    /// Returns the text.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Returns the text.
    pub fn into_string(self) -> String {
        self.0
    }

    /// Returns the lines without their line feeds.
    pub fn lines(&self) -> Vec<TerminalText> {
        self.parts(|text| text.lines().collect())
    }

    /// Returns the parts that `split` selects. An escape sequence must not be divided.
    ///
    /// The parts are of the text itself: a function for all lifetimes cannot return others, except
    /// literals.
    pub fn parts(
        &self,
        split: impl for<'text> FnOnce(&'text str) -> Vec<&'text str>,
    ) -> Vec<TerminalText> {
        let parts = split(&self.0).into_iter();
        parts.map(|part| TerminalText(part.to_owned())).collect()
    }

    /// Returns the part that `select` selects, as [`TerminalText::parts`] does.
    pub fn part(&self, select: impl for<'text> FnOnce(&'text str) -> &'text str) -> TerminalText {
        TerminalText(select(&self.0).to_owned())
    }

    /// Returns the text with `margin` at the start of every line and a line feed at the end of it.
    pub fn indented(&self, margin: &'static str) -> TerminalText {
        let lines = self.0.lines().map(|line| format!("{margin}{line}\n"));
        TerminalText(lines.collect())
    }

    /// Returns the text with `new` in place of every `old`.
    pub fn replacing(&self, old: &str, new: &'static str) -> TerminalText {
        TerminalText(self.0.replace(old, new))
    }

    /// Returns the text without the white space at its end.
    pub fn trimmed_end(&self) -> TerminalText {
        self.part(str::trim_end)
    }

    /// Returns the width in columns.
    pub fn width(&self) -> usize {
        console::measure_text_width(&self.0)
    }

    /// Cuts the text at its end to at most `room` columns.
    pub fn keep_start(&self, room: usize) -> TerminalText {
        TerminalText(console::truncate_str(&self.0, room, CUT).into_owned())
    }

    /// Cuts the text at its start to at most `room` columns, because the end of a path is more
    /// specific. The text must not contain escape sequences.
    pub fn keep_end(&self, room: usize) -> TerminalText {
        if self.width() <= room {
            return self.clone();
        }
        let mut left = room.saturating_sub(console::measure_text_width(CUT));
        let mut from = self.0.len();
        for (index, c) in self.0.char_indices().rev() {
            let cells = console::measure_text_width(c.encode_utf8(&mut [0; 4]));
            if cells > left {
                break;
            }
            left -= cells;
            from = index;
        }
        TerminalText(format!("{CUT}{}", &self.0[from..]))
    }

    /// Returns the texts with `separator` between them.
    pub fn join<'a>(
        texts: impl IntoIterator<Item = &'a TerminalText>,
        separator: &'static str,
    ) -> TerminalText {
        let texts: Vec<&str> = texts.into_iter().map(TerminalText::as_str).collect();
        TerminalText(texts.join(separator))
    }
}

impl Deref for TerminalText {
    type Target = str;

    fn deref(&self) -> &str {
        &self.0
    }
}

impl PartialEq<str> for TerminalText {
    fn eq(&self, other: &str) -> bool {
        self.0 == other
    }
}

impl PartialEq<&str> for TerminalText {
    fn eq(&self, other: &&str) -> bool {
        self.0 == *other
    }
}

impl PartialEq<String> for TerminalText {
    fn eq(&self, other: &String) -> bool {
        self.0 == *other
    }
}

impl From<&'static str> for TerminalText {
    /// Returns a text of haft's own source, unchanged.
    fn from(text: &'static str) -> TerminalText {
        TerminalText::from_literal(text)
    }
}

impl<V: TerminalValue> FromIterator<V> for TerminalText {
    fn from_iter<I: IntoIterator<Item = V>>(values: I) -> TerminalText {
        let mut text = TerminalText::new();
        values.into_iter().for_each(|value| text.push(&value));
        text
    }
}

impl<V: TerminalValue> Extend<V> for TerminalText {
    fn extend<I: IntoIterator<Item = V>>(&mut self, values: I) {
        values.into_iter().for_each(|value| self.push(&value));
    }
}

fn cleaned(text: &str) -> Cow<'_, str> {
    if text.contains(visible::is_harmful) {
        Cow::Owned(visible::prose(&console::strip_ansi_codes(text)).into_owned())
    } else {
        Cow::Borrowed(text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::terminal_text;

    const HOSTILE: &str = "a\x1b]52;c;eA==\x07\nb\u{9b}2J\u{202e}\u{2800}\u{200b}";
    const ESCAPED: &str = "a\\u{1b}]52;c;eA==\\u{7}\\nb\\u{9b}2J\\u{202e}\\u{2800}\\u{200b}";

    #[test]
    fn literals_stay_and_values_are_escaped() {
        let name = HOSTILE.to_owned();
        let text = terminal_text!("\x1b[1m{name}\x1b[0m\n\u{2802} {{}} {:>4}|{:<3}|", 12, "é");
        assert_eq!(
            text,
            format!("\x1b[1m{ESCAPED}\x1b[0m\n\u{2802} {{}}   12|é  |").as_str()
        );
        // A text inside of a text stays as it is, and a format specification escapes all the same.
        let outer = terminal_text!(
            "{text}{:?}{other}",
            name,
            other = format_args!("{name:<60}")
        );
        assert!(outer.starts_with(text.as_str()));
        assert!(!outer[text.len()..].contains(['\x1b', '\x07', '\n', '\u{202e}']));
    }

    #[test]
    fn a_value_cannot_complete_a_sequence_of_a_literal() {
        let codes = "0m\x1b[2J";
        let text = terminal_text!("\x1b[{codes}m");
        assert_eq!(text.matches('\x1b').count(), 1);
    }

    #[test]
    fn prose_loses_sequences_and_keeps_lines() {
        assert_eq!(
            TerminalText::from_prose("red\x1b[31m\ttext\x1b]0;t\x07\r\n\u{202e}\x08"),
            "red\ttext\n\\u{202e}\\u{8}"
        );
        assert_eq!(TerminalText::from_line("a\nb\tc"), "a\\nb\\tc");
        assert_eq!(TerminalText::from_message("a\nb\x1b[1m"), "a\nb\\u{1b}[1m");
        assert_eq!(
            TerminalText::from_message("hint: a\n \u{a0}hint: b\nhints: c\n"),
            "hint: a\n│  \u{a0}hint: b\nhints: c\n"
        );
        assert_eq!(
            TerminalText::from_json("\"\u{9b}\u{1f600}\""),
            "\"\\u009b\u{1f600}\""
        );
    }

    #[test]
    fn parts_are_parts_of_the_text() {
        let text = TerminalText::from_prose("one two\nthree");
        assert_eq!(text.lines(), ["one two", "three"]);
        assert_eq!(text.part(|text| &text[4..7]), "two");
        assert_eq!(text.indented("  "), "  one two\n  three\n");
        assert_eq!(text.keep_start(4), "one…");
        assert_eq!(TerminalText::from_line("abcdef").keep_end(3), "…ef");
        let joined = TerminalText::join(&text.lines(), " · ");
        assert_eq!(joined, "one two · three");
    }
}
