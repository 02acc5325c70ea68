//! Arguments against a tool's schema, before anything is started.
//!
//! All that is wrong is told at once, each with the name of its property. What passes is the text
//! that came, never a copy written anew.

use jsonschema::Validator;
use jsonschema::error::ValidationErrorKind;
use serde_json::Value;

use crate::family::exec::arguments;
use crate::tool::Call;

/// A tool's schema, ready to check.
pub(super) struct Schema(Validator);

impl Schema {
    pub(super) fn compile(schema: &Value) -> Result<Schema, String> {
        let made = jsonschema::options()
            .should_validate_formats(true)
            .build(schema);
        made.map(Schema).map_err(|error| error.to_string())
    }

    /// The text to give to the tool, or everything that is wrong with it.
    pub(super) fn check(&self, call: &Call) -> Result<String, String> {
        let invalid = |why: String| format!("invalid JSON input: {why}");
        let text = arguments::object(&call.arguments).map_err(|why| invalid(why.to_string()))?;
        let value: Value =
            serde_json::from_str(&text).map_err(|error| invalid(error.to_string()))?;
        let wrong: Vec<String> = self
            .0
            .iter_errors(&value)
            .map(|error| {
                let at = error.instance_path().as_str();
                line(at, error.kind(), &error.to_string())
            })
            .collect();
        match wrong.is_empty() {
            true => Ok(text),
            false => Err(format!(
                "Validation failed for tool \"{}\":\n{}\n\nReceived arguments:\n{}",
                call.tool,
                wrong.join("\n"),
                pretty(&value)
            )),
        }
    }
}

/// `  - sizes/1/cm: …`; what is missing is named itself.
fn line(pointer: &str, kind: &ValidationErrorKind, message: &str) -> String {
    let mut path = pointer.trim_start_matches('/').to_owned();
    if let ValidationErrorKind::Required { property } = kind {
        let name = property.as_str().unwrap_or_default();
        path = match path.is_empty() {
            true => name.to_owned(),
            false => format!("{path}/{name}"),
        };
    }
    if path.is_empty() {
        path = "root".to_owned();
    }
    format!("  - {path}: {message}")
}

fn pretty(value: &Value) -> String {
    serde_json::to_string_pretty(value).unwrap_or_else(|_| value.to_string())
}
