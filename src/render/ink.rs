//! Colours, or their absence.
//!
//! Whether there are any is decided once for each stream (a terminal, `NO_COLOR`,
//! `CLICOLOR`, `CLICOLOR_FORCE`); every line must read the same without them.

use std::fmt::Display;

use console::{Style, StyledObject};

/// Paints words for one stream, or leaves them alone.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Ink {
    on: bool,
}

impl Ink {
    /// Ink for standard output. Ask before standard output is moved away.
    pub(crate) fn for_stdout() -> Self {
        Ink {
            on: console::colors_enabled(),
        }
    }

    /// Ink for standard error.
    pub(crate) fn for_stderr() -> Self {
        Ink {
            on: console::colors_enabled_stderr(),
        }
    }

    /// No colours.
    pub(crate) fn none() -> Self {
        Ink { on: false }
    }

    /// Whether it paints at all.
    pub(crate) fn is_on(self) -> bool {
        self.on
    }

    pub(crate) fn bold<D: Display>(self, word: D) -> StyledObject<D> {
        self.paint(Style::new().bold(), word)
    }

    pub(crate) fn dim<D: Display>(self, word: D) -> StyledObject<D> {
        self.paint(Style::new().dim(), word)
    }

    pub(crate) fn error<D: Display>(self, word: D) -> StyledObject<D> {
        self.paint(Style::new().red().bold(), word)
    }

    pub(crate) fn warning<D: Display>(self, word: D) -> StyledObject<D> {
        self.paint(Style::new().yellow().bold(), word)
    }

    pub(crate) fn good<D: Display>(self, word: D) -> StyledObject<D> {
        self.paint(Style::new().green(), word)
    }

    pub(crate) fn hint<D: Display>(self, word: D) -> StyledObject<D> {
        self.paint(Style::new().cyan(), word)
    }

    fn paint<D: Display>(self, style: Style, word: D) -> StyledObject<D> {
        style.force_styling(self.on).apply_to(word)
    }
}
