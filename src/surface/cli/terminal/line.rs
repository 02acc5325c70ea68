//! Editable line: its text, the cursor, and the visible part.

use unicode_segmentation::UnicodeSegmentation;

use super::keys::Key;
use haft_render::width::width;

/// A line whose cursor moves by grapheme clusters.
#[derive(Default)]
pub(super) struct Line {
    text: String,
    /// Position of the cursor, at a boundary between grapheme clusters.
    at: usize,
}

impl Line {
    pub(super) fn text(&self) -> &str {
        &self.text
    }

    /// Applies the key. Returns false if the key has no meaning for a line.
    pub(super) fn press(&mut self, key: Key) -> bool {
        match key {
            Key::Char(c) => {
                self.text.insert(self.at, c);
                self.at += c.len_utf8();
            }
            Key::Backspace => {
                let before = self.before();
                self.cut(before, self.at);
            }
            Key::Delete => self.cut(self.at, self.after()),
            Key::Left => self.at = self.before(),
            Key::Right => self.at = self.after(),
            Key::LineStart => self.at = 0,
            Key::LineEnd => self.at = self.text.len(),
            Key::EraseBefore => self.cut(0, self.at),
            Key::EraseAfter => self.cut(self.at, self.text.len()),
            Key::EraseWord => {
                let words = self.text[..self.at].trim_end();
                let start = words.rfind(char::is_whitespace);
                let start = start.map_or(0, |space| space + 1);
                self.cut(start, self.at);
            }
            _ => return false,
        }
        true
    }

    /// Returns the part that fits into `room` cells, and the cell of the cursor in it.
    pub(super) fn view(&self, room: usize) -> (String, usize) {
        let mut shown = String::new();
        let mut cursor = 0;
        for (start, part) in self.text.grapheme_indices(true) {
            if start == self.at {
                cursor = width(&shown);
            }
            shown.push_str(part);
            // The cursor must stay visible.
            while width(&shown) >= room && start < self.at {
                let first = shown.graphemes(true).next().map_or(0, str::len);
                shown.drain(..first);
            }
            if width(&shown) >= room {
                shown.truncate(shown.len() - part.len());
                break;
            }
        }
        if self.at == self.text.len() {
            cursor = width(&shown);
        }
        (shown, cursor)
    }

    fn before(&self) -> usize {
        let last = self.text[..self.at].graphemes(true).next_back();
        self.at - last.map_or(0, str::len)
    }

    fn after(&self) -> usize {
        let next = self.text[self.at..].graphemes(true).next();
        self.at + next.map_or(0, str::len)
    }

    fn cut(&mut self, from: usize, to: usize) {
        self.text.drain(from..to);
        self.at = from;
    }
}
