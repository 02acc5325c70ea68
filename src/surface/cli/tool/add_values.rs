//! Conversion of the words of `haft tool add` to values.

use super::usage;
use crate::tool_files::{Datum, Number};
use haft_tool::Error;

pub(super) fn list(names: &str) -> Datum {
    let names = names
        .split(',')
        .map(str::trim)
        .filter(|name| !name.is_empty());
    Datum::List(names.map(|name| Datum::Text(name.to_owned())).collect())
}

/// Converts the value to its parameter's type. An invalid value stays text, so that the parser of
/// the format reports it.
pub(super) fn typed(kind: &str, value: &str) -> Datum {
    let text = || Datum::Text(value.to_owned());
    match kind {
        "number" => Number::parse(value).map_or_else(text, Datum::Number),
        "boolean" => match value {
            "true" => Datum::Bool(true),
            "false" => Datum::Bool(false),
            _ => text(),
        },
        "array" => match Datum::from_json(value) {
            Some(items @ Datum::List(_)) => items,
            _ => list(value),
        },
        "object" => match Datum::from_json(value) {
            Some(object @ Datum::Object(_)) => object,
            _ => text(),
        },
        _ => text(),
    }
}

pub(super) fn pair(option: &str, text: &str) -> Result<(String, String), Error> {
    match text.split_once('=') {
        Some((name, value)) if !name.is_empty() => Ok((name.to_owned(), value.to_owned())),
        _ => Err(usage(format!("`{option} {text}` is no NAME=VALUE"))),
    }
}

pub(super) fn whole(option: &str, text: &str) -> Result<Datum, Error> {
    let number = Number::parse(text).filter(Number::is_integer);
    number
        .map(Datum::Number)
        .ok_or_else(|| usage(format!("`{option}` must be a whole number, not `{text}`")))
}

pub(super) fn number(option: &str, text: &str) -> Result<Datum, Error> {
    Number::parse(text)
        .map(Datum::Number)
        .ok_or_else(|| usage(format!("`{option}` must be a number, not `{text}`")))
}

pub(super) fn flag(option: &str, text: &str) -> Result<Datum, Error> {
    match text {
        "true" => Ok(Datum::Bool(true)),
        "false" => Ok(Datum::Bool(false)),
        _ => Err(usage(format!(
            "`{option}` must be true or false, not `{text}`"
        ))),
    }
}
