//! The word that is being read, and what it says of the next one.

/// The word that is being read.
pub(super) struct Word {
    pub(super) text: String,
    pub(super) is_command: bool,
    /// `case`s that are open: their patterns end with a `)` that nothing opened.
    pub(super) cases: usize,
}

impl Word {
    pub(super) fn first() -> Word {
        Word {
            text: String::new(),
            is_command: true,
            cases: 0,
        }
    }

    /// The word is complete.
    pub(super) fn ends(&mut self) {
        if self.text.is_empty() {
            return;
        }
        if self.is_command {
            match self.text.as_str() {
                "case" => self.cases += 1,
                "esac" => self.cases = self.cases.saturating_sub(1),
                _ => {}
            }
        }
        let goes_on = [
            "if", "then", "else", "elif", "while", "until", "do", "!", "{", "time", "in",
        ];
        self.is_command = self.is_command && goes_on.contains(&self.text.as_str())
            || self.cases > 0 && self.text == "in";
        self.text.clear();
    }

    /// Whether what follows is in the brackets of `name[…`.
    pub(super) fn is_subscript(&self) -> bool {
        let Some((name, rest)) = self.text.split_once('[') else {
            return false;
        };
        let is_name = |c: char| c.is_ascii_alphanumeric() || c == '_';
        !name.is_empty() && name.chars().all(is_name) && !rest.contains(']')
    }
}
