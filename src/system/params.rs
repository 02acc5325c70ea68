//! The parameters of a call: one JSON object on standard input, read field by field.
//!
//! Unknown fields are ignored, and `null` counts as missing, because models write both. A field of
//! the wrong type is an error.

use std::io::{self, Read};

use serde_json::{Map, Value};

/// Limit of the input: more than any file that a model writes, far less than the machine's memory.
const MAX_PARAM_BYTES: u64 = 256 << 20;

pub struct Params(Map<String, Value>);

/// Reason why parameters are invalid.
#[derive(Debug, thiserror::Error)]
pub enum Wrong {
    #[error("empty input")]
    Empty,
    #[error("the input cannot be read: {0}")]
    Unreadable(io::Error),
    #[error("more than {} MiB of input", MAX_PARAM_BYTES >> 20)]
    TooLong,
    #[error("invalid JSON: {0}")]
    NotJson(serde_json::Error),
    #[error("the input is not a JSON object")]
    NotAnObject,
    #[error("missing or invalid field `{name}`: {wanted} is needed")]
    Field {
        name: &'static str,
        wanted: &'static str,
    },
}

pub fn read(input: impl Read) -> Result<Params, Wrong> {
    let mut text = Vec::new();
    input
        .take(MAX_PARAM_BYTES + 1)
        .read_to_end(&mut text)
        .map_err(Wrong::Unreadable)?;
    if text.len() as u64 > MAX_PARAM_BYTES {
        return Err(Wrong::TooLong);
    }
    if text.iter().all(u8::is_ascii_whitespace) {
        return Err(Wrong::Empty);
    }
    match serde_json::from_slice(&text).map_err(Wrong::NotJson)? {
        Value::Object(fields) => Ok(Params(fields)),
        _ => Err(Wrong::NotAnObject),
    }
}

impl Params {
    /// Returns a required text.
    pub fn text(&self, name: &'static str) -> Result<&str, Wrong> {
        self.given(name)
            .and_then(Value::as_str)
            .ok_or(Wrong::Field {
                name,
                wanted: "a string",
            })
    }

    /// Returns an optional text; an empty text counts as missing.
    pub fn optional_text(&self, name: &'static str) -> Result<Option<&str>, Wrong> {
        match self.given(name) {
            None => Ok(None),
            Some(_) => self
                .text(name)
                .map(|text| Some(text).filter(|t| !t.is_empty())),
        }
    }

    /// Returns an optional number.
    pub fn count(&self, name: &'static str) -> Result<Option<u64>, Wrong> {
        let whole = |value: &Value| {
            // Some models write every number as a float.
            let float = value.as_f64().filter(|n| n.fract() == 0.0 && *n >= 0.0);
            #[expect(
                clippy::cast_possible_truncation,
                clippy::cast_sign_loss,
                reason = "whole, not negative, and saturating beyond any number of lines"
            )]
            value.as_u64().or(float.map(|n| n as u64))
        };
        let Some(value) = self.given(name) else {
            return Ok(None);
        };
        whole(value).map(Some).ok_or(Wrong::Field {
            name,
            wanted: "a whole number from 0",
        })
    }

    /// Returns a boolean, which is false if it is missing.
    pub fn switch(&self, name: &'static str) -> Result<bool, Wrong> {
        match self.given(name) {
            None => Ok(false),
            Some(value) => value.as_bool().ok_or(Wrong::Field {
                name,
                wanted: "true or false",
            }),
        }
    }

    fn given(&self, name: &str) -> Option<&Value> {
        self.0.get(name).filter(|value| !value.is_null())
    }
}
