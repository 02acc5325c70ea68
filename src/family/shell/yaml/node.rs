//! Node of the tree, and the types of its scalars.

use crate::family::shell::definition::{Datum, Number, Place};

/// A value with its place.
#[derive(Clone, Debug)]
pub(crate) struct Node {
    pub(crate) value: Value,
    pub(crate) place: Place,
}

#[derive(Clone, Debug)]
pub(crate) enum Value {
    Scalar(Scalar),
    List(Vec<Node>),
    /// In the file's order; keys are unique.
    Map(Vec<Entry>),
}

#[derive(Clone, Debug)]
pub(crate) struct Scalar {
    pub(crate) text: String,
    /// Written without quotes, so that `true` may be a boolean and `5` a number.
    pub(crate) is_plain: bool,
}

#[derive(Clone, Debug)]
pub(crate) struct Entry {
    pub(crate) key: String,
    /// The key's place.
    pub(crate) place: Place,
    pub(crate) value: Node,
}

impl Scalar {
    /// Returns true for an empty value, `~` or `null`.
    pub(crate) fn is_null(&self) -> bool {
        self.is_plain && matches!(self.text.as_str(), "" | "~" | "null" | "Null" | "NULL")
    }

    /// Returns a boolean of YAML 1.2. `yes`, `no`, `on` and `off` are text.
    pub(crate) fn as_bool(&self) -> Option<bool> {
        match self.text.as_str() {
            "true" | "True" | "TRUE" if self.is_plain => Some(true),
            "false" | "False" | "FALSE" if self.is_plain => Some(false),
            _ => None,
        }
    }

    /// Returns a finite number. `0755` is text, because it usually is a file mode or an id. A
    /// parameter of type number still accepts it.
    pub(crate) fn as_number(&self) -> Option<Number> {
        if !self.is_plain {
            return None;
        }
        if let Some(hex) = self.text.strip_prefix("0x") {
            let number = u64::from_str_radix(hex, 16).ok()?;
            return Number::parse(&number.to_string());
        }
        let digits = self.text.trim_start_matches(['-', '+']);
        let has_zeros =
            digits.len() > 1 && digits.starts_with('0') && digits.as_bytes()[1].is_ascii_digit();
        if has_zeros {
            None
        } else {
            Number::parse(&self.text)
        }
    }

    fn to_datum(&self) -> Datum {
        if self.is_null() {
            Datum::Null
        } else if let Some(flag) = self.as_bool() {
            Datum::Bool(flag)
        } else if let Some(number) = self.as_number() {
            Datum::Number(number)
        } else {
            Datum::Text(self.text.clone())
        }
    }
}

impl Entry {
    /// Returns the entry with another value.
    pub(crate) fn with(&self, value: Node) -> Entry {
        Entry {
            key: self.key.clone(),
            place: self.place,
            value,
        }
    }
}

impl Node {
    /// Returns another value at the same place.
    pub(crate) fn with(&self, value: Value) -> Node {
        let place = self.place;
        Node { value, place }
    }

    /// Returns the value as data.
    pub(crate) fn to_datum(&self) -> Datum {
        match &self.value {
            Value::Scalar(scalar) => scalar.to_datum(),
            Value::List(items) => Datum::List(items.iter().map(Node::to_datum).collect()),
            Value::Map(entries) => Datum::Object(
                entries
                    .iter()
                    .map(|entry| (entry.key.clone(), entry.value.to_datum()))
                    .collect(),
            ),
        }
    }

    /// Returns the text of a scalar in any notation; `None` for null, lists and mappings.
    pub(crate) fn text(&self) -> Option<&str> {
        match &self.value {
            Value::Scalar(scalar) if !scalar.is_null() => Some(&scalar.text),
            _ => None,
        }
    }

    /// Returns the text under `key` unless it is blank.
    pub(crate) fn filled_text(&self, key: &str) -> Option<&str> {
        self.get(key)?.text().filter(|text| !text.trim().is_empty())
    }

    pub(crate) fn is_null(&self) -> bool {
        matches!(&self.value, Value::Scalar(scalar) if scalar.is_null())
    }

    /// Returns the value under `key`; `None` if it is missing or null.
    pub(crate) fn get(&self, key: &str) -> Option<&Node> {
        let entry = self.entries().iter().find(|entry| entry.key == key)?;
        (!entry.value.is_null()).then_some(&entry.value)
    }

    /// Returns the entries of the mapping under `key`, to change them.
    pub(crate) fn entries_below(&mut self, key: &str) -> Option<&mut Vec<Entry>> {
        let Value::Map(entries) = &mut self.value else {
            return None;
        };
        let entry = entries.iter_mut().find(|entry| entry.key == key)?;
        match &mut entry.value.value {
            Value::Map(entries) => Some(entries),
            _ => None,
        }
    }

    /// Returns the entries of a mapping; empty for anything else.
    pub(crate) fn entries(&self) -> &[Entry] {
        match &self.value {
            Value::Map(entries) => entries,
            _ => &[],
        }
    }

    /// Returns the items of a list; empty for anything else.
    pub(crate) fn items(&self) -> &[Node] {
        match &self.value {
            Value::List(items) => items,
            _ => &[],
        }
    }

    /// Returns the name of its kind, for messages.
    pub(crate) fn kind(&self) -> &'static str {
        match &self.value {
            Value::Scalar(scalar) => scalar.to_datum().kind(),
            Value::List(_) => "a list",
            Value::Map(_) => "a mapping",
        }
    }
}

/// Conversions that the format's keys need; quotes around values do not matter.
impl Node {
    /// Returns a boolean. YAML 1.1's `yes`, `no`, `on` and `off` are accepted, in any case.
    pub(crate) fn flag(&self) -> Option<bool> {
        match self.text()?.to_ascii_lowercase().as_str() {
            "true" | "yes" | "on" => Some(true),
            "false" | "no" | "off" => Some(false),
            _ => None,
        }
    }

    pub(crate) fn whole(&self) -> Option<i64> {
        self.text()?.parse().ok()
    }

    pub(crate) fn number(&self) -> Option<f64> {
        Number::parse(self.text()?).map(|number| number.to_f64())
    }

    /// Returns the texts of a list, or a single one.
    pub(crate) fn texts(&self) -> Vec<String> {
        match &self.value {
            Value::List(items) => items
                .iter()
                .filter_map(|item| item.text().map(str::to_owned))
                .collect(),
            _ => self.text().map(str::to_owned).into_iter().collect(),
        }
    }
}
