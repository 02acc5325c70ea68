//! Tool definition that is built up piece by piece.

use crate::family::shell::definition::Datum;
use crate::family::shell::edit::yaml;

/// Content of a tool file as data. Keys may be set in any order; the file has them in the usual
/// one.
#[derive(Clone, Debug)]
pub(crate) struct Draft(Datum);

impl Default for Draft {
    fn default() -> Self {
        Draft(Datum::Object(Vec::new()))
    }
}

impl Draft {
    /// Wraps data that was parsed elsewhere.
    pub(crate) fn of(data: Datum) -> Draft {
        Draft(data)
    }

    pub(crate) fn is_empty(&self) -> bool {
        matches!(&self.0, Datum::Object(entries) if entries.is_empty())
    }

    /// Returns true if the key has a value.
    pub(crate) fn has(&self, key: &str) -> bool {
        matches!(&self.0, Datum::Object(entries) if entries.iter().any(|(own, _)| own == key))
    }

    /// Sets the value at this path of keys. A later value of a key replaces the earlier one.
    pub(crate) fn set(&mut self, keys: &[&str], value: Datum) {
        set(&mut self.0, keys, value);
    }

    /// Appends to the list at this path of keys.
    pub(crate) fn push(&mut self, keys: &[&str], value: Datum) {
        push(&mut self.0, keys, value);
    }

    /// Returns the draft as the text of a file.
    pub(crate) fn text(&self) -> String {
        yaml(&self.0)
    }
}

/// Sets the value at this path of keys in a mapping.
pub(crate) fn set(node: &mut Datum, keys: &[&str], value: Datum) {
    if let Some(slot) = slot(node, keys) {
        *slot = value;
    }
}

/// Appends to the list at this path of keys in a mapping.
pub(crate) fn push(node: &mut Datum, keys: &[&str], value: Datum) {
    if let Some(slot) = slot(node, keys) {
        match slot {
            Datum::List(items) => items.push(value),
            other => *other = Datum::List(vec![value]),
        }
    }
}

/// Returns the value at this path of keys and creates it if need be. Returns `None` if a value on
/// the way is not a mapping.
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
