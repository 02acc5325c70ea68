//! Tool definition that is built up piece by piece, and the template of a new one.

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
        if let Some(slot) = slot(&mut self.0, keys) {
            *slot = value;
        }
    }

    /// Appends to the list at this path of keys.
    pub(crate) fn push(&mut self, keys: &[&str], value: Datum) {
        match slot(&mut self.0, keys) {
            Some(Datum::List(items)) => items.push(value),
            Some(other) => *other = Datum::List(vec![value]),
            None => {}
        }
    }

    /// Removes a key and returns its value.
    pub(crate) fn take(&mut self, key: &str) -> Option<Datum> {
        let Datum::Object(entries) = &mut self.0 else {
            return None;
        };
        let at = entries.iter().position(|(own, _)| own == key)?;
        Some(entries.remove(at).1)
    }

    pub(crate) fn into_data(self) -> Datum {
        self.0
    }

    /// Returns the draft as the text of a file.
    pub(crate) fn text(&self) -> String {
        yaml(&self.0)
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

/// Returns the template of a tool of that name: short, complete, and with a test that passes.
pub(crate) fn template(name: &str) -> String {
    format!(
        "\
# yaml-language-server: $schema=../tool.schema.json
name: {name}
description: Greets somebody   # what a model decides by
bash: echo \"Hello, {{NAME}}!\"
parameters:
  NAME:
    type: string
    description: Who is greeted
    default: World
    security:
      escape-shell: true   # whatever a caller writes arrives as one word
tests:
  - name: greets
    parameters:
      NAME: Ada
    expected:
      output-contains: Hello, Ada!
# read: only looks; write: changes files; run: anything else
tags: [read]
"
    )
}
