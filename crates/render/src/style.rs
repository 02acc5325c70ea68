//! Colours for output streams.
//!
//! Colours are switched on or off once for each stream (a terminal, `NO_COLOR`, `CLICOLOR`,
//! `CLICOLOR_FORCE`). Every line must have the same meaning without them.

use haft_tool::{TerminalText, TerminalValue};

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

    pub fn bold<V: TerminalValue>(self, word: V) -> StyledValue<V> {
        self.paint("\x1b[1m", word)
    }

    pub fn dim<V: TerminalValue>(self, word: V) -> StyledValue<V> {
        self.paint("\x1b[2m", word)
    }

    pub fn error<V: TerminalValue>(self, word: V) -> StyledValue<V> {
        self.paint("\x1b[31m\x1b[1m", word)
    }

    pub fn warning<V: TerminalValue>(self, word: V) -> StyledValue<V> {
        self.paint("\x1b[33m\x1b[1m", word)
    }

    pub fn good<V: TerminalValue>(self, word: V) -> StyledValue<V> {
        self.paint("\x1b[32m", word)
    }

    pub fn hint<V: TerminalValue>(self, word: V) -> StyledValue<V> {
        self.paint("\x1b[36m", word)
    }

    fn paint<V: TerminalValue>(self, sequence: &'static str, value: V) -> StyledValue<V> {
        StyledValue {
            sequence: self.on.then_some(sequence),
            value,
        }
    }
}

/// A value with a style around it.
pub struct StyledValue<V> {
    /// The sequence that turns the style on; `None` without colours.
    sequence: Option<&'static str>,
    value: V,
}

impl<V: TerminalValue> StyledValue<V> {
    /// Returns the value with its style.
    pub fn to_text(&self) -> TerminalText {
        TerminalText::from_value(self)
    }
}

impl<V: TerminalValue> TerminalValue for StyledValue<V> {
    fn append_to(&self, text: &mut TerminalText) {
        let Some(sequence) = self.sequence else {
            return self.value.append_to(text);
        };
        text.push_literal(sequence);
        self.value.append_to(text);
        text.push_literal("\x1b[0m");
    }
}
