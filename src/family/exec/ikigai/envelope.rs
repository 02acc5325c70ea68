//! The envelope around every result: exactly two keys if the tool ran, exactly three if it did not.
//!
//! The tool's own JSON goes in as it was written: no number and no key order changes, and what
//! looks like an envelope inside of it stays inside. JSON that is nested too deep for readers is
//! invalid.

use serde_json::value::RawValue;
use serde_json::{Value, json};

use haft_tool::json;

/// Readers stop at 128 levels; the envelope is one of them.
const MAX_DEPTH: usize = 120;

/// Reason why a tool's result is missing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Code {
    Timeout,
    Crashed,
    InvalidOutput,
    InvalidParams,
    NotFound,
    /// Our addition: the document has no cancellation.
    Cancelled,
}

impl Code {
    fn as_str(self) -> &'static str {
        match self {
            Code::Timeout => "TOOL_TIMEOUT",
            Code::Crashed => "TOOL_CRASHED",
            Code::InvalidOutput => "INVALID_OUTPUT",
            Code::InvalidParams => "INVALID_PARAMS",
            Code::NotFound => "TOOL_NOT_FOUND",
            Code::Cancelled => "TOOL_CANCELLED",
        }
    }
}

/// Returns a result in its envelope, as JSON text.
pub(super) fn success(result: &RawValue) -> String {
    format!(r#"{{"tool_success":true,"result":{}}}"#, result.get())
}

/// Returns the envelope of a missing result, as JSON text.
pub(super) fn failure(code: Code, error: &str) -> String {
    let envelope = json!({
        "tool_success": false,
        "error": error,
        "error_code": code.as_str(),
    });
    envelope.to_string()
}

/// Parses the one JSON value that a tool printed; whitespace around it is ignored.
pub(super) fn parse(output: &[u8]) -> Option<Box<RawValue>> {
    let text = std::str::from_utf8(output).ok()?;
    let value: Box<RawValue> = serde_json::from_str(text).ok()?;
    (json::depth(value.get()) <= MAX_DEPTH).then_some(value)
}

/// Returns the envelope as data; `{}` if it holds a number that no reader can represent.
pub(super) fn details(envelope: &str) -> Value {
    serde_json::from_str(envelope).unwrap_or_else(|_| json!({}))
}
