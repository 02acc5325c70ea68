//! Values of YAML, JSON and the command line, with numbers as exact text.
//!
//! `serde_json::Value` would turn an integer beyond 64 bits into a float; the format promises that
//! big integers arrive exactly (spec cycod 59).

use std::borrow::Cow;
use std::fmt;

use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::{Deserialize, Deserializer, de};
use serde_json::Value;

/// Any value. Objects keep the order of the file.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Datum {
    Null,
    Bool(bool),
    Number(Number),
    Text(String),
    List(Vec<Datum>),
    Object(Vec<(String, Datum)>),
}

/// A finite number, written as it is substituted: integers exactly, everything else as the
/// shortest decimal that means the same double (`5.0` is `5`, `1e3` is `1000`).
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Number(String);

impl Number {
    /// Reads a decimal number, spaces around it allowed. `None`: not a finite number.
    pub(crate) fn parse(text: &str) -> Option<Number> {
        let text = text.trim();
        let (sign, digits) = match text.as_bytes().first()? {
            b'-' => ("-", &text[1..]),
            b'+' => ("", &text[1..]),
            _ => ("", text),
        };
        let starts_well = digits.starts_with(|c: char| c.is_ascii_digit() || c == '.');
        if !starts_well {
            return None;
        }
        if digits.bytes().all(|byte| byte.is_ascii_digit()) {
            let digits = digits.trim_start_matches('0');
            return Some(match digits {
                "" => Number("0".to_owned()),
                _ => Number(format!("{sign}{digits}")),
            });
        }
        let float: f64 = text.parse().ok()?;
        // `-0.0` would come out as `-0`.
        float.is_finite().then(|| {
            Number(if float == 0.0 {
                "0".to_owned()
            } else {
                float.to_string()
            })
        })
    }

    /// Returns the number as it is substituted.
    pub(crate) fn as_str(&self) -> &str {
        &self.0
    }

    /// Returns the number as a double, for bounds.
    pub(crate) fn to_f64(&self) -> f64 {
        // Only valid digits get here; an integer of 400 digits is infinite as a double.
        self.0.parse().unwrap_or(f64::NAN)
    }

    /// Returns true if the number has no fraction.
    pub(crate) fn is_integer(&self) -> bool {
        !self.0.contains('.')
    }
}

impl fmt::Display for Number {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl Datum {
    /// Name by which a deserializer recognizes the type.
    pub(crate) const NAME: &'static str = "$datum";

    /// Returns the name of its kind, for messages.
    pub(crate) const fn kind(&self) -> &'static str {
        match self {
            Datum::Null => "null",
            Datum::Bool(_) => "a boolean",
            Datum::Number(_) => "a number",
            Datum::Text(_) => "a string",
            Datum::List(_) => "a list",
            Datum::Object(_) => "a mapping",
        }
    }

    /// Adds every text in the value, but not the keys.
    pub(crate) fn texts<'a>(&'a self, found: &mut Vec<&'a str>) {
        match self {
            Datum::Text(text) => found.push(text),
            Datum::List(items) => items.iter().for_each(|item| item.texts(found)),
            Datum::Object(entries) => entries.iter().for_each(|(_, item)| item.texts(found)),
            Datum::Null | Datum::Bool(_) | Datum::Number(_) => {}
        }
    }

    /// Returns compact JSON. Integers of any size stay exact, so it is not made from `to_value`.
    pub(crate) fn to_json(&self) -> String {
        let mut text = String::new();
        self.write_json(&mut text);
        text
    }

    fn write_json(&self, out: &mut String) {
        match self {
            Datum::Null => out.push_str("null"),
            Datum::Bool(value) => out.push_str(if *value { "true" } else { "false" }),
            Datum::Number(number) => out.push_str(number.as_str()),
            Datum::Text(text) => write_text(text, out),
            Datum::List(items) => {
                out.push('[');
                for (index, item) in items.iter().enumerate() {
                    if index > 0 {
                        out.push(',');
                    }
                    item.write_json(out);
                }
                out.push(']');
            }
            Datum::Object(entries) => {
                out.push('{');
                for (index, (key, value)) in entries.iter().enumerate() {
                    if index > 0 {
                        out.push(',');
                    }
                    write_text(key, out);
                    out.push(':');
                    value.write_json(out);
                }
                out.push('}');
            }
        }
    }

    /// Returns a JSON value for schemas and reports; integers beyond 64 bits become doubles there.
    pub(crate) fn to_value(&self) -> Value {
        match self {
            Datum::Null => Value::Null,
            Datum::Bool(value) => Value::Bool(*value),
            Datum::Number(number) => serde_json::from_str(number.as_str()).unwrap_or(Value::Null),
            Datum::Text(text) => Value::String(text.clone()),
            Datum::List(items) => items.iter().map(Datum::to_value).collect(),
            Datum::Object(entries) => entries
                .iter()
                .map(|(key, value)| (key.clone(), value.to_value()))
                .collect(),
        }
    }

    /// Reads JSON text without losing digits. `None`: not JSON, or nested too deep.
    pub(crate) fn from_json(text: &str) -> Option<Datum> {
        json::read(serde_json::from_str(text).ok()?, 0)
    }
}

