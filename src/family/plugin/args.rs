//! The arguments of one call: as values to substitute, and as the text that they came in.

use std::collections::HashMap;

use serde_json::value::RawValue;
use serde_json::{Map, Value};

use super::template::{Part, parameters};
use super::text;
use haft_tool::Error;
use haft_tool::schema::object_of;

/// Arguments that are an object. They are validated by the tool's schema elsewhere.
pub(super) struct Args {
    values: Map<String, Value>,
    raw: HashMap<String, Box<RawValue>>,
}

impl Args {
    /// Reads the arguments of a call of `tool`. Missing ones are taken from `defaults`.
    pub(super) fn read(
        tool: &str,
        arguments: &RawValue,
        defaults: &Map<String, Value>,
    ) -> Result<Args, Error> {
        let mut values = object_of(tool, arguments)?;
        for (name, default) in defaults {
            if values.get(name).is_none_or(Value::is_null) {
                values.insert(name.clone(), default.clone());
            }
        }
        // `null` is not an object, and has no arguments either.
        let raw = serde_json::from_str(arguments.get()).unwrap_or_default();
        Ok(Args { values, raw })
    }

    pub(super) fn values(&self) -> Value {
        Value::Object(self.values.clone())
    }

    pub(super) fn get(&self, name: &str) -> Option<&Value> {
        self.values.get(name)
    }

    /// Returns the text for a placeholder.
    pub(super) fn text(&self, name: &str) -> Result<String, String> {
        match self.values.get(name) {
            None | Some(Value::Null) => Err(format!("Missing required parameter: {name}")),
            Some(value) => Ok(text::of(value)),
        }
    }

    /// Returns the arguments that no placeholder of `template` uses, in their order.
    pub(super) fn others(&self, template: &[Part]) -> Vec<(&str, &Value)> {
        let is_used = |name: &str| parameters(template).any(|used| used == name);
        let others = self.values.iter().filter(|(name, _)| !is_used(name));
        others.map(|(name, value)| (name.as_str(), value)).collect()
    }

    /// Returns a JSON object of some of the arguments. It repeats the caller's text, so that
    /// numbers keep all their digits.
    pub(super) fn object(&self, some: &[(&str, &Value)]) -> String {
        let fields = some.iter().map(|(name, value)| {
            let name_text = Value::from(*name);
            match self.raw.get(*name) {
                Some(raw) if !value.is_null() => format!("{name_text}:{}", raw.get()),
                _ => format!("{name_text}:{value}"),
            }
        });
        format!("{{{}}}", fields.collect::<Vec<_>>().join(","))
    }
}
