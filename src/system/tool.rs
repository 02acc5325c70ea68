//! A system tool: its name, its description, its schemas, and its function.

use serde_json::{Value, json};

use super::params::Params;
use super::stop::Stop;

pub struct Tool {
    /// The name of its file, with hyphens.
    pub file: &'static str,
    pub description: &'static str,
    /// The JSON Schemas of its parameters, by name.
    pub parameters: fn() -> Value,
    pub required: &'static [&'static str],
    /// The JSON Schemas of the fields of its answer.
    pub returns: fn() -> Value,
    pub run: fn(&Params) -> Result<Value, Stop>,
}

impl Tool {
    /// Returns the output of `--schema`. Models see names with underscores.
    pub fn advertised(&self) -> Value {
        // A failed call has these fields instead.
        let mut returns = (self.returns)();
        returns["error"] =
            json!({"type": "string", "description": "What went wrong; then nothing else is there"});
        returns["error_code"] = json!({"type": "string", "description": "The same as a code"});
        json!({
            "name": self.file.replace('-', "_"),
            "description": self.description,
            "parameters": {
                "type": "object",
                "properties": (self.parameters)(),
                "required": self.required,
            },
            "returns": {"type": "object", "properties": returns},
        })
    }
}