impl<'de> Deserialize<'de> for Datum {
    /// Reads the value from JSON text, which `yaml::de` provides under this name: serde has no
    /// numbers of any size.
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Datum, D::Error> {
        struct Json;
        impl de::Visitor<'_> for Json {
            type Value = Datum;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("JSON text")
            }

            fn visit_str<E: de::Error>(self, text: &str) -> Result<Datum, E> {
                Datum::from_json(text).ok_or_else(|| E::custom("not JSON"))
            }
        }
        deserializer.deserialize_newtype_struct(Datum::NAME, Json)
    }
}

impl JsonSchema for Datum {
    fn schema_name() -> Cow<'static, str> {
        "Datum".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        true.into()
    }
}

fn write_text(text: &str, out: &mut String) {
    out.push_str(&Value::from(text).to_string());
}

/// JSON reader on raw values: each number keeps the author's notation.
mod json {
    use std::borrow::Cow;

    use serde_json::value::RawValue;

    use super::{Datum, Number};

    /// Limit of the nesting, the same as `serde_json`'s.
    const MAX_DEPTH: usize = 128;

    pub(super) fn read(raw: &RawValue, depth: usize) -> Option<Datum> {
        if depth > MAX_DEPTH {
            return None;
        }
        let text = raw.get();
        Some(match text.as_bytes().first()? {
            b'n' => Datum::Null,
            b't' => Datum::Bool(true),
            b'f' => Datum::Bool(false),
            b'"' => Datum::Text(serde_json::from_str(text).ok()?),
            b'[' => {
                let items: Vec<&RawValue> = serde_json::from_str(text).ok()?;
                let items = items.into_iter().map(|item| read(item, depth + 1));
                Datum::List(items.collect::<Option<_>>()?)
            }
            b'{' => {
                let Entries(entries) = serde_json::from_str(text).ok()?;
                let entries = entries
                    .into_iter()
                    .map(|(key, value)| Some((key.into_owned(), read(value, depth + 1)?)));
                Datum::Object(entries.collect::<Option<_>>()?)
            }
            _ => Datum::Number(Number::parse(text)?),
        })
    }

    /// An object in its own order; the last value of a duplicate key counts.
    struct Entries<'a>(Vec<(Cow<'a, str>, &'a RawValue)>);

    impl<'de: 'a, 'a> serde::Deserialize<'de> for Entries<'a> {
        fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
            struct Visitor;
            impl<'de> serde::de::Visitor<'de> for Visitor {
                type Value = Entries<'de>;

                fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                    f.write_str("an object")
                }

                fn visit_map<A: serde::de::MapAccess<'de>>(
                    self,
                    mut map: A,
                ) -> Result<Self::Value, A::Error> {
                    let mut entries: Vec<(Cow<'de, str>, &'de RawValue)> = Vec::new();
                    let mut places = std::collections::HashMap::new();
                    while let Some((key, value)) = map.next_entry::<String, &'de RawValue>()? {
                        match places.get(&key) {
                            Some(place) => {
                                let entry: &mut (_, _) = &mut entries[*place];
                                entry.1 = value;
                            }
                            None => {
                                places.insert(key.clone(), entries.len());
                                entries.push((Cow::Owned(key), value));
                            }
                        }
                    }
                    Ok(Entries(entries))
                }
            }
            deserializer.deserialize_map(Visitor)
        }
    }
}
