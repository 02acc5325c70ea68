//! Line buffer of an answer: counts all lines, and keeps as many as one answer may hold.

use super::text::MAX_TEXT_BYTES;

#[derive(Default)]
pub struct Lines {
    text: String,
    kept: usize,
    count: usize,
}

/// A state of the buffer that can be restored.
pub struct Mark {
    bytes: usize,
    kept: usize,
    count: usize,
}

impl Lines {
    /// Counts the line, and keeps it if it fits. After the first line that does not fit, no line is
    /// kept: a later, shorter line would leave an invisible gap.
    pub fn push(&mut self, line: &str) {
        let is_open = self.kept == self.count;
        self.count += 1;
        if is_open && self.text.len() + line.len() < MAX_TEXT_BYTES {
            if self.kept > 0 {
                self.text.push('\n');
            }
            self.text.push_str(line);
            self.kept += 1;
        }
    }

    pub fn count(&self) -> usize {
        self.count
    }

    pub fn mark(&self) -> Mark {
        Mark {
            bytes: self.text.len(),
            kept: self.kept,
            count: self.count,
        }
    }

    /// Removes everything since the mark.
    pub fn back_to(&mut self, mark: &Mark) {
        self.text.truncate(mark.bytes);
        (self.kept, self.count) = (mark.kept, mark.count);
    }

    /// Returns the kept lines, with a note about the missing ones.
    pub fn into_text(mut self) -> String {
        let left_out = self.count - self.kept;
        if left_out > 0 {
            let note = format!("\n[{left_out} more lines are left out: narrow the search]");
            self.text.push_str(&note);
        }
        self.text
    }
}
