//! A system tool: its name, its description, its schemas, and its function.

use serde_json::{Value, json};

use super::params::Params;
use super::stop::Stop;

pub struct Tool {
    /// The name of its file, with hyphens.
    pub file: &'static str,
    pub description: &'static str,
    /// The JSON Schema of its parameters.
    pub parameters: fn() -> Value,
    /// The JSON Schema of its answer.
    pub returns: fn() -> Value,
    pub run: fn(&Params) -> Result<Value, Stop>,
}

impl Tool {
    /// Returns the output of `--schema`. Models see names with underscores.
    pub fn advertised(&self) -> Value {
        json!({
            "name": self.file.replace('-', "_"),
            "description": self.description,
            "parameters": (self.parameters)(),
            "returns": (self.returns)(),
        })
    }
}

/// Returns the schema of an answer that has these fields, or `error` and `error_code`.
pub fn answer_of(mut fields: Value) -> Value {
    fields["error"] =
        json!({"type": "string", "description": "What went wrong; then nothing else is there"});
    fields["error_code"] = json!({"type": "string", "description": "The same as a code"});
    json!({"type": "object", "properties": fields})
}
