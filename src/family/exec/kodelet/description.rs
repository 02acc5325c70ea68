//! Parser of the answer to `description`: one JSON object, or the reason why it cannot be used.
//!
//! Bytes in, data out. Noise around the JSON is an error: a tool that prints more than its
//! description is broken, and the error shows that to its author.

use std::time::Duration;

use serde_json::{Map, Value, json};

use crate::family::exec::spawn_error;
use haft_config::format_duration;
use haft_process::{End, Finished};
use haft_tool::json::kind_of;

/// Prefix of every reason that concerns the program and not what it printed.
pub(super) const FAILED: &str = "failed to run description command";

/// Providers allow names of 64 characters, and the prefix takes twelve.
const MAX_NAME_LEN: usize = 52;

/// Description that a tool prints.
#[derive(Debug)]
pub(super) struct Description {
    pub(super) name: String,
    pub(super) description: String,
    pub(super) input_schema: Value,
}

/// Reason why a description cannot be used; the texts begin as in the document (kodelet 19–22).
#[derive(Debug, thiserror::Error)]
pub(super) enum Unusable {
    #[error("{FAILED}: {0}")]
    Failed(String),
    #[error("failed to parse tool description: {0}")]
    NotJson(String),
    #[error("tool name is required")]
    NoName,
    #[error("tool description is required")]
    NoDescription,
    #[error("the tool name {0:?} cannot be used")]
    BadName(String),
    #[error("invalid input_schema: it is {0}, not a JSON Schema of an object")]
    BadSchema(String),
}

impl Unusable {
    /// Returns advice for the tool's author.
    pub(super) fn hint(&self) -> &'static str {
        match self {
            Unusable::Failed(_) => {
                "try it by hand: `TOOL description` prints JSON and exits with 0"
            }
            Unusable::NotJson(_) => {
                "`TOOL description` prints nothing but {\"name\", \"description\", \"input_schema\"}"
            }
            Unusable::NoName => "add `name`, a text, to what `TOOL description` prints",
            Unusable::NoDescription => {
                "add `description`, a text, to what `TOOL description` prints"
            }
            Unusable::BadName(_) => "1 to 52 letters, digits, `_` and `-`",
            Unusable::BadSchema(_) => "for example {\"type\": \"object\", \"properties\": {}}",
        }
    }
}

/// Parses the answer of a tool; `limit` is the timeout that it had.
pub(super) fn read(finished: &Finished, limit: Duration) -> Result<Description, Unusable> {
    let failed = |how: String| Unusable::Failed(format!("{how}{}", spawn_error::said(finished)));
    match finished.end {
        End::Exited(0) => {}
        End::Exited(code) => return Err(failed(format!("exit status {code}"))),
        End::Signaled(signal) => return Err(failed(super::result::signal_text(signal))),
        End::TimedOut(_) => {
            let limit = format_duration(limit);
            return Err(failed(format!("timed out after {limit}")));
        }
        End::Cancelled(_) => return Err(failed("it was cancelled".to_owned())),
    }
    if finished.stdout.dropped > 0 {
        return Err(Unusable::NotJson("it is longer than 1 MB".to_owned()));
    }
    parse(&finished.stdout.bytes)
}

fn parse(bytes: &[u8]) -> Result<Description, Unusable> {
    let value: Value =
        serde_json::from_slice(bytes).map_err(|error| Unusable::NotJson(error.to_string()))?;
    let Value::Object(mut fields) = value else {
        return Err(Unusable::NotJson(format!(
            "it is {}",
            kind_of(&value.to_string())
        )));
    };
    let name = text(&mut fields, "name").ok_or(Unusable::NoName)?;
    let description = text(&mut fields, "description").ok_or(Unusable::NoDescription)?;
    let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-');
    if name.len() > MAX_NAME_LEN || !name.chars().all(plain) {
        return Err(Unusable::BadName(name));
    }
    let input_schema = match fields.shift_remove("input_schema") {
        None | Some(Value::Null) => json!({"type": "object", "properties": {}}),
        Some(schema) if schema["type"] == "object" => schema,
        Some(Value::Object(schema)) => {
            let kind = schema
                .get("type")
                .map_or("without a type".to_owned(), |kind| {
                    format!("of type {kind}")
                });
            return Err(Unusable::BadSchema(kind));
        }
        Some(other) => return Err(Unusable::BadSchema(kind_of(&other.to_string()).to_owned())),
    };
    Ok(Description {
        name,
        description,
        input_schema,
    })
}

/// Returns a field that is a text and not empty.
fn text(fields: &mut Map<String, Value>, key: &str) -> Option<String> {
    match fields.shift_remove(key) {
        Some(Value::String(text)) if !text.is_empty() => Some(text),
        _ => None,
    }
}
