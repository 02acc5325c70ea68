//! A definition while it is put together, piece by piece.

use crate::family::shell::author::yaml;
use crate::family::shell::definition::Datum;

/// A file's content as data. Keys may come in any order; the file has them in the usual one.
#[derive(Clone, Debug)]
pub(crate) struct Draft(Datum);

impl Default for Draft {
    fn default() -> Self {
        Draft(Datum::Object(Vec::new()))
    }
}

impl Draft {
    /// Of data that was read elsewhere.
    pub(crate) fn of(data: Datum) -> Draft {
        Draft(data)
    }

    pub(crate) fn is_empty(&self) -> bool {
        matches!(&self.0, Datum::Object(entries) if entries.is_empty())
    }

    /// Whether there is something under the key.
    pub(crate) fn has(&self, key: &str) -> bool {
        matches!(&self.0, Datum::Object(entries) if entries.iter().any(|(own, _)| own == key))
    }

    /// Sets a value below these keys; the last one of a key counts.
    pub(crate) fn set(&mut self, keys: &[&str], value: Datum) {
        set(&mut self.0, keys, value);
    }

    /// Adds to the list below these keys.
    pub(crate) fn push(&mut self, keys: &[&str], value: Datum) {
        push(&mut self.0, keys, value);
    }

    /// As a file.
    pub(crate) fn text(&self) -> String {
        yaml(&self.0)
    }
}

/// Sets a value in a mapping below these keys.
pub(crate) fn set(node: &mut Datum, keys: &[&str], value: Datum) {
    if let Some(slot) = slot(node, keys) {
        *slot = value;
    }
}

/// Adds to a list in a mapping below these keys.
pub(crate) fn push(node: &mut Datum, keys: &[&str], value: Datum) {
    if let Some(slot) = slot(node, keys) {
        match slot {
            Datum::List(items) => items.push(value),
            other => *other = Datum::List(vec![value]),
        }
    }
}

/// The value below these keys, made if need be. `None`: on the way stands what is no mapping.
fn slot<'a>(node: &'a mut Datum, keys: &[&str]) -> Option<&'a mut Datum> {
    let Some((first, rest)) = keys.split_first() else {
        return Some(node);
    };
    if *node == Datum::Null {
        *node = Datum::Object(Vec::new());
    }
    let Datum::Object(entries) = node else {
        return None;
    };
    let at = match entries.iter().position(|(key, _)| key == first) {
        Some(at) => at,
        None => {
            entries.push(((*first).to_owned(), Datum::Null));
            entries.len() - 1
        }
    };
    slot(&mut entries[at].1, rest)
}
