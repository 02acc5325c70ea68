//! Arguments of a program: the text of one JSON object, byte by byte as it came.
//!
//! Some model providers send arguments as a string that holds JSON; such a string is unwrapped
//! once. Nothing is serialised again, so that large numbers, duplicate keys and escapes survive.

use serde_json::value::RawValue;

use haft_tool::json;

/// Reason why the arguments are not an object.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub(super) enum NoObject {
    /// A string whose content is not JSON.
    #[error("{0}")]
    NotJson(String),
    /// Another value than an object.
    #[error("expected an object, received {0}")]
    Other(&'static str),
}

/// Returns the text of the object.
pub(super) fn object(arguments: &RawValue) -> Result<String, NoObject> {
    let text = arguments.get().trim();
    if !text.starts_with('"') {
        return checked(text.to_owned());
    }
    let inner: String =
        serde_json::from_str(text).map_err(|error| NoObject::NotJson(error.to_string()))?;
    if inner.trim().is_empty() {
        return Ok("{}".to_owned());
    }
    let opened: Box<RawValue> =
        serde_json::from_str(&inner).map_err(|error| NoObject::NotJson(error.to_string()))?;
    checked(opened.get().to_owned())
}

fn checked(text: String) -> Result<String, NoObject> {
    if text.starts_with('{') {
        return Ok(text);
    }
    Err(NoObject::Other(json::kind_of(&text)))
}
