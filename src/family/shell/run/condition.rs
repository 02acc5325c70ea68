//! `run-condition`: a JavaScript expression in which references are values (spec cycod 85–88).
//!
//! A reference becomes a name that stands for the value; inside of quotes it becomes escaped text.
//! So the output of a step cannot change the condition.

use super::super::definition::Datum;
use super::template::{Part, Template};
use super::values::{FillError, Values};
use haft_engine::{Engine, ExpressionError};

/// Reason why a condition has no result.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ConditionError {
    #[error(transparent)]
    Fill(#[from] FillError),
    #[error(transparent)]
    Script(#[from] ExpressionError),
}

/// Returns true if the condition holds.
pub(crate) async fn holds(
    condition: &str,
    values: &Values,
    engine: &Engine,
) -> Result<bool, ConditionError> {
    let (mut source, mut names) = (String::new(), Vec::new());
    let mut quotes = Quotes::default();
    for part in Template::parse(condition, values).parts {
        match part {
            Part::Text(text) => {
                quotes.read(&text);
                source.push_str(&text);
            }
            Part::Reference(reference) => {
                let value = values.value(&reference).await?;
                if quotes.open.is_some() {
                    source.push_str(&escaped(&value));
                } else {
                    let name = format!("__haft_{}", names.len());
                    source.push_str(&name);
                    names.push((name, value));
                }
            }
        }
    }
    let names = names
        .into_iter()
        .map(|(name, value)| (name, value.to_json()));
    Ok(engine.evaluate_truth(&source, names.collect()).await?)
}

/// Parser state: the quote that is open at the end of the text so far.
#[derive(Default)]
struct Quotes {
    open: Option<char>,
}

impl Quotes {
    fn read(&mut self, text: &str) {
        let mut chars = text.chars();
        while let Some(c) = chars.next() {
            match (self.open, c) {
                (Some(_), '\\') => drop(chars.next()),
                (Some(open), c) if c == open => self.open = None,
                (None, '\'' | '"' | '`') => self.open = Some(c),
                _ => {}
            }
        }
    }
}

/// Returns text that stays the same in every kind of string.
fn escaped(value: &Datum) -> String {
    let text = match value {
        Datum::Text(text) => text.clone(),
        Datum::Null => String::new(),
        other => other.to_json(),
    };
    let mut escaped = String::new();
    for unit in text.encode_utf16() {
        match u8::try_from(unit) {
            Ok(byte) if byte.is_ascii_alphanumeric() || byte == b' ' => {
                escaped.push(char::from(byte));
            }
            _ => escaped.push_str(&format!("\\u{unit:04x}")),
        }
    }
    escaped
}
