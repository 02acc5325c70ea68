//! One line of a session file: an entry of the conversation tree.

use std::io;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::Value;
use serde_json::value::{RawValue, to_raw_value};
use sys_traits::SystemRandom;
use sys_traits::impls::RealSys;

use haft_tool::{Timestamp, since_1970};

/// An entry as it is in the file, with its place in the tree.
pub(super) struct Entry {
    pub(super) id: String,
    /// `None` for the first entry of a branch.
    pub(super) parent: Option<String>,
    pub(super) json: Arc<RawValue>,
}

/// Fields of a line that haft itself needs.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Read {
    id: String,
    /// `None` if the key is missing: the entry follows the line before it.
    #[serde(default, deserialize_with = "present")]
    parent_id: Option<Option<String>>,
}

#[derive(Deserialize)]
struct Header {
    r#type: String,
    id: String,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Message<'a> {
    r#type: &'static str,
    id: &'a str,
    parent_id: Option<&'a str>,
    timestamp: String,
    message: &'a Value,
}

impl Entry {
    /// Parses a line; `before` is the id of the previous line's entry. Returns `None` if the line
    /// is not an entry.
    pub(super) fn read(line: &str, before: Option<&str>) -> Option<Entry> {
        let Read { id, parent_id } = serde_json::from_str(line).ok()?;
        let json = RawValue::from_string(line.trim().to_owned()).ok()?;
        Some(Entry {
            id,
            parent: parent_id.unwrap_or_else(|| before.map(str::to_owned)),
            json: Arc::from(json),
        })
    }

    /// Creates an entry with a message, as a child of `parent`.
    pub(super) fn message(parent: Option<&str>, message: &Value) -> io::Result<Entry> {
        let id = new_id();
        let json = to_raw_value(&Message {
            r#type: "message",
            id: &id,
            parent_id: parent,
            timestamp: Timestamp::now().precise(),
            message,
        })?;
        Ok(Entry {
            id,
            parent: parent.map(str::to_owned),
            json: Arc::from(json),
        })
    }
}

/// Returns the session's id if `line` is a session header.
pub(super) fn header(line: &str) -> Option<String> {
    let Header { r#type, id } = serde_json::from_str(line).ok()?;
    (r#type == "session").then_some(id)
}

/// Returns eight random hex digits: short to type, and unique enough for the entries of one file.
pub(crate) fn new_id() -> String {
    let mut bytes = [0; 4];
    if RealSys.sys_random(&mut bytes).is_err() {
        bytes = (millis() as u32).to_be_bytes();
    }
    format!("{:08x}", u32::from_be_bytes(bytes))
}

/// Milliseconds since 1970.
pub(super) fn millis() -> u64 {
    u64::try_from(since_1970().as_millis()).unwrap_or(u64::MAX)
}

fn present<'de, D: serde::Deserializer<'de>>(
    member: D,
) -> Result<Option<Option<String>>, D::Error> {
    Option::<String>::deserialize(member).map(Some)
}
