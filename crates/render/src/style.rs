//! Colours for output streams.
//!
//! Colours are switched on or off once for each stream (a terminal, `NO_COLOR`, `CLICOLOR`,
//! `CLICOLOR_FORCE`). Every line must have the same meaning without them.

use std::fmt::Display;

use console::{Style, StyledObject};

/// Styles words for one stream, or leaves them unchanged.
#[derive(Clone, Copy, Debug)]
pub struct Ink {
    on: bool,
}

impl Ink {
    /// Returns the ink for standard output. Must be called before standard output is redirected.
    pub fn for_stdout() -> Self {
        Ink {
            on: console::colors_enabled(),
        }
    }

    /// Returns the ink for standard error.
    pub fn for_stderr() -> Self {
        Ink {
            on: console::colors_enabled_stderr(),
        }
    }

    /// Returns an ink without colours.
    pub fn none() -> Self {
        Ink { on: false }
    }

    /// Returns true if words are styled.
    pub fn is_on(self) -> bool {
        self.on
    }

    pub fn bold<D: Display>(self, word: D) -> StyledObject<D> {
        self.paint(Style::new().bold(), word)
    }

    pub fn dim<D: Display>(self, word: D) -> StyledObject<D> {
        self.paint(Style::new().dim(), word)
    }

    pub fn error<D: Display>(self, word: D) -> StyledObject<D> {
        self.paint(Style::new().red().bold(), word)
    }

    pub fn warning<D: Display>(self, word: D) -> StyledObject<D> {
        self.paint(Style::new().yellow().bold(), word)
    }

    pub fn good<D: Display>(self, word: D) -> StyledObject<D> {
        self.paint(Style::new().green(), word)
    }

    pub fn hint<D: Display>(self, word: D) -> StyledObject<D> {
        self.paint(Style::new().cyan(), word)
    }

    fn paint<D: Display>(self, style: Style, word: D) -> StyledObject<D> {
        style.force_styling(self.on).apply_to(word)
    }
}
