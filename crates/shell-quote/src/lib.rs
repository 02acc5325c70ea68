//! Quoting of values in the text of a shell: they arrive unchanged (spec cycod 68–72).
//!
//! Each shell has one file. All share one rule: if the place of a value cannot be made safe, the
//! command is refused.

mod bash;
mod cmd;
pub mod programs;
mod pwsh;

pub use bash::{Dialect, Outside, bash, bash_with};
pub use bash::{Finding, survey};
pub use cmd::cmd;
pub use pwsh::pwsh;

/// A part of a command.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Piece {
    /// The author's text, or a value.
    pub text: String,
    /// Name of a value that must arrive unchanged, for messages.
    pub guarded: Option<String>,
    /// True for a number, a boolean or one of the texts that the author lists: the caller cannot
    /// inject code with it.
    pub is_fixed: bool,
}

/// A command in which no value is part of the source.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Quoted {
    /// The source.
    pub text: String,
    /// Values of the source's variables `__haft_1`, `__haft_2`, ….
    pub values: Vec<String>,
}

/// Reason why a value cannot stand where its author put it.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the value of `{name}` cannot stand there: {why}")]
pub struct QuoteError {
    /// Name of the value.
    pub name: String,
    /// A sentence without a final period.
    pub why: String,
}

impl Piece {
    /// The author's own text.
    pub fn raw(text: impl Into<String>) -> Piece {
        Piece {
            text: text.into(),
            guarded: None,
            is_fixed: false,
        }
    }

    /// Returns a value that must arrive unchanged.
    pub fn guarded(text: impl Into<String>, name: impl Into<String>) -> Piece {
        Piece {
            text: text.into(),
            guarded: Some(name.into()),
            is_fixed: false,
        }
    }

    /// Marks the value as limited by the author's own definition.
    #[must_use]
    pub fn fixed(self) -> Piece {
        Piece {
            is_fixed: true,
            ..self
        }
    }
}

/// Returns the variable that holds the value with this index.
pub fn variable(index: usize) -> String {
    format!("__haft_{}", index + 1)
}

/// Checks a program that is started without a shell: its words are never split, but the program may
/// be a shell.
///
/// # Errors
/// Where a value would be code.
pub fn direct(words: &[Vec<Piece>], outside: &[Outside]) -> Result<(), QuoteError> {
    let has_value = words.iter().flatten().any(|piece| piece.guarded.is_some());
    if !has_value && outside.is_empty() {
        return Ok(());
    }
    bash_with(&as_command(words), Dialect::Bash, outside).map(drop)
}

/// Returns the same words as a command line.
pub fn as_command(words: &[Vec<Piece>]) -> Vec<Piece> {
    let mut pieces = Vec::new();
    for word in words {
        for piece in word {
            match piece.guarded {
                Some(_) => pieces.push(piece.clone()),
                None => pieces.push(Piece::raw(shell_word(&piece.text))),
            }
        }
        if word.is_empty() {
            pieces.push(Piece::raw("''"));
        }
        pieces.push(Piece::raw(" "));
    }
    pieces
}

/// Joins the pieces for languages without rules of ours: only values without a meaning in any
/// language are accepted.
pub fn harmless(pieces: &[Piece]) -> Result<String, QuoteError> {
    let mut text = String::new();
    for piece in pieces {
        let is_harmless = |c: char| {
            c.is_alphanumeric() || matches!(c, ' ' | '_' | '.' | ',' | '/' | ':' | '-' | '+' | '@')
        };
        if let Some(name) = &piece.guarded
            && !piece.text.chars().all(is_harmless)
        {
            return Err(QuoteError {
                name: name.clone(),
                why: "haft does not know how this language quotes; \
                      hand it over by `input` or `environment.variables`"
                    .to_owned(),
            });
        }
        text.push_str(&piece.text);
    }
    Ok(text)
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Item {
    Char(char),
    /// The value of the piece with this index.
    Value(usize),
}

fn items(pieces: &[Piece]) -> Vec<Item> {
    let mut items = Vec::new();
    for (index, piece) in pieces.iter().enumerate() {
        match piece.guarded {
            Some(_) => items.push(Item::Value(index)),
            None => items.extend(piece.text.chars().map(Item::Char)),
        }
    }
    items
}

/// Quotes any text as one word of a POSIX shell.
pub fn shell_word(text: &str) -> String {
    format!("'{}'", text.replace('\'', r"'\''"))
}
