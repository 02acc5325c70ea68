//! Scalars with a notation of their own, and places in a file.

use std::borrow::Cow;
use std::time::Duration;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::Deserialize;

use super::Number;

/// Milliseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(from = "u64")]
pub(crate) struct Millis(pub(crate) Duration);

impl From<u64> for Millis {
    fn from(millis: u64) -> Millis {
        Millis(Duration::from_millis(millis))
    }
}

impl JsonSchema for Millis {
    fn schema_name() -> Cow<'static, str> {
        "Millis".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "type": "integer", "minimum": 1, "format": "milliseconds" })
    }
}

/// Bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(try_from = "String")]
pub(crate) struct Size(pub(crate) u64);

impl TryFrom<String> for Size {
    type Error = &'static str;

    /// Reads `512`, `64 KB`, `10MB`, `1.5GB`; 1 KB is 1024 (spec cycod 105).
    fn try_from(text: String) -> Result<Size, Self::Error> {
        Size::parse(&text).ok_or("not a size")
    }
}

impl Size {
    /// Limit of a size. Up to it, a double is exact.
    const MAX_BYTES: f64 = (1u64 << 53) as f64;

    pub(crate) fn parse(text: &str) -> Option<Size> {
        let text = text.trim().to_ascii_uppercase();
        let digits = text.trim_end_matches(|c: char| c.is_ascii_alphabetic());
        let scale: u32 = match &text[digits.len()..] {
            "" | "B" => 0,
            "K" | "KB" | "KIB" => 10,
            "M" | "MB" | "MIB" => 20,
            "G" | "GB" | "GIB" => 30,
            _ => return None,
        };
        let bytes = Number::parse(digits)?.to_f64() * f64::from(1u32 << scale);
        (1.0..=Self::MAX_BYTES)
            .contains(&bytes)
            .then_some(Size(bytes as u64))
    }
}

impl JsonSchema for Size {
    fn schema_name() -> Cow<'static, str> {
        "Size".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "type": ["string", "integer"],
            "format": "size",
            "pattern": "^[0-9.]+ *([KkMmGg][Ii]?)?[Bb]?$",
        })
    }
}

/// A place in the file, both 1-based.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
pub(crate) struct Place {
    pub(crate) line: u32,
    pub(crate) column: u32,
}

/// A value with its place in the file.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
pub(crate) struct Placed<T> {
    #[serde(rename = "$self")]
    pub(crate) value: T,
    #[serde(rename = "$place")]
    pub(crate) place: Place,
}

impl<T: JsonSchema> JsonSchema for Placed<T> {
    fn schema_name() -> Cow<'static, str> {
        T::schema_name()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        T::json_schema(generator)
    }
}
