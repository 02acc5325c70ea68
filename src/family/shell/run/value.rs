//! Values of references, and values as text (spec cycod 59).

use super::super::definition::{Datum, Number};
use haft_shell_quote::Piece;

/// A parameter or a predefined variable.
#[derive(Clone)]
pub(super) struct Slot {
    /// `None` for an optional parameter that was not given.
    pub(super) value: Option<Datum>,
    pub(super) format: Option<String>,
    pub(super) delimiter: String,
    pub(super) is_guarded: bool,
    /// The author listed its possible values.
    pub(super) is_fixed: bool,
}

/// Facts about a step that has ended.
#[derive(Clone, Debug, Default)]
pub(crate) struct StepFacts {
    pub(crate) output: String,
    pub(crate) error: String,
    /// `None` if it was skipped.
    pub(crate) exit_code: Option<i64>,
    pub(crate) millis: u64,
    pub(crate) start_time: String,
    pub(crate) end_time: String,
}

impl Slot {
    /// Returns the slot of a predefined variable. The author cannot quote the host's value, so it
    /// is always guarded.
    pub(super) fn predefined(text: String) -> Slot {
        Slot {
            value: Some(Datum::Text(text)),
            format: None,
            delimiter: " ".to_owned(),
            is_guarded: true,
            is_fixed: false,
        }
    }
}

impl StepFacts {
    pub(super) fn property(self, name: &str) -> Datum {
        let number = |text: String| Number::parse(&text).map_or(Datum::Null, Datum::Number);
        match name {
            "output" => Datum::Text(self.output),
            "error" => Datum::Text(self.error),
            "exit-code" => self
                .exit_code
                .map_or(Datum::Null, |code| number(code.to_string())),
            "duration" => number(self.millis.to_string()),
            "start-time" => Datum::Text(self.start_time),
            _ => Datum::Text(self.end_time),
        }
    }
}

pub(super) fn joined(pieces: Vec<Piece>) -> String {
    pieces.into_iter().map(|piece| piece.text).collect()
}

/// Returns the pieces of a choice; empty for an empty text, so that a flag that is off leaves no
/// empty argument.
pub(super) fn chosen(text: &str) -> Vec<Piece> {
    if text.is_empty() {
        Vec::new()
    } else {
        vec![Piece::raw(text)]
    }
}

/// Converts a value to pieces: each item of a list is one, so that each is quoted separately.
pub(super) fn written(
    value: &Datum,
    delimiter: &str,
    guard: Option<&str>,
    is_fixed: bool,
) -> Vec<Piece> {
    let piece = |value: &Datum| Piece {
        text: plain(value, delimiter),
        guarded: guard.map(str::to_owned),
        is_fixed: is_fixed || matches!(value, Datum::Number(_) | Datum::Bool(_)),
    };
    let Datum::List(items) = value else {
        return vec![piece(value)];
    };
    let mut pieces = Vec::new();
    for item in items {
        if !pieces.is_empty() {
            pieces.push(Piece::raw(delimiter));
        }
        pieces.push(piece(item));
    }
    pieces
}

/// Returns a value as text (spec cycod 59).
pub(super) fn plain(value: &Datum, delimiter: &str) -> String {
    match value {
        Datum::Null => String::new(),
        Datum::Text(text) => text.clone(),
        Datum::Bool(_) | Datum::Number(_) | Datum::Object(_) => value.to_json(),
        Datum::List(items) => {
            let items: Vec<String> = items.iter().map(|item| plain(item, delimiter)).collect();
            items.join(delimiter)
        }
    }
}

/// Returns true if JavaScript's `if` would accept the value.
pub(super) fn is_truthy(value: &Datum) -> bool {
    match value {
        Datum::Null => false,
        Datum::Bool(flag) => *flag,
        Datum::Number(number) => number.to_f64() != 0.0,
        Datum::Text(text) => !text.is_empty(),
        Datum::List(_) | Datum::Object(_) => true,
    }
}
