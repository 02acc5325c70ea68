//! The lines of an answer: all are counted, as many are kept as one answer may hold.

use super::text::LONGEST;

#[derive(Default)]
pub struct Lines {
    text: String,
    kept: usize,
    count: usize,
}

/// A point to go back to.
pub struct Mark {
    bytes: usize,
    kept: usize,
    count: usize,
}

impl Lines {
    /// Counts the line, and keeps it while there is room. What has no room closes the door: a later,
    /// shorter line would leave a gap that nobody sees.
    pub fn push(&mut self, line: &str) {
        let is_open = self.kept == self.count;
        self.count += 1;
        if is_open && self.text.len() + line.len() < LONGEST {
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

    /// Forgets everything since the mark.
    pub fn back_to(&mut self, mark: &Mark) {
        self.text.truncate(mark.bytes);
        (self.kept, self.count) = (mark.kept, mark.count);
    }

    /// The lines without a line break after the last one, and how many are missing.
    pub fn into_text(mut self) -> String {
        let left_out = self.count - self.kept;
        if left_out > 0 {
            let note = format!("\n[{left_out} more lines are left out: narrow the search]");
            self.text.push_str(&note);
        }
        self.text
    }
}
