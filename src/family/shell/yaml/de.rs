//! Deserializes types from the tree with serde.
//!
//! The type decides how a scalar is read, so that every text keeps its notation (`0755`, `1.10`,
//! `no`): `String` takes any scalar, `bool` also takes `yes`, numbers may be quoted. A single value
//! counts as a list of one, and a mapping as the list of its values; as pairs, with their keys.
//!
//! Fields with these names are filled from the mapping itself:
//! `$self` is the same mapping as another type (like `#[serde(flatten)]`, which would lose the
//! notation), `$key` the name under which it stands, `$place` its place in the file.

use std::slice;

use serde::de::value::{Error, SeqDeserializer};
use serde::de::{
    DeserializeOwned, DeserializeSeed, Deserializer, IntoDeserializer, MapAccess, SeqAccess,
    Visitor,
};
use serde::forward_to_deserialize_any;

use super::{Entry, Node, Value};
use crate::family::shell::definition::Datum;

/// Reads a value of the type from `node`.
pub(crate) fn from_node<T: DeserializeOwned>(node: &Node) -> Result<T, Error> {
    T::deserialize(Source { node, key: "" })
}

/// A node with the key under which it stands in its mapping.
#[derive(Clone, Copy)]
struct Source<'a> {
    node: &'a Node,
    key: &'a str,
}

impl<'a> Source<'a> {
    fn of(entry: &'a Entry) -> Source<'a> {
        Source {
            node: &entry.value,
            key: &entry.key,
        }
    }

    fn text(self) -> &'a str {
        self.node.text().unwrap_or_default()
    }
}

impl<'de> IntoDeserializer<'de, Error> for Source<'de> {
    type Deserializer = Self;

    fn into_deserializer(self) -> Self {
        self
    }
}

impl<'de> Deserializer<'de> for Source<'de> {
    type Error = Error;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        match &self.node.value {
            Value::Scalar(_) => visitor.visit_str(self.text()),
            Value::List(_) => self.deserialize_seq(visitor),
            Value::Map(_) => self.deserialize_struct("", &[], visitor),
        }
    }

    fn deserialize_bool<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        match self.node.flag() {
            Some(flag) => visitor.visit_bool(flag),
            None => self.deserialize_any(visitor),
        }
    }

    fn deserialize_i64<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        match self.node.whole() {
            Some(number) => visitor.visit_i64(number),
            None => self.deserialize_any(visitor),
        }
    }

    fn deserialize_u64<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        self.deserialize_i64(visitor)
    }

    fn deserialize_u32<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        self.deserialize_i64(visitor)
    }

    fn deserialize_f64<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        match self.node.number() {
            Some(number) => visitor.visit_f64(number),
            None => self.deserialize_any(visitor),
        }
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        visitor.visit_some(self)
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(
        self,
        name: &'static str,
        visitor: V,
    ) -> Result<V::Value, Error> {
        if name == Datum::NAME {
            visitor.visit_string(self.node.to_datum().to_json())
        } else {
            visitor.visit_newtype_struct(self)
        }
    }

    fn deserialize_seq<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        match &self.node.value {
            Value::Scalar(_) => visitor.visit_seq(SeqDeserializer::new([self].into_iter())),
            Value::List(items) => {
                let items = items.iter().map(|node| Source { node, key: "" });
                visitor.visit_seq(SeqDeserializer::new(items))
            }
            Value::Map(entries) => {
                visitor.visit_seq(SeqDeserializer::new(entries.iter().map(Source::of)))
            }
        }
    }

    /// Reads a pair of a key and its value.
    fn deserialize_tuple<V: Visitor<'de>>(self, _: usize, visitor: V) -> Result<V::Value, Error> {
        visitor.visit_seq(Pair(self, 0))
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        _: &'static str,
        _: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Error> {
        visitor.visit_enum(self.text().into_deserializer())
    }

    fn deserialize_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        fields: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Error> {
        visitor.visit_map(Fields {
            source: self,
            entries: self.node.entries().iter(),
            fields: fields.iter(),
            next: Next::Source(self),
        })
    }

    forward_to_deserialize_any! {
        i8 i16 i32 i128 u8 u16 u128 f32 char str string bytes byte_buf unit unit_struct map
        tuple_struct identifier ignored_any
    }
}

/// A key, then its value.
struct Pair<'a>(Source<'a>, usize);

impl<'de> SeqAccess<'de> for Pair<'de> {
    type Error = Error;

    fn next_element_seed<T: DeserializeSeed<'de>>(
        &mut self,
        seed: T,
    ) -> Result<Option<T::Value>, Error> {
        self.1 += 1;
        match self.1 {
            1 => seed.deserialize(self.0.key.into_deserializer()).map(Some),
            2 => seed.deserialize(self.0).map(Some),
            _ => Ok(None),
        }
    }
}

/// The entries of a mapping, then the fields that are filled from the mapping itself.
struct Fields<'a> {
    source: Source<'a>,
    entries: slice::Iter<'a, Entry>,
    fields: slice::Iter<'static, &'static str>,
    next: Next<'a>,
}

/// Value of the field whose name was read last.
enum Next<'a> {
    Source(Source<'a>),
    Key(&'a str),
    Place([u32; 2]),
}

impl<'de> MapAccess<'de> for Fields<'de> {
    type Error = Error;

    fn next_key_seed<K: DeserializeSeed<'de>>(
        &mut self,
        seed: K,
    ) -> Result<Option<K::Value>, Error> {
        if let Some(entry) = self.entries.next() {
            self.next = Next::Source(Source::of(entry));
            return seed
                .deserialize(entry.key.as_str().into_deserializer())
                .map(Some);
        }
        for field in self.fields.by_ref() {
            let place = self.source.node.place;
            self.next = match *field {
                "$self" => Next::Source(self.source),
                "$key" => Next::Key(self.source.key),
                "$place" => Next::Place([place.line, place.column]),
                _ => continue,
            };
            return seed.deserialize((*field).into_deserializer()).map(Some);
        }
        Ok(None)
    }

    fn next_value_seed<V: DeserializeSeed<'de>>(&mut self, seed: V) -> Result<V::Value, Error> {
        match self.next {
            Next::Source(source) => seed.deserialize(source),
            Next::Key(key) => seed.deserialize(key.into_deserializer()),
            Next::Place(place) => seed.deserialize(SeqDeserializer::new(place.into_iter())),
        }
    }
}
