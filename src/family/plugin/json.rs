//! JSON values with their places in the file.
//!
//! The places come from the slices that serde_json borrows, so nothing is parsed by hand. A text is
//! parsed as a whole first; after that no part of it can fail to parse.

use std::collections::HashMap;

use serde_json::Value;
use serde_json::value::RawValue;

use haft_tool::{place_after, suggest};

/// A line and a column, both 1-based.
pub(super) type Place = (u32, u32);

/// Something wrong in the file.
#[derive(Debug)]
pub(super) struct Fault {
    pub(super) place: Place,
    pub(super) message: String,
    pub(super) hint: Option<String>,
}

/// A part of a file.
#[derive(Clone, Copy)]
pub(super) struct Json<'a> {
    file: &'a str,
    raw: &'a RawValue,
}

/// The fields of an object.
pub(super) struct Fields<'a> {
    object: Json<'a>,
    fields: HashMap<String, &'a RawValue>,
}

impl<'a> Json<'a> {
    /// Parses the whole file. Nesting is bounded by the parser.
    pub(super) fn parse(file: &'a str) -> Result<Json<'a>, serde_json::Error> {
        serde_json::from_str::<Value>(file)?;
        let raw = serde_json::from_str(file)?;
        Ok(Json { file, raw })
    }

    pub(super) fn place(&self) -> Place {
        let offset = self.raw.get().as_ptr() as usize - self.file.as_ptr() as usize;
        let (line, column) = place_after(&self.file[..offset]);
        let number = |number: usize| u32::try_from(number).unwrap_or(u32::MAX);
        (number(line), number(column))
    }

    pub(super) fn fault(&self, message: impl Into<String>) -> Fault {
        Fault {
            place: self.place(),
            message: message.into(),
            hint: None,
        }
    }

    pub(super) fn value(&self) -> Value {
        serde_json::from_str(self.raw.get()).expect("the whole file was parsed before")
    }

    pub(super) fn fields(self) -> Option<Fields<'a>> {
        let fields = serde_json::from_str(self.raw.get()).ok()?;
        Some(Fields {
            object: self,
            fields,
        })
    }

    pub(super) fn items(self) -> Option<Vec<Json<'a>>> {
        let items: Vec<&'a RawValue> = serde_json::from_str(self.raw.get()).ok()?;
        let file = self.file;
        Some(items.into_iter().map(|raw| Json { file, raw }).collect())
    }

    pub(super) fn string(&self) -> Option<String> {
        serde_json::from_str(self.raw.get()).ok()
    }

    pub(super) fn number(&self) -> Option<f64> {
        serde_json::from_str(self.raw.get()).ok()
    }
}

impl<'a> Fields<'a> {
    pub(super) fn get(&self, name: &str) -> Option<Json<'a>> {
        let file = self.object.file;
        self.fields.get(name).map(|raw| Json { file, raw })
    }

    /// Returns the field of that name, if it is a string.
    pub(super) fn string(&self, name: &str) -> Option<String> {
        self.get(name)?.string()
    }

    /// Returns a fault of the field, or of the object if the field is missing.
    pub(super) fn fault(&self, name: &str, message: impl Into<String>) -> Fault {
        self.get(name).unwrap_or(self.object).fault(message)
    }

    /// Returns a warning for each unknown field, in the order of the file. Comments and the schema
    /// of an editor are not reported (`$schema`, `_note`).
    pub(super) fn unknown(&self, known: &[&str]) -> Vec<Fault> {
        let is_ours = |name: &str| known.contains(&name) || name.starts_with(['$', '_', '/']);
        let names = self.fields.keys().filter(|name| !is_ours(name));
        let mut faults: Vec<Fault> = names
            .map(|name| {
                let shown = name.escape_debug();
                let fault = self.fault(name, format!("Unknown key \"{shown}\" is ignored"));
                match suggest(name, known.iter().copied()) {
                    Some(near) => fault.hint(format!("did you mean \"{near}\"?")),
                    None => fault.hint(format!("known here: {}", known.join(", "))),
                }
            })
            .collect();
        faults.sort_by_key(|fault| fault.place);
        faults
    }

    /// Returns the field's value as JavaScript would print it.
    pub(super) fn shown(&self, name: &str) -> String {
        match self.get(name).map(|json| json.value()) {
            None => "undefined".to_owned(),
            Some(value) => super::text::of(&value),
        }
    }
}

impl Fault {
    pub(super) fn hint(mut self, hint: impl Into<String>) -> Fault {
        self.hint = Some(hint.into());
        self
    }
}
