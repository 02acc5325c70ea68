//! Validation of arguments by a tool's schema, before anything is started.
//!
//! All mistakes are reported at once, each with the name of its property. Valid arguments are
//! passed on as the text that came, never as a copy written anew.

use serde_json::Value;

use crate::family::exec::arguments;
use haft_tool::Call;
use haft_tool::schema::{self, Mismatch};

/// A tool's schema, ready to check.
pub(super) struct Schema(schema::Schema);

impl Schema {
    pub(super) fn compile(schema: &Value) -> Result<Schema, String> {
        schema::Schema::compile(schema).map(Schema)
    }

    /// Returns the text for the tool, or everything that is wrong with it.
    pub(super) fn check(&self, call: &Call) -> Result<String, String> {
        let invalid = |why: String| format!("invalid JSON input: {why}");
        let text = arguments::object(&call.arguments).map_err(|why| invalid(why.to_string()))?;
        let value: Value =
            serde_json::from_str(&text).map_err(|error| invalid(error.to_string()))?;
        let wrong: Vec<String> = self
            .0
            .mismatches(&value)
            .iter()
            .map(Mismatch::line)
            .collect();
        if wrong.is_empty() {
            Ok(text)
        } else {
            Err(format!(
                "Validation failed for tool \"{}\":\n{}\n\nReceived arguments:\n{}",
                call.tool,
                wrong.join("\n"),
                pretty(&value)
            ))
        }
    }
}

fn pretty(value: &Value) -> String {
    serde_json::to_string_pretty(value).unwrap_or_else(|_| value.to_string())
}
